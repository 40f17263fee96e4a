package overlay

import (
	"bytes"
	"fmt"

	"kpsim/linux/vmlinux"
	"kpsim/smp/arch"
)

// Lay lays the overlay over the image that it was linked for: from then on the image has the new
// code and data, and old entries jump to new ones.
func (v *Overlay) Lay(im *vmlinux.Image) error {
	l := &vmlinux.Layer{
		Digest: v.Digest, Sections: v.Sections, PerCPU: v.PerCPU, Symbols: v.Symbols,
		Returns: v.Returns, Retpolines: v.Retpolines, Fentries: v.Fentries, Traps: v.Traps,
		Moved: make(map[uint64]uint64, len(v.Moved)), Bug: v.Bug, Line: v.Line, Beginning: v.Beginning,
	}
	for _, w := range v.Writes {
		l.Writes = append(l.Writes, vmlinux.Write{Name: w.Name, Addr: w.Addr, Data: w.Data})
	}
	for _, m := range v.Moved {
		c, ok := im.Processor().Linux().Jump(arch.Addr(m.Site), arch.Addr(m.Target))
		if !ok {
			return fmt.Errorf("%s: %s at %#x is out of reach of a jump from %#x", im.Path, m.Name, m.Target, m.Site)
		}
		l.Writes = append(l.Writes, vmlinux.Write{Name: m.Name, Addr: m.Site, Data: bytes.Clone(c.Bytes())})
		l.Moved[m.From] = m.To
	}
	return im.Lay(l)
}

package overlay

import (
	"encoding/binary"
	"fmt"

	"kpsim/linux/vmlinux"
)

// Lay lays the overlay over the image that it was linked for: from then on the image has the new
// code and data, and old entries jump to new ones.
func (v *Overlay) Lay(im *vmlinux.Image) error {
	l := &vmlinux.Layer{
		Digest: v.Digest, Sections: v.Sections, PerCPU: v.PerCPU, Symbols: v.Symbols,
		Returns: v.Returns, Retpolines: v.Retpolines, Fentries: v.Fentries,
		Extable: v.Extable, Bug: v.Bug, Line: v.Line, Beginning: v.Beginning,
	}
	for _, w := range v.Writes {
		l.Writes = append(l.Writes, vmlinux.Write{Name: w.Name, Addr: w.Addr, Data: w.Data})
	}
	for _, m := range v.Moved {
		d := int64(m.To) - int64(m.From) - jumpBytes
		if int64(int32(d)) != d {
			return fmt.Errorf("%s: %s at %#x is out of reach of a jump from %#x", im.Path, m.Name, m.To, m.From)
		}
		b := binary.LittleEndian.AppendUint32([]byte{opJump}, uint32(d))
		l.Writes = append(l.Writes, vmlinux.Write{Name: m.Name, Addr: m.From, Data: b})
	}
	return im.Lay(l)
}

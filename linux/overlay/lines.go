package overlay

import (
	"bytes"
	"cmp"
	"slices"
	"sync"

	"kpsim/linux/vmlinux"
)

// A textOf is a range of code that came from an object.
type textOf struct {
	from, to uint64
	object   int
}

// lines records which code came from which object.
func (l *linker) lines(v *Overlay) {
	for i, o := range l.objects {
		for k := range o.sections {
			if s := &o.sections[k]; s.kept && s.exec() && s.Size > 0 {
				v.texts = append(v.texts, textOf{s.at, s.at + s.Size, i})
			}
		}
		v.lines = append(v.lines, sync.OnceValue(o.lines))
	}
	slices.SortFunc(v.texts, func(a, b textOf) int { return cmp.Compare(a.from, b.from) })
}

// Line returns the source frames of the instruction at an address, innermost inlined function
// first; nil if its object has no debug information.
func (v *Overlay) Line(addr uint64) []vmlinux.Frame { return v.linesAt(addr).At(addr) }

// Beginning returns the lines that begin at an address without code of their own.
func (v *Overlay) Beginning(addr uint64) []vmlinux.Frame { return v.linesAt(addr).Beginning(addr) }

// linesAt returns the lines of the object that contains an address, or nil.
func (v *Overlay) linesAt(addr uint64) *vmlinux.Lines {
	i, found := slices.BinarySearchFunc(v.texts, addr, func(t textOf, at uint64) int { return cmp.Compare(t.from, at) })
	if !found {
		i--
	}
	if i < 0 || addr >= v.texts[i].to {
		return nil
	}
	return v.lines[v.texts[i].object]()
}

// lines reads the object's debug information: nil if it is missing or unreadable.
func (o *object) lines() *vmlinux.Lines {
	b, err := o.debugSections()
	if err != nil || len(b["info"]) == 0 {
		return nil
	}
	l, err := vmlinux.NewLines(vmlinux.DebugSections{
		Info: bytes.NewReader(b["info"]), InfoSize: uint64(len(b["info"])),
		Abbrev: b["abbrev"], Aranges: b["aranges"], Line: b["line"], LineStr: b["line_str"], Str: b["str"],
		StrOffsets: b["str_offsets"], Addr: b["addr"], Ranges: b["ranges"], Rnglists: b["rnglists"],
	})
	if err != nil {
		return nil
	}
	return l
}

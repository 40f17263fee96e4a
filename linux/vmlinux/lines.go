package vmlinux

import (
	"cmp"
	"debug/dwarf"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sync"
)

// A Frame is a place in the source: a function, either compiled on its own or inlined into the
// next frame.
type Frame struct {
	Func string
	File string // from the root of the source: "kernel/kprobes.c"
	Line int
}

// DebugSections holds the sections of DWARF, version 4 or 5, that Lines reads; nil if absent.
type DebugSections struct {
	Info     io.ReaderAt
	InfoSize uint64
	Abbrev, Aranges, Line, LineStr, Str, StrOffsets,
	Addr, Ranges, Rnglists []byte
}

// Lines maps instructions to source lines. A compilation unit is read on the first lookup of an
// address in it. Goroutines may share it.
type Lines struct {
	sections DebugSections
	starts   []unitSpan // by address
	mu       sync.Mutex
	units    map[uint64]*unit // by offset in .debug_info; nil: unreadable
}

// A unitSpan is code generated from a compilation unit.
type unitSpan struct {
	lo, hi uint64
	unit   uint64 // offset in .debug_info
}

// unitMax limits one compilation unit, in bytes. The largest of a kernel has about 2 MiB.
const unitMax = 64 << 20

// unitsMax limits the number of units; a kernel has about 3,000.
const unitsMax = 1 << 17

// NewLines reads which code belongs to which compilation unit.
func NewLines(s DebugSections) (*Lines, error) {
	l := &Lines{sections: s, units: map[uint64]*unit{}}
	var err error
	if len(s.Aranges) > 0 {
		if l.starts, err = readAranges(s.Aranges); err != nil {
			return nil, err
		}
	}
	known := map[uint64]bool{}
	for _, span := range l.starts {
		known[span.unit] = true
	}
	rest, err := l.scanUnits(known)
	if err != nil {
		return nil, err
	}
	l.starts = append(l.starts, rest...)
	slices.SortStableFunc(l.starts, func(a, b unitSpan) int { return cmp.Compare(a.lo, b.lo) })
	return l, nil
}

// readAranges reads .debug_aranges: pairs of an address and a length for each unit.
func readAranges(b []byte) ([]unitSpan, error) {
	le := binary.LittleEndian
	var all []unitSpan
	for at := 0; len(b) > 0; {
		if len(b) < 16 || uint64(le.Uint32(b)) > uint64(len(b)-4) || le.Uint32(b) < 12 {
			return nil, fmt.Errorf(".debug_aranges: ends inside the set at %#x: give the file whole", at)
		}
		set := b[:4+le.Uint32(b)]
		b, at = b[len(set):], at+len(set)
		if le.Uint16(set[4:]) != 2 || set[10] != 8 && set[10] != 4 || set[11] != 0 {
			continue
		}
		c := class64
		if set[10] == 4 {
			c = class32
		}
		from := uint64(le.Uint32(set[6:]))
		for set = set[16:]; len(set) >= 2*c.Word; set = set[2*c.Word:] {
			if w := c.Words(set, 0, 2); w[1] > 0 && w[0]+w[1] > w[0] {
				all = append(all, unitSpan{w[0], w[0] + w[1], from})
			}
		}
	}
	return all, nil
}

// scanUnits reads the head of each unit that isn't known. Kernels built by clang have only assembly in .debug_aranges.
func (l *Lines) scanUnits(known map[uint64]bool) ([]unitSpan, error) {
	var all []unitSpan
	units := 0
	for at := uint64(0); at+12 <= l.sections.InfoSize; {
		if units++; units > unitsMax {
			return nil, fmt.Errorf(".debug_info: has more than %d units: this is no kernel", unitsMax)
		}
		n, err := l.length(at)
		if err != nil {
			return nil, err
		}
		if !known[at] {
			spans, err := l.scanUnit(at)
			if err != nil {
				return nil, err
			}
			all = append(all, spans...)
		}
		at += n
	}
	return all, nil
}

// scanUnit returns the code of a unit, which its head names.
func (l *Lines) scanUnit(at uint64) (all []unitSpan, err error) {
	d, err := l.open(at)
	if err != nil {
		return nil, err
	}
	head, err := d.Reader().Next()
	if err != nil || head == nil {
		return nil, nil
	}
	ranges, _ := d.Ranges(head) // without ranges it has no code
	for _, r := range ranges {
		if r[1] > r[0] {
			all = append(all, unitSpan{r[0], r[1], at})
		}
	}
	return all, nil
}

// length returns the bytes of the unit at an offset of .debug_info.
func (l *Lines) length(at uint64) (uint64, error) {
	var head [4]byte
	s := &l.sections
	if at > s.InfoSize || s.InfoSize-at < 12 {
		return 0, fmt.Errorf(".debug_info: no unit at %#x: give the file whole", at)
	}
	if _, err := s.Info.ReadAt(head[:], int64(at)); err != nil {
		return 0, fmt.Errorf(".debug_info: %w", err)
	}
	n := 4 + uint64(binary.LittleEndian.Uint32(head[:]))
	if n > s.InfoSize-at || n > unitMax || n < 12 {
		return 0, fmt.Errorf(".debug_info: the unit at %#x has %d bytes: DWARF of 64 bits isn't read, or "+
			"the file isn't whole", at, n)
	}
	return n, nil
}

// open returns the unit at an offset of .debug_info as if it were the only one.
func (l *Lines) open(at uint64) (*dwarf.Data, error) {
	n, err := l.length(at)
	if err != nil {
		return nil, err
	}
	s := &l.sections
	info := make([]byte, n)
	if _, err := s.Info.ReadAt(info, int64(at)); err != nil {
		return nil, fmt.Errorf(".debug_info: %w", err)
	}
	d, err := dwarf.New(s.Abbrev, nil, nil, info, s.Line, nil, s.Ranges, s.Str)
	if err != nil {
		return nil, fmt.Errorf(".debug_info: unit at %#x: %w", at, err)
	}
	for _, more := range []struct {
		name string
		b    []byte
	}{
		{".debug_line_str", s.LineStr},
		{".debug_str_offsets", s.StrOffsets},
		{".debug_addr", s.Addr},
		{".debug_rnglists", s.Rnglists},
	} {
		if err := d.AddSection(more.name, more.b); err != nil {
			return nil, fmt.Errorf(".debug_info: unit at %#x: %w", at, err)
		}
	}
	return d, nil
}

// span returns the code range that contains a link address, or nil.
func (l *Lines) span(addr uint64) *unitSpan {
	i, _ := slices.BinarySearchFunc(l.starts, addr, func(s unitSpan, addr uint64) int {
		if s.lo <= addr {
			return -1
		}
		return 1
	})
	if i == 0 || addr >= l.starts[i-1].hi {
		return nil
	}
	return &l.starts[i-1]
}

// At returns the frames of the instruction at a link address, from the innermost inlined function
// to the compiled function; nil if unknown. Assembly has a frame without a function.
func (l *Lines) At(addr uint64) []Frame {
	if u := l.unit(addr); u != nil {
		return u.frames(addr)
	}
	return nil
}

// Beginning returns the lines that begin at a link address without code of their own: the
// compiler merged them into the instruction of another line. Their frames have no function.
func (l *Lines) Beginning(addr uint64) []Frame {
	if u := l.unit(addr); u != nil {
		return u.beginning(addr)
	}
	return nil
}

// unit returns the unit of a link address, or nil.
func (l *Lines) unit(addr uint64) *unit {
	if l == nil {
		return nil
	}
	s := l.span(addr)
	if s == nil {
		return nil
	}
	at := s.unit
	l.mu.Lock()
	defer l.mu.Unlock()
	u, ok := l.units[at]
	if !ok {
		if d, err := l.open(at); err == nil {
			u, _ = readUnit(d, l.sections.Line) // a damaged one has no lines
		}
		l.units[at] = u
	}
	return u
}

// Unit returns the file that the function at addr was compiled from, with the folder as the compiler was given it; ""
// without DWARF. Assembly has a file, too.
func Unit(im *Image, addr uint64) string {
	l, _ := im.Lines() // damaged lines count as none
	if l == nil {
		return ""
	}
	s := l.span(addr - uint64(im.delta))
	if s == nil {
		return ""
	}
	d, err := l.open(s.unit)
	if err != nil {
		return ""
	}
	head, err := d.Reader().Next()
	if err != nil || head == nil {
		return ""
	}
	name, _ := head.Val(dwarf.AttrName).(string)
	return name
}

// Line returns the frames of the instruction at addr, from the innermost inlined function to the
// compiled function; nil if DWARF doesn't cover it.
func (im *Image) Line(addr uint64) []Frame {
	l, _ := im.Lines() // damaged lines count as none
	return im.LineIn(l, addr)
}

// LineIn is Line with the lines of another file of the same build: see OpenLines. A layer's lines
// take precedence; l may be nil.
func (im *Image) LineIn(l *Lines, addr uint64) []Frame {
	if im.layer != nil && im.layer.Line != nil {
		if frames := im.layer.Line(addr); frames != nil {
			return frames
		}
	}
	frames := l.At(addr - uint64(im.delta))
	if len(frames) == 1 && frames[0].Func == "" { // assembly, or padding after the last return
		s, _ := im.Lookup(addr)
		frames[0].Func = s.Name
	}
	return frames
}

// BeginningIn is Lines.Beginning at an address, with the lines of another file of the same build.
func (im *Image) BeginningIn(l *Lines, addr uint64) []Frame {
	if im.layer != nil && im.layer.Beginning != nil {
		if list := im.layer.Beginning(addr); list != nil {
			return list
		}
	}
	return l.Beginning(addr - uint64(im.delta))
}

// Lines returns the lines of a vmlinux with DWARF, at link addresses before any Move. It is nil
// without DWARF.
func (im *Image) Lines() (*Lines, error) { return im.lines() }

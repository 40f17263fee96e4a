package vmlinux

import (
	"debug/elf"
	"fmt"
	"io"
	"os"
	"sync"
)

// debugMax bounds a section of DWARF other than .debug_info, which isn't read whole.
const debugMax = 256 << 20

// linesOf returns a function that reads the lines of an object on disk when it is
// first called; nil lines if it has no DWARF. The file is kept open from then on.
func linesOf(path string, o *object) func() (*Lines, error) {
	return sync.OnceValues(func() (*Lines, error) {
		info := o.find(".debug_info")
		if info == nil {
			return nil, nil
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		at := *o
		at.r = f
		l, err := at.lines(info)
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return l, nil
	})
}

// lines reads the sections of DWARF.
func (o *object) lines(info *header) (*Lines, error) {
	s := DebugSections{Info: io.NewSectionReader(o.r, int64(info.off), int64(info.size)), InfoSize: info.size}
	for _, part := range []struct {
		name string
		to   *[]byte
	}{
		{".debug_info", nil},
		{".debug_abbrev", &s.Abbrev},
		{".debug_aranges", &s.Aranges},
		{".debug_line", &s.Line},
		{".debug_line_str", &s.LineStr},
		{".debug_str", &s.Str},
		{".debug_str_offsets", &s.StrOffsets},
		{".debug_addr", &s.Addr},
		{".debug_ranges", &s.Ranges},
		{".debug_rnglists", &s.Rnglists},
	} {
		h := o.find(part.name)
		if h == nil {
			continue
		}
		if h.kind == elf.SHT_NOBITS || h.flags&elf.SHF_COMPRESSED != 0 {
			return nil, fmt.Errorf("section %s: has no bytes, or compressed ones: build with CONFIG_DEBUG_INFO_COMPRESSED_NONE, or run objcopy --decompress-debug-sections", part.name)
		}
		if part.to != nil {
			var err error
			if *part.to, err = o.read(h, debugMax); err != nil {
				return nil, err
			}
		}
	}
	return NewLines(s)
}

// find returns the first section of that name, nil without one.
func (o *object) find(name string) *header {
	for i := range o.headers {
		if o.headers[i].name == name {
			return &o.headers[i]
		}
	}
	return nil
}

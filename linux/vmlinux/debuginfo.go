package vmlinux

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io"
	"sync"

	"kpsim/internal/regular"
	"kpsim/smp/image/objfile"
)

// debugMax limits the size of a DWARF section, in bytes. .debug_info is exempt, as it isn't read
// whole.
const debugMax = 256 << 20

// linesOf returns a function that reads the lines of an object on disk at its first call. The
// lines are nil without DWARF. The file stays open.
func linesOf(path string, o *object) func() (*Lines, error) {
	return sync.OnceValues(func() (*Lines, error) {
		if o.Find(".debug_info") == nil {
			return nil, nil
		}
		f, info, err := regular.Open(path)
		if err != nil {
			return nil, err
		}
		l, err := linesIn(f, uint64(info.Size()))
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return l, nil
	})
}

// linesIn reads the lines of an object from r, of size bytes, which stays open. The file that its headers were read
// from before is closed by now.
func linesIn(r io.ReaderAt, size uint64) (*Lines, error) {
	o, err := readObject(r, size, nil)
	if err != nil {
		return nil, err
	}
	info := o.Find(".debug_info")
	if info == nil {
		return nil, fmt.Errorf("has no .debug_info any more: the file has changed, run this again")
	}
	return o.lines(info)
}

// notesMax limits .notes, in bytes.
const notesMax = 1 << 20

// OpenLines reads only the lines of a build's vmlinux, in a few milliseconds. It returns an error
// if the file is from another build, or has no DWARF.
func OpenLines(path string, build []byte) (*Lines, error) {
	f, info, err := regular.Open(path)
	if regular.IsNot(err) {
		return nil, fmt.Errorf("%s: is no file with a kernel: give a vmlinux", path)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	o, err := readObject(f, uint64(info.Size()), nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var id []byte
	if h := o.Find(".notes"); h != nil {
		notes, err := o.Bytes(h, notesMax)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		id = buildID(notes)
	}
	if len(build) == 0 || !bytes.Equal(id, build) {
		return nil, fmt.Errorf("%s: is of build %x, not %x: give the vmlinux of the same build", path, id, build)
	}
	l, err := linesOf(path, o)()
	if l == nil && err == nil {
		err = fmt.Errorf("%s: has no DWARF: build it with CONFIG_DEBUG_INFO", path)
	}
	return l, err
}

// lines reads the DWARF sections.
func (o *object) lines(info *objfile.Section) (*Lines, error) {
	s := DebugSections{Info: o.Part(o.r, info), InfoSize: info.Size}
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
		h := o.Find(part.name)
		if h == nil {
			continue
		}
		if h.Kind == elf.SHT_NOBITS || h.Flags&elf.SHF_COMPRESSED != 0 {
			return nil, fmt.Errorf("section %s: has no bytes, or compressed ones: build with "+
				"CONFIG_DEBUG_INFO_COMPRESSED_NONE, or run objcopy --decompress-debug-sections", part.name)
		}
		if part.to != nil {
			var err error
			if *part.to, err = o.Bytes(h, debugMax); err != nil {
				return nil, err
			}
		}
	}
	return NewLines(s)
}

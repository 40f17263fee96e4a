package vmlinux

import (
	"encoding/binary"
	"strings"
)

// A Bug is a row of __bug_table: the description of the ud2 of a BUG or WARN.
type Bug struct {
	File  string // as passed to the compiler; empty without CONFIG_DEBUG_BUGVERBOSE
	Line  int
	Warn  bool // WARN: execution continues
	Flags uint16
}

// bugWarning is BUGFLAG_WARNING of include/linux/bug.h.
const bugWarning = 1

// A bugLayout holds the offsets of the fields of struct bug_entry, in bytes.
type bugLayout struct {
	size, file, line, flags int
	fromEntry               bool // file_disp counts from the entry, as before 5.19, not from itself
	addresses               bool // i386: bug_addr and file are addresses, not distances
}

// ref reads a word of a row: an address, or the distance to one.
func (l *bugLayout) ref(s *Section, off int) uint64 {
	if l.addresses {
		return uint64(binary.LittleEndian.Uint32(s.Data[off:]))
	}
	return s.ref(off)
}

// Bug returns the row for the ud2 at addr.
func (im *Image) Bug(addr uint64) (Bug, bool) {
	if im.layer != nil && im.layer.Bug != nil {
		if b, ok := im.layer.Bug(addr); ok {
			return b, true
		}
	}
	s := im.Section("__bug_table")
	if s == nil {
		return Bug{}, false
	}
	l := im.bugs()
	for off := 0; off+l.size <= len(s.Data); off += l.size {
		if l.ref(s, off) == addr {
			return im.bug(l, s, off), true
		}
	}
	return Bug{}, false
}

// BugEntry returns the row of __bug_table that lies at addr.
func (im *Image) BugEntry(addr uint64) (Bug, bool) {
	s := im.Section("__bug_table")
	l := im.bugs()
	if s == nil || addr < s.Addr || addr >= s.Addr+uint64(len(s.Data)) {
		return Bug{}, false
	}
	off := int(addr - s.Addr)
	if off%l.size != 0 || off+l.size > len(s.Data) {
		return Bug{}, false
	}
	return im.bug(l, s, off), true
}

func (im *Image) bug(l *bugLayout, s *Section, off int) Bug {
	le := binary.LittleEndian
	b := Bug{Flags: le.Uint16(s.Data[off+l.flags:])}
	b.Warn = b.Flags&bugWarning != 0
	if l.line >= 0 {
		b.Line = int(le.Uint16(s.Data[off+l.line:]))
		b.File, _ = im.cString(l.fileOf(s, off))
	}
	return b
}

func (l *bugLayout) fileOf(s *Section, off int) uint64 {
	at := l.ref(s, off+l.file)
	if l.fromEntry {
		at -= uint64(l.file)
	}
	return at
}

// bugLayout returns the layout of the rows: from the types, otherwise that of
// CONFIG_DEBUG_BUGVERBOSE.
func (im *Image) bugLayout() *bugLayout {
	l := &bugLayout{size: 12, file: 4, line: 8, flags: 10, addresses: im.class == class32}
	if size, ok := im.types.Size("bug_entry"); ok && size >= 6 && size <= 64 {
		flags, n, ok := im.types.Off("bug_entry", "flags")
		if ok && n == 2 && flags+2 <= size {
			l = &bugLayout{size: size, file: -1, line: -1, flags: flags, addresses: l.addresses}
			of := "file_disp"
			if l.addresses {
				of = "file"
			}
			file, n, ok1 := im.types.Off("bug_entry", of)
			line, m, ok2 := im.types.Off("bug_entry", "line")
			if ok1 && ok2 && n == 4 && m == 2 && file+4 <= size && line+2 <= size {
				l.file, l.line = file, line
			}
		}
	}
	s := im.Section("__bug_table")
	if l.file < 0 || s == nil || l.addresses {
		return l
	}
	// The base of file_disp changed. With the wrong base most rows have no file name.
	names := 0
	for off := 0; off+l.size <= len(s.Data); off += l.size {
		at := s.ref(off + l.file)
		if im.isSource(at) {
			names++
		}
		if im.isSource(at - uint64(l.file)) {
			names--
		}
	}
	l.fromEntry = names < 0
	return l
}

// isSource reports whether a string that begins at addr is the name of a source file.
func (im *Image) isSource(addr uint64) bool {
	name, ok := im.cString(addr)
	before := im.Bytes(addr-1, 1)
	return ok && before != nil && before[0] == 0 && (strings.HasSuffix(name, ".c") || strings.HasSuffix(name, ".h"))
}

package vmlinux

import (
	"cmp"
	"debug/dwarf"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// A unit is a compilation unit as needed by Lines.
type unit struct {
	funcs  []*scope
	rows   []row // by address
	begins []row // rows without code of their own, which begin at another row's instruction; by address
}

// A scope is a function, compiled or inlined; unnamed blocks have no scope.
type scope struct {
	name    string
	ranges  [][2]uint64
	file    string // of the call, if inlined
	line    int
	inlined []*scope
}

// A row is a row of the line table, for the code from lo up to hi.
type row struct {
	lo, hi uint64
	file   string
	line   int
}

// Limits of a unit: rows of lines, scopes with their ranges, and nesting of entries. A malicious
// file could need more than there is memory.
const (
	rowsMax   = 1 << 20
	scopesMax = 1 << 20
	deepest   = 256
)

// A unitReader reads a compilation unit.
type unitReader struct {
	d     *dwarf.Data
	dir   string // its compilation folder
	files []*dwarf.LineFile
	names map[dwarf.Offset]string // by function
}

// readUnit reads the only unit of d, whose lines are in the section line. A panic of debug/dwarf
// on a damaged file becomes an error.
func readUnit(d *dwarf.Data, line []byte) (u *unit, err error) {
	defer func() {
		if r := recover(); r != nil {
			u, err = nil, fmt.Errorf("debug/dwarf: %v", r)
		}
	}()
	entries := d.Reader()
	head, err := entries.Next()
	if err != nil || head == nil || head.Tag != dwarf.TagCompileUnit {
		return nil, fmt.Errorf("no compilation unit: %w", err)
	}
	r := &unitReader{d: d, names: map[dwarf.Offset]string{}}
	r.dir, _ = head.Val(dwarf.AttrCompDir).(string)
	if at, ok := head.Val(dwarf.AttrStmtList).(int64); ok {
		if err := checkLineHeader(line, at); err != nil {
			return nil, err
		}
	}
	u = &unit{}
	lines, err := d.LineReader(head)
	if err != nil || lines == nil {
		return nil, fmt.Errorf("no line table: %w", err)
	}
	if u.rows, u.begins, err = r.rows(lines); err != nil {
		return nil, err
	}
	r.files = lines.Files()
	u.funcs, err = r.scopes(entries)
	return u, err
}

// rows reads the line table. The last of several rows for one address gets the code; the others
// only begin there.
func (r *unitReader) rows(lines *dwarf.LineReader) (rows, begins []row, err error) {
	var last dwarf.LineEntry
	open := false
	for {
		var e dwarf.LineEntry
		if err := lines.Next(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, nil, err
		}
		if len(rows)+len(begins) == rowsMax {
			return nil, nil, fmt.Errorf("more than %d lines", rowsMax)
		}
		if open && last.File != nil {
			of := row{last.Address, e.Address, r.path(last.File.Name), last.Line}
			switch {
			case e.Address > last.Address:
				rows = append(rows, of)
			case e.Address == last.Address && last.IsStmt && last.Line > 0:
				begins = append(begins, of)
			}
		}
		last, open = e, !e.EndSequence
	}
	byAddress := func(a, b row) int { return cmp.Compare(a.lo, b.lo) }
	slices.SortStableFunc(rows, byAddress)
	slices.SortStableFunc(begins, byAddress)
	return rows, begins, nil
}

// path returns a file's name relative to the root of the source, if that can be determined: the
// names in a unit begin with its compilation folder, or with a prefix of that.
func (r *unitReader) path(name string) string {
	name = path.Clean(name)
	dir := path.Clean(r.dir)
	if in, ok := strings.CutPrefix(name, dir+"/"); ok {
		return in
	}
	if !path.IsAbs(name) {
		for strings.HasPrefix(name, "../") {
			name = name[3:]
		}
		return name
	}
	for at := 0; ; {
		next := strings.IndexByte(name[at:], '/') + 1
		if next == 0 || !strings.HasPrefix(dir+"/", name[:at+next]) {
			return name[max(at, 0):]
		}
		at += next
	}
}

// scopes reads the compiled functions and those inlined in them.
func (r *unitReader) scopes(entries *dwarf.Reader) ([]*scope, error) {
	root := &scope{}
	stack := []*scope{root} // a scope for each open entry
	left := scopesMax
	for {
		e, err := entries.Next()
		switch {
		case err != nil:
			return nil, err
		case e == nil:
			return root.inlined, nil
		case e.Tag == 0:
			if len(stack) == 1 {
				return root.inlined, nil
			}
			stack = stack[:len(stack)-1]
			continue
		}
		in := stack[len(stack)-1]
		switch e.Tag {
		case dwarf.TagSubprogram, dwarf.TagInlinedSubroutine:
			ranges, err := r.d.Ranges(e)
			if err != nil || len(ranges) == 0 { // a declaration, or a function that was inlined everywhere
				entries.SkipChildren()
				continue
			}
			if left -= 1 + len(ranges); left < 0 {
				return nil, fmt.Errorf("more than %d functions", scopesMax)
			}
			s := &scope{ranges: ranges, name: r.name(e, deepest)}
			s.file, s.line = r.call(e)
			in.inlined = append(in.inlined, s)
			in = s
		case dwarf.TagLexDwarfBlock:
		default:
			entries.SkipChildren()
			continue
		}
		if e.Children {
			if len(stack) == deepest {
				return nil, fmt.Errorf("entries are nested more than %d deep", deepest)
			}
			stack = append(stack, in)
		}
	}
}

// name returns a function's name, which may be stored in its abstract entry.
func (r *unitReader) name(e *dwarf.Entry, depth int) string {
	if name, ok := e.Val(dwarf.AttrName).(string); ok || depth == 0 {
		return name
	}
	off, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
	if !ok {
		if off, ok = e.Val(dwarf.AttrSpecification).(dwarf.Offset); !ok {
			return ""
		}
	}
	name, ok := r.names[off]
	if !ok {
		at := r.d.Reader()
		at.Seek(off)
		if of, err := at.Next(); err == nil && of != nil {
			name = r.name(of, depth-1)
		}
		r.names[off] = name
	}
	return name
}

// call returns the place where an inlined function is called.
func (r *unitReader) call(e *dwarf.Entry) (file string, line int) {
	n, _ := e.Val(dwarf.AttrCallLine).(int64)
	i, _ := e.Val(dwarf.AttrCallFile).(int64)
	if i >= 0 && i < int64(len(r.files)) && r.files[i] != nil {
		file = r.path(r.files[i].Name)
	}
	return file, int(n)
}

// beginning returns the lines that begin at an address without code of their own.
func (u *unit) beginning(addr uint64) (list []Frame) {
	i, _ := slices.BinarySearchFunc(u.begins, addr, func(r row, addr uint64) int { return cmp.Compare(r.lo, addr) })
	for ; i < len(u.begins) && u.begins[i].lo == addr; i++ {
		list = append(list, Frame{File: u.begins[i].file, Line: u.begins[i].line})
	}
	return list
}

// frames returns the frames of an address, innermost first.
func (u *unit) frames(addr uint64) []Frame {
	i, _ := slices.BinarySearchFunc(u.rows, addr, func(r row, addr uint64) int {
		if r.lo <= addr {
			return -1
		}
		return 1
	})
	if i == 0 || addr >= u.rows[i-1].hi {
		return nil
	}
	file, line := u.rows[i-1].file, u.rows[i-1].line
	var all []Frame
	for scopes := u.funcs; ; {
		i := slices.IndexFunc(scopes, func(s *scope) bool { return s.contains(addr) })
		if i < 0 {
			break
		}
		s := scopes[i]
		if len(all) > 0 {
			all[len(all)-1].File, all[len(all)-1].Line = s.file, s.line
		}
		all = append(all, Frame{Func: s.name})
		scopes = s.inlined
	}
	if len(all) == 0 { // assembly
		return []Frame{{File: file, Line: line}}
	}
	all[len(all)-1].File, all[len(all)-1].Line = file, line
	slices.Reverse(all)
	return all
}

func (s *scope) contains(addr uint64) bool {
	return slices.ContainsFunc(s.ranges, func(r [2]uint64) bool { return addr >= r[0] && addr < r[1] })
}

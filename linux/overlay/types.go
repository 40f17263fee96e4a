package overlay

import (
	"debug/dwarf"
	"fmt"
	"strings"
)

// checkTypes compares the structs of headers in the objects and the vmlinux, since remaining code
// uses them too. A struct of a .c file is private to it. An object without debug information
// isn't checked.
func (l *linker) checkTypes() error {
	checked := make(map[string]bool)
	for _, o := range l.objects {
		d, err := o.dwarf()
		if err == nil && d != nil {
			err = l.checkUnits(d, checked)
		}
		if err != nil {
			return fmt.Errorf("%s: debug information: %w", o.name, err)
		}
	}
	return nil
}

func (l *linker) checkUnits(d *dwarf.Data, checked map[string]bool) error {
	r := d.Reader()
	var files []*dwarf.LineFile
	for {
		e, err := r.Next()
		if e == nil || err != nil {
			return err
		}
		switch e.Tag {
		case dwarf.TagCompileUnit:
			files = nil
			if lines, err := d.LineReader(e); err == nil && lines != nil {
				files = lines.Files()
			}
			continue // its children follow
		case dwarf.TagStructType:
			name, _ := e.Val(dwarf.AttrName).(string)
			if name == "" || checked[name] || !ofHeader(e, files) {
				break
			}
			checked[name] = true
			if err := l.checkStruct(r, e, name); err != nil {
				return err
			}
			continue // checkStruct has read its children
		}
		r.SkipChildren()
	}
}

// ofHeader reports whether a type is declared in a header.
func ofHeader(e *dwarf.Entry, files []*dwarf.LineFile) bool {
	i, _ := e.Val(dwarf.AttrDeclFile).(int64)
	return i > 0 && i < int64(len(files)) && files[i] != nil && strings.HasSuffix(files[i].Name, ".h")
}

// checkStruct compares a struct's size and the offsets of its members.
func (l *linker) checkStruct(r *dwarf.Reader, e *dwarf.Entry, name string) error {
	size, sized := e.Val(dwarf.AttrByteSize).(int64)
	old, known := l.im.Types().Size(name)
	var where error
	for e.Children {
		m, err := r.Next()
		if err != nil {
			return err
		}
		if m == nil || m.Tag == 0 {
			break
		}
		member, _ := m.Val(dwarf.AttrName).(string)
		off, at := m.Val(dwarf.AttrDataMemberLoc).(int64)
		was, _, ok := l.im.Types().Off(name, member)
		if where == nil && m.Tag == dwarf.TagMember && m.Val(dwarf.AttrBitSize) == nil && at && ok && known &&
			int64(was) != off {
			where = l.differs(name+"."+member, fmt.Sprintf("lies at byte %d, and at %d", off, was))
		}
		r.SkipChildren()
	}
	if sized && known && size != int64(old) {
		return l.differs(name, fmt.Sprintf("has %d bytes, and %d", size, old))
	}
	return where
}

func (l *linker) differs(what, how string) error {
	return fmt.Errorf("struct %s %s in %s (%s): compile against the headers of that kernel, or if you changed "+
		"it, build the whole vmlinux", what, how, l.im.Path, l.im.Release)
}

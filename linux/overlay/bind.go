package overlay

import (
	"debug/elf"
	"fmt"

	"kpsim/linux/vmlinux"
)

// tocSymbol is the name of the base of the TOC, which linkers define.
const tocSymbol = ".TOC."

// A definition is the definition of a name in the objects.
type definition struct {
	o *object
	s *symbol
}

// define collects the global names that the objects define. Any other definition overrides a weak
// one.
func (l *linker) define() error {
	l.defined = make(map[string]definition)
	for _, o := range l.objects {
		for i := range o.symbols {
			s := &o.symbols[i]
			if s.Bind() == elf.STB_LOCAL || s.Name == "" || s.Section == elf.SHN_UNDEF {
				continue
			}
			if in := o.section(s); in != nil && !in.kept {
				continue
			}
			if s.Name == "init_module" || s.Name == "__this_module" {
				return fmt.Errorf("%s: was compiled as a module (it has %s): compile it with obj-y, as "+
					"scripts/kernel-objects does", o.name, s.Name)
			}
			was, twice := l.defined[s.Name]
			switch {
			case !twice || was.s.Bind() == elf.STB_WEAK && s.Bind() != elf.STB_WEAK:
				l.defined[s.Name] = definition{o, s}
				l.names = appendNew(l.names, s.Name, twice)
			case s.Bind() != elf.STB_WEAK && was.s.Bind() != elf.STB_WEAK:
				return fmt.Errorf("%s: defines %s, which %s defines too: give each file of the kernel once", o.name,
					s.Name, was.o.name)
			}
		}
	}
	return nil
}

func appendNew(names []string, name string, has bool) []string {
	if has {
		return names
	}
	return append(names, name)
}

// bind sets the address that references to each symbol get, by the rules in doc.go.
func (l *linker) bind() error {
	for _, o := range l.objects {
		for i := range o.symbols {
			s := &o.symbols[i]
			s.near = o.Local(s.Other)
			s.at = s.Value // SHN_ABS, or in a section that isn't loaded: debug information
			if in := o.section(s); in != nil {
				s.at += in.at
			}
		}
	}
	for _, name := range l.names {
		if err := l.bindDefined(l.defined[name]); err != nil {
			return err
		}
	}
	for _, o := range l.objects {
		for i := range o.symbols {
			if err := l.bindUndefined(o, &o.symbols[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// bindDefined chooses between the objects' and the vmlinux's copy of a name that the objects
// define.
func (l *linker) bindDefined(d definition) error {
	old, ok := l.global(d.s.Name)
	in := d.o.section(d.s)
	if !ok || in == nil {
		return nil
	}
	if old.Func != in.exec() || l.isPerCPU(old.Addr) != in.percpu() {
		return fmt.Errorf("%s: %s lies in %s, and in other memory in %s: give a vmlinux of the same source", d.o.name,
			d.s.Name, in.Name, l.im.Path)
	}
	switch {
	case d.s.Bind() == elf.STB_WEAK && !old.Weak:
		// The vmlinux uses a definition of another file, and continues to.
		d.s.at, d.s.near, d.s.away = old.Addr, old.Near(), true
	case in.exec():
		return nil // handled by Moved
	case d.s.Size == 0:
		// A label in assembly. Its size is unknown, so it can't be shared.
		if !in.write() {
			return nil
		}
		return l.own(d, old)
	case d.s.Size > old.Size:
		return l.own(d, old)
	default:
		d.s.at, d.s.away = old.Addr, true
		l.shared = append(l.shared, shared{d, old})
	}
	return nil
}

// A shared variable is the vmlinux's, with initial contents from the overlay.
type shared struct {
	definition
	old vmlinux.Symbol
}

// own gives the overlay its own copy of a variable of the vmlinux, if no remaining code uses that
// one.
func (l *linker) own(d definition, old vmlinux.Symbol) error {
	users := l.users(old)
	if len(users) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s has %d bytes, and %d in %s, where %s use it: give the objects of the files that "+
		"define these too", d.o.name, d.s.Name, d.s.Size, old.Size, l.im.Path, list(users, 5))
}

// bindUndefined resolves a symbol that is undefined, or overridden by another object's
// definition.
func (l *linker) bindUndefined(o *object, s *symbol) error {
	if s.Bind() == elf.STB_LOCAL || s.Name == "" {
		return nil
	}
	if d, ok := l.defined[s.Name]; ok {
		s.at, s.near, s.away = d.s.at, d.s.near, s.away || d.s != s
		return nil
	}
	if s.Section != elf.SHN_UNDEF || l.bindTable(s) {
		return nil
	}
	old, ok := l.global(s.Name)
	if s.Name == tocSymbol && l.toc != 0 {
		old, ok = vmlinux.Symbol{Addr: l.toc}, true
	}
	switch {
	case ok:
		s.at, s.near = old.Addr, old.Near()
	case s.Bind() == elf.STB_WEAK:
		s.at = 0
	case l.statics[s.Name] > 0:
		return fmt.Errorf("%s: refers to %s, which is static in %s: give the object that defines it too", o.name,
			s.Name, l.im.Path)
	case o.refersTo(s):
		return fmt.Errorf("%s: refers to %s, which %s (%s) doesn't have: give the object that defines it, or a "+
			"vmlinux of the same source and configuration", o.name, s.Name, l.im.Path, l.im.Release)
	}
	return nil
}

// refersTo reports whether a section in memory refers to a symbol.
func (o *object) refersTo(s *symbol) bool {
	for i := range o.sections {
		if !o.sections[i].kept {
			continue
		}
		for _, r := range o.sections[i].rela {
			if &o.symbols[r.Symbol] == s {
				return true
			}
		}
	}
	return false
}

// index sorts the vmlinux's symbols by name.
func (l *linker) index() {
	l.globals, l.statics = make(map[string]vmlinux.Symbol), make(map[string]int)
	for _, s := range l.im.Symbols() {
		if s.Global {
			l.globals[s.Name] = s
		} else {
			l.statics[s.Name]++
		}
	}
}

// global returns the vmlinux's non-static symbol of that name.
func (l *linker) global(name string) (vmlinux.Symbol, bool) {
	s, ok := l.globals[name]
	return s, ok
}

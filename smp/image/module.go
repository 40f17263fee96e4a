package image

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// A Symbol is a place with a name.
type Symbol struct {
	Name    string
	Aliases []string // further names of the same address, in the order of the symbol table
	Addr    arch.Addr
	// Size goes to the next symbol, padding included: what kallsyms answers.
	// That of an import is the room it has been given.
	Size int
	// Section and Offset are where it is in the file; not of an import.
	Section string
	Offset  int
	Nth     int  // of its name, from 1, by address: static functions of several files may share one
	Init    bool // in .init.text: freed, and without a name, as soon as the module runs
	// Blacklisted tells of text that kprobes refuses: named in
	// _kprobe_blacklist, or in .kprobes.text or .noinstr.text.
	Blacklisted bool
}

// Label tells s from others of its name: "f", and "f#2" for the second f.
func (s *Symbol) Label() string {
	if s.Nth <= 1 {
		return s.Name
	}
	return fmt.Sprintf("%s#%d", s.Name, s.Nth)
}

// End returns the first address after s.
func (s *Symbol) End() arch.Addr { return s.Addr + arch.Addr(s.Size) }

// A Module is an object as a kernel has it in memory after loading it: linked,
// patched for the processor, with the symbols that kallsyms knows. Nothing of
// it changes any more, and it may be read by several goroutines.
type Module struct {
	Name    string
	Version Version // of the kernel it was patched as
	Mode    x86.Mode

	// Symbols are those of its text, by address, one an address. Between two of
	// them nothing is left out: a symbol ends where the next one begins. The
	// last one ends with the text, which a module has in whole pages, zeros
	// after the code; in an object that is no module, with its section.
	Symbols []Symbol
	Sites   []Site // by address, then kind
	// Imports are what the kernel or other modules define, and what of the object
	// isn't loaded but referred to, by address.
	Imports []Symbol
	// Unnamed is how many bytes of code, padding left aside, have no symbol at or
	// before them: the kernel knows of no function there.
	Unnamed int

	text []region // by address
}

// A region is a stretch of text without gaps.
type region struct {
	at    arch.Addr
	bytes []byte
	init  bool
}

// Bytes returns n bytes of text from an address, as they are in memory, and
// fewer where the text ends earlier. They may be read, not written.
func (m *Module) Bytes(at arch.Addr, n int) []byte {
	i := sort.Search(len(m.text), func(i int) bool { return m.text[i].at > at }) - 1
	if i < 0 || n <= 0 {
		return nil
	}
	r := m.text[i]
	off := at - r.at
	if off >= arch.Addr(len(r.bytes)) {
		return nil
	}
	rest := r.bytes[off:]
	n = min(n, len(rest))
	return rest[:n:n]
}

// SymbolAt returns the symbol of the text, or else the import, that an address
// belongs to.
func (m *Module) SymbolAt(a arch.Addr) (*Symbol, bool) {
	for _, list := range [][]Symbol{m.Symbols, m.Imports} {
		i := sort.Search(len(list), func(i int) bool { return list[i].Addr > a }) - 1
		if i >= 0 && a < list[i].End() {
			return &list[i], true
		}
	}
	return nil, false
}

// Symbol returns the text symbol of a name, the one with the lowest address if
// several have it; or of a label.
func (m *Module) Symbol(name string) (*Symbol, bool) {
	for i := range m.Symbols {
		if s := &m.Symbols[i]; s.Name == name || slices.Contains(s.Aliases, name) {
			return s, true
		}
	}
	for i := range m.Symbols {
		if s := &m.Symbols[i]; s.Nth > 1 && s.Label() == name {
			return s, true
		}
	}
	return nil, false
}

// SitesIn returns the sites that begin in [from, to).
func (m *Module) SitesIn(from, to arch.Addr) []Site {
	at := func(a arch.Addr) int {
		i, _ := slices.BinarySearchFunc(m.Sites, a, func(s Site, a arch.Addr) int { return cmp.Compare(s.Addr, a) })
		return i
	}
	return m.Sites[at(from):max(at(from), at(to))]
}

// Load links the object so that its text begins at base, a multiple of 4096,
// and patches it as a kernel does that boots on a processor like boot. A
// symbol that the object doesn't define is where extern says; what extern
// doesn't know, or if it is nil, gets an address of its own after the object.
//
// A slot of a global offset table is an address after that, and so is a
// variable that is common or in a section that isn't loaded; thread-local ones
// have offset 0. So instructions stand as they were assembled, of the length
// they have; a linker might have made others of those that use the table.
//
// The text of a module is in the order of kernel/module/main.c,
// layout_sections: all sections with code by number, then, apart from them,
// those whose name begins with .init; no place in an object that is no module.
func (o *Object) Load(base arch.Addr, boot Boot, extern Extern) (*Module, error) {
	if base%pageBytes != 0 {
		return nil, fmt.Errorf("%s: base %#x is no multiple of %d: modules are loaded in whole pages", o.name,
			uint64(base), pageBytes)
	}
	l, err := o.link(base, o.moduleLayout, boot, extern, true)
	if err != nil {
		return nil, err
	}
	m := &Module{Name: o.name, Version: l.version, Mode: o.mode(), Imports: l.imports, text: l.regions()}
	m.Symbols = l.kallsyms(m.text)
	m.Sites = l.sites()
	m.countUnnamed(o)
	return m, nil
}

func (m *Module) countUnnamed(o *Object) {
	k := 0
	for _, r := range m.text {
		for k < len(m.Symbols) && m.Symbols[k].Addr < r.at {
			k++
		}
		b := r.bytes
		if k < len(m.Symbols) && m.Symbols[k].Addr < r.end() {
			b = b[:m.Symbols[k].Addr-r.at]
		}
		if !o.isPadding(b) {
			m.Unnamed += len(b)
		}
	}
}

// regions returns the text as it is in memory: a module's is two stretches, the
// core and the init part, filled up to the page with zeros.
func (l *linked) regions() []region {
	var all []region
	if !l.o.module {
		for i := range l.o.texts {
			all = append(all, region{at: l.at[i], bytes: l.bytes[i], init: isInit(l.o.sections[i].name)})
		}
		slices.SortFunc(all, func(a, b region) int { return cmp.Compare(a.at, b.at) })
		return all
	}
	for _, init := range []bool{false, true} {
		var at, end arch.Addr
		for i := range l.o.texts {
			if isInit(l.o.sections[i].name) != init {
				continue
			}
			if end == 0 {
				at = l.at[i] &^ (pageBytes - 1)
			}
			end = l.at[i] + arch.Addr(len(l.bytes[i]))
		}
		if end == 0 {
			continue
		}
		whole := make([]byte, alignUp(uint64(end-at), pageBytes))
		for i := range l.o.texts {
			if isInit(l.o.sections[i].name) == init {
				copy(whole[l.at[i]-at:], l.bytes[i])
			}
		}
		all = append(all, region{at: at, bytes: whole, init: init})
	}
	return all
}

// isInit reports whether a section is in a module's init part
// (kernel/module/main.c: module_init_section).
func isInit(name string) bool { return strings.HasPrefix(name, ".init") }

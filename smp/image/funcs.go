package image

import (
	"debug/elf"
	"fmt"
	"slices"
)

// A function is a stretch of code in section sec.
type function struct {
	name    string
	sec     int
	off     int
	size    int
	extable []int
	unnamed bool // code between symbols; name is section+offset
}

// Names returns the names of the functions, in the order of their addresses.
func (o *Object) Names() []string {
	var names []string
	for _, f := range o.funcs {
		if !f.unnamed {
			names = append(names, f.name)
		}
	}
	return names
}

// readFuncs lists the functions: what the symbol table calls one, and code
// that has no symbol of its own.
func (p *parser) readFuncs() error {
	o := p.o
	p.readTextSymbols()
	if o.module {
		o.funcsOfSymbols()
		return nil
	}
	if err := p.sizedFuncs(); err != nil {
		o.unplaced, o.funcs = err, nil
		o.funcsOfSymbols()
	}
	return nil
}

// sizedFuncs lists the functions by their symbols' sizes.
func (p *parser) sizedFuncs() error {
	o := p.o
	for i := range p.f.symbols {
		s := &p.f.symbols[i]
		sec := p.section(s.section)
		if sec < 0 || sec >= o.texts || s.size == 0 || !isFunc(s) {
			continue
		}
		if n := uint64(len(o.sections[sec].data)); s.value > n || s.size > n-s.value {
			return fmt.Errorf("function %s: ends behind the end of section %s: the file is damaged", s.name, o.sections[sec].name)
		}
		o.funcs = append(o.funcs, function{name: s.name, sec: sec, off: int(s.value), size: int(s.size)})
	}
	slices.SortStableFunc(o.funcs, compareFuncs)
	o.dropAliases()
	if err := o.checkFuncs(); err != nil {
		return err
	}
	o.addUnnamed()
	return nil
}

func isFunc(s *symbol) bool {
	switch elf.ST_TYPE(s.info) {
	case elf.STT_FUNC:
		return s.name != ""
	case elf.STT_NOTYPE: // assembly with .size but without .type
		return s.name != "" && elf.ST_BIND(s.info) != elf.STB_LOCAL
	}
	return false
}

func compareFuncs(a, b function) int {
	if a.sec != b.sec {
		return a.sec - b.sec
	}
	return a.off - b.off
}

// dropAliases keeps the last symbol of those that name the same bytes: the
// symbol table has local symbols first, so a global one wins.
func (o *Object) dropAliases() {
	kept := o.funcs[:0]
	for _, f := range o.funcs {
		if n := len(kept); n > 0 && kept[n-1].sec == f.sec && kept[n-1].off == f.off && kept[n-1].size == f.size {
			kept = kept[:n-1]
		}
		kept = append(kept, f)
	}
	o.funcs = kept
}

func (o *Object) checkFuncs() error {
	for i, f := range o.funcs {
		if i > 0 && o.funcs[i-1].sec == f.sec && f.off < o.funcs[i-1].off+o.funcs[i-1].size {
			return fmt.Errorf("functions %s and %s share bytes: end the first with .size before the second begins", o.funcs[i-1].name, f.name)
		}
	}
	names := o.Names()
	slices.Sort(names)
	for i := range names {
		if i > 0 && names[i] == names[i-1] {
			return fmt.Errorf("two functions are called %s: rename one", names[i])
		}
	}
	return nil
}

// addUnnamed makes a function of each stretch of code between the symbols, such
// as fixup code behind a ret: a jump or an exception-table entry may lead there.
func (o *Object) addUnnamed() {
	var all []function
	i := 0
	for sec := range o.texts {
		end := 0 // of what is covered so far
		gap := func(to int) {
			if s := o.sections[sec]; !isPadding(s.data[end:to]) {
				all = append(all, function{name: fmt.Sprintf("%s+%#x", s.name, end), sec: sec, off: end, size: to - end, unnamed: true})
			}
		}
		for ; i < len(o.funcs) && o.funcs[i].sec == sec; i++ {
			gap(o.funcs[i].off)
			all = append(all, o.funcs[i])
			end = o.funcs[i].off + o.funcs[i].size
		}
		gap(len(o.sections[sec].data))
	}
	o.funcs = all
}

// isPadding reports whether b is what an assembler fills gaps with: the bytes
// of nops of all lengths, int3 and zeros. Code must end in an instruction that
// goes elsewhere (ret, jmp, ud2), and none of those is made of these bytes alone.
func isPadding(b []byte) bool {
	for _, c := range b {
		switch c {
		case 0x00, 0x0f, 0x1f, 0x2e, 0x40, 0x44, 0x66, 0x80, 0x84, 0x90, 0xcc:
		default:
			return false
		}
	}
	return true
}

// where names a place in a loaded section for a message: function+offset, or
// section+offset if no function is there.
func (o *Object) where(sec, off int) string {
	if f := o.funcAt(sec, off); f != nil && !f.unnamed {
		return fmt.Sprintf("%s+%#x", f.name, off-f.off)
	}
	return fmt.Sprintf("%s+%#x", o.sections[sec].name, off)
}

// funcAt returns the function that the byte at sec, off belongs to, or nil.
func (o *Object) funcAt(sec, off int) *function {
	i, ok := slices.BinarySearchFunc(o.funcs, function{sec: sec, off: off}, compareFuncs)
	if !ok {
		i--
	}
	if i < 0 {
		return nil
	}
	if f := &o.funcs[i]; f.sec == sec && off-f.off < f.size {
		return f
	}
	return nil
}

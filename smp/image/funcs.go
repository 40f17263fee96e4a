package image

import (
	"debug/elf"
	"fmt"
	"slices"
	"strings"
)

// A function is a stretch of code in section sec.
type function struct {
	name    string
	sec     int
	off     int
	size    int
	extable []int
	local   bool // its symbol is
	label   bool // of assembly, local and with no type
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
	p.readLabels()
	if err := p.sizedFuncs(); err != nil {
		o.unplaced, o.funcs = err, nil
		o.funcsOfSymbols()
	}
	return nil
}

// A label is a symbol of an object.
type label struct {
	name     string
	sec, off int
	local    bool
}

// readLabels lists what has a name: variables, and functions, of which several names may
// be one.
func (p *parser) readLabels() {
	for i := range p.f.symbols {
		s := &p.f.symbols[i]
		sec := p.section(s.section)
		if sec < 0 || s.name == "" || strings.HasPrefix(s.name, ".L") || s.name[0] == '$' ||
			s.value >= uint64(len(p.o.sections[sec].data)) {
			continue
		}
		switch elf.ST_TYPE(s.info) {
		case elf.STT_FUNC, elf.STT_OBJECT, elf.STT_NOTYPE:
			p.o.labels = append(p.o.labels, label{s.name, sec, int(s.value), elf.ST_BIND(s.info) == elf.STB_LOCAL})
		}
	}
}

// sizedFuncs lists the functions by their symbols' sizes, and those of assembly that
// have none: they end where the next begins.
func (p *parser) sizedFuncs() error {
	o := p.o
	var open []function // without a size
	for i := range p.f.symbols {
		s := &p.f.symbols[i]
		sec := p.section(s.section)
		if sec < 0 || sec >= o.texts || s.name == "" {
			continue
		}
		local := elf.ST_BIND(s.info) == elf.STB_LOCAL
		if s.size == 0 && s.value < uint64(len(o.sections[sec].data)) && isEntry(s) {
			open = append(open, function{name: s.name, sec: sec, off: int(s.value), local: local, label: !isFunc(s)})
		}
		if s.size == 0 || !isFunc(s) {
			continue
		}
		if n := uint64(len(o.sections[sec].data)); s.value > n || s.size > n-s.value {
			return fmt.Errorf("function %s: ends behind the end of section %s: the file is damaged", s.name,
				o.sections[sec].name)
		}
		o.funcs = append(o.funcs, function{name: s.name, sec: sec, off: int(s.value), size: int(s.size), local: local})
	}
	slices.SortStableFunc(o.funcs, compareFuncs)
	o.dropAliases()
	if err := o.checkFuncs(); err != nil {
		return err
	}
	slices.SortStableFunc(open, compareFuncs)
	o.addUnnamed(open)
	o.numberNames()
	return nil
}

// isEntry reports whether a symbol without a size may be a function's: a label of
// assembly is, but for those that the assembler and mapping symbols make.
func isEntry(s *symbol) bool {
	return isFunc(s) || elf.ST_TYPE(s.info) == elf.STT_NOTYPE && !strings.HasPrefix(s.name, ".L") && s.name[0] != '$'
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
			return fmt.Errorf("functions %s and %s share bytes: end the first with .size before the second begins",
				o.funcs[i-1].name, f.name)
		}
	}
	return nil
}

// numberNames gives all functions of one name but the first a number: two files, each
// with a static function of that name, have been linked to one with ld -r.
func (o *Object) numberNames() {
	seen := make(map[string]int)
	for i := range o.funcs {
		f := &o.funcs[i]
		if seen[f.name]++; seen[f.name] > 1 {
			f.name = fmt.Sprintf("%s#%d", f.name, seen[f.name])
		}
	}
}

// addUnnamed makes a function of each stretch of code between the symbols with a size,
// such as fixup code after a ret: a jump or an exception-table entry may lead there.
// Open are symbols without a size, in their order: one in a stretch begins a function of
// its name. A local label of assembly does only at the beginning of the stretch: after
// other code it may be a loop's.
func (o *Object) addUnnamed(open []function) {
	var all []function
	i, k := 0, 0
	for sec := range o.texts {
		s := o.sections[sec]
		end := 0 // of what is covered so far
		code := func(f function, to int) {
			if !o.isPadding(s.data[end:to]) {
				f.sec, f.off, f.size = sec, end, to-end
				all = append(all, f)
			}
		}
		gap := func(to int) {
			f := function{name: fmt.Sprintf("%s+%#x", s.name, end), unnamed: true}
			for ; k < len(open) && open[k].sec == sec && open[k].off < to; k++ {
				switch next := open[k]; {
				case next.off < end: // in a function
				case next.off == end && f.unnamed, !next.label && next.off > end:
					code(f, next.off)
					f, end = next, next.off
				}
			}
			code(f, to)
		}
		for ; i < len(o.funcs) && o.funcs[i].sec == sec; i++ {
			gap(o.funcs[i].off)
			all = append(all, o.funcs[i])
			end = o.funcs[i].off + o.funcs[i].size
		}
		gap(len(s.data))
	}
	o.funcs = all
}

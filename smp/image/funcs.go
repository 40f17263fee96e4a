package image

import (
	"debug/elf"
	"fmt"
	"kpsim/smp/image/objfile"
	"slices"
	"strings"
)

// A function is a range of code in section sec.
type function struct {
	name    string
	sec     int
	off     int
	size    int
	extable []int
	local   bool // its symbol is local
	label   bool // it is a local, untyped label in assembly
	unnamed bool // code between symbols, named section+offset
}

// Names returns the functions' names, by address.
func (o *Object) Names() []string {
	var names []string
	for _, f := range o.funcs {
		if !f.unnamed {
			names = append(names, f.name)
		}
	}
	return names
}

// readFuncs lists the functions: those of the symbol table, and code without a symbol.
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

// readLabels lists everything with a name: variables and functions, which may have several names.
func (p *parser) readLabels() {
	for i := range p.symbols {
		s := &p.symbols[i]
		sec := p.section(s.Section)
		if sec < 0 || s.Name == "" || strings.HasPrefix(s.Name, ".L") || s.Name[0] == '$' ||
			s.Value >= uint64(len(p.o.sections[sec].data)) {
			continue
		}
		switch elf.ST_TYPE(s.Info) {
		case elf.STT_FUNC, elf.STT_OBJECT, elf.STT_NOTYPE:
			p.o.labels = append(p.o.labels, label{s.Name, sec, int(s.Value), elf.ST_BIND(s.Info) == elf.STB_LOCAL})
		}
	}
}

// sizedFuncs lists the functions by their symbols' sizes. Those of assembly without a size end
// where the next begins.
func (p *parser) sizedFuncs() error {
	o := p.o
	var open []function // symbols without a size
	for i := range p.symbols {
		s := &p.symbols[i]
		sec := p.section(s.Section)
		if sec < 0 || sec >= o.texts || s.Name == "" {
			continue
		}
		local := elf.ST_BIND(s.Info) == elf.STB_LOCAL
		if s.Size == 0 && s.Value < uint64(len(o.sections[sec].data)) && isEntry(s) {
			open = append(open, function{name: s.Name, sec: sec, off: int(s.Value), local: local, label: !isFunc(s)})
		}
		if s.Size == 0 || !isFunc(s) {
			continue
		}
		if n := uint64(len(o.sections[sec].data)); s.Value > n || s.Size > n-s.Value {
			return fmt.Errorf("function %s: ends behind the end of section %s: the file is damaged", s.Name,
				o.sections[sec].name)
		}
		o.funcs = append(o.funcs, function{name: s.Name, sec: sec, off: int(s.Value), size: int(s.Size), local: local})
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

// isEntry reports whether a symbol without a size may be a function: a label in assembly may,
// except mapping symbols and those that the assembler generates.
func isEntry(s *objfile.Symbol) bool {
	return isFunc(s) || elf.ST_TYPE(s.Info) == elf.STT_NOTYPE && !strings.HasPrefix(s.Name, ".L") && s.Name[0] != '$'
}

func isFunc(s *objfile.Symbol) bool {
	switch elf.ST_TYPE(s.Info) {
	case elf.STT_FUNC:
		return s.Name != ""
	case elf.STT_NOTYPE: // assembly with .size and without .type
		return s.Name != "" && elf.ST_BIND(s.Info) != elf.STB_LOCAL
	}
	return false
}

func compareFuncs(a, b function) int {
	if a.sec != b.sec {
		return a.sec - b.sec
	}
	return a.off - b.off
}

// dropAliases keeps the last of the symbols for the same bytes. The symbol table has local
// symbols first, so a global one is preferred.
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

// numberNames adds a number to all but the first function of a name: ld -r may have joined files
// with static functions of the same name.
func (o *Object) numberNames() {
	seen := make(map[string]int)
	for i := range o.funcs {
		f := &o.funcs[i]
		if seen[f.name]++; seen[f.name] > 1 {
			f.name = fmt.Sprintf("%s#%d", f.name, seen[f.name])
		}
	}
}

// addUnnamed makes a function of each range of code between the symbols with a size, such as
// fixup code after a ret, since a jump or an exception-table entry may lead there. open lists
// symbols without a size, in order: one in a range begins a function of its name. A local label
// in assembly does so only at the beginning of the range; after other code it may be a loop's.
func (o *Object) addUnnamed(open []function) {
	var all []function
	i, k := 0, 0
	for sec := range o.texts {
		s := o.sections[sec]
		end := 0 // end of the code covered so far
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
				case next.off < end: // inside a function
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

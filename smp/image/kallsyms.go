package image

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kpsim/smp/arch"
)

// A textSymbol is a symbol that kallsyms can return.
type textSymbol struct {
	name string
	sec  int
	off  int // may be at the section's end, or after it
}

// readTextSymbols collects the named symbols of code sections, whatever their type, in the order
// of the symbol table. Mapping symbols don't count (include/linux/module_symbol.h:
// is_mapping_symbol).
func (p *parser) readTextSymbols() {
	for i := range p.symbols {
		s := &p.symbols[i]
		sec := p.section(s.Section)
		if sec < 0 || sec >= p.o.texts || s.Name == "" || s.Value > objectBytesMax {
			continue
		}
		if strings.HasPrefix(s.Name, ".L") || strings.HasPrefix(s.Name, "L0") || s.Name[0] == '$' {
			continue
		}
		p.o.symbols = append(p.o.symbols, textSymbol{s.Name, sec, int(s.Value)})
	}
}

// funcsOfSymbols makes the functions of a module as the kernel sees them: each symbol, the first
// of several at one place, extends to the next one or to the end of its section. All but the
// first of functions with the same name get a number.
func (o *Object) funcsOfSymbols() {
	order := ordered(len(o.symbols), func(a, b int) int {
		return cmp.Or(o.symbols[a].sec-o.symbols[b].sec, o.symbols[a].off-o.symbols[b].off)
	})
	seen := make(map[string]int)
	for _, i := range order {
		s := &o.symbols[i]
		end := len(o.sections[s.sec].data)
		if s.off >= end {
			continue
		}
		if n := len(o.funcs); n > 0 && o.funcs[n-1].sec == s.sec {
			last := &o.funcs[n-1]
			if last.off == s.off {
				continue
			}
			last.size = s.off - last.off
		}
		name := s.name
		if seen[name]++; seen[name] > 1 {
			name = fmt.Sprintf("%s#%d", name, seen[name])
		}
		o.funcs = append(o.funcs, function{name: name, sec: s.sec, off: s.off, size: end - s.off})
	}
	o.addUnnamed(nil)
}

// kallsyms returns what the kernel knows about the text, by address. The kernel searches for the
// last symbol at or below an address, the first in the table if there are several, and for the
// next one above; only the text bounds it otherwise (kernel/module/kallsyms.c:
// find_kallsyms_symbol).
func (l *linked) kallsyms(text []region) []Symbol {
	at := make([]arch.Addr, len(l.o.symbols))
	for i, s := range l.o.symbols {
		at[i] = l.at[s.sec] + arch.Addr(s.off)
	}
	kept, r := make([]Symbol, 0, len(at)), 0
	for _, i := range ordered(len(at), func(a, b int) int { return cmp.Compare(at[a], at[b]) }) {
		t := &l.o.symbols[i]
		s := Symbol{Name: t.name, Addr: at[i], Section: l.o.sections[t.sec].name, Offset: t.off}
		for r < len(text) && s.Addr >= text[r].end() {
			r++
		}
		if r == len(text) || s.Addr < text[r].at {
			continue
		}
		s.Init = text[r].init
		s.Size = int(text[r].end() - s.Addr)
		if n := len(kept); n > 0 {
			switch last := &kept[n-1]; {
			case last.Addr == s.Addr:
				last.Aliases = append(last.Aliases, s.Name)
				continue
			case last.End() > s.Addr:
				last.Size = int(s.Addr - last.Addr)
			}
		}
		kept = append(kept, s)
	}
	l.blacklist(kept)
	seen := make(map[string]int, len(kept))
	for i := range kept {
		s := &kept[i]
		seen[s.Name]++
		s.Nth = seen[s.Name]
	}
	return kept
}

func (r *region) end() arch.Addr { return r.at + arch.Addr(len(r.bytes)) }

// blacklist marks the symbols that kprobes refuses: those that the tables name, and those that
// the compiler split off them. For name.cold it checks the first symbol called name
// (kernel/kprobes.c: within_kprobe_blacklist).
func (l *linked) blacklist(symbols []Symbol) {
	for _, s := range l.o.sites {
		if s.kind != SiteBlacklist {
			continue
		}
		at := l.at[s.sec] + arch.Addr(s.off)
		i, ok := slices.BinarySearchFunc(symbols, at, func(s Symbol, a arch.Addr) int { return cmp.Compare(s.Addr, a) })
		if !ok && i > 0 && symbols[i-1].End() > at {
			i--
		}
		for ; i < len(symbols) && symbols[i].Addr < at+arch.Addr(s.n); i++ {
			symbols[i].Blacklisted = true
		}
	}
	first := make(map[string]bool)
	for i := range symbols {
		if _, ok := first[symbols[i].Name]; !ok {
			first[symbols[i].Name] = symbols[i].Blacklisted
		}
	}
	for i := range symbols {
		if base, _, split := strings.Cut(symbols[i].Name, "."); split && first[base] {
			symbols[i].Blacklisted = true
		}
	}
}

// ordered returns the numbers below n sorted by compare; equal ones stay in order.
func ordered(n int, compare func(a, b int) int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(compare(a, b), a-b) })
	return order
}

package scenario

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"kpsim/smp/arch"
	"kpsim/smp/kernel"
)

// layout checks where text and data lie.
func (c checker) layout() error {
	type span struct {
		from, last uint64
		what, name string
		part       Part
	}
	a := c.s.Machine.Processor()
	variables, copies := kernel.PerCPUPlaces(a)
	spans := []span{
		{uint64(a.Addr(KernelBase)), uint64(a.Addr(DataBase)) - 1, "the kernel's own", "", PartOf(TheMachine, 0)},
		{uint64(copies.From), uint64(copies.To) - 1, "per-CPU memory", "", PartOf(TheMachine, 0)},
	}
	add := func(p Part, what, name string, at arch.Addr, n, most int) error {
		if n == 0 {
			return Faultf(p, "%s %q has no bytes; give it some in hex", what, name)
		}
		if n > most {
			return Faultf(p, "%s %q has %d bytes; at most %d", what, name, n, most)
		}
		const firstPage = 0x1000
		if at < firstPage || uint64(at) > math.MaxUint64-uint64(n) || a.Addr(at+arch.Addr(n)) != at+arch.Addr(n) {
			return Faultf(p, "%s %q can't lie at %#x; leave at out, or choose an address from %#x upward",
				what, name, uint64(at), firstPage)
		}
		spans = append(spans, span{uint64(at), uint64(at) + uint64(n) - 1, what, name, p})
		return nil
	}
	for i := range c.s.Texts {
		t, p := &c.s.Texts[i], PartOf(TheTexts, i)
		if err := add(p, "function", t.Name, t.At, len(t.Code), MaxCode); err != nil {
			return err
		}
		if t.Own && t.At%Page != 0 {
			return Faultf(p, "code %q comes and goes as whole pages; give at = a multiple of %d, or leave it out",
				t.Name, Page)
		}
		if t.Own {
			_, n, _ := t.Span()
			spans[len(spans)-1].last = uint64(t.At) + uint64(n) - 1
		}
		for k, off := range t.Extable {
			if off < 0 || off >= len(t.Code) || k > 0 && off <= t.Extable[k-1] {
				return Faultf(p,
					"extable of function %q: %d isn't an offset in it, or not in ascending order; sort them, 0 to %d",
					t.Name, off, len(t.Code)-1)
			}
		}
	}
	total := 0
	for i := range c.s.Datas {
		d := &c.s.Datas[i]
		copies := 1
		if d.PerCPU {
			copies = c.s.Machine.CPUs
		}
		if total += copies * len(d.Bytes); total > MaxMemory {
			return Faultf(PartOf(TheDatas, i), "all data up to %q take %d bytes; at most %d", d.Name, total, MaxMemory)
		}
		if d.Away && (d.At%Page != 0 || d.PerCPU || len(d.Bytes) == 0) {
			return Faultf(PartOf(TheDatas, i),
				"data %q is away when a run begins, and that are whole pages of all CPUs; give a multiple of "+
					"%d, and some bytes", d.Name, Page)
		}
		if err := add(PartOf(TheDatas, i), "data", d.Name, d.At, d.Room(), MaxData); err != nil {
			return err
		}
		if d.PerCPU && (d.At < variables.From || d.At+arch.Addr(len(d.Bytes)) > variables.To-1) {
			return Faultf(PartOf(TheDatas, i),
				"percpu %q can't lie at %#x; leave at out, or choose an address from %#x upward", d.Name, uint64(d.At),
				uint64(variables.From))
		}
	}
	for i := range c.s.Missing {
		m, p := &c.s.Missing[i], PartOf(TheMissing, i)
		if m.At%Page != 0 || m.Size <= 0 || m.Size%int(Page) != 0 {
			return Faultf(p, "missing symbol %q at %#x with %d bytes doesn't take whole pages, in which "+
				"nothing else lies; give multiples of %d",
				m.Name, uint64(m.At), m.Size, Page)
		}
		if err := add(p, "missing symbol", m.Name, m.At, m.Size, MaxData); err != nil {
			return err
		}
	}
	for i := range c.s.Aliases {
		a := &c.s.Aliases[i]
		if n := c.s.Aliased(a); n > 0 { // else checkAlias says that there is no such function
			if err := add(PartOf(TheAliases, i), "alias", a.Name, a.At, n, MaxCode); err != nil {
				return err
			}
			last := &spans[len(spans)-1]
			last.from, last.last = uint64(a.At&^(Page-1)), uint64(Align(a.At+arch.Addr(n), Page))-1
		}
	}

	for i := range c.s.Modules {
		for _, name := range slices.Concat(c.s.Modules[i].Core, c.s.Modules[i].Init) {
			if t := c.s.Text(name); t != nil && t.Own {
				return Faultf(PartOf(TheModules, i), "module %q: %q is memory for code, which tasks map; give text()",
					c.s.Modules[i].Name, name)
			}
		}
	}
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for i := 1; i < len(spans); i++ {
		a, b := spans[i-1], spans[i]
		if b.from > a.last {
			continue
		}
		if b.name == "" || a.name != "" && later(a.part, b.part) {
			a, b = b, a // report the later one
		}
		other := a.what
		if a.name != "" {
			other = fmt.Sprintf("%s %q", a.what, a.name)
		}
		return Faultf(b.part, "%s %q at %#x to %#x overlaps %s at %#x to %#x; leave at out, or move it",
			b.what, b.name, b.from, b.last, other, a.from, a.last)
	}
	return nil
}

func later(a, b Part) bool {
	if a.List != b.List {
		return slices.Index(Lists, a.List) > slices.Index(Lists, b.List)
	}
	return a.I > b.I
}

func Align(a, to arch.Addr) arch.Addr { return (a + to - 1) &^ (to - 1) }

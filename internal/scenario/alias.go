package scenario

import (
	"encoding/binary"
	"slices"

	"kpsim/smp"
	"kpsim/smp/arch"
)

// An Alias is a function's text mapped a second time, writable: what code stores there it stores to the text.
type Alias struct {
	Name string
	Of   string
	At   arch.Addr
}

// TheAliases is the row of aliases.
var TheAliases = list(func(s *Scenario) *[]Alias { return &s.Aliases }, checkAlias, List{
	What: "alias", Many: "aliases", Most: MaxLabels, Counted: "alias", Space: symbols, Given: true,
	Touches: TouchFlip | TouchHand | TouchAlias,
	Makers: []*Maker{{
		Word: "alias",
		Params: []PartParam{
			param("name", PartName, func(a *Alias) any { return &a.Name }),
			param("f", PartFunc, func(a *Alias) any { return &a.Of }).bare(),
			param("at", PartAt, func(a *Alias) any { return &a.At }).or("None"),
		},
		Says: "the text of `f` mapped a second time, writable, as a JIT or a hook maps it: a patcher that is " +
			"compiled code stores there, and so to `f`. Give it as an argument, `call(o.patch, w)`, or let " +
			"an object below refer to it by its name. A load or a store outside of `f`'s bytes, up to the " +
			"next multiple of 8, faults. A store within 8 aligned bytes is one step, another one two; a " +
			"locked instruction is one. What the text is when the patcher next calls a routine of the " +
			"kernel, returns, serialises, waits with `pause`, or stores to a byte again, is right; a CPU " +
			"that runs something between breaks T1",
	}},
})

// Span returns the place of an alias, in pages of its own: how many bytes it has is the function's to say (Aliased).
func (a *Alias) Span() (arch.Addr, int, arch.Addr) { return a.At, 0, Page }

// Aliased returns how many bytes an alias has: those of its function, up to the next multiple of 8 that no other
// function has reached, so that a store of 8 aligned bytes needs no longer function.
func (s *Scenario) Aliased(a *Alias) int {
	t := s.Text(a.Of)
	if t == nil {
		return 0
	}
	end := t.At + arch.Addr(len(t.Code))
	to := Align(end, 8)
	for i := range s.Texts {
		if o := &s.Texts[i]; o.At >= end {
			to = min(to, o.At)
		}
	}
	return int(to - t.At)
}

// PatchesByHand reports whether a scenario has a patcher of its own, by operations or by code.
func (s *Scenario) PatchesByHand() bool { return len(s.Aliases) > 0 || s.DoesAny(ByHand) }

func checkAlias(c checker, p Part, a *Alias) error {
	if err := c.function(p, p.who(a.Name), a.Of, 0); err != nil {
		return err
	}
	if at := c.s.Text(a.Of).At; a.At%Page != at%Page {
		return Faultf(p, "%s of %s can't lie at %#x: pages are mapped; leave at out, or give an address that ends "+
			"in %03x, as the function's does", p.who(a.Name), a.Of, uint64(a.At), uint64(at%Page))
	}
	if c.s.Machine.Memory == smp.TSO {
		return Faultf(p, "%s: with memory = \"tso\" a CPU holds its stores, and what holds stores to text isn't "+
			"simulated; leave memory out, for sequential consistency", p.who(a.Name))
	}
	return nil
}

// Mentions reports whether text, but for that of a function, what is written to text, or data has an address of the n
// bytes at at, or a displacement to one. Bytes that look like that by chance count, too.
func (s *Scenario) Mentions(at arch.Addr, n int, but string) bool {
	has := func(from arch.Addr, b []byte) bool {
		for i := range len(b) - 3 {
			v := binary.LittleEndian.Uint32(b[i:])
			if v-uint32(at) < uint32(n) || v+uint32(from)+uint32(i+4)-uint32(at) < uint32(n) {
				return true
			}
		}
		return false
	}
	return s.Any(func(op *Op) bool {
		t := s.Text(op.Target)
		return op.Kind.Has(ParamWritten) && t != nil && has(t.At+arch.Addr(op.Offset), op.Bytes)
	}) ||
		slices.ContainsFunc(s.Texts, func(t Text) bool { return t.Name != but && has(t.At, t.Code) }) ||
		slices.ContainsFunc(s.Datas, func(d Data) bool { return has(d.At, d.Bytes) })
}

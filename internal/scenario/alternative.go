package scenario

import (
	"bytes"
	"slices"

	"kpsim/smp/arch"
	"kpsim/smp/image"
)

// Alternative is an instruction that apply_alternatives() writes in place of another one of
// the same length, as a kernel does if a processor has a feature (apply_alternatives,
// arch/x86/kernel/alternative.c).
type Alternative struct {
	Func   string
	Offset int
	Code   []byte // the other instruction
}

// holds reports whether a byte of a function belongs to the instruction.
func (a *Alternative) holds(function string, off int) bool {
	return a.Func == function && off >= a.Offset && off < a.Offset+len(a.Code)
}

// TheAlternatives is the row of alternatives.
var TheAlternatives = list(func(s *Scenario) *[]Alternative { return &s.Alternatives }, checker.checkAlternative, List{
	What: "alternative", Many: "alternatives", Most: MaxModules, Counted: "alternative",
	Paragraph: InOthers, Touches: TouchPatched,
	patched: writes(func(a *Alternative) []Patched {
		return []Patched{{Func: a.Func, Offset: a.Offset, Len: len(a.Code), Kind: image.SiteAlternative}}
	}),
	Makers: []*Maker{{
		Word: "alternative",
		Params: []PartParam{
			param("at", PartPlace, func(a *Alternative) any { return Place{&a.Func, &a.Offset} }).bare(),
			param("hex", PartHex, func(a *Alternative) any { return &a.Code }).bare(),
		},
		Says: "the instruction at `f`, or `f + 4`, which `apply_alternatives()` replaces by another one of the " +
			"same length, as boot does if the processor has a feature",
	}},
	Going: "alternative of",
	Used:  func(op *Op) bool { return op.Kind.Traits&Alternates != 0 },
})

// checkAlternative checks that an instruction stands there, and is to stand there.
func (c checker) checkAlternative(p Part, a *Alternative) error {
	if err := c.function(p, "alternative()", a.Func, a.Offset); err != nil {
		return err
	}
	place := placeName(a.Func, a.Offset)
	if c.inModule(a.Func) {
		return Faultf(p, "alternative(): %s is of a module, whose alternatives are applied before anybody "+
			"runs it; write its function as it is then", place)
	}
	if prefixed(c.s, a.Func, a.Offset) {
		return Faultf(p, "alternative(): at %s is a lock_prefix(), which is an alternative, too; leave one out", place)
	}
	if slices.ContainsFunc(c.s.Alternatives[:p.I], func(b Alternative) bool {
		return b.Func == a.Func &&
			b.Offset == a.Offset
	}) {
		return Faultf(p, "alternative(): %s has one already; leave one out", place)
	}
	was, err := c.instruction(p, "alternative()", a.Func, a.Offset)
	if err != nil {
		return err
	}
	in, err := c.s.Machine.Processor().Decode(a.Code, c.s.Text(a.Func).At+arch.Addr(a.Offset))
	switch {
	case err != nil || in.Size() != len(a.Code):
		return Faultf(p, "alternative(): hex % x isn't one instruction; give the bytes of one", a.Code)
	case in.Size() != was.Size():
		return Faultf(p, "alternative(): hex % x is %d long, and what is at %s %d; fill the shorter one up, as "+
			"with a longer nop", a.Code, in.Size(), place, was.Size())
	case bytes.Equal(a.Code, was.Bytes()):
		return Faultf(p, "alternative(): hex % x is what is at %s; give another instruction", a.Code, place)
	}
	return nil
}

// prefixed reports whether a lock prefix begins at a place.
func prefixed(s *Scenario, name string, off int) bool {
	return slices.ContainsFunc(s.Locked, func(s Site) bool { return s.Func == name && s.Offset == off })
}

package scenario

import (
	"slices"

	"kpsim/internal/nearest"
)

func (c checker) expect() error {
	e, p := &c.s.Expect, PartOf(TheExpect, 0)
	switch {
	case e.Sometimes && e.Property == "":
		return Faultf(p, "sometimes() names no property; say which is broken")
	case e.Sometimes && e.Canary != "":
		return Faultf(p, "sometimes() has no canary; that is for never()")
	case !e.Sometimes && e.Property != "":
		return Faultf(p, "never() names no property; it means all of them")
	case e.Property != "":
		return checkName(p, "property", e.Property)
	case e.Canary != "":
		return checkName(p, "mutant", e.Canary)
	}
	return nil
}

// CheckNames checks that the property and the canary are among the given names. It is apart
// from Check, which doesn't know the names.
func (e Expect) CheckNames(properties, mutants []string) error {
	p := PartOf(TheExpect, 0)
	if e.Property != "" && !slices.Contains(properties, e.Property) {
		if slices.Contains(mutants, e.Property) {
			return Faultf(p, "sometimes(): %q is a mutant, not a property; name the property that breaks, or "+
				"plant it with --mutant", e.Property)
		}
		return Faultf(p, "sometimes(): no property %q; %s", e.Property, nearest.OrAll(e.Property, properties))
	}
	if e.Canary != "" && !slices.Contains(mutants, e.Canary) {
		if slices.Contains(properties, e.Canary) {
			return Faultf(p, "never(): %q is a property, and never() takes a mutant, its canary; never() alone "+
				"expects every property to hold", e.Canary)
		}
		return Faultf(p, "never(): no mutant %q; %s", e.Canary, nearest.OrAll(e.Canary, mutants))
	}
	return nil
}

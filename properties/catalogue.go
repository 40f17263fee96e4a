package properties

import (
	"fmt"
	"slices"

	"kpsim/internal/nearest"
)

// All is the catalogue. If several properties find a fault in one event, the first in
// this order gets the finding; so a cause comes before its consequences.
var All = []*Property{
	&NoStartInside,
	&WholeInstructions,
	&NoSailPast,
	&OwnedBreakpoint,
	&Copies,
	&ForeignBytes,
	&RightResult,
	&Transparent,
	&Accounted,
	&PostCalled,
	&ReturnPairs,
	&Instances,
	&ClientsCalled,
	&FprobePairs,
	&ProgramsCalled,
	&NewestVersion,
	&HandlerContext,
	&Answers,
	&Linearizable,
	&AfterUnregister,
	&TextRestored,
	&OptimizationOff,
	&AllOff,
	&NoUseAfterFree,
	&NoOops,
	&LastSetting,
	&SitesAgree,
	&UprobeOnce,
	&Locks,
	&Progress,
	&OptimizedAgain,
	&Returns,
	&Unoptimized,
	&TextAgrees,
	&ListAgrees,
	&ReadsTrue,
	&NoWarning,
	&NoMemoryMisuse,
	&NoLeak,
	&Balanced,
	&ModuleHolds,
	&NoRemains,
	&NoStall,
	&OneUniverse,
}

// ByName returns the property with that name or ID.
func ByName(name string) (*Property, bool) {
	for _, p := range All {
		if p.Name == name || p.ID == name {
			return p, true
		}
	}
	return nil, false
}

// Words returns what names a property: the ID and the name of each.
func Words() (words []string) {
	for _, p := range All {
		words = append(words, p.ID, p.Name)
	}
	return words
}

// A Set is a set of properties of All, one bit each, by their index.
type Set uint64

// Every is the set of all properties.
const Every = ^Set(0)

// Lost lists the properties after which a CPU may execute garbage: what is broken later says nothing about the
// patching.
var Lost = SetOf(&WholeInstructions, &NoStartInside, &OwnedBreakpoint, &NoUseAfterFree, &NoOops, &Progress)

// SetOf returns the set of some properties.
func SetOf(list ...*Property) (s Set) {
	for _, p := range list {
		if i := slices.Index(All, p); i >= 0 {
			s |= 1 << i
		}
	}
	return s
}

// Has reports whether p is in the set.
func (s Set) Has(p *Property) bool { return s&SetOf(p) != 0 }

// List returns the properties of the set in the order of All.
func (s Set) List() (list []*Property) {
	for _, p := range All {
		if s.Has(p) {
			list = append(list, p)
		}
	}
	return list
}

// Named returns the set of the properties with these names or IDs. An error names the
// one that doesn't exist.
func Named(names ...string) (s Set, err error) {
	for _, n := range names {
		p, ok := ByName(n)
		if !ok {
			var known []string
			for _, p := range All {
				known = append(known, p.Name)
			}
			return 0, fmt.Errorf("no property is called %q; %s", n, nearest.OrAll(n, known))
		}
		s |= SetOf(p)
	}
	return s, nil
}

// Names returns the names of the set's properties.
func (s Set) Names() (names []string) {
	for _, p := range s.List() {
		names = append(names, p.Name)
	}
	return names
}

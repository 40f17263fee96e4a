package properties

import (
	"fmt"
	"slices"
)

// All is the catalogue. Several properties may find fault with one event; the
// first in this order gets the finding, so that a cause stands before what
// follows from it.
var All = []*Property{
	&NoStartInside,
	&WholeInstructions,
	&NoSailPast,
	&OwnedBreakpoint,
	&RightResult,
	&Transparent,
	&Accounted,
	&PostCalled,
	&ReturnPairs,
	&Instances,
	&HandlerContext,
	&Answers,
	&Linearizable,
	&AfterUnregister,
	&TextRestored,
	&OptimizationOff,
	&AllOff,
	&NoUseAfterFree,
	&NoOops,
	&Locks,
	&Progress,
	&OptimizedAgain,
	&Returns,
	&Unoptimized,
	&TextAgrees,
	&ListAgrees,
}

// ByName returns the property of that name, or of that ID.
func ByName(name string) (*Property, bool) {
	for _, p := range All {
		if p.Name == name || p.ID == name {
			return p, true
		}
	}
	return nil, false
}

// A Set is some properties of All, a bit each, by their places in it.
type Set uint64

// Every is all of them.
const Every = ^Set(0)

// SetOf returns the set of some properties.
func SetOf(list ...*Property) (s Set) {
	for _, p := range list {
		if i := slices.Index(All, p); i >= 0 {
			s |= 1 << i
		}
	}
	return s
}

// Has reports whether p is one of them.
func (s Set) Has(p *Property) bool { return s&SetOf(p) != 0 }

// List returns them in the order of All.
func (s Set) List() (list []*Property) {
	for _, p := range All {
		if s.Has(p) {
			list = append(list, p)
		}
	}
	return list
}

// Named returns the set of the properties of these names, or IDs. An error names the one
// that isn't there.
func Named(names ...string) (s Set, err error) {
	for _, n := range names {
		p, ok := ByName(n)
		if !ok {
			return 0, fmt.Errorf("no property is called %q", n)
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

package plan

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"kpsim/internal/nearest"
)

// arguments are a call's, by name. The first error is kept.
type arguments struct {
	verb  string
	given map[string]starlark.Value
	known []string // those that were asked for
	err   error
}

// takeAll calls f with the arguments of a call. Arguments that f doesn't read are errors.
func takeAll(verb string, kwargs []starlark.Tuple, f func(a *arguments) error) error {
	a := &arguments{verb: verb, given: make(map[string]starlark.Value)}
	var names []string
	for _, kv := range kwargs {
		name, _ := starlark.AsString(kv[0])
		names = append(names, name)
		a.given[name] = kv[1]
	}
	err := f(a)
	for _, n := range names {
		if !slices.Contains(a.known, n) {
			return fmt.Errorf("%s has no %s; %s", verb, n, nearest.DidYouMean(n, a.known))
		}
	}
	if a.err != nil {
		return a.err
	}
	return err
}

func (a *arguments) fail(format string, args ...any) {
	if a.err == nil {
		a.err = fmt.Errorf(a.verb+": "+format, args...)
	}
}

func (a *arguments) value(name string) starlark.Value {
	a.known = append(a.known, name)
	return a.given[name]
}

func (a *arguments) text(name, unless string) string {
	v := a.value(name)
	if v == nil {
		return unless
	}
	s, ok := starlark.AsString(v)
	if !ok || s == "" {
		a.fail("%s: give a text, not %s", name, v)
	}
	return s
}

// mostNumber is the largest number in a file.
const mostNumber = 1 << 62

func (a *arguments) number(name string, unless int64) int64 {
	v := a.value(name)
	if v == nil {
		return unless
	}
	return a.int(name, v)
}

func (a *arguments) int(name string, v starlark.Value) int64 {
	i, ok := v.(starlark.Int)
	n, fits := i.Int64()
	if !ok || !fits || n > mostNumber || n < 0 && name != "priority" {
		a.fail("%s: give a number from 0 up, not %s", name, v)
		return 0
	}
	return n
}

func (a *arguments) flag(name string) bool {
	v := a.value(name)
	if v == nil {
		return false
	}
	b, ok := v.(starlark.Bool)
	if !ok {
		a.fail("%s: give True or False, not %s", name, v)
	}
	return bool(b)
}

// each calls f for the elements of a list.
func (a *arguments) each(name string, v starlark.Value, f func(v starlark.Value)) {
	list, ok := v.(starlark.Iterable)
	if !ok {
		a.fail("%s: give a list, not %s", name, v)
		return
	}
	it := list.Iterate()
	defer it.Done()
	for n := 0; it.Next(&v); n++ {
		if n == mostSearches {
			a.fail("%s: more than %d", name, mostSearches)
			return
		}
		f(v)
	}
}

func (a *arguments) texts(name string, unless ...string) (list []string) {
	v := a.value(name)
	if v == nil {
		return unless
	}
	return a.strings(name, v)
}

func (a *arguments) strings(name string, v starlark.Value) (list []string) {
	a.each(name, v, func(v starlark.Value) {
		s, ok := starlark.AsString(v)
		if !ok || s == "" {
			a.fail("%s: give texts, not %s", name, v)
		}
		list = append(list, s)
	})
	return list
}

func (a *arguments) numbers(name string, unless ...uint64) (list []uint64) {
	v := a.value(name)
	if v == nil {
		return unless
	}
	a.each(name, v, func(v starlark.Value) { list = append(list, uint64(a.int(name, v))) })
	return list
}

// lists reads a list of lists of texts; without one it returns a list with one empty list.
func (a *arguments) lists(name string) (list [][]string) {
	v := a.value(name)
	if v == nil {
		return [][]string{nil}
	}
	a.each(name, v, func(v starlark.Value) { list = append(list, a.strings(name, v)) })
	return list
}

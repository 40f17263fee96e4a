package era

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kpsim/kprobes/rules"
	"kpsim/sim"
)

// A Row is one setting. A value is the number of its word in Values.
type Row struct {
	Word   string   // the parameter of machine()
	Values []string // the words of its values; False and True for a boolean
	Says   string   // the description that kpsim editions prints
	Means  string   // the description for docs/scenarios.md, with the effect of each value
	Build  bool     // the build decides it, whatever the edition
	Others int      // this many values, the last ones, are of other processors than x86

	// Decided reports whether kprobes of a processor have anything of the kind; nil: all do.
	Decided func(d rules.Decoder) bool

	presets [rules.Editions + 1][2]uint8 // by edition, built without and with preemption
	get     func(s *Settings) uint8
	set     func(s *Settings, v uint8)
}

// Drawable returns how many values a machine of x86 may have: the first ones.
func (r *Row) Drawable() int { return len(r.Values) - r.Others }

// ofX86 makes it a setting of x86 alone.
func (r Row) ofX86() Row {
	r.Decided = func(d rules.Decoder) bool { return d == rules.DecodesX86 }
	return r
}

// ofJumps makes it a setting of processors whose kprobes become jumps.
func (r Row) ofJumps() Row {
	r.Decided = rules.Decoder.Optimizes
	return r
}

// ofTraced makes it a setting of processors whose kprobes may go through ftrace.
func (r Row) ofTraced() Row {
	r.Decided = rules.Decoder.Traced
	return r
}

// others makes the last n values those of other processors.
func (r Row) others(n int) Row {
	r.Others = n
	return r
}

// Get returns the setting's value.
func (r *Row) Get(s *Settings) uint8 { return r.get(s) }

// Set sets the setting's value.
func (r *Row) Set(s *Settings, v uint8) { r.set(s, v) }

// Preset returns the value that an edition presets for a build with or without
// CONFIG_PREEMPTION. For rules.EditionNone it returns the default.
func (r *Row) Preset(e rules.Edition, preemption bool) uint8 {
	if preemption {
		return r.presets[e][1]
	}
	return r.presets[e][0]
}

// Bool reports whether the values are False and True.
func (r *Row) Bool() bool { return r.Values[0] == no }

// Value formats a value as the scenario language writes it.
func (r *Row) Value(v uint8) string {
	switch {
	case int(v) >= len(r.Values):
		return fmt.Sprintf("%d?", v)
	case r.Bool():
		return r.Values[v]
	}
	return strconv.Quote(r.Values[v])
}

// The words of a boolean.
const no, yes = "False", "True"

// A field gives access to a setting's field in Settings: the words of its values, and
// functions that read and write their numbers.
type field struct {
	words []string
	get   func(s *Settings) uint8
	set   func(s *Settings, v uint8)
}

// enum returns a field whose constants are numbered in the order of the words.
func enum[T ~uint8](at func(s *Settings) *T, words ...string) field {
	return field{words, func(s *Settings) uint8 { return uint8(*at(s)) }, func(s *Settings, v uint8) { *at(s) = T(v) }}
}

// list returns a field that takes the given values. Each value has one word.
func list[T comparable](at func(s *Settings) *T, values []T, words ...string) field {
	return field{words,
		func(s *Settings) uint8 { return uint8(max(slices.Index(values, *at(s)), 0)) },
		func(s *Settings, v uint8) { *at(s) = values[v] }}
}

// flag returns a boolean field.
func flag(at func(s *Settings) *bool) field { return list(at, []bool{false, true}, no, yes) }

// row makes a row. presets holds one word per column: first the default, then the
// editions', oldest first. "_" stands for False and "yes" for True. a/b stands for a in a
// build without preemption and b in a build with it.
func row(word string, f field, presets, says, means string) Row {
	r := Row{Word: word, Values: f.words, Says: says, Means: means, get: f.get, set: f.set}
	columns := strings.Fields(presets)
	if len(columns) != len(r.presets) {
		sim.Bug("setting %s has %d presets", word, len(columns))
	}
	for e, c := range columns {
		without, with, both := strings.Cut(c, "/")
		if !both {
			with = without
		}
		r.presets[e] = [2]uint8{r.number(without), r.number(with)}
	}
	return r
}

// ofBuild makes a row that the build decides and no edition presets.
func ofBuild(word string, f field, says, means string) Row {
	r := row(word, f, strings.Repeat("_ ", rules.Editions+1), says, means)
	r.Build = true
	return r
}

// number returns the value that a preset's word stands for.
func (r *Row) number(word string) uint8 {
	switch word {
	case "_":
		word = no
	case "yes":
		word = yes
	}
	i := slices.Index(r.Values, word)
	if i < 0 {
		sim.Bug("setting %s has no value %q", r.Word, word)
	}
	return uint8(i)
}

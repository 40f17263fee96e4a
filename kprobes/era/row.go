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
	Values []string // the words of its values; False and True of a yes or no
	Says   string   // what it decides, for kpsim editions
	Means  string   // what it decides and what each value does, for docs/scenarios.md
	Build  bool     // the build decides it, whatever the edition

	presets [rules.Editions + 1][2]uint8 // by edition, built without and with preemption
	get     func(s *Settings) uint8
	set     func(s *Settings, v uint8)
}

// Get returns the setting's value.
func (r *Row) Get(s *Settings) uint8 { return r.get(s) }

// Set sets it.
func (r *Row) Set(s *Settings, v uint8) { r.set(s, v) }

// Preset returns the value that an edition has, of a build with or without
// CONFIG_PREEMPTION; of rules.EditionNone what holds if nothing is said.
func (r *Row) Preset(e rules.Edition, preemption bool) uint8 {
	if preemption {
		return r.presets[e][1]
	}
	return r.presets[e][0]
}

// Bool reports whether the values are False and True.
func (r *Row) Bool() bool { return r.Values[0] == no }

// Value prints a value as the language has it.
func (r *Row) Value(v uint8) string {
	switch {
	case int(v) >= len(r.Values):
		return fmt.Sprintf("%d?", v)
	case r.Bool():
		return r.Values[v]
	}
	return strconv.Quote(r.Values[v])
}

// The words of a yes or no.
const no, yes = "False", "True"

// A field is where a setting is in Settings: the words of its values, and how
// their numbers are read and written.
type field struct {
	words []string
	get   func(s *Settings) uint8
	set   func(s *Settings, v uint8)
}

// enum is a field whose constants are numbered as the words.
func enum[T ~uint8](at func(s *Settings) *T, words ...string) field {
	return field{words, func(s *Settings) uint8 { return uint8(*at(s)) }, func(s *Settings, v uint8) { *at(s) = T(v) }}
}

// list is a field that takes some values, a word each.
func list[T comparable](at func(s *Settings) *T, values []T, words ...string) field {
	return field{words,
		func(s *Settings) uint8 { return uint8(max(slices.Index(values, *at(s)), 0)) },
		func(s *Settings, v uint8) { *at(s) = values[v] }}
}

// flag is a field that is yes or no.
func flag(at func(s *Settings) *bool) field { return list(at, []bool{false, true}, no, yes) }

// row makes a row. presets are words, with _ for no and yes for it: first what
// holds if nothing is said, then the editions', oldest first. Of a build without
// and with preemption: a/b.
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

// ofBuild makes a row that the build decides: no edition has it.
func ofBuild(word string, f field, says, means string) Row {
	r := row(word, f, strings.Repeat("_ ", rules.Editions+1), says, means)
	r.Build = true
	return r
}

// number returns the value of a word of a preset.
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

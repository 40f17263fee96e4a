package scenario

import (
	"kpsim/internal/nearest"
	"kpsim/kprobes/era"
)

// A Setting is a row: all that is known about one parameter of machine(). Language, printer,
// checks, generator, shrinker and docs/scenarios.md are made from it. The default is the zero of
// its field, unless it is Preset or cpus: the printer leaves out what has its default.
type Setting struct {
	Word string // its name in the language
	Value
	Says string // its paragraph in docs/scenarios.md; "": traces have it, and authors don't write it

	OfKprobes bool // it is a setting of the engine kprobes alone
	Preset    bool // the edition gives the default value
	check     func(c checker, p Part) error
	Drawn     *DrawnSetting // how the generator draws it; nil: it isn't drawn, or package gen has code for it

	// Plainer lists the simplifications that the shrinker may try; nil: none.
	Plainer func(m *Machine) []Change[*Machine]
}

// A DrawnSetting says how the generator switches a setting on.
type DrawnSetting struct {
	Part   string                 // the part of a recipe that decides it
	In     int                    // one in how many programs has it
	Unless func(s *Scenario) bool // the programs that don't get it; nil: each may
	With   func(m *Machine)       // changes the other settings that it needs; nil: none
}

// A Change makes a machine, or a part, plainer.
type Change[T any] struct {
	Says string // for a report
	Do   func(x T)
}

// A ValueKind says how the language writes a setting.
type ValueKind uint8

// The constants are the kinds of value.
const (
	ValueNumber ValueKind = iota
	ValueWord             // one of Words
	ValueSwitch           // False or True
	ValueCPUs             // a list of CPUs; the field holds the set
	ValueName             // any text
	ValueBuild            // options of a build, which decide other settings: no field holds them
)

// A Value says which values a setting takes, and which field of Machine holds it.
type Value struct {
	Kind        ValueKind
	words       []string // for a word, by number
	None        bool     // for a word: number 0 is None
	Least, Most int      // for a number
	rangeSays   string   // ends the message about a number out of range, with a verb for Most

	late func() []string // instead of words: they aren't known before the program's packages are initialised
	get  func(m *Machine) uint64
	set  func(m *Machine, v uint64)
	name func(m *Machine) *string // for a ValueName, instead of get and set
}

// Words returns the words that a setting takes, by number.
func (v *Value) Words() []string {
	if v.late != nil {
		return v.late()
	}
	return v.words
}

// Get returns the setting's value: a number, the number of a word, 0 or 1, or a set of CPUs.
func (v *Value) Get(m *Machine) uint64 { return v.get(m) }

// Set sets the setting to n, encoded as Get returns it.
func (v *Value) Set(m *Machine, n uint64) { v.set(m, n) }

// Name returns a pointer to the field of a ValueName.
func (v *Value) Name(m *Machine) *string { return v.name(m) }

func number(at func(m *Machine) *int, least, most int, says string) Value {
	return Value{Kind: ValueNumber, Least: least, Most: most, rangeSays: says,
		get: func(m *Machine) uint64 { return uint64(*at(m)) }, set: func(m *Machine, v uint64) { *at(m) = int(v) }}
}

func word[T ~uint8](at func(m *Machine) *T, words []string) Value {
	return Value{Kind: ValueWord, words: words,
		get: func(m *Machine) uint64 { return uint64(*at(m)) }, set: func(m *Machine, v uint64) { *at(m) = T(v) }}
}

func optional(v Value) Value {
	v.None = true
	return v
}

func flag(at func(m *Machine) *bool) Value {
	return Value{Kind: ValueSwitch, get: func(m *Machine) uint64 {
		if *at(m) {
			return 1
		}
		return 0
	}, set: func(m *Machine, v uint64) { *at(m) = v != 0 }}
}

// ofEditions returns the settings that editions and builds decide, as rows.
func ofEditions() (list []*Setting) {
	for i := range era.Table {
		r := &era.Table[i]
		v := Value{Kind: ValueWord, words: r.Values,
			get: func(m *Machine) uint64 { return uint64(r.Get(&m.Settings)) },
			set: func(m *Machine, v uint64) { r.Set(&m.Settings, uint8(v)) }}
		if r.Bool() {
			v.Kind = ValueSwitch
		}
		list = append(list, &Setting{Word: r.Word, Value: v, Says: r.Means, Preset: true, OfKprobes: r.Word != "patch"})
	}
	return list
}

// machine checks the settings, by their rows.
func (c checker) machine() error {
	m, p := &c.s.Machine, PartOf(TheMachine, 0)
	for _, r := range Settings {
		switch r.Kind {
		case ValueNumber:
			if n := int(r.Get(m)); n < r.Least || n > r.Most {
				return Faultf(p, "%s = %d is out of range; "+r.rangeSays, r.Word, n, r.Most)
			}
		case ValueWord:
			if n := r.Get(m); n >= uint64(len(r.Words())) {
				return Faultf(p, "%s = %d isn't known; it is one of %s", r.Word, n, nearest.Quoted(r.Words()))
			}
		}
	}
	for _, r := range Settings {
		if r.check != nil {
			if err := r.check(c, p); err != nil {
				return err
			}
		}
	}
	return nil
}

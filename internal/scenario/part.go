package scenario

import (
	"slices"
	"strconv"

	"kpsim/smp/image"
)

// A List is a row: all that is known about one list of a Scenario and about the parts in it.
// Language, printer, checks, shrinker and docs/scenarios.md are made from it.
type List struct {
	What    string   // what messages call a part: "label"
	Many    string   // what they call several
	Most    int      // how many there may be; 0: any number
	Counted string   // what Size calls a part; "": it isn't counted
	Space   string   // no two parts of one space have the same name; "": the names are free
	Unknown string   // ends a message about a name that no part has; "": the near names do
	Makers  []*Maker // the functions of the language that make a part
	Given   bool     // operations and handlers take it, by what its maker has returned

	Touches Touches                          // the features that each part has
	touches func(s *Scenario, x any) Touches // and those that some have; nil: none

	Paragraph Paragraph // where it is printed
	Last      bool      // it is printed after the others of its paragraph

	// For the shrinker.
	Going string                    // what reports call a part that is left out, before its name; "": What
	Used  func(op *Op) bool         // for parts without a name: whether an operation may depend on them; nil: unknown
	Fewer func(x any) []Change[any] // what may be left out of a part, each with what reports call it

	patched func(s *Scenario, x any) []Patched // where others than probes write over text; nil: nowhere

	of    func(s *Scenario) elements
	check func(c checker, p Part, x any) error // of one part
	all   func(c checker, l *List) error       // of all of them, before check; nil: nothing
}

// A Paragraph is a part of a printed scenario; an empty line is between two of them.
type Paragraph uint8

// The constants are the paragraphs, in their order.
const (
	InText Paragraph = iota
	InProbes
	InOthers
	InPrograms
	InInterrupts
	Paragraphs int = iota
)

// Lists are all rows, in the order in which parts are checked and left out.
var Lists []*List

func init() { // not above: rows have checks that go through all of them
	Lists = []*List{
		TheTexts, TheDatas, TheMissing, TheAliases, TheProbes, TheLabels, TheModules, TheSites, TheFprobes, TheBpfs,
		TheLocked, TheAlternatives, TheReserved, TheCalls, TheTasks, TheSources,
	}
}

// What errors may be about beside the parts of lists.
var (
	TheScenario = &List{What: "scenario"}
	TheMachine  = &List{What: "machine"}
	TheExpect   = &List{What: "what is expected"}
)

// A Patched is a place in a function that others than probes write over.
type Patched struct {
	Func        string
	Offset, Len int
	Kind        image.SiteKind // that of the kernel's table that names it
	Trampoline  bool           // the function is nothing but this place
}

// Patched calls do for each place that others than probes write over.
func (s *Scenario) Patched(do func(t Patched)) {
	for _, l := range Lists {
		for i := 0; l.patched != nil && i < l.Len(s); i++ {
			for _, t := range l.patched(s, l.At(s, i)) {
				do(t)
			}
		}
	}
}

// A Maker is a row: a function of the language that makes a part.
type Maker struct {
	Word    string      // its name in the language
	Params  []PartParam // the parameters between its brackets, in order
	Says    string      // its paragraph in docs/scenarios.md
	Kernel  []string    // the kernel's names for it
	Printed []string    // the order of printed parameters; nil: that of Params

	Is    func(x any) bool   // whether it makes a part like x; nil: it makes all of the list
	Init  func(x any)        // makes a new part one of this maker's; nil: nothing
	Lacks func(x any) string // why the place is missing that a call may leave out; "" if it isn't
}

// A PartParam is a parameter of a Maker.
type PartParam struct {
	Name    string
	Kind    PartParamKind
	Default string          // as it is written; "": it is required
	At      func(x any) any // where a part holds it: a pointer, or a Place or a Word
	Bare    bool            // it is printed without its name
	Always  bool            // it is printed although it has its default
	Follows bool            // it doesn't keep the symbols that it names: one that goes is left out here, too
}

// A PartParamKind says which values the language accepts for a parameter of a Maker, and what At
// returns.
type PartParamKind uint8

// The constants are the kinds of parameter of parts, each with what At returns.
const (
	PartName       PartParamKind = iota // *string; with a default it is What and a number
	PartSymbol                          // *string: a name that may be a function's
	PartNumber                          // *int
	PartCPU                             // *int: a CPU
	PartSwitch                          // *bool
	PartWord                            // Word
	PartSize                            // Size
	PartFunc                            // *string: a function, "" for none
	PartRun                             // *string: likewise, which an interrupt calls
	PartFuncs                           // *[]string
	PartBlocks                          // *[]string: data
	PartPlace                           // Place: a place in a function
	PartOffset                          // Place: it moves the place
	PartAt                              // *arch.Addr: left out, the next free address
	PartCode                            // *[]byte: instructions
	PartCodeSize                        // *[]byte: how many they are
	PartHex                             // *[]byte
	PartRoom                            // *[]byte: how many they are, with zeros after those that are given
	PartBody                            // *[]byte: instructions, and what follows them
	PartSpace                           // *[]byte: how many they are, with breakpoints after those that are given
	PartOffsets                         // *[]int, ascending
	PartKeySites                        // *[]LabelSite: where they are
	PartKeyTargets                      // *[]LabelSite: where their jumps go
	PartKeyLikely                       // *[]LabelSite: which are likely
	PartSites                           // *[]CallSite: those that are calls
	PartTails                           // *[]CallSite: those that are tails
	PartSteps                           // *[]Step
	PartEntry                           // *Probe: steps in Pre, or a function in Entry
	PartOps                             // *[]Op
	PartArgs                            // *[]uint64
)

// A Place is where a part holds a place in a function.
type Place struct {
	Func   *string
	Offset *int
}

// A Word is where a part holds one of several words, by its number.
type Word struct {
	Words []string
	At    *uint8
}

// A Size is where a part holds a number of bytes, which the other parameters decide if it is left out.
type Size struct {
	At        *int
	Otherwise int
}

// param returns a required parameter. at returns where a part holds it.
func param[T any](name string, kind PartParamKind, at func(x *T) any) PartParam {
	return PartParam{Name: name, Kind: kind, At: func(x any) any { return at(x.(*T)) }, Bare: kind == PartName}
}

// or makes it a parameter that may be left out. otherwise is its default, as it is written.
func (a PartParam) or(otherwise string) PartParam {
	a.Default, a.Bare = otherwise, false
	return a
}

// bare prints it without its name.
func (a PartParam) bare() PartParam {
	a.Bare = true
	return a
}

// always prints it although it has its default.
func (a PartParam) always() PartParam {
	a.Always = true
	return a
}

// follows makes it one that doesn't keep the symbols that it names.
func (a PartParam) follows() PartParam {
	a.Follows = true
	return a
}

// Takes reports whether the function has a parameter of that name.
func (m *Maker) Takes(name string) bool {
	return slices.ContainsFunc(m.Params, func(a PartParam) bool { return a.Name == name })
}

// Order returns the parameters in the order in which they are printed.
func (m *Maker) Order() []PartParam {
	if m.Printed == nil {
		return m.Params
	}
	list := make([]PartParam, len(m.Printed))
	for i, name := range m.Printed {
		list[i] = m.Params[slices.IndexFunc(m.Params, func(a PartParam) bool { return a.Name == name })]
	}
	return list
}

// elements is a list of a Scenario.
type elements interface {
	len() int
	at(i int) any // a pointer to an element
	fresh() any
	add(x any)
	drop(i int)
	clone()
}

type listOf[T any] []T

func (l *listOf[T]) len() int     { return len(*l) }
func (l *listOf[T]) at(i int) any { return &(*l)[i] }
func (l *listOf[T]) fresh() any   { return new(T) }
func (l *listOf[T]) add(x any)    { *l = append(*l, *x.(*T)) }
func (l *listOf[T]) drop(i int)   { *l = slices.Delete(*l, i, i+1) }
func (l *listOf[T]) clone()       { *l = slices.Clone(*l) }

// list completes a row: of returns its list, and check, which may be nil, checks a part.
func list[T any](of func(s *Scenario) *[]T, check func(c checker, p Part, x *T) error, row List) *List {
	row.of = func(s *Scenario) elements { return (*listOf[T])(of(s)) }
	if check != nil {
		row.check = func(c checker, p Part, x any) error { return check(c, p, x.(*T)) }
	}
	return &row
}

// on makes a function of any part one of the parts of a list.
func on[T, R any](f func(x *T) R) func(x any) R { return func(x any) R { return f(x.(*T)) } }

// writes makes a function of a part one that List.patched is.
func writes[T any](f func(x *T) []Patched) func(*Scenario, any) []Patched {
	return func(_ *Scenario, x any) []Patched { return f(x.(*T)) }
}

// Len returns the number of parts in the list.
func (l *List) Len(s *Scenario) int { return l.of(s).len() }

// At returns a pointer to part i.
func (l *List) At(s *Scenario, i int) any { return l.of(s).at(i) }

// Add appends a part. x points to it.
func (l *List) Add(s *Scenario, x any) { l.of(s).add(x) }

// Drop removes part i. The list isn't shared with another scenario.
func (l *List) Drop(s *Scenario, i int) { l.of(s).drop(i) }

// Clone replaces the list by a copy.
func (l *List) Clone(s *Scenario) { l.of(s).clone() }

// New returns a pointer to a new part with the defaults of its maker.
func (l *List) New(m *Maker) any {
	x := l.of(new(Scenario)).fresh()
	if m.Init != nil {
		m.Init(x)
	}
	for i := range m.Params {
		switch a := &m.Params[i]; a.Kind {
		case PartNumber:
			*a.At(x).(*int), _ = strconv.Atoi(a.Default)
		case PartSize:
			*a.At(x).(Size).At = -1
		case PartSteps:
			if a.Default == "[count()]" {
				*a.At(x).(*[]Step) = []Step{{Kind: StepCount}}
			}
		}
	}
	return x
}

// Maker returns the maker of parts like x; nil: the language has none.
func (l *List) Maker(x any) *Maker {
	for _, m := range l.Makers {
		if m.Is == nil || m.Is(x) {
			return m
		}
	}
	return nil
}

// Name returns a part's name; "": its kind has none.
func (l *List) Name(x any) string {
	if a := &l.Makers[0].Params[0]; a.Kind == PartName {
		return *a.At(x).(*string)
	}
	return ""
}

// Names returns the names of all parts.
func (l *List) Names(s *Scenario) (words []string) {
	for i := range l.Len(s) {
		words = append(words, l.Name(l.At(s, i)))
	}
	return words
}

// Called returns what reports call a part that is left out: "label key", "site of f".
func (l *List) Called(x any) string {
	name, going := l.Name(x), l.Going
	if name == "" {
		name = *l.Makers[0].Params[0].At(x).(Place).Func
	}
	if going == "" {
		going = l.What
	}
	return going + " " + name
}

// Symbols calls do for each function and each block of data that a part names by a parameter that
// keeps them.
func (l *List) Symbols(x any, do func(name string)) {
	m := l.Maker(x)
	if m == nil {
		return
	}
	for i := range m.Params {
		if a := &m.Params[i]; !a.Follows {
			a.symbols(x, do)
		}
	}
}

func (a *PartParam) symbols(x any, do func(name string)) {
	switch at := a.At(x).(type) {
	case Place:
		do(*at.Func)
	case *string:
		if a.Kind == PartFunc || a.Kind == PartRun || a.Kind == PartSymbol {
			do(*at)
		}
	case *[]string:
		for _, name := range *at {
			do(name)
		}
	case *[]CallSite:
		for _, t := range *at {
			do(t.Func)
		}
	case *[]LabelSite:
		for _, t := range *at {
			switch a.Kind {
			case PartKeySites:
				do(t.Func)
			case PartKeyTargets:
				do(t.Target)
			}
		}
	case *[]Step:
		for _, st := range *at {
			if !st.Kind.Has(StepProbe) {
				do(st.Target)
			}
		}
	case *[]Op:
		for i := range *at {
			for _, name := range (*at)[i].Symbols() {
				do(name)
			}
		}
	case *Probe:
		do(at.Entry)
		for _, st := range at.Pre {
			if !st.Kind.Has(StepProbe) {
				do(st.Target)
			}
		}
	}
}

// DropSymbol leaves the function or block of data of that name out of the parts that follow it.
func DropSymbol(s *Scenario, name string) {
	for _, l := range Lists {
		for i := l.Len(s) - 1; i >= 0; i-- {
			x := l.At(s, i)
			m := l.Maker(x)
			for k := 0; m != nil && k < len(m.Params); k++ {
				if a := &m.Params[k]; a.Follows {
					switch at := a.At(x).(type) {
					case Place:
						if *at.Func == name {
							l.Drop(s, i)
						}
					case *[]string:
						*at = slices.DeleteFunc(slices.Clone(*at), func(n string) bool { return n == name })
					}
				}
			}
		}
	}
}

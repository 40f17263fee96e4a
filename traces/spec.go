package traces

import (
	"fmt"
	"strings"
)

// A Spec is the row of a kind of event: all that is known about the kind before one happens.
// Columns, stories, exports and docs/events.md are made from it.
type Spec struct {
	Kind Kind
	Name string
	Args []Arg  // at most three: A, B and C
	Doc  string // what has happened, for docs/events.md

	// Says is the text of an event, with holes for its arguments: {addr} shows one by its type,
	// {size#byte} counts, and {done|begins|ends} chooses by the value, the last for all greater
	// ones. Holes may be in the choices. Text makes the text where that isn't enough. Where the
	// text depends on earlier events (TextStore, Exec), package view makes it (special in
	// say.go). A kind with none of the three is shown by its arguments.
	Says string
	Text func(e *Event, n Names) string

	Class  Class
	Weight Weight
	State  string // a claim of the engine: from this event on, the place A is in this state

	Heads    bool // events of the kind head the log, before the run
	Monitors bool // only monitors get it (Log.Tell)
	Rig      bool // the rig emits it, not the machine or an engine
}

// Names lists the names that a text can use besides those of its arguments' types.
type Names interface {
	Symbol(addr uint64) string
	Task(id uint64) string
	Lock(id uint64) string
}

// A Class is what an event does to text, which gives it its colour.
type Class uint8

const (
	ClassNone Class = iota
	ClassStore
	ClassTrap
	ClassClaim
	ClassViolation
)

// A Weight is how much an event matters to a reader.
type Weight uint8

const (
	Little Weight = iota
	Some
	Much
	Near // Much at the place of the violation, Some at another patched place, Little elsewhere
)

// An Arg is an argument of a kind of event.
type Arg struct {
	Name string
	Type *Type // nil: it belongs to the previous argument
}

// A Type says what the number of an argument means.
type Type struct {
	Name string
	Doc  string              // for docs/events.md
	Show func(uint64) string // nil: the names belong to the run, and the view has them
}

// Named returns an argument of the type.
func (t *Type) Named(name string) Arg { return Arg{name, t} }

// Word returns the type of a number that has a name.
func Word(name, doc string, show func(uint64) string) *Type { return &Type{name, doc, show} }

// The variables are types used in more than one vocabulary.
var (
	Place   = &Type{Name: "place", Doc: "an address of text, or of memory that was handed out for a probe"}
	Address = &Type{Name: "address", Doc: "an address, named by its symbol alone"}
	Code    = &Type{Name: "code", Doc: "an address of text, shown with its line in the source"}
	IP      = &Type{Name: "ip", Doc: "a saved instruction pointer"}
	Bytes   = &Type{Name: "bytes", Doc: "the bytes of an instruction, packed in this argument and the next"}
	Task    = &Type{Name: "task", Doc: "the number of a task"}
	CPU     = Word("cpu", "the number of a CPU", decimal)
	CPUs    = &Type{Name: "cpus", Doc: "a set of CPUs, a bit each"}
	Lock    = &Type{Name: "lock", Doc: "the number of a lock"}
	Probe   = &Type{Name: "probe", Doc: "the number of a probe of the scenario"}
	Source  = &Type{Name: "source", Doc: "the number of an interrupt source"}
	Errno   = &Type{Name: "errno", Doc: "0, or the positive number of an errno"}
	Size    = Word("size", "a number of bytes", decimal)
	Count   = Word("count", "how many there are", decimal)
	Number  = Word("number", "which one of several", decimal)
	Value   = Word("value", "a word of memory, a register, or a digest", hex)
	Flag    = Word("flag", "1: yes, 0: no", decimal)
)

func decimal(n uint64) string { return fmt.Sprint(n) }
func hex(n uint64) string     { return fmt.Sprintf("%#x", n) }

// Set returns the type of a set of named things, one bit each.
func Set(name, doc string, bits ...string) *Type {
	return Word(name, doc, func(set uint64) string {
		var list []string
		for i, n := range bits {
			if set>>i&1 != 0 {
				list = append(list, n)
			}
		}
		if list == nil {
			return "none of that"
		}
		return strings.Join(list, ", ")
	})
}

// Of returns the type of a number that selects one of the names.
func Of(name, doc string, names ...string) *Type {
	return Word(name, doc, func(n uint64) string {
		if n < uint64(len(names)) && names[n] != "" {
			return names[n]
		}
		return fmt.Sprintf("%s %d", name, n)
	})
}

var specs [kindCount]Spec

// Define adds rows. It panics on a clash. It returns a value so that a var declaration can
// call it.
func Define(list ...Spec) struct{} {
	for i := range list {
		row := &list[i]
		if specs[row.Kind].Name != "" {
			panic(fmt.Sprintf("traces: kind %d defined twice: %s, %s", row.Kind, specs[row.Kind].Name, row.Name))
		}
		specs[row.Kind] = *row
	}
	return struct{}{}
}

// Kinds returns the kinds of all vocabularies, in order.
func Kinds() (list []Kind) {
	for k := range Kind(kindCount) {
		if specs[k].Name != "" {
			list = append(list, k)
		}
	}
	return list
}

// Spec returns the row of a kind. Its Name is empty if there is none.
func (k Kind) Spec() *Spec { return &specs[k] }

func (k Kind) String() string { return specs[k].Name }

// Args returns the event's arguments, as many as its kind has.
func (e *Event) Args() []uint64 { return []uint64{e.A, e.B, e.C}[:len(specs[e.Kind].Args)] }

// Fill replaces the holes of a text like Says by the event's arguments, as show prints them.
func (e *Event) Fill(text string, show func(a Arg, v uint64) string) string {
	var b strings.Builder
	for {
		before, rest, more := strings.Cut(text, "{")
		b.WriteString(before)
		if !more {
			return b.String()
		}
		hole, after, _ := cutHole(rest, '}')
		b.WriteString(e.fill(hole, show))
		text = after
	}
}

func (e *Event) fill(hole string, show func(a Arg, v uint64) string) string {
	name, how := hole, ""
	if i := strings.IndexAny(hole, "#|"); i >= 0 {
		name, how = hole[:i], hole[i:]
	}
	for i, v := range e.Args() {
		a := specs[e.Kind].Args[i]
		switch {
		case a.Name != name:
		case how == "":
			return show(a, v)
		case how[0] == '#':
			return Counted(v, how[1:])
		default:
			choice, rest, more := cutHole(how[1:], '|')
			for ; v > 0 && more; v-- {
				choice, rest, more = cutHole(rest, '|')
			}
			return e.Fill(choice, show)
		}
	}
	return fmt.Sprintf("{%s isn't an argument of %s}", name, e.Kind)
}

// cutHole cuts a text at the first end that is outside holes, if there is one.
func cutHole(text string, end byte) (before, after string, found bool) {
	depth := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == end && depth == 0:
			return text[:i], text[i+1:], true
		case c == '{':
			depth++
		case c == '}':
			depth--
		}
	}
	return text, "", false
}

// Counted prints a number with its unit: 1 byte, 2 bytes.
func Counted(n uint64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

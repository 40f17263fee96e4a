package scenario

import (
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"

	"kpsim/internal/nearest"
)

// The constants limit a scenario. The first two are the machine's: a question is answered with
// two words of 64 bits, one bit per CPU and one bit per source.
const (
	MaxCPUs    = 64
	MaxSources = 63 // the optimizer's timer is one more
	MaxTasks   = 200
	MaxProbes  = 1000
	MaxLabels  = 200
	MaxModules = 20 // also the largest number of lock prefixes, of static calls and of alternatives
	MaxTexts   = 2000
	MaxDatas   = 2000
	MaxMissing = 2000
	MaxOps     = 1000          // in one task
	MaxSteps   = 100           // in one handler
	MaxStall   = 1_000_000_000 // cycles
	MaxArgs    = 6             // the registers of the calling convention
	MaxRepeat  = 1_000_000
	MaxAtMost  = 1000
	MaxBudget  = 50_000_000 // boundaries of one run: half a minute, more with many hits, and some hundred MB
	MaxCode    = 1 << 16    // bytes of one function
	MaxData    = 1 << 19    // bytes of one block
	MaxMemory  = 1 << 22    // bytes of all blocks, including the copies for each CPU
	MaxSource  = 1 << 20    // bytes of the program that a scenario prints as, or is loaded from
)

const maxName = 200 // bytes of a name; a sentence may have ten times as many

// A Part is element I of a List, or element j of that (an operation of a task).
type Part struct {
	List *List
	I, j int
}

// PartOf returns element i of a list.
func PartOf(of *List, i int) Part { return Part{of, i, -1} }

// PartIn returns element j of element i of a list.
func PartIn(of *List, i, j int) Part { return Part{of, i, j} }

// in returns element j of a part.
func (p Part) in(j int) Part { return Part{p.List, p.I, j} }

// who begins a message about a part of that name.
func (p Part) who(name string) string { return fmt.Sprintf("%s %q", p.List.What, name) }

// A Fault is one error, and the part that it is about: Load knows the line of each part.
type Fault struct {
	Part Part
	Msg  string
}

func (f *Fault) Error() string { return f.Msg }

func Faultf(p Part, format string, args ...any) error {
	return &Fault{p, fmt.Sprintf(format, args...)}
}

// Placed returns an error about a part of the scenario. errors.As finds a Fault in it.
func Placed(p Part, err error) error { return &placed{Fault{p, err.Error()}, err} }

type placed struct {
	fault Fault
	err   error
}

func (p *placed) Error() string   { return p.fault.Msg }
func (p *placed) Unwrap() []error { return []error{&p.fault, p.err} }

// Messages returns the messages of faults.
func Messages(list []*Fault) (says []string) {
	for _, f := range list {
		says = append(says, f.Msg)
	}
	return says
}

// Check returns what is wrong with a scenario, or nil. lang.Check also checks that it prints
// as a program that is short enough.
func Check(s *Scenario) error {
	c := checker{s: s}
	has := func() error { return served(c) }
	for _, check := range []func() error{c.names, c.machine, has, c.layout, c.engine, c.lists, c.expect} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// lists checks the parts, by their rows.
func (c checker) lists() error {
	for _, l := range Lists {
		if l.all != nil {
			if err := l.all(c, l); err != nil {
				return err
			}
		}
		for i := 0; l.check != nil && i < l.Len(c.s); i++ {
			if err := l.check(c, PartOf(l, i), l.At(c.s, i)); err != nil {
				return err
			}
		}
	}
	return nil
}

type checker struct{ s *Scenario }

// names checks that every name can be printed and means one thing.
func (c checker) names() error {
	s := c.s
	if err := checkName(PartOf(TheScenario, 0), "scenario", s.Name); err != nil {
		return err
	}
	if len(s.Says) > 10*maxName || !printable(s.Says) {
		return Faultf(PartOf(TheScenario, 0),
			"says of scenario %q isn't a printable sentence of at most %d bytes; shorten it", s.Name, 10*maxName)
	}

	if int(s.Needs) >= len(NeedsWords) {
		return Faultf(PartOf(TheScenario, 0), "needs = %d isn't known; it is one of %s", s.Needs,
			nearest.Quoted(NeedsWords))
	}

	for _, l := range Lists {
		if n := l.Len(s); l.Most > 0 && n > l.Most {
			return Faultf(PartOf(l, l.Most), "%d %s are too many; at most %d", n, l.Many, l.Most)
		}
	}
	seen := make(map[[2]string]bool) // by space and name
	for _, l := range Lists {
		for i := 0; l.Space != "" && i < l.Len(s); i++ {
			if err := unique(seen, PartOf(l, i), l.Name(l.At(s, i))); err != nil {
				return err
			}
		}
	}
	return nil
}

// unique checks a part's name, which is the first of its space so far.
func unique(seen map[[2]string]bool, p Part, name string) error {
	what, space := p.List.What, p.List.Space
	if space == symbols && slices.Contains(exports, name) {
		return Faultf(p, "%s %q has the name of a function of the kernel; rename it", what, name)
	}
	if err := checkName(p, what, name); err != nil {
		return err
	}
	if seen[[2]string{space, name}] {
		return Faultf(p, "%s %q is there twice; give one another name", what, name)
	}
	seen[[2]string{space, name}] = true
	return nil
}

func checkName(p Part, what, name string) error {
	if name == "" || len(name) > maxName || !printable(name) {
		return Faultf(p, "name %.40q of a %s isn't printable text of 1 to %d bytes; give another", name, what, maxName)
	}
	return nil
}

func printable(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// function checks that name is a function and that offset lies in it.
func (c checker) function(p Part, who, name string, offset int) error {
	t := c.s.Text(name)
	if t == nil {
		return Faultf(p, "%s: no function %q; %s", who, name, nearest.OrAll(name, TheTexts.Names(c.s)))
	}
	if offset < 0 || offset >= len(t.Code) {
		return Faultf(p, "%s: offset %d is outside %s; it has %d bytes, so 0 to %d", who, offset, name, len(t.Code),
			len(t.Code)-1)
	}
	return nil
}

package scenario

import (
	"fmt"
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

// A List names a list of the Scenario, or its one machine or expectation.
type List uint8

const (
	TheScenario List = iota
	TheMachine
	TheTexts
	TheDatas
	TheMissing
	TheProbes
	TheLabels
	TheModules
	TheSites
	TheLocked
	TheReserved
	TheFprobes
	TheCalls
	TheTasks
	TheSources
	TheExpect
	TheAlternatives
)

// A Part is an element of a list. An error names it, so that the language can report its line.
type Part struct {
	List List
	I, j int // j: which element of that element, such as an operation of a task; -1: the whole
}

// PartOf returns element i of a list.
func PartOf(of List, i int) Part { return Part{of, i, -1} }

// PartIn returns element j of element i of a list.
func PartIn(of List, i, j int) Part { return Part{of, i, j} }

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
	for _, check := range []func() error{
		c.names, c.machine, c.layout, c.engine, c.probes, c.labels, c.around, c.tasks, c.sources, c.expect,
	} {
		if err := check(); err != nil {
			return err
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

	type count struct {
		what    string
		n, most int
		list    List
	}
	for _, n := range []count{
		{"functions", len(s.Texts), MaxTexts, TheTexts},
		{"blocks of data", len(s.Datas), MaxDatas, TheDatas},
		{"missing symbols", len(s.Missing), MaxMissing, TheMissing},
		{"probes", len(s.Probes), MaxProbes, TheProbes},
		{"labels", len(s.Labels), MaxLabels, TheLabels},
		{"modules", len(s.Modules), MaxModules, TheModules},
		{"sites of ftrace", len(s.Sites), MaxTexts, TheSites},
		{"reserved places", len(s.Reserved), MaxTexts, TheReserved},
		{"lock prefixes", len(s.Locked), MaxModules, TheLocked},
		{"static calls", len(s.Calls), MaxModules, TheCalls},
		{"alternatives", len(s.Alternatives), MaxModules, TheAlternatives},
		{"tasks", len(s.Tasks), MaxTasks, TheTasks},
		{"sources of interrupts", len(s.Sources), MaxSources, TheSources},
	} {
		if n.n > n.most {
			return Faultf(PartOf(n.list, n.most), "%d %s are too many; at most %d", n.n, n.what, n.most)
		}
	}

	symbols := make(map[string]bool) // functions and data share one table
	for i := range s.Texts {
		if err := c.symbol(symbols, PartOf(TheTexts, i), "function", s.Texts[i].Name); err != nil {
			return err
		}
	}
	for i := range s.Datas {
		if err := c.symbol(symbols, PartOf(TheDatas, i), "data", s.Datas[i].Name); err != nil {
			return err
		}
	}
	for i := range s.Missing {
		if err := c.symbol(symbols, PartOf(TheMissing, i), "missing symbol", s.Missing[i].Name); err != nil {
			return err
		}
	}
	probes, labels, tasks := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for i := range s.Probes {
		if err := unique(probes, PartOf(TheProbes, i), "probe", s.Probes[i].Name); err != nil {
			return err
		}
	}
	for i := range s.Labels {
		if err := unique(labels, PartOf(TheLabels, i), "label", s.Labels[i].Name); err != nil {
			return err
		}
	}
	others := make(map[string]bool)
	for i := range s.Modules {
		if err := unique(others, PartOf(TheModules, i), "module", s.Modules[i].Name); err != nil {
			return err
		}
	}
	for i := range s.Calls {
		if err := unique(others, PartOf(TheCalls, i), "static call", s.Calls[i].Name); err != nil {
			return err
		}
	}
	for i := range s.Tasks {
		if err := unique(tasks, PartOf(TheTasks, i), "task", s.Tasks[i].Name); err != nil {
			return err
		}
	}
	return nil
}

func (c checker) symbol(seen map[string]bool, p Part, what, name string) error {
	if _, ok := KernelExport(name); ok {
		return Faultf(p, "%s %q has the name of a function of the kernel; rename it", what, name)
	}
	return unique(seen, p, what, name)
}

func unique(seen map[string]bool, p Part, what, name string) error {
	if err := checkName(p, what, name); err != nil {
		return err
	}
	if seen[name] {
		return Faultf(p, "%s %q is there twice; give one another name", what, name)
	}
	seen[name] = true
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
		var names []string
		for i := range c.s.Texts {
			names = append(names, c.s.Texts[i].Name)
		}
		return Faultf(p, "%s: no function %q; %s", who, name, nearest.OrAll(name, names))
	}
	if offset < 0 || offset >= len(t.Code) {
		return Faultf(p, "%s: offset %d is outside %s; it has %d bytes, so 0 to %d", who, offset, name, len(t.Code),
			len(t.Code)-1)
	}
	return nil
}

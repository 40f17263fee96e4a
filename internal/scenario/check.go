package scenario

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// The limits of a scenario. The first two are the machine's: a question is
// answered with two words of 64 bits, a bit a CPU and a bit a source.
const (
	MaxCPUs    = 64
	MaxSources = 63 // the optimizer's timer is one more
	MaxTasks   = 200
	MaxProbes  = 1000
	MaxLabels  = 200
	MaxModules = 20 // also of the others that patch text: lock prefixes, static calls
	MaxTexts   = 2000
	MaxDatas   = 2000
	MaxMissing = 2000
	MaxOps     = 1000 // of one task
	MaxSteps   = 100  // of one handler
	MaxArgs    = 6    // the registers of the calling convention
	MaxRepeat  = 1_000_000
	MaxAtMost  = 1000
	MaxBudget  = 50_000_000 // boundaries of one run: half a minute, more with many hits, and some hundred MB
	MaxCode    = 1 << 16    // bytes of one function
	MaxData    = 1 << 19    // bytes of one block
	MaxMemory  = 1 << 22    // bytes of all blocks, with the copies that each CPU has
	MaxSource  = 1 << 20    // bytes of the program that a scenario prints as, or is loaded from
)

const maxName = 200 // bytes of a name; of a sentence ten times that

// A list names a list of the Scenario, a part one element of it; j is an
// element's element (an operation of a task), or -1.
type list uint8

const (
	theScenario list = iota
	theMachine
	theTexts
	theDatas
	theMissing
	theProbes
	theLabels
	theModules
	theSites
	theLocked
	theReserved
	theCalls
	theTasks
	theSources
	theExpect
)

type part struct {
	list list
	i, j int
}

// A fault is one thing that is wrong, and where: Load knows the line of each part.
type fault struct {
	part part
	msg  string
}

func (f *fault) Error() string { return f.msg }

func faultf(p part, format string, args ...any) error {
	return &fault{p, fmt.Sprintf(format, args...)}
}

// Check says what is wrong with a scenario, or nil. Load has checked what it
// returns; call Check for one that was built in Go.
// Does reports whether a task does an operation.
func (s *Scenario) Does(kind OpKind) bool {
	for i := range s.Tasks {
		for k := range s.Tasks[i].Ops {
			if s.Tasks[i].Ops[k].Kind == kind {
				return true
			}
		}
	}
	return false
}

func Check(s *Scenario) error {
	c := checker{s: s}
	for _, check := range []func() error{
		c.names, c.machine, c.layout, c.probes, c.labels, c.around, c.tasks, c.sources, c.expect, c.size,
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
	if err := checkName(part{theScenario, 0, -1}, "scenario", s.Name); err != nil {
		return err
	}
	if len(s.Says) > 10*maxName || !printable(s.Says) {
		return faultf(part{theScenario, 0, -1},
			"says of scenario %q isn't a printable sentence of at most %d bytes; shorten it", s.Name, 10*maxName)
	}

	if int(s.Needs) >= len(needsWords) {
		return faultf(part{theScenario, 0, -1}, "needs = %d isn't known; it is one of %s", s.Needs, quoted(needsWords))
	}

	type count struct {
		what    string
		n, most int
		list    list
	}
	for _, n := range []count{
		{"functions", len(s.Texts), MaxTexts, theTexts},
		{"blocks of data", len(s.Datas), MaxDatas, theDatas},
		{"missing symbols", len(s.Missing), MaxMissing, theMissing},
		{"probes", len(s.Probes), MaxProbes, theProbes},
		{"labels", len(s.Labels), MaxLabels, theLabels},
		{"modules", len(s.Modules), MaxModules, theModules},
		{"sites of ftrace", len(s.Sites), MaxTexts, theSites},
		{"reserved places", len(s.Reserved), MaxTexts, theReserved},
		{"lock prefixes", len(s.Locked), MaxModules, theLocked},
		{"static calls", len(s.Calls), MaxModules, theCalls},
		{"tasks", len(s.Tasks), MaxTasks, theTasks},
		{"sources of interrupts", len(s.Sources), MaxSources, theSources},
	} {
		if n.n > n.most {
			return faultf(part{n.list, n.most, -1}, "%d %s are too many; at most %d", n.n, n.what, n.most)
		}
	}

	symbols := make(map[string]bool) // functions and data share one table
	for i := range s.Texts {
		if err := c.symbol(symbols, part{theTexts, i, -1}, "function", s.Texts[i].Name); err != nil {
			return err
		}
	}
	for i := range s.Datas {
		if err := c.symbol(symbols, part{theDatas, i, -1}, "data", s.Datas[i].Name); err != nil {
			return err
		}
	}
	for i := range s.Missing {
		if err := c.symbol(symbols, part{theMissing, i, -1}, "missing symbol", s.Missing[i].Name); err != nil {
			return err
		}
	}
	probes, labels, tasks := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for i := range s.Probes {
		if err := unique(probes, part{theProbes, i, -1}, "probe", s.Probes[i].Name); err != nil {
			return err
		}
	}
	for i := range s.Labels {
		if err := unique(labels, part{theLabels, i, -1}, "label", s.Labels[i].Name); err != nil {
			return err
		}
	}
	others := make(map[string]bool)
	for i := range s.Modules {
		if err := unique(others, part{theModules, i, -1}, "module", s.Modules[i].Name); err != nil {
			return err
		}
	}
	for i := range s.Calls {
		if err := unique(others, part{theCalls, i, -1}, "static call", s.Calls[i].Name); err != nil {
			return err
		}
	}
	for i := range s.Tasks {
		if err := unique(tasks, part{theTasks, i, -1}, "task", s.Tasks[i].Name); err != nil {
			return err
		}
	}
	return nil
}

// size checks that Load would take what String prints.
func (c checker) size() error {
	least := 0 // that it prints as, without printing it: what is shared is printed each time
	for i := range c.s.Texts {
		least += 2 * len(c.s.Texts[i].Code)
	}
	for i := range c.s.Tasks {
		for j := range c.s.Tasks[i].Ops {
			least += len("user()") + 2*len(c.s.Tasks[i].Ops[j].Bytes)
		}
	}
	if least <= MaxSource {
		p := newPrinter()
		p.most = MaxSource
		p.scenario(c.s)
		least = p.b.Len()
	}
	if least > MaxSource {
		return faultf(part{theScenario, 0, -1}, "the scenario prints as more than %d bytes; leave out functions that nothing runs", MaxSource)
	}
	return nil
}

func (c checker) symbol(seen map[string]bool, p part, what, name string) error {
	if _, ok := KernelExport(name); ok {
		return faultf(p, "%s %q has the name of a function of the kernel; rename it", what, name)
	}
	return unique(seen, p, what, name)
}

func unique(seen map[string]bool, p part, what, name string) error {
	if err := checkName(p, what, name); err != nil {
		return err
	}
	if seen[name] {
		return faultf(p, "%s %q is there twice; give one another name", what, name)
	}
	seen[name] = true
	return nil
}

func checkName(p part, what, name string) error {
	if name == "" || len(name) > maxName || !printable(name) {
		return faultf(p, "name %.40q of a %s isn't printable text of 1 to %d bytes; give another", name, what, maxName)
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

func (c checker) machine() error {
	m, p := &c.s.Machine, part{theMachine, 0, -1}
	if m.CPUs < 1 || m.CPUs > MaxCPUs {
		return faultf(p, "cpus = %d is out of range; a machine has 1 to %d", m.CPUs, MaxCPUs)
	}
	if m.Steps < 0 || m.Steps > MaxBudget {
		return faultf(p, "steps = %d is out of range; 0 is the default budget, %d the largest", m.Steps, MaxBudget)
	}
	for _, e := range []struct {
		what  string
		n     uint8
		words []string
	}{
		{"preempt", uint8(m.Preempt), preemptWords},
		{"fetch", uint8(m.Fetch), fetchWords},
		{"modules", uint8(m.Modules), moduleWords},
		{"edition", uint8(m.Edition), editionWords},
	} {
		if int(e.n) >= len(e.words) {
			return faultf(p, "%s = %d isn't known; it is one of %s", e.what, e.n, quoted(e.words))
		}
	}
	for i := range settings {
		if s := &settings[i]; int(s.get(m)) >= len(s.words) {
			return faultf(p, "%s = %d isn't known; it is one of %s", s.word, s.get(m), quoted(s.words))
		}
	}
	return nil
}

func (c checker) text(name string) *Text {
	for i := range c.s.Texts {
		if c.s.Texts[i].Name == name {
			return &c.s.Texts[i]
		}
	}
	return nil
}

// function checks that name is a function and that offset lies in it.
func (c checker) function(p part, who, name string, offset int) error {
	t := c.text(name)
	if t == nil {
		var names []string
		for i := range c.s.Texts {
			names = append(names, c.s.Texts[i].Name)
		}
		return faultf(p, "%s: no function %q; %s", who, name, near(name, names))
	}
	if offset < 0 || offset >= len(t.Code) {
		return faultf(p, "%s: offset %d is outside %s; it has %d bytes, so 0 to %d", who, offset, name, len(t.Code), len(t.Code)-1)
	}
	return nil
}

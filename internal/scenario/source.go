package scenario

import (
	"fmt"
	"slices"

	"kpsim/internal/nearest"
	"kpsim/kprobes/era"
	"kpsim/smp"
	"kpsim/smp/kapi"
)

// Source is a source of interrupts on one CPU.
type Source struct {
	Kind   *SourceKind
	CPU    int
	AtMost int      // how often it may fire in a run
	Run    string   // a function the handler calls, or ""
	Args   []uint64 // the arguments of Run, at most MaxArgs
	Opens  bool     // a timer handler that enables interrupts before it ends
	Idle   bool     // it also fires while its CPU is idle
}

// A SourceKind is a row: all that is known about a source of interrupts. Language, printer,
// checks, shrinker, vet's notes and docs/scenarios.md are made from it. Sources are of one
// kind if their pointers are equal.
type SourceKind struct {
	Word    string         // its name in the language, and in traces
	Params  []SourceParam  // what may stand between its brackets after cpu and at_most, in order
	Says    string         // its paragraph in docs/scenarios.md
	Kernel  []string       // the kernel's names for it
	Machine smp.SourceKind // its kind in the machine
	Nests   bool           // it also fires in handlers
	Plain   bool           // any other source may be shrunk to it

	// Idle returns why it changes no run, "" if it may; nil: it always may.
	Idle func(s *Scenario, src *Source) string
}

// String returns the kind's name.
func (k *SourceKind) String() string {
	if k == nil {
		return "no source"
	}
	return k.Word
}

// A SourceParam is a parameter that not every source has.
type SourceParam uint8

// The constants are the parameters, each with its field.
const (
	SourceRun   SourceParam = iota // Run
	SourceOpens                    // Opens
	SourceIdle                     // Idle
	SourceArgs                     // Args
)

// Has reports whether a source has a parameter.
func (k *SourceKind) Has(p SourceParam) bool { return slices.Contains(k.Params, p) }

// SourceKinds are all rows, in the order of the page.
var SourceKinds = []*SourceKind{SourceTimer, SourceNMI, SourcePreempt}

// The variables are the sources.
var (
	SourceTimer = &SourceKind{
		Word:   "timer",
		Params: []SourceParam{SourceRun, SourceOpens, SourceIdle, SourceArgs},
		Says: "a timer tick, whose handler calls `run`, with up to six numbers, `args = [3, 5]`; `opens`: the " +
			"handler turns interrupts on before it ends; `idle`: it also fires while the CPU has no task to run",
		Machine: smp.TimerSource,
		Plain:   true,
	}

	SourceNMI = &SourceKind{
		Word:    "nmi",
		Params:  []SourceParam{SourceRun, SourceIdle, SourceArgs},
		Says:    "a non-maskable interrupt; `run`, `args` and `idle` as a timer's",
		Machine: smp.NMISource,
		Nests:   true,
	}

	SourcePreempt = &SourceKind{
		Word:    "preempt",
		Says:    "a reschedule interrupt: another task is to run. It needs a second task on that CPU",
		Kernel:  []string{"smp_send_reschedule", "resched_curr"},
		Machine: smp.PreemptSource,
		Idle:    preemptsNone,
	}
)

// preemptsNone says why a reschedule interrupt preempts no task.
func preemptsNone(s *Scenario, src *Source) string {
	m, tasks := &s.Machine, 0
	for i := range s.Tasks {
		if s.Tasks[i].CPU == src.CPU {
			tasks++
		}
	}
	// each CPU has a stopper then
	stops := m.Patch == era.PatchStopMachine || m.Quiesce == kapi.QuiesceStackCheck ||
		m.Unoptimize == era.UnoptimizePatcher
	switch {
	case m.Preempt < PreemptFull:
		return fmt.Sprintf(`never fires: with preempt = %q no task is preempted; say preempt = "full", or leave it `+
			"out", m.Preempt)
	case tasks < 2 && src.CPU != 0 && !stops: // the kernel's own workers are on CPU 0
		have := fmt.Sprintf("%d tasks", tasks)
		if tasks == 1 {
			have = "one task"
		}
		return fmt.Sprintf("preempts no task: cpu%d has %s, and no other to run instead; add a second one, "+
			"task(cpu = %d, ops = [schedule()])", src.CPU, have, src.CPU)
	}
	return ""
}

// lacks says for each parameter whether a source has set it, and what is wrong if its kind
// lacks it.
var lacks = [...]struct {
	said func(s *Source) bool
	says string
}{
	SourceRun:   {func(s *Source) bool { return s.Run != "" }, "runs no function; use timer() or nmi()"},
	SourceOpens: {func(s *Source) bool { return s.Opens }, "can't turn interrupts on; use timer(opens = True)"},
	SourceIdle: {func(s *Source) bool {
		return s.Idle
	}, "finds no task to preempt on an idle CPU; use timer(idle = True)"},
	SourceArgs: {func(*Source) bool { return false }, ""}, // Args belongs to run
}

func (c checker) sources() error {
	for i := range c.s.Sources {
		s, p := &c.s.Sources[i], PartOf(TheSources, i)
		if s.Kind == nil {
			words := names(SourceKinds, func(k **SourceKind) string { return (*k).Word })
			return Faultf(p, "it is no source; it is one of %s", nearest.Quoted(words))
		}
		who := s.Kind.Word + "()"
		if err := c.cpu(p, who, s.CPU); err != nil {
			return err
		}
		if s.AtMost < 1 || s.AtMost > MaxAtMost {
			return Faultf(p, "%s: at_most = %d is out of range; 1 to %d", who, s.AtMost, MaxAtMost)
		}
		for param, row := range lacks {
			if row.said(s) && !s.Kind.Has(SourceParam(param)) {
				return Faultf(p, "%s %s", who, row.says)
			}
		}
		if s.Run != "" {
			if err := c.function(p, who, s.Run, 0); err != nil {
				return err
			}
		}
		if s.Run == "" && len(s.Args) > 0 {
			return Faultf(p, "%s: args are those of the function that is run; give it run = f too", who)
		}
		if most := len(c.s.Machine.Processor().Args); len(s.Args) > most {
			return Faultf(p, "%s: %d arguments are too many; a call has at most %d, all in registers", who, len(s.Args),
				most)
		}
	}
	return nil
}

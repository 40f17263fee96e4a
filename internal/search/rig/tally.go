package rig

import (
	"fmt"

	"kpsim/engine"
	"kpsim/internal/scenario"
	"kpsim/kprobes/kpev"
	"kpsim/sched"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A Tally counts what a run's probes did, and records what its kernel prints.
type Tally struct {
	Lines  []string // of the kernel's log
	rig    *Rig
	counts map[counted]int
	order  []counted // the keys of counts, in the order of their insertion
}

// counted is one kind of event of a probe.
type counted struct {
	probe uint64
	what  traces.Kind
	which uint64
}

// Listen makes t the tally of a rig's next run.
func (t *Tally) Listen(r *Rig) {
	t.rig, t.counts, t.order = r, make(map[counted]int), nil
	r.Log.Subscribe(t, kpev.ApiReturn, kpev.Handler, kpev.JprobeEnter, kpev.Missed, kpev.Skipped, kpev.Printk,
		smpev.GPStall)
}

// Event implements traces.Sink.
func (t *Tally) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case kpev.Printk:
		t.Lines = append(t.Lines, kpev.Text(kpev.Line(e.A), e.B, e.C))
	case smpev.GPStall:
		t.Lines = append(t.Lines, smpev.Stall(e.A, e.B, e.C, e.CPU, t.rig.taskName))
	case kpev.Handler:
		t.count(counted{e.A, e.Kind, e.B})
	case kpev.ApiReturn:
		if e.A == kpev.Register {
			t.count(counted{e.B, e.Kind, e.C})
		}
	default:
		t.count(counted{e.A, e.Kind, 0})
	}
	return nil
}

func (t *Tally) count(c counted) {
	if t.counts[c]++; t.counts[c] == 1 {
		t.order = append(t.order, c)
	}
}

// Counts returns how often a handler of a probe ran. which is kpev.Pre or another.
func (t *Tally) Counts(probe, which uint64) int { return t.counts[counted{probe, kpev.Handler, which}] }

// Probed returns what happened to each of n probes in the run, except for jumps.
func (t *Tally) Probed(n int) []Probed {
	list := make([]Probed, n)
	for _, c := range t.order {
		if c.probe >= uint64(n) {
			continue
		}
		switch p := &list[c.probe]; {
		case c.what == kpev.Handler, c.what == kpev.JprobeEnter, c.what == kpev.Missed, c.what == kpev.Skipped:
			p.Hit = true
		case c.what == kpev.ApiReturn && c.which == 0:
			p.Registered = true
		case c.what == kpev.ApiReturn:
			p.Refused, p.Errno = true, max(p.Errno, int(c.which))
		}
	}
	return list
}

// Entries returns how often the entry of a jprobe ran.
func (t *Tally) Entries(probe uint64) int { return t.counts[counted{probe, kpev.JprobeEnter, 0}] }

// Missed returns how often a probe was hit and ran no handler, and how often a sibling's
// handler skipped it.
func (t *Tally) Missed(probe uint64) (missed, skipped int) {
	return t.counts[counted{probe, kpev.Missed, 0}], t.counts[counted{probe, kpev.Skipped, 0}]
}

// Engine returns the rig's engine.
func (r *Rig) Engine() engine.Engine { return r.wiring.engine }

// List reads the engine's file list, "" if it has none.
func (r *Rig) List() string {
	for _, f := range r.wiring.engine.Files() {
		if f.Name == "list" {
			return f.Read()
		}
	}
	return ""
}

// Probe returns the address of the scenario's probe number i in the run, and its nmissed.
func (r *Rig) Probe(i int) (at arch.Addr, nmissed int) {
	s := r.wiring.engine.Status(i)
	if r.Scenario.Probes[i].Kind == scenario.ProbeKretprobe {
		return s.Addr, s.NoInstance
	}
	return s.Addr, s.Missed
}

// ModuleState returns the state of the scenario's module of that name.
func (p *Plan) ModuleState(name string) kapi.ModuleState { return p.Kernel.Modules.Named(name).Now() }

// Verdict says how a run of the rig's ended.
func (p *Plan) Verdict(run *Run) string {
	if broken := run.Property; broken != nil {
		what := p.Message(run)
		if run.Finding.Place != 0 {
			what = "at " + p.Machine.Names().SymbolName(run.Finding.Place) + ": " + what
		}
		return fmt.Sprintf("%s %s is broken, %s", broken.ID, broken.Name, what)
	}
	if run.Err != nil {
		return run.Err.Error()
	}
	return "it " + run.Outcome.String()
}

// Once makes run number 0 of a strategy, and reports what the probes did. The rig must not
// have run before.
func (r *Rig) Once(s sched.Strategy) (Run, *Tally) {
	r.Learnt()
	t := new(Tally)
	t.Listen(r)
	run, _ := r.Next(s, 0)
	r.Log.Unsubscribe(t)
	return run, t
}

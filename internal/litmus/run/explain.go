package run

import (
	"slices"

	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
)

// An Explainable program says what its threads are about to do, and what
// its registers and locations hold.
type Explainable interface {
	Program

	// Next is the instruction of the test that a CPU stands before; its Text is "" if
	// there is none.
	Next(m *smp.Machine, cpu int) Instr

	// Note returns a remark on the last step of a CPU, or "". A second call returns "".
	Note(cpu int) string

	// Values are all registers and locations, always the same ones in the same order.
	Values(m *smp.Machine) []Value
}

// An Instr is an instruction of a test.
type Instr struct {
	Text   string
	Stores bool     // to memory, and a CPU may hold the store
	Writes []string // registers and locations whose values are shown even if they stay
}

// A Value is what a register or location holds.
type Value struct{ Name, Value string }

// A Line is one step of a schedule.
type Line struct {
	CPU     int
	What    string   // an instruction; "" for the oldest store that the CPU holds, which takes effect
	Held    bool     // its store doesn't take effect yet
	Ends    bool     // the thread ends, and what it holds takes effect
	Changes []string // NAME=VALUE
	Note    string   // what else there is to say
}

// Explain runs a program by the schedule of an outcome and says what each step did.
func Explain(p Explainable, o *Outcome, m Memory) ([]Line, error) {
	h, err := newHarness(p, m)
	if err != nil {
		return nil, err
	}
	defer h.m.Close()
	t := &teller{p: p, m: h.m, next: make([]Instr, p.CPUs()), waits: make([][]waiting, p.CPUs())}
	h.m.Footprint().Observe(t)
	ch := sched.NewExact(o.Schedule)
	ch.Begin(0)
	end, err := h.run(t.beginning(ch))
	if err != nil {
		return nil, err
	}
	ch.End(h.m.Counts().Points)
	if text, _, _ := p.Outcome(h.m); end != smp.Passed || text != o.Text {
		sim.Bug("a schedule that led to %s leads to %s", o.Text, text)
	}
	return t.lines, nil
}

// A teller takes down what steps do.
type teller struct {
	p      Explainable
	m      *smp.Machine
	next   []Instr
	values []Value
	lines  []Line
	waits  [][]waiting // of each CPU: the stores that it holds
}

// A waiting is a line whose store is held, and what it stores to.
type waiting struct {
	line   int
	writes []string
}

// beginning looks at the machine when the first question is put, before its first step.
func (t *teller) beginning(ch sim.Chooser) sim.Chooser { return &first{ch, t} }

type first struct {
	sim.Chooser
	t *teller
}

// Choose implements sim.Chooser.
func (f *first) Choose(p *sim.Point) (pick, hold int) {
	if f.t.values == nil && p.Kind == sim.Step {
		f.t.values = f.t.p.Values(f.t.m)
	}
	return f.Chooser.Choose(p)
}

// Stepped implements sim.Observer.
func (t *teller) Stepped(mv sim.Mover, _ []sim.Touch) {
	cpu := int(mv % sim.MaxCPUs)
	was, values := t.values, t.p.Values(t.m)
	now := t.next[cpu]
	t.values, t.next[cpu] = values, t.p.Next(t.m, cpu)
	holds := t.m.Inspect().Moves()[sim.MoverDrain/sim.MaxCPUs]>>cpu&1 != 0
	l := Line{CPU: cpu, What: now.Text}
	always := now.Writes
	switch {
	case mv >= sim.MoverDrain:
		l.What = ""
		if always = nil; len(t.waits[cpu]) > 0 {
			store := t.waits[cpu][0]
			t.waits[cpu] = slices.Delete(t.waits[cpu], 0, 1)
			always = store.writes
			if store.line == len(t.lines)-1 { // it was never seen to be held
				last := &t.lines[store.line]
				last.Held, last.Changes = false, append(last.Changes, changes(was, values, always)...)
				return
			}
		}
	case now.Stores && holds:
		l.Held, always = true, nil
		t.waits[cpu] = append(t.waits[cpu], waiting{len(t.lines), now.Writes})
	case !holds:
		t.waits[cpu] = nil
	}
	l.Changes, l.Note = changes(was, values, always), t.p.Note(cpu)
	if l.Ends = now.Text == "" && mv < sim.MoverDrain; l.Ends && len(l.Changes) == 0 {
		return // nothing of the test
	}
	t.lines = append(t.lines, l)
}

// changes lists the values that have changed, and those named in always.
func changes(was, now []Value, always []string) (list []string) {
	for i, v := range now {
		if v != was[i] || slices.Contains(always, v.Name) {
			list = append(list, v.Name+"="+v.Value)
		}
	}
	return list
}

package run

import (
	"fmt"

	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/traces"
)

// A harness is a machine with a program. It implements sched.Stateful.
type harness struct {
	p     Program
	m     *smp.Machine
	log   traces.Log
	kept  []int // of each number where its entries in reads end
	reads []sim.Hash
}

func newHarness(p Program, memory Memory) (*harness, error) {
	h := &harness{p: p}
	m, err := smp.New(memory.config(p.CPUs()), &h.log)
	if err != nil {
		return nil, err
	}
	h.m = m
	if err := p.Build(m); err != nil {
		m.Close()
		return nil, err
	}
	m.Freeze()
	return h, nil
}

// run makes one run.
func (h *harness) run(ch sim.Chooser) (smp.Outcome, error) {
	h.m.Reset(ch)
	h.p.Begin()
	end := h.m.Run()
	if end == smp.Refused {
		return end, fmt.Errorf("%w; a test must not do that", h.m.Refusal())
	}
	if f, ok := h.p.(interface{ Err() error }); ok && f.Err() != nil {
		return end, f.Err()
	}
	return end, nil
}

// learn makes drawn runs, so that the search knows from the beginning what is shared.
func (h *harness) learn(s *sched.States) error {
	h.m.Footprint().Observe(learner{s})
	l := holding{sched.NewSticky(sched.Params{Seed: 1, Mean: 4})}
	for i := range uint64(learning) {
		l.Begin(i)
		if _, err := h.run(l); err != nil {
			return err
		}
		l.End(h.m.Counts().Points)
	}
	s.Grew()
	h.m.Footprint().SharedGrew()
	return nil
}

// learner tells a search of runs that aren't its own.
type learner struct{ s *sched.States }

// Stepped implements sim.Observer.
func (l learner) Stepped(mv sim.Mover, touched []sim.Touch) { l.s.Learn(mv, touched) }

// State implements sched.Stateful.
func (h *harness) State() (hi, lo uint64) {
	sum := h.m.State().Memory()
	h.m.State().Add(&sum)
	h.p.AddState(&sum)
	return sum.Hi, sum.Lo
}

// Keep implements sched.Stateful.
func (h *harness) Keep(number int) {
	from := h.before(number)
	for len(h.kept) < number { // of questions to which no run comes back
		h.kept = append(h.kept, from)
	}
	h.reads = h.m.State().AppendRead(h.reads[:from])
	h.kept = append(h.kept[:number], len(h.reads))
}

// before is where what is kept of the numbers before one ends.
func (h *harness) before(number int) int {
	if n := min(number, len(h.kept)); n > 0 {
		return h.kept[n-1]
	}
	return 0
}

// Begin implements sched.Stateful.
func (h *harness) Begin() { h.m.Footprint().ObserveLate() }

// Back implements sched.Stateful.
func (h *harness) Back(number int) {
	if number < 0 {
		h.kept = h.kept[:0]
		return
	}
	h.m.State().SetRead(h.reads[h.before(number):h.kept[number]])
	h.kept = h.kept[:number+1]
	h.m.Footprint().ObserveNow()
}

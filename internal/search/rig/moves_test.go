package rig_test

import (
	"testing"

	"kpsim/internal/scenario/library"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/internal/testkit/thorough"
	"kpsim/kprobes/mutants"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
)

// movesChecked compares the moves of each question with those there are. It holds
// nothing, so that every boundary with a choice is a question.
type movesChecked struct {
	sched.Strategy
	m     *smp.Machine
	t     *testing.T
	asked int
}

func (c *movesChecked) Choose(p *sim.Point) (pick, hold int) {
	c.asked++
	if p.Kind == sim.Step && p.Moves != c.m.Inspect().Moves() {
		c.t.Fatalf("question %d: the moves are %#x, and were kept as %#x: somebody attends to too little", p.Seq,
			c.m.Inspect().Moves(), p.Moves)
	}
	pick, _ = c.Strategy.Choose(p)
	return pick, 0
}

// The machine keeps up to date what can move, CPU by CPU: at each question of
// runs of all scenarios, right and wrong, it is what can move.
func TestMovesKept(t *testing.T) {
	try := func(name, mutant string, runs uint64) (asked int) {
		sc, err := library.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := rig.New(sc, mutant)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		c := &movesChecked{m: r.Machine, t: t,
			Strategy: sched.NewSticky(sched.Params{Length: r.Run(new(sched.Default)).Counts.Points, Mean: 8})}
		for i := range runs {
			c.Begin(i)
			r.Run(c)
		}
		return c.asked
	}
	asked := 0
	for _, name := range library.Names() {
		asked += try(name, "", thorough.Of[uint64](4, 12)/min(searchtest.Slow, 4)+1)
	}
	for _, mu := range mutants.All {
		asked += try(mu.Scenario, mu.Name, thorough.Of[uint64](3, 8)/min(searchtest.Slow, 4)+1)
	}
	if asked < 10_000 {
		t.Errorf("%d questions: no test", asked)
	}
}

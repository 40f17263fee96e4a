package rig_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/internal/search/rig"
	"kpsim/sim"
)

// aheads goes by default, notes what each question says of the steps ahead, and
// ends the run at a question.
type aheads struct {
	end  uint64
	seen []sim.Touch
}

func (*aheads) Plans() {}

func (a *aheads) Stepped(sim.Mover, []sim.Touch) {}

func (a *aheads) Choose(p *sim.Point) (pick, hold int) {
	if p.Kind != sim.Step {
		return 0, 0
	}
	if p.Seq >= a.end {
		return sim.Enough, 0
	}
	a.seen = append(a.seen, p.Ahead[:4]...)
	return 0, 0
}

// What a question says of the steps ahead doesn't depend on where the run before
// was ended.
func TestAheadOfUsedMachine(t *testing.T) {
	sc, err := library.Load("safe-none")
	require.NoError(t, err)
	rig, err := rig.New(sc, "")
	require.NoError(t, err)
	defer rig.Close()
	whole := func() []sim.Touch {
		a := &aheads{end: ^uint64(0)}
		rig.Machine.Footprint().ObserveAfresh(a, false)
		rig.Run(a)
		return a.seen
	}
	want := whole()
	require.NotEmpty(t, want)
	for end := uint64(1); end < uint64(len(want)/4); end++ {
		a := &aheads{end: end}
		rig.Machine.Footprint().ObserveAfresh(a, false)
		rig.Run(a)
		require.Equal(t, want, whole(), "after a run that was ended at question %d", end)
	}
}

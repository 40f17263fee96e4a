package smp_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// toldCells takes down what a CellTracer is told.
type toldCells []string

func (*toldCells) Instruction(uint8, arch.Inst, *arch.Regs) {}
func (*toldCells) Access(uint8, arch.Addr, int, bool)       {}
func (l *toldCells) Cell(a smp.CellAccess) {
	*l = append(*l, fmt.Sprintf("%d of %d, %v, %d back", a.Op, a.ID, a.Order, a.Back))
}

// holding answers that stores are held.
type holding struct{}

func (holding) Choose(p *sim.Point) (pick, hold int) {
	if p.Kind == sim.Buffer {
		return 1, 0
	}
	return 0, 0
}

// A CellTracer is told of each verb with the order that it keeps, and changes nothing; under sc
// it is told of nothing.
func TestTellCells(t *testing.T) {
	for _, memory := range []smp.Ordering{smp.SC, smp.TSO, smp.LKMM} {
		run := func(tr smp.Tracer) (digest uint64) {
			r := newRig(t, smp.Config{CPUs: 1, Memory: memory})
			var x kapi.Var[int]
			x.Init(&r.Cells, 0)
			r.Tasks().AddProgram("one", 0, func(k *smp.Ctx) {
				x.StoreRelease(k, kapi.PlainRelease, 1)
				k.Fence(kapi.PlainWMB)
				x.LoadAcquire(k, kapi.PlainAcquire)
				x.Swap(k, kapi.PlainFull, 1, 2)
				x.Swap(k, kapi.PlainFull, 1, 2)
				k.Fence(kapi.PlainMB)
			})
			r.Trace(tr)
			assert.Equal(t, smp.Passed, r.run(holding{}))
			return r.log.Digest()
		}
		var all toldCells
		assert.Equal(t, run(nil), run(&all))
		if memory == smp.SC {
			assert.Empty(t, all)
			continue
		}
		var verbs toldCells
		for _, s := range all { // locked instructions and switches wait, too
			if s != "4 of 0, mb, 0 back" && s != "5 of 0, none, 0 back" && s != "6 of 0, none, 0 back" {
				verbs = append(verbs, s)
			}
		}
		assert.Equal(t, toldCells{"1 of 1, release, 0 back", "4 of 0, wmb, 0 back", "0 of 1, acquire, 0 back", "2 of 1, full, 0 back", "3 of 1, full, 0 back"}, verbs, memory)
		assert.Contains(t, all, "4 of 0, mb, 0 back")
	}
}

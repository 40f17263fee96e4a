package smp_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/kapi"
)

// knowing is what a search of states makes of what routines have read and stored.
type knowing struct {
	m     *smp.Machine
	wrote map[sim.Object]sim.Hash
	knows map[sim.Mover]sim.Hash
}

// Stepped implements sim.Observer.
func (k *knowing) Stepped(mv sim.Mover, touched []sim.Touch) {
	f := k.m.Footprint()
	doing := f.Doing()
	if !doing.Routine {
		return
	}
	h := doing.Read
	h.Add(1)
	for _, r := range doing.Reads {
		h.Add(uint64(r.Object))
		if r.Version {
			h.AddHash(r.By)
		} else {
			h.AddHash(k.wrote[r.Object])
		}
	}
	f.HasRead(h)
	k.knows[mv] = h
	for _, t := range touched {
		if t.Write && smp.Holds(t.Object) {
			by := h
			by.Add(uint64(t.Object))
			k.wrote[t.Object] = by
		}
	}
	f.HasStored(h, func(o sim.Object, by sim.Hash) { k.wrote[o] = by })
}

// anyWay answers as it happens.
type anyWay struct{ sim.Rand }

// Choose implements sim.Chooser.
func (w *anyWay) Choose(p *sim.Point) (pick, hold int) { return w.N(p.N), 0 }

// known are programs of CPUs over three cells. What one of them stores depends on what it
// has read, and isn't the newest value when it is read.
var known = [][]func(x *smp.Ctx, c []kapi.Var[int]) int{
	{
		func(x *smp.Ctx, c []kapi.Var[int]) int { c[0].WriteOnce(x, c[1].ReadOnce(x)+1); return 0 },
		func(x *smp.Ctx, c []kapi.Var[int]) int { c[1].WriteOnce(x, 5); c[0].WriteOnce(x, 9); return 0 },
		func(x *smp.Ctx, c []kapi.Var[int]) int { return 100*c[0].ReadOnce(x) + c[0].ReadOnce(x) },
	},
	{
		func(x *smp.Ctx, c []kapi.Var[int]) int { return kapi.Add(&c[0], x, testLocked, c[1].ReadOnce(x)+1) },
		func(x *smp.Ctx, c []kapi.Var[int]) int { c[1].WriteOnce(x, 5); c[0].WriteOnce(x, 9); return 0 },
		func(x *smp.Ctx, c []kapi.Var[int]) int { c[2].WriteOnce(x, c[0].ReadOnce(x)); return c[2].Look(x) },
	},
	{
		func(x *smp.Ctx, c []kapi.Var[int]) int {
			v := c[0].ReadOnce(x)
			*c[1].Change(x, kapi.Once) = v
			c[1].Put(x, c[1].Look(x)+10)
			return v
		},
		func(x *smp.Ctx, c []kapi.Var[int]) int { c[0].WriteOnce(x, 1); c[0].WriteOnce(x, 2); return 0 },
		func(x *smp.Ctx, c []kapi.Var[int]) int {
			x.Spin(&kapi.Is[int]{Var: &c[0], Want: 2})
			return 100*c[1].ReadOnce(x) + c[1].ReadOnce(x)
		},
	},
}

// TestKnownVersions: in any run of a few programs, a routine that is told to have read the
// same has: the values in its variables are the same, whatever versions of cells they are of.
func TestKnownVersions(t *testing.T) {
	for _, memory := range []smp.Ordering{smp.SC, smp.LKMM} {
		for i, bodies := range known {
			t.Run(fmt.Sprintf("%v/%d", memory, i), func(t *testing.T) {
				r := newRig(t, smp.Config{CPUs: len(bodies), Memory: memory, Budget: 3000})
				cells, got := make([]kapi.Var[int], 3), make([]int, len(bodies))
				for k := range cells {
					cells[k].Init(&r.Cells, 0)
				}
				for c, body := range bodies {
					r.AddProgram(fmt.Sprintf("p%d", c), c, func(x *smp.Ctx) {
						got[c] = body(x, cells)
						x.Step("end", 1)
					})
				}
				k := &knowing{m: r.Machine}
				r.Footprint().Observe(k)
				type stood struct {
					cpu   int
					knows sim.Hash
				}
				values := make(map[stood]int)
				var any anyWay
				any.Seed(uint64(i), 0)
				for range 10_000 {
					r.Reset(&any)
					k.wrote, k.knows = make(map[sim.Object]sim.Hash), make(map[sim.Mover]sim.Hash)
					for i := range cells {
						cells[i].Set(0)
					}
					require.NotEqual(t, smp.Exhausted, r.Run())
					for c, v := range got {
						at := stood{c, k.knows[sim.Mover(c)]}
						was, ok := values[at]
						require.True(t, !ok || was == v, "cpu%d knows %d, and with the same reads %d", c, v, was)
						values[at] = v
					}
				}
				require.Greater(t, len(values), 2*len(bodies))
				t.Logf("CPUs come to know %d things", len(values))
			})
		}
	}
}

package smp_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/thorough"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/kapi"
)

// knowing is what a search of states makes of what routines have read and stored.
type knowing struct {
	m       *smp.Machine
	wrote   map[sim.Object]sim.Hash
	touched []sim.Touch // in the last step
	then    func()      // after each step
}

// Stepped implements sim.Observer.
func (k *knowing) Stepped(mv sim.Mover, touched []sim.Touch) {
	k.touched = append(k.touched[:0], touched...)
	f := k.m.Footprint()
	if doing := f.Doing(); doing.Routine {
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
		for _, t := range touched {
			if t.Write && smp.Holds(t.Object) {
				by := h
				by.Add(uint64(t.Object))
				k.wrote[t.Object] = by
			}
		}
		f.HasStored(h, func(o sim.Object, by sim.Hash) { k.wrote[o] = by })
	}
	k.then()
}

// anyWay answers as it happens.
type anyWay struct{ sim.Rand }

// Choose implements sim.Chooser.
func (w *anyWay) Choose(p *sim.Point) (pick, hold int) { return w.N(p.N), 0 }

// known are programs of CPUs over three cells, each with a variable that says where it is, or
// what it has read: stores that depend on what was read, a version that isn't the newest when
// it is read, a wait that is over at once or isn't.
var known = [][]func(x *smp.Ctx, c []kapi.Var[int], v *int){
	{
		func(x *smp.Ctx, c []kapi.Var[int], v *int) { c[0].WriteOnce(x, c[1].ReadOnce(x)+1) },
		func(x *smp.Ctx, c []kapi.Var[int], v *int) { c[1].WriteOnce(x, 5); c[0].WriteOnce(x, 9) },
		func(x *smp.Ctx, c []kapi.Var[int], v *int) { *v = 100*c[0].ReadOnce(x) + c[0].ReadOnce(x) },
	},
	{
		func(x *smp.Ctx, c []kapi.Var[int], v *int) { *v = kapi.Add(&c[0], x, testLocked, c[1].ReadOnce(x)+1) },
		func(x *smp.Ctx, c []kapi.Var[int], v *int) { c[1].WriteOnce(x, 5); c[0].WriteOnce(x, 9) },
		func(x *smp.Ctx, c []kapi.Var[int], v *int) { c[2].WriteOnce(x, c[0].ReadOnce(x)); *v = c[2].Look(x) },
	},
	{
		func(x *smp.Ctx, c []kapi.Var[int], v *int) {
			*v = c[0].ReadOnce(x)
			*c[1].Change(x, kapi.Once) = *v
			c[1].Put(x, c[1].Look(x)+10)
		},
		func(x *smp.Ctx, c []kapi.Var[int], v *int) { c[0].WriteOnce(x, 1); c[0].WriteOnce(x, 2) },
		func(x *smp.Ctx, c []kapi.Var[int], v *int) {
			x.Spin(&kapi.Is[int]{Var: &c[0], Want: 2})
			*v = 100*c[1].ReadOnce(x) + c[1].ReadOnce(x)
		},
	},
	{
		func(x *smp.Ctx, c []kapi.Var[int], v *int) {
			x.Sleep(&kapi.Is[int]{Var: &c[0], Want: 1})
			*v = 1
			c[1].WriteOnce(x, 1)
			*v = 2
			c[2].WriteOnce(x, 1)
		},
		func(x *smp.Ctx, c []kapi.Var[int], v *int) { c[0].WriteOnce(x, 1); *v = c[1].ReadOnce(x) },
	},
}

// TestKnownVersions: in any run of a few programs, a routine that is told to have read the
// same has: the values in its variables are the same, whatever versions of cells they are of.
func TestKnownVersions(t *testing.T) {
	type stood struct {
		cpu           int
		read, looking sim.Hash
	}
	for _, memory := range []smp.Ordering{smp.SC, smp.LKMM} {
		for i, bodies := range known {
			t.Run(fmt.Sprintf("%v/%d", memory, i), func(t *testing.T) {
				r := newRig(t, smp.Config{CPUs: len(bodies), Memory: memory, Budget: 3000})
				cells, got := make([]kapi.Var[int], 4), make([]int, len(bodies))
				for k := range cells {
					cells[k].Init(&r.Cells, 0)
				}
				for c, body := range bodies {
					r.Tasks().AddProgram(fmt.Sprintf("p%d", c), c, func(x *smp.Ctx) {
						body(x, cells, &got[c])
						x.Sleep(&kapi.Is[int]{Var: &cells[3], Want: 1}) // which doesn't come: the routine stays
					})
				}
				values := make(map[stood]int)
				k := &knowing{m: r.Machine}
				k.then = func() {
					list := r.State().AppendRead(nil)
					for c, v := range got {
						at := stood{c, list[2*c], list[2*c+1]}
						was, ok := values[at]
						require.True(t, !ok || was == v, "cpu%d has %d, and with the same reads %d", c, v, was)
						values[at] = v
					}
				}
				r.Footprint().Observe(k)
				var any anyWay
				any.Seed(uint64(i), 0)
				for range thorough.Of(3_000, 10_000) {
					r.Reset(&any)
					k.wrote = make(map[sim.Object]sim.Hash)
					clear(got)
					for i := range cells {
						cells[i].Set(0)
					}
					require.Equal(t, smp.Stuck, r.Run())
				}
				require.Greater(t, len(values), 4*len(bodies))
				t.Logf("CPUs come to know %d things", len(values))
			})
		}
	}
}

// TestMarkTouches: what a cell only stands for is touched under each model.
func TestMarkTouches(t *testing.T) {
	for _, memory := range []smp.Ordering{smp.SC, smp.TSO, smp.LKMM} {
		for _, mode := range []kapi.Mode{kapi.Read, kapi.Write} {
			r := newRig(t, smp.Config{CPUs: 1, Memory: memory, Budget: 3000})
			var cell kapi.Var[int]
			cell.Init(&r.Cells, 0)
			marked, touched := false, false
			r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
				x.Step("before", 1)
				x.Mark(cell.ID(), mode)
				marked = true
				x.Step("after", 1)
			})
			k := &knowing{m: r.Machine, wrote: make(map[sim.Object]sim.Hash)}
			k.then = func() {
				for _, t := range k.touched {
					touched = touched || marked && t.Write == (mode == kapi.Write) &&
						r.Names().Object(t.Object) == fmt.Sprintf("cell %d", cell.ID())
				}
			}
			r.Footprint().Observe(k)
			r.Reset(&anyWay{})
			require.Equal(t, smp.Passed, r.Run())
			require.True(t, touched, "%v, %v", memory, mode)
		}
	}
}

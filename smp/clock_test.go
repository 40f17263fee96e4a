package smp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/cycles"
	"kpsim/smp/kapi"
)

// A CPU that waits for a cell goes on at the time of the store, however much
// the storing CPU does after it until others may go on.
func TestWaitsUntilStored(t *testing.T) {
	const before, after = 5000, 50_000 // cycles
	work := func(x *smp.Ctx, n int) {
		x.Work(kapi.WorkUnlock, n/int(cycles.Nominal()[cycles.Work(kapi.WorkUnlock)]/cycles.Unit))
	}
	for name, store := range map[string]func(x *smp.Ctx, v *kapi.Var[bool], m *smp.Machine){
		"store": func(x *smp.Ctx, v *kapi.Var[bool], _ *smp.Machine) {
			work(x, before)
			v.WriteOnce(x, true)
		},
		"hook": func(x *smp.Ctx, v *kapi.Var[bool], m *smp.Machine) {
			work(x, before)
			v.Set(true)
			m.Waits().Notify(v.ID())
		},
	} {
		for _, sleeps := range []bool{false, true} {
			r := newRig(t, smp.Config{CPUs: 2})
			var v kapi.Var[bool]
			went := sim.Time(0)
			r.Tasks().AddProgram("stores", 0, func(x *smp.Ctx) {
				for range 2 { // both tasks have begun, and one waits
					work(x, before)
					x.Step("stores", 1)
				}
				store(x, &v, r.Machine)
				work(x, after)
			})
			r.Tasks().AddProgram("waits", 1, func(x *smp.Ctx) {
				if is := (&kapi.Is[bool]{Var: &v, Want: true}); sleeps {
					x.Sleep(is)
				} else {
					x.Spin(is)
				}
				went = r.Clocks().Of(1) / cycles.Unit
			})
			r.Freeze()
			r.Reset(sched.NewTimed(sched.Params{}))
			v.Init(&r.Cells, false)
			require.Equal(t, smp.Passed, r.Run(), name)
			require.GreaterOrEqual(t, went, sim.Time(3*before), "%s, sleeps %v", name, sleeps)
			require.Less(t, went, sim.Time(before+after/2), "%s, sleeps %v", name, sleeps)
		}
	}
}

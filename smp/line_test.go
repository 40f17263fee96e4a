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

// Each way to a cell brings its line, observed or not; and none does on a
// machine without costs.
func TestAccessesBringLines(t *testing.T) {
	for name, use := range map[string]func(x *smp.Ctx, f *flag){
		"load":  func(x *smp.Ctx, f *flag) { f.ReadOnce(x) },
		"store": func(x *smp.Ctx, f *flag) { f.WriteOnce(x, 1) },
		"look":  func(x *smp.Ctx, f *flag) { f.Look(x) },
		"spin":  func(x *smp.Ctx, f *flag) { x.Spin(&f.up) },
		"sleep": func(x *smp.Ctx, f *flag) { x.Sleep(&f.up) },
	} {
		for _, told := range []bool{false, true} {
			for _, observed := range []bool{false, true} {
				r := newRig(t, smp.Config{CPUs: 2})
				f := r.flag()
				for c := range 2 {
					r.Tasks().AddProgram("p", c, func(x *smp.Ctx) {
						if c == 0 {
							f.WriteOnce(x, 1)
							return
						}
						use(x, f)
					})
				}
				if told {
					r.Clocks().Costs(nil)
				}
				if observed {
					r.Footprint().Observe(new(nobody))
				}
				var tally [sim.MaxCPUs]cycles.Tally
				r.Clocks().Count(&tally)
				r.want(smp.Passed, sim.Always0{}) // CPU 0 to its end, then CPU 1
				want := uint64(0)
				if told {
					want = 1
				}
				require.Zero(t, tally[0][cycles.Line], name)
				require.Equal(t, want, tally[1][cycles.Line], "%s, told %v, observed %v", name, told, observed)
			}
		}
	}
}

type nobody struct{}

func (*nobody) Stepped(sim.Mover, []sim.Touch) {}

// A counter of all CPUs is counted up once in what a line takes, however many they are;
// counters of their own each in its own time.
func TestOneLineForAll(t *testing.T) {
	const times = 20
	took := func(cpus int, shared bool) sim.Time {
		r := newRig(t, smp.Config{CPUs: cpus})
		r.Clocks().Costs(nil)
		flags := make([]*flag, cpus)
		for c := range flags {
			flags[c] = r.flag()
			f := flags[c]
			if shared {
				f = flags[0]
			}
			r.Tasks().AddProgram("p", c, func(x *smp.Ctx) {
				for range times {
					kapi.Add(&f.Var, x, kapi.Once, 1)
				}
			})
		}
		s := sched.NewTimed(sched.Params{})
		s.Begin(0)
		r.want(smp.Passed, s)
		last := sim.Time(0)
		for c := range cpus {
			last = max(last, r.Clocks().Of(c))
		}
		return last
	}
	const line = sim.Time(100 * cycles.Unit)
	require.Equal(t, took(1, true), took(1, false))
	require.Equal(t, took(1, false), took(16, false))
	for _, cpus := range []int{2, 4, 16} {
		all := took(cpus, true)
		require.GreaterOrEqual(t, all, sim.Time(cpus*(times-1))*line/2, cpus) // a CPU may have it twice in a row
		require.LessOrEqual(t, all, sim.Time(cpus*times+20)*line, cpus)
		require.Equal(t, all, took(cpus, true), "the same each time")
	}
}

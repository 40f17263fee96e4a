package scenariotest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/testkit/thorough"
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// offsets are where the instructions of a function begin, but for those that
// only a wrong jump would reach.
func offsets(t testing.TB, f *scenario.Text) (all []int) {
	for off := 0; off < len(f.Code); {
		in, err := x86.Decode(f.Code[off:], f.At+arch.Addr(off))
		require.NoError(t, err)
		if in.Flow() != arch.FlowUndefined {
			all = append(all, off)
		}
		off += int(in.Len)
	}
	return all
}

// arguments of the library's functions, for two callers at a time. Those that
// keep state of their own are called by one task only.
func arguments(t testing.TB, sc *scenario.Scenario, f string, caller uint64) (args []uint64, ok bool) {
	switch f {
	case "tally", "over":
		return []uint64{150 + caller}, caller == 0
	case "relative":
		return []uint64{5, 46}, caller == 0
	case "checksum":
		for _, d := range sc.Datas {
			if len(d.Bytes) >= 8 {
				return []uint64{uint64(d.At), 4}, caller == 0
			}
		}
		require.Fail(t, "no data to check")
	case "caller", "caller_resched", "triangle":
		return []uint64{2 + caller}, true
	case "gcd":
		return []uint64{12 + caller, 8}, true
	}
	return []uint64{17 + caller, 4, 3}, true
}

// TestSweep: a probe on any instruction is transparent (spec 1.3, 4.3): every
// function of the library is probed at each instruction in turn, stepped or
// emulated, with a post_handler, and optimized, while two CPUs call it, and
// ends with what it ends with unprobed, by default and in 50 random schedules.
// The monitors check that, and the rest.
func TestSweep(t *testing.T) {
	lib := objects(t)
	for i := range lib.Texts {
		f := &lib.Texts[i]
		for k, mode := range []string{"stepped", "post", "optimized"} {
			if k != i%3 && !thorough.Set() {
				continue // each function in one way
			}
			t.Run(f.Name+"/"+mode, func(t *testing.T) {
				called := f.Name
				if called == "helper_pops" { // it takes its arguments off the stack
					called = "calls"
				}
				var probes []scenario.Probe
				var ops, other []scenario.Op
				mine, _ := arguments(t, lib, f.Name, 0)
				theirs, both := arguments(t, lib, f.Name, 1)
				offs := offsets(t, f)
				for _, off := range offs {
					k := fmt.Sprintf("k%#x", off)
					p := on(k, f.Name, off)
					if mode == "post" {
						p = post(k, f.Name, off)
					}
					probes = append(probes, p)
					ops = append(ops, register(k))
					if mode == "optimized" {
						ops = append(ops, wait)
					}
					ops = append(ops, call(called, mine...), unregister(k))
					if both {
						other = append(other, call(called, theirs...))
					}
				}
				tasks := []scenario.Task{task(ops...)}
				if both {
					tasks = append(tasks, onCPU(1, other...))
				}
				sc := with(t, probes, tasks...)
				w := play(t, sc, sweepSchedules)
				for _, errno := range w.errnos() {
					require.Zero(t, errno)
				}
				hit := make(map[uint64]bool)
				for _, e := range w.of(kpev.Handler) {
					hit[e.A] = true
				}
				optimized := len(w.of(kpev.Optimized))
				t.Logf("%d instructions, %d hit, %d optimized", len(offs), len(hit), optimized)
				require.GreaterOrEqual(t, len(hit), len(offs)*3/5, "most are on the way of the call")
				if mode != "optimized" {
					require.Zero(t, optimized)
				}
			})
		}
	}
}

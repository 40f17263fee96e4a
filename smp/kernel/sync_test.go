package kernel_test

import (
	"testing"

	"kpsim/smp"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// When Sync.Core returns each CPU has serialised since it was called, however
// many call it at once; a CPU with interrupts off does so once they are on.
func TestSyncCore(t *testing.T) {
	for _, md := range modes {
		t.Run(md.name, func(t *testing.T) { syncCore(t, md, 4) })
	}
	t.Run("1 CPU", func(t *testing.T) { syncCore(t, modes[0], 1) })
	t.Run("64 CPUs", func(t *testing.T) { syncCore(t, modes[0], 64) })
}

func syncCore(t *testing.T, md mode, cpus int) {
	r := newRig(t, md, smp.Config{CPUs: cpus})
	f := r.text("f", 0, "b9 04 00 00 00 fa 90 fb 90 ff c9 75 f8 c3") // mov $4,%ecx; 1: cli; nop; sti; nop; dec %ecx; jnz 1b; ret
	r.source(smp.TimerSource, 0, 3)
	r.source(smp.NMISource, 0, 2)
	now, last := 0, make([]int, cpus)
	calls, most, returned := 0, 0, 0
	before := r.reset
	r.reset = func() {
		before()
		now, calls, returned = 0, 0, 0
		clear(last)
	}
	r.hear(smpev.Serialise, func(e *traces.Event) {
		now++
		last[e.CPU] = now
	})
	callers := min(cpus, 3)
	for c := range cpus {
		r.Tasks().AddProgram("p", c, func(x *smp.Ctx) {
			if c >= callers {
				x.Call(f)
				return
			}
			for range 2 {
				since := now
				calls++
				most = max(most, calls)
				r.k.Sync.Core(x, smpev.SyncPoke1)
				calls--
				returned++
				for i, at := range last {
					if at <= since {
						t.Errorf("CPU %d hasn't serialised since CPU %d's call", i, c)
					}
				}
			}
			x.Call(f)
		})
	}
	n := uint64(30)
	if cpus == 64 {
		n = 2
	}
	for name, ch := range schedules(n) {
		r.want(smp.Passed, name, ch)
		if returned != 2*callers {
			t.Errorf("%s: %d calls returned, want %d", name, returned, 2*callers)
		}
	}
	if cpus > 1 && most < 2 {
		t.Error("no two calls were ever in progress at once")
	}
}

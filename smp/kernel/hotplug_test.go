package kernel_test

import (
	"testing"

	"kpsim/smp"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// No task reads while CPUs come and go, several read at once, and all finish;
// without a writer readers have no point.
func TestHotplug(t *testing.T) {
	for _, md := range modes {
		for _, writer := range []bool{true, false} {
			r := newRig(t, md, smp.Config{CPUs: 3})
			r.k = kernel.Boot(r.Machine, kernel.Config{Exec: memory(0, 0), Preemptible: md.preemptible, Voluntary: md.voluntary, Hotplug: writer})
			readers, most, changes, reads := 0, 0, 0, 0
			r.reset = func() { readers = 0 }
			for c := range 3 {
				r.source(smp.TimerSource, c, 2)
				r.source(smp.PreemptSource, c, 2)
				r.AddProgram("reader", c, func(x *smp.Ctx) {
					for range 2 {
						was := r.Counts().Boundaries
						r.k.Hotplug.ReadLock(x)
						if !writer && r.Counts().Boundaries != was {
							t.Error("a reader has a point, and there is no writer")
						}
						readers++
						reads++
						most = max(most, readers)
						x.Step("reads", 1)
						x.Sleep(kapi.Yield)
						readers--
						r.k.Hotplug.ReadUnlock(x)
					}
				})
				if writer {
					r.AddProgram("writer", c, func(x *smp.Ctx) { r.k.Hotplug.Change(x) })
				}
			}
			r.hear(smpev.Lock, func(e *traces.Event) {
				if r.k.Locks.Name(e.A) == "cpu_hotplug_lock" && e.B == 0 {
					if changes++; readers != 0 {
						t.Errorf("%d read while CPUs change", readers)
					}
				}
			})
			for name, ch := range schedules(50) {
				r.want(smp.Passed, md.name+"/"+name, ch)
			}
			if most < 2 || writer != (changes > 0) || reads == 0 {
				t.Errorf("%s: at most %d read at once, %d changes", md.name, most, changes)
			}
		}
	}
}

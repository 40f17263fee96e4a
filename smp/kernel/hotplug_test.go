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

// A CPU that goes is inactive before it is offline, and one that comes is online before it is
// active. In between it answers IPIs and takes part in stop_machine. Its tasks end elsewhere,
// and a grace period that was asked for there ends.
func TestCPUStates(t *testing.T) {
	for _, md := range modes {
		r := newRig(t, md, smp.Config{CPUs: 3})
		r.k = kernel.Boot(r.Machine, kernel.Config{Exec: memory(0, 0), Preemptible: md.preemptible, Voluntary: md.voluntary, Hotplug: true, Offline: true})
		online, active, moved, synced := true, true, 0, 0
		r.reset = func() { online, active = true, true }
		r.hear(smpev.CPUActive, func(e *traces.Event) {
			if active = e.B == 1; !online {
				t.Errorf("%s: cpu%d changes to active %d while it is offline", md.name, e.A, e.B)
			}
		})
		r.hear(smpev.CPUState, func(e *traces.Event) {
			if online = e.B == 1; active {
				t.Errorf("%s: cpu%d changes to online %d while it is active", md.name, e.A, e.B)
			}
		})
		r.hear(smpev.Serialise, func(e *traces.Event) {
			if e.CPU == 1 && online && !active {
				synced++
			}
		})
		r.source(smp.PreemptSource, 1, 2)
		r.AddProgram("plug", 0, func(x *smp.Ctx) {
			r.k.Hotplug.Down(x, 1)
			r.k.Hotplug.Down(x, 1) // nothing
			r.k.Hotplug.Up(x, 1)
		})
		r.AddProgram("guest", 1, func(x *smp.Ctx) {
			for range 3 {
				r.k.RCU.Synchronize(x, kapi.QuiesceRCU)
				x.Sleep(kapi.Yield)
			}
			if x.CPU() != 1 {
				moved++
			}
		})
		r.AddProgram("syncer", 2, func(x *smp.Ctx) {
			for range 3 {
				r.k.Sync.Core(x, smpev.SyncPoke1)
				x.Sleep(kapi.Yield)
			}
		})
		for name, ch := range schedules(60) {
			r.want(smp.Passed, md.name+"/"+name, ch)
			if !online || !active {
				t.Errorf("%s/%s: cpu1 ends online %v, active %v", md.name, name, online, active)
			}
		}
		if moved == 0 || synced == 0 {
			t.Errorf("%s: a task has moved %d times; %d syncs reached a CPU that is online and not active", md.name, moved, synced)
		}
	}
}

// A CPU that is absent when a run begins gets no IPI, holds up no grace period, and runs its
// program when it has come.
func TestAbsent(t *testing.T) {
	for _, md := range modes {
		r := newRig(t, md, smp.Config{CPUs: 2, Offline: 2})
		r.k = kernel.Boot(r.Machine, kernel.Config{Exec: memory(0, 0), Preemptible: md.preemptible, Voluntary: md.voluntary, Hotplug: true, Offline: true})
		ran, up := 0, false
		r.reset = func() { up = false }
		r.hear(smpev.SendIPI, func(e *traces.Event) {
			if !up && e.A&2 != 0 {
				t.Errorf("%s: an absent CPU is sent an IPI", md.name)
			}
		})
		r.AddProgram("plug", 0, func(x *smp.Ctx) {
			r.k.Sync.Core(x, smpev.SyncPoke1)
			r.k.RCU.Synchronize(x, kapi.QuiesceRCU)
			r.k.Stop.Machine(x, func(kapi.Context) {})
			up = true
			r.k.Hotplug.Up(x, 1)
		})
		r.AddProgram("late", 1, func(x *smp.Ctx) {
			if ran++; !up || x.CPU() != 1 {
				t.Errorf("%s: the program begins on cpu%d, which is to be up: %v", md.name, x.CPU(), up)
			}
		})
		runs := 0
		for name, ch := range schedules(30) {
			r.want(smp.Passed, md.name+"/"+name, ch)
			runs++
		}
		if ran != runs {
			t.Errorf("%s: the program of the absent CPU ran %d times in %d runs", md.name, ran, runs)
		}
	}
}

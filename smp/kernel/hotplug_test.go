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
				r.Tasks().AddProgram("reader", c, func(x *smp.Ctx) {
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
					r.Tasks().AddProgram("writer", c, func(x *smp.Ctx) { r.k.Hotplug.Change(x) })
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
		r.Tasks().AddProgram("plug", 0, func(x *smp.Ctx) {
			r.k.Hotplug.Down(x, 1, smpev.CPUStepNone)
			r.k.Hotplug.Down(x, 1, smpev.CPUStepNone) // nothing
			r.k.Hotplug.Up(x, 1, smpev.CPUStepNone)
		})
		r.Tasks().AddProgram("guest", 1, func(x *smp.Ctx) {
			for range 3 {
				r.k.RCU.Synchronize(x, kapi.QuiesceRCU)
				x.Sleep(kapi.Yield)
			}
			if x.CPU() != 1 {
				moved++
			}
		})
		r.Tasks().AddProgram("syncer", 2, func(x *smp.Ctx) {
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
		r.Tasks().AddProgram("plug", 0, func(x *smp.Ctx) {
			r.k.Sync.Core(x, smpev.SyncPoke1)
			r.k.RCU.Synchronize(x, kapi.QuiesceRCU)
			r.k.Stop.Machine(x, func(kapi.Context) {})
			up = true
			r.k.Hotplug.Up(x, 1, smpev.CPUStepNone)
		})
		r.Tasks().AddProgram("late", 1, func(x *smp.Ctx) {
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

// A CPU whose going fails stays as it was: online all the time, and active in the end; one whose
// coming fails is offline again. Both come and go as any other afterwards. Tasks, grace periods
// and syncs go on meanwhile.
func TestCPUFails(t *testing.T) {
	for _, md := range modes {
		for _, goes := range []kernel.Going{kernel.GoesPushed, kernel.GoesMigrated, kernel.GoesSched} {
			r := newRig(t, md, smp.Config{CPUs: 3})
			r.k = kernel.Boot(r.Machine, kernel.Config{Exec: memory(0, 0), Preemptible: md.preemptible, Voluntary: md.voluntary, Hotplug: true, Offline: true, Goes: goes})
			online, active, fails := true, true, 0
			r.reset = func() { online, active = true, true }
			r.hear(smpev.CPUActive, func(e *traces.Event) { active = e.B == 1 })
			r.hear(smpev.CPUState, func(e *traces.Event) { online = e.B == 1 })
			r.hear(smpev.CPUFails, func(*traces.Event) { fails++ })
			expect := func(is bool, after string, s smpev.CPUStep) {
				if online != is || active != is {
					t.Errorf("%s, way %d: cpu1 is online %v, active %v after %s at %v", md.name, goes, online, active, after, s)
				}
			}
			r.source(smp.PreemptSource, 1, 2)
			r.Tasks().AddProgram("plug", 0, func(x *smp.Ctx) {
				for _, s := range smpev.CPUSteps(true) {
					r.k.Hotplug.Down(x, 1, s)
					expect(true, "going", s)
				}
				r.k.Hotplug.Down(x, 1, smpev.CPUStepNone)
				expect(false, "going", smpev.CPUStepNone)
				for _, s := range smpev.CPUSteps(false) {
					r.k.Hotplug.Up(x, 1, s)
					expect(false, "coming", s)
				}
				r.k.Hotplug.Up(x, 1, smpev.CPUStepNone)
				expect(true, "coming", smpev.CPUStepNone)
			})
			r.Tasks().AddProgram("guest", 1, func(x *smp.Ctx) {
				for range 3 {
					r.k.RCU.Synchronize(x, kapi.QuiesceRCU)
					x.Sleep(kapi.Yield)
				}
			})
			r.Tasks().AddProgram("syncer", 2, func(x *smp.Ctx) {
				for range 3 {
					r.k.Sync.Core(x, smpev.SyncPoke1)
					x.Sleep(kapi.Yield)
				}
			})
			runs := 0
			for name, ch := range schedules(20) {
				r.want(smp.Passed, md.name+"/"+name, ch)
				runs++
			}
			if fails != 6*runs {
				t.Errorf("%s, way %d: %d steps fail in %d runs", md.name, goes, fails, runs)
			}
		}
	}
}

// Until 5.10 a task that is preempted stays on a CPU that isn't active, may run there again, and
// is moved as it stands when the CPU is taken down. Since then it leaves when it is preempted.
func TestMigrates(t *testing.T) {
	for _, goes := range []kernel.Going{kernel.GoesPushed, kernel.GoesMigrated} {
		for _, md := range modes {
			r := newRig(t, md, smp.Config{CPUs: 2})
			r.k = kernel.Boot(r.Machine, kernel.Config{Exec: memory(0, 0), Preemptible: md.preemptible, Voluntary: md.voluntary, Hotplug: true, Offline: true, Goes: goes})
			active, stayed, moved := true, 0, 0
			r.reset = func() { active = true }
			r.hear(smpev.CPUActive, func(e *traces.Event) { active = e.B == 1 })
			r.Tasks().AddProgram("plug", 0, func(x *smp.Ctx) { r.k.Hotplug.Down(x, 1, smpev.CPUStepNone) })
			r.Tasks().AddProgram("guest", 1, func(x *smp.Ctx) {
				for range 6 {
					gone := !active
					x.Sleep(kapi.Yield)
					switch {
					case x.CPU() != 1:
						moved++
					case gone && !active:
						stayed++
					}
				}
			})
			for name, ch := range schedules(60) {
				r.want(smp.Passed, md.name+"/"+name, ch)
			}
			if moved == 0 || (stayed > 0) != (goes == kernel.GoesMigrated) {
				t.Errorf("%s, way %d: a task is moved %d times, and goes on %d times on a CPU that isn't active", md.name, goes, moved, stayed)
			}
		}
	}
}

package kernel_test

import (
	"strings"
	"testing"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// While stop_machine's function runs every CPU is in its stopper with
// interrupts off, and takes nothing but NMIs; each serialises before it leaves.
func TestStopMachine(t *testing.T) {
	for _, md := range modes {
		t.Run(md.name, func(t *testing.T) { stopMachine(t, md) })
	}
}

func stopMachine(t *testing.T, md mode) {
	const cpus = 3
	r := newRig(t, md, smp.Config{CPUs: cpus})
	f := r.text("f", 0, loop8)
	for c := range cpus {
		r.source(smp.TimerSource, c, 3)
		r.source(smp.PreemptSource, c, 3)
		r.source(smp.NMISource, c, 2)
	}
	var current [cpus]uint64
	var ran [2]int // by caller
	stopped, nmis := false, 0
	unsynced := uint64(0)
	before := r.reset
	r.reset = func() {
		before()
		current = [cpus]uint64{0, 1, 2}
		stopped, ran, unsynced = false, [2]int{}, 0
	}
	isStopper := func(task uint64) bool { return task >= cpus && task < 2*cpus }
	r.hear(smpev.StopStart, func(e *traces.Event) {
		stopped, unsynced = true, 1<<cpus-1
		for c, task := range current {
			if !isStopper(task) {
				t.Errorf("CPU %d runs %s while the machine is stopped", c, r.Tasks().All()[task].Name)
			}
		}
		if strings.Contains(r.Inspect().Dump(), "interrupts on true") {
			t.Error("the machine is stopped with interrupts on:\n" + r.Inspect().Dump())
		}
	})
	r.hear(smpev.StopEnd, func(*traces.Event) { stopped = false })
	r.hear(smpev.Trap, func(e *traces.Event) {
		if stopped && e.A == smpev.VecNMI {
			nmis++
		} else if stopped {
			t.Errorf("vector %d was taken while the machine was stopped", e.A)
		}
	})
	r.hear(smpev.Serialise, func(e *traces.Event) {
		if e.A == uint64(smpev.SyncStop) && !stopped {
			unsynced &^= 1 << e.CPU
		}
	})
	r.hear(smpev.Switch, func(e *traces.Event) {
		current[e.CPU] = e.B
		if stopped {
			t.Error("a CPU switched tasks while the machine was stopped")
		}
		if isStopper(e.A) && unsynced>>e.CPU&1 != 0 {
			t.Errorf("CPU %d left its stopper without a sync_core", e.CPU)
		}
	})
	for c := range cpus {
		r.Tasks().AddProgram("worker", c, func(x *smp.Ctx) {
			for range 3 {
				x.Call(f)
				r.k.CondResched(x)
			}
		})
	}
	for c := range 2 {
		r.Tasks().AddProgram("caller", c, func(x *smp.Ctx) {
			r.k.Stop.Machine(x, func(x kapi.Context) {
				ran[c]++
				was := r.Counts().Instructions
				x.Step("stopped", 1)
				x.Step("stopped", 2)
				if r.Counts().Instructions != was {
					t.Error("text ran while the machine was stopped")
				}
			})
		})
	}
	for name, ch := range schedules(40) {
		r.want(smp.Passed, name, ch)
		if ran != [2]int{1, 1} {
			t.Errorf("%s: the functions ran %d times, want each once", name, ran)
		}
		if t.Failed() {
			t.Fatal(name)
		}
	}
	if nmis == 0 {
		t.Error("no NMI was taken while the machine was stopped")
	}
}

// Under none the stopper doesn't start until the current task schedules; under
// full it preempts.
func TestStopperStarts(t *testing.T) {
	for _, md := range modes {
		t.Run(md.name, func(t *testing.T) {
			r := newRig(t, md, smp.Config{CPUs: 2})
			f := r.text("f", 0, loop8)
			order := ""
			started := r.flag()
			r.Tasks().AddProgram("caller", 0, func(x *smp.Ctx) {
				x.Spin(&started.up)
				r.k.Stop.Machine(x, func(kapi.Context) { order += "s" })
			})
			r.Tasks().AddProgram("runner", 1, func(x *smp.Ctx) {
				started.WriteOnce(x, 1)
				for range 50 {
					x.Call(f)
				}
				order += "r"
			})
			r.want(smp.Passed, "the caller first", director(func(p *sim.Point) sim.Mover {
				if started.Peek() == 1 { // the caller's CPU and its stopper first, then what IPIs there are
					if p.Moves[1] != 0 {
						return sim.MoverIPI + 1
					}
					return 0
				}
				return 1
			}))
			if want := map[bool]string{false: "rs", true: "sr"}[md.full]; order != want {
				t.Errorf("order %s, want %s", order, want)
			}
		})
	}
}

// The stopper comes before all other tasks: nothing preempts it while it waits
// for the other CPUs, with interrupts still on.
func TestStopperIsNotPreempted(t *testing.T) {
	r := newRig(t, modes[3], smp.Config{CPUs: 2})
	f := r.text("f", 0, loop8)
	for c := range 2 {
		r.source(smp.TimerSource, c, 3)
		r.source(smp.PreemptSource, c, 3)
	}
	r.hear(smpev.Switch, func(e *traces.Event) {
		if e.C == 0 && (e.A == 2 || e.A == 3) {
			t.Errorf("CPU %d's stopper was preempted", e.CPU)
		}
	})
	wake := r.flag()
	r.Tasks().AddProgram("caller", 0, func(x *smp.Ctx) { r.k.Stop.Machine(x, func(kapi.Context) {}) })
	r.Tasks().AddProgram("waker", 1, func(x *smp.Ctx) {
		x.Call(f)
		wake.WriteOnce(x, 1)
		x.Call(f)
	})
	r.Tasks().AddProgram("woken", 0, func(x *smp.Ctx) {
		x.Sleep(&wake.up)
		x.Call(f)
	})
	for name, ch := range schedules(40) {
		if r.want(smp.Passed, name, ch); t.Failed() {
			t.Fatal(name)
		}
	}
}

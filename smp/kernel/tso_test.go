package kernel_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// everyWay is the depth-first search of all runs in which CPUs hold stores, and no more
// than most answers aren't 0 (if that isn't 0): the answers of the next one.
type everyWay struct {
	pick, of   []int
	at         int
	most, made int
}

// Choose implements sim.Chooser.
func (e *everyWay) Choose(p *sim.Point) (pick, hold int) {
	if p.Kind == sim.Buffer {
		return 1, 0
	}
	if e.most > 0 && e.made == e.most && e.at >= len(e.pick) {
		return 0, sim.Forever
	}
	if e.at == len(e.pick) {
		e.pick, e.of = append(e.pick, 0), append(e.of, p.N)
	}
	if pick = e.pick[e.at]; pick > 0 {
		e.made++
	}
	e.at++
	return pick, 0
}

// next goes on to the next run; false: there is none.
func (e *everyWay) next() bool {
	e.at, e.made = 0, 0
	for n := len(e.pick); n > 0; n-- {
		if e.pick[n-1]++; e.pick[n-1] < e.of[n-1] {
			e.pick, e.of = e.pick[:n], e.of[:n]
			return true
		}
	}
	return false
}

// barrier is the one of that name.
func barrier(t *testing.T, name string) kapi.Barrier {
	for i, p := range kapi.Places() {
		if p.Name == name {
			return kapi.Barrier(i)
		}
	}
	t.Fatalf("there is no barrier %q", name)
	return 0
}

// An ordered is a routine of the kernel's that keeps orders, and what goes wrong if it
// doesn't.
type ordered struct {
	name  string
	shows []shown // what goes wrong without these
	kcfg  kernel.Config
	most  int // answers that aren't 0; 0: all runs there are

	// with puts programs on the rig. They call wrong when it has gone wrong.
	with func(r *rig, wrong func())
}

// A shown is a barrier, and under which model it is missed.
type shown struct {
	barrier   string
	tso, lkmm bool
}

var orders = []ordered{
	{
		// The patcher finds that no handler holds the descriptor before others see that
		// it has taken it back.
		name: "Retire", most: 6,
		shows: []shown{{"text_poke: retire before counting", true, true}, {"int3: hold before reading", false, true}},
		with: func(r *rig, wrong func()) {
			f := r.text("f", 0, "0f 1f 44 00 00 c3")
			patching := false
			r.hear(smpev.Claim, func(e *traces.Event) {
				if e.C == smpev.OwnerPoke && !patching {
					wrong()
				}
			})
			before := r.reset
			r.reset = func() { before(); patching = true }
			r.Tasks().AddProgram("patcher", 0, func(x *smp.Ctx) {
				r.k.Text.Mutex().Lock(x)
				r.k.Poke.Publish(x, f, []byte{0x0f, 0x1f, 0x44, 0, 0}, f+5)
				r.k.Text.Write(x, f, []byte{0xcc})
				r.k.Poke.Retire(x)
				patching = false
				r.k.Text.Write(x, f, []byte{0x0f})
				r.k.Text.Mutex().Unlock(x)
			})
			r.Tasks().AddProgram("runner", 1, func(x *smp.Ctx) { x.Call(f) })
			r.k.Traps.Unhandled = func(x *smp.Ctx, regs *arch.Regs, _ uint8) { regs.IP = f + 5 }
		},
	},
	{
		// A CPU runs into the breakpoint of text_poke_bp, and no descriptor claims it.
		// The vector's own order can't be missed: a wmb follows.
		name: "Patch", most: 3,
		shows: []shown{{"text_poke: publish before int3", false, true}, {"int3: hit before reading", false, true}, {"text_poke: publish the vector", false, false}},
		with: func(r *rig, wrong func()) {
			f := r.text("f", 0, "0f 1f 44 00 00 c3")
			r.Tasks().AddProgram("patcher", 0, func(x *smp.Ctx) {
				r.k.Text.Mutex().Lock(x)
				r.k.Poke.Patch(x, f, []byte{0x3e, 0x8d, 0x74, 0x26, 0}, f+5)
				r.k.Text.Mutex().Unlock(x)
			})
			r.Tasks().AddProgram("runner", 1, func(x *smp.Ctx) { x.Call(f) })
			r.k.Traps.Unhandled = func(x *smp.Ctx, regs *arch.Regs, _ uint8) { wrong(); regs.IP = f + 5 }
		},
	},
	{
		// The writer counts no reader before one sees that it writes.
		name: "cpus_write_lock", kcfg: kernel.Config{Hotplug: true},
		shows: []shown{{"cpus_write: block before counting", true, true}, {"cpus_read: count before looking", false, true}},
		with: func(r *rig, wrong func()) {
			readers := 0
			r.hear(smpev.Lock, func(e *traces.Event) {
				if r.k.Locks.Name(e.A) == "cpu_hotplug_lock" && e.B == 0 && readers > 0 {
					wrong()
				}
			})
			before := r.reset
			r.reset = func() { before(); readers = 0 }
			r.Tasks().AddProgram("writer", 0, func(x *smp.Ctx) { r.k.Hotplug.Change(x) })
			r.Tasks().AddProgram("reader", 1, func(x *smp.Ctx) {
				r.k.Hotplug.ReadLock(x)
				readers++
				x.Step("reads", 1)
				readers--
				r.k.Hotplug.ReadUnlock(x)
			})
		},
	},
	{
		// The work looks for what there is to do before others see that it isn't pending
		// any more: what was brought meanwhile, and queued, is left lying.
		name:  "worker",
		shows: []shown{{"worker: clear before working", true, true}, {"queue_work: set pending", false, true}},
		with: func(r *rig, wrong func()) {
			todo := r.flag()
			var work kapi.DelayedWork
			done := 0
			newWork := func() {
				work = r.k.Work.NewDelayedWork("work", func(x kapi.Context) { done += todo.ReadOnce(x) })
			}
			newWork()
			before := r.reset
			r.reset = func() { before(); done = 0; newWork() }
			r.Tasks().AddProgram("queues", 1, func(x *smp.Ctx) {
				work.Queue(x)
				x.Step("brings", 1)
				todo.WriteOnce(x, 1)
				work.Queue(x)
				work.Flush(x)
				if done == 0 {
					wrong()
				}
			})
		},
	},
	{
		// A CPU is seen in a quiescent state before others see what the updater has done.
		name:  "synchronize_rcu",
		shows: []shown{{"rcu: act before waiting", true, true}},
		with: func(r *rig, wrong func()) {
			gone, freed := r.flag(), false
			before := r.reset
			r.reset = func() { before(); freed = false }
			r.Tasks().AddProgram("updater", 0, func(x *smp.Ctx) {
				gone.WriteOnce(x, 1)
				r.k.RCU.Synchronize(x, kapi.QuiesceRCU)
				freed = true
			})
			r.Tasks().AddProgram("reader", 1, func(x *smp.Ctx) {
				x.Sleep(kapi.Yield)
				r.k.RCU.ReadLock(x)
				if gone.ReadOnce(x) == 0 {
					x.Step("reads", 1)
					if freed {
						wrong()
					}
				}
				r.k.RCU.ReadUnlock(x)
			})
		},
	},
	{
		// A stopper acknowledges a step before the count of those that are to do so is there.
		name: "stop_machine", most: 4,
		shows: []shown{{"stop_machine: step before waking", true, false}},
		with: func(r *rig, wrong func()) {
			ran := false
			before := r.reset
			r.reset = func() { before(); ran = false }
			r.Tasks().AddProgram("stops", 0, func(x *smp.Ctx) {
				r.k.Stop.Machine(x, func(kapi.Context) { ran = true })
				if !ran {
					wrong()
				}
			})
		},
	},
}

// search runs all there is, up to what goes wrong, and returns how many runs that were.
func (o *ordered) search(t *testing.T, drop kapi.Barrier, ordering smp.Ordering) (runs int, wrong bool) {
	r := newRig(t, modes[0], smp.Config{CPUs: 2, Memory: ordering})
	if o.kcfg.Hotplug {
		r.k = kernel.Boot(r.Machine, o.kcfg)
	}
	failed := false
	o.with(r, func() { failed = true })
	r.Weak().Drop(drop)
	e := everyWay{most: o.most}
	if ordering == smp.LKMM && (o.most == 0 || o.most > 4) {
		e.most = 4
	}
	for {
		failed = false
		switch out := r.run(&e); out {
		case smp.Passed:
		case smp.Stuck, smp.Exhausted, smp.Refused:
			failed = true
		default:
			t.Fatalf("%s: %v", o.name, out)
		}
		if runs++; !e.next() || failed {
			return runs, failed
		}
	}
}

// Where a model needs a barrier, the routine goes wrong without it, and with it in no run.
// Of the kernel's model few runs are looked at.
func TestOrders(t *testing.T) {
	for i := range orders {
		o := &orders[i]
		t.Run(o.name, func(t *testing.T) {
			for _, in := range []smp.Ordering{smp.SC, smp.TSO, smp.LKMM} {
				runs, wrong := o.search(t, kapi.Once, in)
				require.False(t, wrong, "%v, with all barriers", in)
				t.Logf("%v: %d runs", in, runs)
				for _, s := range o.shows {
					runs, wrong := o.search(t, barrier(t, s.barrier), in)
					require.Equal(t, in == smp.TSO && s.tso || in == smp.LKMM && s.lkmm, wrong, "%v, without %q: %d runs", in, s.barrier, runs)
					t.Logf("%v, without %q: %d runs", in, s.barrier, runs)
				}
			}
		})
	}
}

// A compare-and-exchange meets what its own CPU holds of the cell, and what lockdep knows of
// a spinlock is what its holder has done, not what others see.
func TestOwnStores(t *testing.T) {
	r := newRig(t, modes[0], smp.Config{CPUs: 1, Memory: smp.TSO})
	f := r.flag()
	lock := r.k.Locks.NewSpinlock("lock", false)
	before := r.reset
	r.reset = func() { before(); lock = r.k.Locks.NewSpinlock("lock", false) }
	locked := barrier(t, "queue_work: set pending")
	needed := 0
	r.hear(smpev.Lock, func(e *traces.Event) {
		if e.B == smpev.LockNeeded {
			needed++
		}
	})
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		f.WriteOnce(x, 1)
		require.True(t, f.Swap(x, locked, 1, 2))
		f.WriteOnce(x, 3)
		require.False(t, f.Swap(x, locked, 2, 4))
		lock.Lock(x)
		lock.AssertHeld(x)
		require.Zero(t, needed)
		lock.Unlock(x)
		lock.AssertHeld(x)
	})
	for e := (everyWay{}); ; {
		needed = 0
		require.Equal(t, smp.Passed, r.run(&e))
		require.Equal(t, 1, needed)
		if !e.next() {
			return
		}
	}
}

// TestSwitchesHeld: who waits for a task to give its CPU up is told when it does, also where
// the store that begins the round of looks might be held until then.
func TestSwitchesHeld(t *testing.T) {
	for _, in := range []smp.Ordering{smp.SC, smp.TSO, smp.LKMM} {
		r := newRig(t, modes[0], smp.Config{CPUs: 2, Memory: in})
		s := &r.k.Switches
		s.BootOn(nil, nil)
		var busy *smp.Task
		waits := false
		r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
			s.Begin(x)
			x.Step("look", 1)
			if s.Look(x, busy.ID, nil) != kapi.LookOut {
				waits = true
				s.Await(x)
			}
		})
		busy = r.Tasks().AddProgram("busy", 1, func(x *smp.Ctx) { x.Step("busy", 1) })
		runs, waited := 0, 0
		for e := (everyWay{most: 4}); ; {
			waits = false
			require.Equal(t, smp.Passed, r.run(&e), "%v: run %d", in, runs)
			if runs++; waits {
				waited++
			}
			if !e.next() {
				break
			}
		}
		require.NotZero(t, waited, "%v: of %d runs", in, runs)
	}
}

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

// An ordered is a routine of the kernel's that keeps an order, and what goes wrong if it
// doesn't.
type ordered struct {
	name    string
	barrier string // the one that x86 needs
	hotplug bool
	cpus    int
	most    int // answers that aren't 0; 0: all runs there are
	locked  int // 1: the kernel's model keeps it, where a locked instruction meets the newest value

	// with puts programs on the rig. They call wrong when it has gone wrong.
	with func(r *rig, wrong func())
}

var orders = []ordered{
	{
		// The patcher finds that no handler holds the descriptor before others see that
		// it has taken it back.
		name: "Retire", barrier: "text_poke: retire before counting", cpus: 2, most: 6,
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
			r.AddProgram("patcher", 0, func(x *smp.Ctx) {
				r.k.Text.Mutex().Lock(x)
				r.k.Poke.Publish(x, f, []byte{0x0f, 0x1f, 0x44, 0, 0}, f+5)
				r.k.Text.Write(x, f, []byte{0xcc})
				r.k.Poke.Retire(x)
				patching = false
				r.k.Text.Write(x, f, []byte{0x0f})
				r.k.Text.Mutex().Unlock(x)
			})
			r.AddProgram("runner", 1, func(x *smp.Ctx) { x.Call(f) })
			r.k.Traps.Unhandled = func(x *smp.Ctx, regs *arch.Regs, _ uint8) { regs.IP = f + 5 }
		},
	},
	{
		// The writer counts no reader before one sees that it writes.
		name: "cpus_write_lock", barrier: "cpus_write: block before counting", hotplug: true, cpus: 2,
		with: func(r *rig, wrong func()) {
			readers := 0
			r.hear(smpev.Lock, func(e *traces.Event) {
				if r.k.Locks.Name(e.A) == "cpu_hotplug_lock" && e.B == 0 && readers > 0 {
					wrong()
				}
			})
			before := r.reset
			r.reset = func() { before(); readers = 0 }
			r.AddProgram("writer", 0, func(x *smp.Ctx) { r.k.Hotplug.Change(x) })
			r.AddProgram("reader", 1, func(x *smp.Ctx) {
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
		name: "worker", barrier: "worker: clear before working", cpus: 2,
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
			r.AddProgram("queues", 1, func(x *smp.Ctx) {
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
		name: "synchronize_rcu", barrier: "rcu: act before waiting", cpus: 2,
		with: func(r *rig, wrong func()) {
			gone, freed := r.flag(), false
			before := r.reset
			r.reset = func() { before(); freed = false }
			r.AddProgram("updater", 0, func(x *smp.Ctx) {
				gone.WriteOnce(x, 1)
				r.k.RCU.Synchronize(x, kapi.QuiesceRCU)
				freed = true
			})
			r.AddProgram("reader", 1, func(x *smp.Ctx) {
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
		name: "stop_machine", barrier: "stop_machine: step before waking", cpus: 2, most: 4, locked: 1,
		with: func(r *rig, wrong func()) {
			ran := false
			before := r.reset
			r.reset = func() { before(); ran = false }
			r.AddProgram("stops", 0, func(x *smp.Ctx) {
				r.k.Stop.Machine(x, func(kapi.Context) { ran = true })
				if !ran {
					wrong()
				}
			})
		},
	},
}

// search runs all there is, up to what goes wrong, and returns how many runs that were, and
// how many went wrong.
func (o *ordered) search(t *testing.T, drop kapi.Barrier, ordering smp.Ordering, most int) (runs, wrong int) {
	r := newRig(t, modes[0], smp.Config{CPUs: o.cpus, Memory: ordering})
	if o.hotplug {
		r.k = kernel.Boot(r.Machine, kernel.Config{Hotplug: true})
	}
	failed := false
	o.with(r, func() { failed = true })
	r.Drop(drop)
	e := everyWay{most: most}
	for {
		failed = false
		switch out := r.run(&e); out {
		case smp.Passed:
		case smp.Stuck, smp.Exhausted, smp.Refused:
			failed = true
		default:
			t.Fatalf("%s: %v", o.name, out)
		}
		if runs++; failed {
			wrong++
		}
		if !e.next() || wrong > 0 {
			return runs, wrong
		}
	}
}

// Where x86 needs a fence, the routine goes wrong without it under TSO, and with it in no
// run. So it is under the kernel's model, of which few runs are looked at.
func TestOrders(t *testing.T) {
	for i := range orders {
		o := &orders[i]
		t.Run(o.name, func(t *testing.T) {
			fence := barrier(t, o.barrier)
			for _, in := range []struct {
				smp.Ordering
				most, wrong int
			}{{smp.TSO, o.most, 1}, {smp.LKMM, 4, 1 - o.locked}} {
				runs, wrong := o.search(t, kapi.Once, in.Ordering, in.most)
				require.Zero(t, wrong, "%v, with the fence", in.Ordering)
				also, wrong := o.search(t, fence, in.Ordering, in.most)
				require.Equal(t, in.wrong, wrong, "%v, without the fence in %d runs", in.Ordering, also)
				t.Logf("%v: %d runs with the fence, %d until the first wrong one without", in.Ordering, runs, also)
			}
			_, wrong := o.search(t, fence, smp.SC, o.most)
			require.Zero(t, wrong, "where stores take effect at once")
		})
	}
}

package kernel

import (
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// Workqueue makes delayed works, each with a worker of its own. Where CPUs go a work's
// timer is on the CPU that has queued it, and its worker is of the pool of the CPU
// on which the timer fires; elsewhere it is on CPU 0. It
// implements kapi.Workqueue. Works made in a run are made again, in the same
// order, in the next.
type Workqueue struct {
	k     *Kernel
	works []*DelayedWork // owned by the boot of a run
	n     int            // owned by the boot of a run: how many are handed out
	boot  int            // set at boot: how many are the kernel's own
	Keeps bool           // owned by the boot of a run: the timers of a CPU that has gone stay with it: a mutant
	// owned by the boot of a run: nil, or the mutex of the only worker for all works: a mutant
	pool kapi.Mutex `state:"address: it is among the mutexes"`
}

// Share makes one worker do all works of a run, one after the other.
func (q *Workqueue) Share() { q.pool = q.k.Locks.NewMutex("worker pool") }

// The orders of works.
var (
	workQueue = kapi.DefineBarrier("queue_work: set pending", kapi.OrderFull,
		"queue_delayed_work_on, kernel/workqueue.c: test_and_set_bit(WORK_STRUCT_PENDING_BIT), ordered even if "+
			"it was set since 415d83249709 (2022)")
	workOwned = kapi.DefineBarrier("worker: own before clearing", kapi.OrderWMB,
		"set_work_pool_and_clear_pending, kernel/workqueue.c: smp_wmb()")
	workCleared = kapi.DefineBarrier("worker: clear before working", kapi.OrderMB,
		"set_work_pool_and_clear_pending: smp_mb(), since 346c09f80459 (2016)")
	workDone = kapi.DefineBarrier("worker: work before done", kapi.OrderRelease,
		"process_one_work, kernel/workqueue.c: raw_spin_lock_irq(&pool->lock) and what unlocks it, before "+
			"complete() of wq_barrier_func")
)

// A DelayedWork is a routine that a worker runs some time after it was queued:
// when its timer fires is the strategy's choice.
type DelayedWork struct {
	k      *Kernel
	id     uint64               // set at boot: as monitors know it
	f      func(x kapi.Context) `state:"boot"` // set at the boot of a run
	timer  *smp.Source          // set at boot
	worker *smp.Task            // set at boot
	state  kapi.Var[int]        // workPending | workRunning
	idle   kapi.Is[int]         `state:"boot"` // set at boot
	cpu    int                  // owned by the timer: the CPU that it is on, where CPUs go
	halted bool                 // owned by the timer: it ran when that CPU went
}

const (
	workPending = 1 << iota // queued, and its run has not begun
	workRunning
)

func (q *Workqueue) init(k *Kernel) { q.k = k }

func (q *Workqueue) reset() {
	q.n, q.pool, q.Keeps = q.boot, nil, false
	for _, w := range q.works[:q.boot] {
		w.state.Set(0)
		w.cpu, w.halted = 0, false
	}
}

// BootWork makes a work that the kernel has from boot on.
func (q *Workqueue) BootWork(name string, f func(x kapi.Context)) *DelayedWork {
	w := q.NewDelayedWork(name, f).(*DelayedWork)
	q.boot = q.n
	return w
}

// NewDelayedWork implements kapi.Workqueue.
func (q *Workqueue) NewDelayedWork(name string, f func(x kapi.Context)) kapi.DelayedWork {
	if q.n == len(q.works) {
		w := &DelayedWork{k: q.k, id: smpev.WaitWork + uint64(len(q.works))}
		w.worker = q.k.M.Tasks().AddWorker(name, 0, w.run)
		w.timer = &smp.Source{Kind: smp.WorkSource, Name: "work@" + name, Waker: w.worker, Fire: w.fire}
		w.idle = kapi.Is[int]{Var: &w.state}
		if err := q.k.M.Interrupts().Add(w.timer, 0); err != nil {
			sim.Bug("%v", err)
		}
		q.works = append(q.works, w)
	}
	w := q.works[q.n]
	q.n++
	w.f, w.cpu, w.halted = f, 0, false
	w.state.Init(&q.k.M.Cells, 0)
	return w
}

// Now reports whether the work is queued and whether it runs, without a point.
func (w *DelayedWork) Now() (queued, running bool) {
	state := w.state.Peek()
	return state&workPending != 0, state&workRunning != 0
}

// Queue implements kapi.DelayedWork: queue_delayed_work.
func (w *DelayedWork) Queue(x kapi.Context) {
	if state := w.state.RMW(x, workQueue); *state&workPending == 0 {
		*state |= workPending
		w.start(x)
		ctxOf(x).Tell(smpev.Due, uint64(w.worker.ID), 0, 0)
	}
}

// start starts the timer, on the CPU that it is started on.
func (w *DelayedWork) start(x kapi.Context) {
	if w.k.M.Interrupts().Arm(w.timer); w.k.cfg.Offline {
		w.cpu, w.halted = x.CPU(), false
	}
}

// stop is called for a CPU that goes: its timers fire no more.
func (q *Workqueue) stop(cpu int) {
	for _, w := range q.works[:q.n] {
		if w.cpu == cpu && q.k.M.Interrupts().Disarm(w.timer) {
			w.halted = true
		}
	}
}

// adopt takes over the timers of a CPU that has gone (timers_dead_cpu), or, on that CPU, fires those it still has.
func (q *Workqueue) adopt(x kapi.Context, cpu int) {
	for _, w := range q.works[:q.n] {
		if (!q.Keeps || x.CPU() == cpu) && w.takes() && w.cpu == cpu {
			w.start(x)
		}
	}
}

// Left returns the name of a work whose timer was left on a CPU that has gone, so that it will never run; "" if there
// is none.
func (q *Workqueue) Left() string {
	for _, w := range q.works[:q.n] {
		if w.halted {
			return w.worker.Name
		}
	}
	return ""
}

// takes reports whether the timer has to be started.
func (w *DelayedWork) takes() bool {
	w.k.M.Interrupts().Disarmed(w.timer)
	return w.halted
}

// fire is the timer: the worker becomes runnable.
func (w *DelayedWork) fire() {
	if w.k.cfg.Offline {
		w.k.M.Tasks().Place(w.worker, w.cpu)
	}
	w.k.M.Log().Tell(smpev.Due, uint8(w.worker.CPUID()), traces.NoTask, uint64(w.worker.ID), 1, 0)
	w.k.M.Tasks().Wake(w.worker)
}

// run is the worker's body.
func (w *DelayedWork) run(x *smp.Ctx) {
	pool := w.k.Work.pool
	if pool != nil {
		pool.Lock(x)
	}
	x.Fence(workOwned)
	w.state.WriteOnce(x, workRunning) // while it is pending no other CPU writes
	x.Fence(workCleared)
	x.Tell(smpev.Lock, w.id, 0, 0)
	was := x.Balance()
	w.f(x)
	was.Even(x)
	x.Tell(smpev.Unlock, w.id, 0, 0)
	*w.state.RMW(x, workDone) &^= workRunning
	if pool != nil {
		pool.Unlock(x)
	}
}

// Flush implements kapi.DelayedWork: flush_delayed_work.
func (w *DelayedWork) Flush(x kapi.Context) {
	c := ctxOf(x)
	c.Tell(smpev.Lock, w.id, smpev.LockWaits, 0)
	if w.k.cfg.Offline && w.takes() { // flush_delayed_work takes the timer from where it is
		w.start(x)
	}
	c.SleepForWork(&w.idle, w.timer)
}

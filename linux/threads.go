package linux

import (
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// A kernel's thread is modelled by a worker of the machine. Waking the thread queues the
// worker, and the worker calls the thread's function from its beginning. Where the function
// would sleep until woken, it returns instead: its waits report that the thread is to stop.
// Other tasks can't see the difference, because such a thread keeps no state over a wait.

// A thread is the thread that boot makes by kthread_create.
type thread struct {
	f, data uint64 // the function and its argument; f 0: no thread was made
	queue   uint64 // the queue that the thread waits in
}

// threading is the state of the thread, and of tasks that wait for it, that a run changes.
type threading struct {
	worker kapi.DelayedWork `state:"address: it is one of the machine's works"`
	task   kapi.TaskID      // the worker's task, while it runs
	runs   bool             // the worker runs, or boot runs in its place
	woken  bool             // the worker is queued: some time passes until it runs again
	ends   bool             // the thread's function is to return
}

// kthread runs the thread that boot has made.
type kthread struct {
	*env     `state:"boot"`
	doing    threading
	complete kapi.Var[bool] // something has been completed since a task began to wait
	is       kapi.Is[bool]  `state:"boot"`
}

// at returns the result of kthread_create. No code reads memory there.
func (th *kthread) at() uint64 { return uint64(th.taskAt(mostTask - 1)) }

// createThread is kthread_create_on_node(f, data, node, name, …).
func createThread(e *Linux, x kapi.Context, a *args) uint64 {
	if !e.booting || e.boot.thread.f != 0 {
		e.refuse(x, "another thread of the kernel")
		return 0
	}
	e.boot.thread = thread{f: a[0], data: a[1]}
	return e.thread.at()
}

// settle runs the thread at boot, until it waits.
func (th *kthread) settle(x kapi.Context) {
	if th.boot.thread.f != 0 {
		th.run(x)
	}
}

// renew makes the worker of a run.
func (th *kthread) renew() {
	th.doing = threading{}
	if t := &th.boot.thread; t.f != 0 {
		name, _, _ := th.k.Symbol(arch.Addr(t.f))
		th.doing.worker = th.d.Work.NewDelayedWork(name, th.run)
		if th.k.config.completes {
			th.complete.Init(th.d.Cells, false)
			th.is = kapi.Is[bool]{Var: &th.complete, Want: true}
		}
	}
}

// run is the worker's body.
func (th *kthread) run(x kapi.Context) {
	t := &th.doing
	t.task, t.runs, t.woken, t.ends = x.Task(), true, false, false
	th.call(x, arch.Addr(th.boot.thread.f), th.boot.thread.data)
	t.runs = false
}

// mine reports whether the caller is the thread.
func (th *kthread) mine(x kapi.Context) bool { return th.doing.runs && th.doing.task == x.Task() }

func shouldStop(e *Linux, x kapi.Context, _ *args) uint64 { return b2u(e.thread.doing.ends) }

// varQueue is __var_waitqueue(var). Each variable has its own queue.
func varQueue(_ *Linux, _ kapi.Context, a *args) uint64 { return a[0] }

// prepareToWait is prepare_to_wait_event(queue, entry, state).
func prepareToWait(e *Linux, x kapi.Context, a *args) uint64 {
	if e.thread.mine(x) && e.booting {
		e.boot.thread.queue = a[0]
	}
	return 0
}

// waitInQueue is schedule(): a task other than the thread waits until the thread has done the
// work it was woken for.
func waitInQueue(e *Linux, x kapi.Context, _ *args) uint64 {
	if e.thread.mine(x) {
		e.thread.doing.ends = true
		return 0
	}
	e.thread.doing.worker.Flush(x)
	return 0
}

// waitTimeout is schedule_timeout(time). The time has passed by the time the worker begins.
func waitTimeout(e *Linux, x kapi.Context, a *args) uint64 {
	if !e.thread.mine(x) {
		e.refuse(x, "schedule_timeout of a task")
		return 0
	}
	if e.thread.doing.woken {
		e.thread.doing.ends = true
		return a[0]
	}
	return 0
}

// completion names what tasks wait for, which the thread completes.
const completion = "a completion by kprobe_optimizer_thread"

// waitForCompletion is wait_for_completion(c): a task waits until the thread has completed it, for ever if the thread
// doesn't.
func waitForCompletion(e *Linux, x kapi.Context, a *args) uint64 {
	th := &e.thread
	for addDone(x, a[0], 0) == 0 {
		switch {
		case th.mine(x) || th.doing.worker == nil:
			e.refuse(x, "wait_for_completion of what no thread completes")
			return 0
		case th.doing.woken || th.doing.runs:
			th.doing.worker.Flush(x)
		default:
			th.complete.Put(x, false)
			x.Sleep(&th.is)
		}
	}
	addDone(x, a[0], ^uint64(0))
	return 0
}

// completed is complete(c).
func completed(e *Linux, x kapi.Context, a *args) uint64 {
	addDone(x, a[0], 1)
	if e.thread.is.Var != nil {
		e.thread.complete.Put(x, true)
	}
	return 0
}

// addDone adds to the first member of a struct completion, of 32 bits, and returns it.
func addDone(x kapi.Context, at, n uint64) uint64 {
	v, _ := x.Memory().Load(arch.Addr(at), 4)
	if n != 0 {
		v = uint64(uint32(v + n))
		x.Memory().Store(arch.Addr(at), 4, v)
	}
	return v
}

// wakeQueue wakes the thread if it waits in a queue. Other waiting tasks check their condition
// themselves.
func (th *kthread) wakeQueue(x kapi.Context, queue uint64) {
	if queue != th.boot.thread.queue || th.doing.worker == nil {
		return
	}
	th.doing.woken = true
	th.doing.worker.Queue(x)
}

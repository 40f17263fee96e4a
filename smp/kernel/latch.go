package kernel

import "kpsim/smp/kapi"

// The orders of a latch.
var (
	latchOpen = kapi.DefineBarrier("latch: open", kapi.OrderRelease,
		"smp_store_release() of a flag; complete_all(): its lock's unlock")
	latchWait = kapi.DefineBarrier("latch: wait", kapi.OrderAcquire,
		"smp_load_acquire() of a flag; wait_for_completion(): its lock")
)

// A Latch makes tasks wait until another task opens it. Scenarios have one for tasks that keep
// their CPU, and one for tasks that sleep.
type Latch struct {
	k    *Kernel // set at boot
	open kapi.Var[bool]
	is   kapi.Is[bool] `state:"boot"` // set at boot

	Openers []kapi.TaskID // set at boot: the tasks that open it, for Standstill
}

func (l *Latch) init(k *Kernel, wanted bool) {
	l.k = k
	if wanted {
		l.open.Init(&k.M.Cells, false)
		l.is = kapi.Is[bool]{Var: &l.open, Want: true}
	}
}

func (l *Latch) reset() { l.open.Set(false) }

// Spin keeps the CPU until the latch is open. Interrupts are as they were. It is
// no quiescent state (Context.Spin).
func (l *Latch) Spin(x kapi.Context) {
	l.k.Stacks.left(x.Task())
	x.Spin(&l.is)
}

// Wait sleeps until the latch is open. Context: may sleep.
func (l *Latch) Wait(x kapi.Context) {
	if !l.open.LoadAcquire(x, latchWait) {
		x.Sleep(&l.is)
	}
}

// Open releases all spinning tasks.
func (l *Latch) Open(x kapi.Context) { l.open.StoreRelease(x, latchOpen, true) }

// A Countdown counts the tasks that others may wait for.
type Countdown struct {
	left   kapi.Var[int]
	none   kapi.Is[int] `state:"boot"` // set at boot
	waited bool         // set at boot: a task waits for it
}

// Init makes n tasks be left. waited says that a task waits until none is.
func (c *Countdown) Init(cells *kapi.Cells, n int, waited bool) {
	c.left.Init(cells, n)
	c.none, c.waited = kapi.Is[int]{Var: &c.left, Want: 0}, waited
}

// ID returns the number of its cell.
func (c *Countdown) ID() kapi.CellID { return c.left.ID() }

// Left returns how many tasks are left.
func (c *Countdown) Left(x kapi.Context) int { return c.left.ReadOnce(x) }

// Down counts a task that has ended, or waits.
func (c *Countdown) Down(x kapi.Context) {
	b := kapi.Once
	if c.waited {
		b = latchOpen
	}
	kapi.Add(&c.left, x, b, -1)
}

// Wait sleeps until no task is left. Context: may sleep.
func (c *Countdown) Wait(x kapi.Context) {
	if c.left.LoadAcquire(x, latchWait) != 0 {
		x.Sleep(&c.none)
	}
}

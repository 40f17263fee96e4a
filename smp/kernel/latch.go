package kernel

import "kpsim/smp/kapi"

// A Latch is what a task that never schedules waits for, with its CPU in its
// hands: one for a run, for scenarios.
type Latch struct {
	k    *Kernel // set at boot
	open kapi.Var[bool]
	is   kapi.Is[bool] // set at boot

	Openers []kapi.TaskID // set at boot: who is to open it, for Standstill
}

func (l *Latch) init(k *Kernel) {
	l.k = k
	if k.cfg.Latch {
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

// Open lets all go on who spin.
func (l *Latch) Open(x kapi.Context) { l.open.Store(x, true) }

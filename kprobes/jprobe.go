package kprobes

import (
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// A JHandler runs in place of the function at whose beginning it is, with a copy of the function's registers:
// arguments are in them, and on the stack from SP+8 on. Its changes of either are undone (spec 3.1). Context:
// preemption and interrupts off; it may not sleep.
type JHandler func(x kapi.Context, j *Jprobe, regs *arch.Regs)

// A Jprobe is a jprobe that a user registers (2.6). Kprobe names the function, and identifies
// the probe in events; the handlers in it are the engine's own. Either Entry or Handler is set.
type Jprobe struct {
	Kprobe  Kprobe
	Entry   arch.Addr // text that is run as if called with the function's arguments; it ends by calling jprobe_return
	Handler JHandler  `state:"boot"` // or Go
	_       struct{}
}

// stackCopy is how many bytes of the stack are kept at most (MAX_STACK_SIZE).
const stackCopy = 64

// Jprobes are the jprobes of an engine.
type Jprobes struct {
	*env     `state:"boot"` // set at New
	onPre    PreHandler     `state:"boot"` // set at New
	onCall   kapi.Routine   `state:"boot"` // set at New
	onReturn kapi.Routine   `state:"boot"` // set at New
	returns  arch.Addr      // set at New: jprobe_return
	returned arch.Addr      // set at New: its breakpoint
	entry    arch.Addr      // set at New: the text that runs a Handler
	ended    arch.Addr      // set at New: its breakpoint
	code     []byte         `state:"boot"` // set at New: its bytes
	saved    []jprobed      // owned by its CPU
}

// jprobed is the state that a CPU keeps while the entry of a jprobe runs.
type jprobed struct {
	k    *Kprobe   // owned by its CPU: nil: none runs
	regs arch.Regs `state:"during k: says nothing while no jprobe runs"` // owned by its CPU: the function's
	// owned by its CPU: the registers that a Handler gets
	given arch.Regs       `state:"during k: says nothing while no jprobe runs"`
	stack [stackCopy]byte `state:"during k: says nothing while no jprobe runs"` // owned by its CPU
	// owned by its CPU: how much of stack is
	n int `state:"during k: says nothing while no jprobe runs"`
}

// init makes the routines, as values.
func (j *Jprobes) init() {
	j.onPre, j.onCall, j.onReturn = j.setjmpPreHandler, j.jprobeCall, j.jprobeReturn
}

// Register registers a jprobe at the beginning of a function; EEXIST if there is one (spec 3.2). Context: may sleep.
func (j *Jprobes) Register(x kapi.Context, jp *Jprobe) error {
	if !j.s.Jprobes {
		return EOPNOTSUPP
	}
	j.e.kprobeMutex.Lock(x)
	err := j.registerJprobe(x, jp)
	j.e.kprobeMutex.Unlock(x)
	return err
}

func (j *Jprobes) registerJprobe(x kapi.Context, jp *Jprobe) error {
	if (jp.Entry == 0) == (jp.Handler == nil) || jp.Kprobe.aggr != nil {
		return EINVAL
	}
	if err := j.e.text.kprobeOnFuncEntry(x, &jp.Kprobe); err != nil {
		return err
	}
	p := &jp.Kprobe
	p.Pre, p.Post, p.jp = j.onPre, nil, jp
	return j.e.registerKprobe(x, p)
}

// Unregister removes a jprobe. After it has returned, the jprobe's entry isn't running and
// doesn't run again. Context: may sleep.
func (j *Jprobes) Unregister(x kapi.Context, jp *Jprobe) error { return j.e.Unregister(x, &jp.Kprobe) }

// hasJprobe reports whether one of the aggr's probes is a jprobe's.
func (ap *Aggr) hasJprobe() bool {
	for _, p := range ap.probes.Owned().probes {
		if p.jp != nil {
			return true
		}
	}
	return false
}

// jprobeCall is called by the text that runs a Handler.
func (j *Jprobes) jprobeCall(x kapi.Context, regs *arch.Regs) {
	s := &j.saved[x.CPU()]
	s.given = s.regs
	s.given.IP = s.k.Addr
	s.k.jp.Handler(x, s.k.jp, &s.given)
	if j.row.switchesStack {
		j.jprobeReturn(x, regs)
	}
}

// jumped reports whether the CPU runs the entry of a jprobe.
func (j *Jprobes) jumped(x kapi.Context) bool { return j.s.Jprobes && j.saved[x.CPU()].k != nil }

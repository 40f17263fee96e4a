package kprobes

import (
	"kpsim/kprobes/kpev"
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
	if j.switches() {
		j.jprobeReturn(x, regs)
	}
}

// switches reports whether the text of jprobes switches stacks.
func (j *Jprobes) switches() bool { return j.row.x86 != nil && j.row.x86.switchesStack }

// jumped reports whether the CPU runs the entry of a jprobe.
func (j *Jprobes) jumped(x kapi.Context) bool { return j.s.Jprobes && j.saved[x.CPU()].k != nil }

// renew resets the engine's jprobes to what New would make.
//
//	jprobe_return:         int3; nop
//	jprobe_handler_entry:  call jprobeCall; int3
//
// with the breakpoint of the processor. On i386 both switch to the probed function's stack first, because the trap
// frame, which has no stack pointer, must be where that function's was (jprobe_return of 2.6).
//
//	jprobe_return:         call jprobeReturn; xchg %ebx,%esp; int3
//	jprobe_handler_entry:  call jprobeCall;   xchg %ebx,%esp; int3
func (j *Jprobes) renew() {
	if !j.s.Jprobes {
		return
	}
	j.returns, j.entry = j.d.Bind.Stub(jprobeRet), j.d.Bind.Stub(jprobeEntry)
	j.code = j.code[:0]
	if j.switches() {
		j.callAndSwitch(j.returns, j.d.Bind.Bind("jprobe_saved_esp", j.onReturn))
	}
	j.returned = j.returns + arch.Addr(len(j.code))
	j.code = append(append(j.code, j.cpu.Breakpoint...), j.cpu.Nop(len(j.cpu.Breakpoint))...)
	j.d.Bind.Link(j.returns, j.code)

	j.code = j.code[:0]
	j.callAndSwitch(j.entry, j.d.Bind.Bind("jprobe_handler", j.onCall))
	j.ended = j.entry + arch.Addr(len(j.code))
	j.code = append(j.code, j.cpu.Breakpoint...)
	j.d.Bind.Link(j.entry, j.code)
	if len(j.saved) != j.d.CPUs {
		j.saved = make([]jprobed, j.d.CPUs)
	}
	for c := range j.saved {
		j.saved[c].k = nil
	}
}

// callAndSwitch appends a call, in text that begins at an address, and the instruction that
// switches to the stack that the call returns.
func (j *Jprobes) callAndSwitch(at, to arch.Addr) {
	call, _ := j.cpu.Call(at, to)
	if j.code = append(j.code, call.Bytes()...); j.switches() {
		j.code = append(j.code, switchStack...)
	}
}

// jprobeReturn returns the stack of the probed function. Outside a jprobe's entry it changes no stack.
func (j *Jprobes) jprobeReturn(x kapi.Context, regs *arch.Regs) {
	regs.R[stackReg] = uint64(j.cpu.StackPointer(regs))
	if j.jumped(x) {
		regs.R[stackReg] = uint64(j.cpu.StackPointer(&j.saved[x.CPU()].regs))
	}
}

// setjmpPreHandler is the pre_handler of a jprobe's kprobe: it keeps registers, and on x86 part of the stack,
// and goes to the entry. The CPU stays busy with the probe, and preemption off.
// Context: a pre_handler's, the last one of its aggr.
func (j *Jprobes) setjmpPreHandler(x kapi.Context, p *Kprobe, regs *arch.Regs) int {
	s := &j.saved[x.CPU()]
	s.k, s.regs = p, *regs
	s.n = j.do.Jprobe.JprobeStack(j.e, x, regs)
	for i := range s.n {
		v, _ := x.Memory().Load(j.cpu.StackPointer(regs)+arch.Addr(i), 1)
		s.stack[i] = byte(v)
	}
	x.Work(kapi.WorkSave, 1)
	x.Work(kapi.WorkCopy, s.n)
	x.Emit(kpev.JprobeEnter, p.ID, uint64(j.cpu.StackPointer(regs)), 0)
	x.PreemptDisable()
	regs.Flags &^= arch.IRQ
	if regs.IP = p.jp.Entry; p.jp.Handler != nil {
		regs.IP = j.entry
	}
	return 1
}

// longjmpBreakHandler is the break handler: if the address is that of jprobe_return, it restores registers and stack,
// and the probed instruction is executed next (spec 3.3). Context: interrupts off.
func (j *Jprobes) longjmpBreakHandler(x kapi.Context, at arch.Addr, regs *arch.Regs) bool {
	if !j.jumped(x) || at != j.returned && at != j.ended {
		return false
	}
	s := &j.saved[x.CPU()]
	j.do.Jprobe.JprobeRegs(regs, &s.regs)
	for i := range s.n {
		x.Memory().Store(j.cpu.StackPointer(regs)+arch.Addr(i), 1, uint64(s.stack[i]))
	}
	x.Work(kapi.WorkSave, 1)
	x.Work(kapi.WorkCopy, s.n)
	// the entry never returns: the returns of earlier calls aren't where the CPU predicts them
	x.Work(kapi.WorkMispredict, 3)
	x.Emit(kpev.JprobeLeave, s.k.ID, uint64(j.cpu.StackPointer(regs)), 0)
	s.k = nil
	x.PreemptEnable()
	return true
}

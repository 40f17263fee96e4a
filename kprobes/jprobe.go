package kprobes

import (
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// A JHandler runs in place of the function that it is at the beginning of, with a
// copy of the function's registers: arguments are in them, and on the stack from
// SP+8 on. What it changes of either is undone (spec 3.1). Context: preemption
// and interrupts off; it may not sleep.
type JHandler func(x kapi.Context, j *Jprobe, regs *arch.Regs)

// A Jprobe is what its user registers (2.6): Kprobe says at which function and
// names it in events; its handlers are the engine's own. Of Entry and Handler one
// is set.
type Jprobe struct {
	Kprobe  Kprobe
	Entry   arch.Addr // text that is run as if called with the function's arguments; it ends by calling jprobe_return
	Handler JHandler  `state:"boot"` // or Go
	_       struct{}
}

// stackCopy is how many bytes of the stack are kept at most (MAX_STACK_SIZE).
const stackCopy = 64

// jprobeState is the engine's memory of jprobes.
type jprobeState struct {
	onPre   PreHandler   `state:"boot"` // set at New
	onCall  kapi.Routine `state:"boot"` // set at New
	returns arch.Addr    // set at New: jprobe_return
	entry   arch.Addr    // set at New: the text that runs a Handler
	code    []byte       `state:"boot"` // set at New: its bytes
	saved   []jprobed    // owned by its CPU
}

// jprobed is what a CPU keeps while the entry of a jprobe runs.
type jprobed struct {
	k     *Kprobe         // owned by its CPU: nil: none runs
	regs  arch.Regs       `state:"during k: says nothing while no jprobe runs"` // owned by its CPU: the function's
	given arch.Regs       `state:"during k: says nothing while no jprobe runs"` // owned by its CPU: what a Handler works on
	stack [stackCopy]byte `state:"during k: says nothing while no jprobe runs"` // owned by its CPU
	n     int             `state:"during k: says nothing while no jprobe runs"` // owned by its CPU: how much of stack is
}

// newJprobes makes what Renew keeps.
func (e *Engine) newJprobes() { e.jp.onPre, e.jp.onCall = e.setjmpPreHandler, e.jprobeCall }

// renewJprobes makes the engine's jprobes what New would.
//
//	jprobe_return:         int3; nop
//	jprobe_handler_entry:  call jprobeCall; int3
func (e *Engine) renewJprobes() {
	if !e.s.Jprobes {
		return
	}
	j := &e.jp
	j.returns, j.entry = e.d.Bind.Stub(jprobeRet), e.d.Bind.Stub(jprobeEntry)
	j.code = append(j.code[:0], x86.Int3, 0x90)
	e.d.Bind.Link(j.returns, j.code)
	call, _ := x86.CallRel32(j.entry, e.d.Bind.Bind("jprobe_handler", j.onCall))
	j.code = append(append(j.code[:0], call[:]...), x86.Int3)
	e.d.Bind.Link(j.entry, j.code)
	if len(j.saved) != e.d.CPUs {
		j.saved = make([]jprobed, e.d.CPUs)
	}
	for c := range j.saved {
		j.saved[c].k = nil
	}
}

// RegisterJ registers a jprobe at the beginning of a function; EEXIST: there is
// one (spec 3.2). Context: may sleep.
func (e *Engine) RegisterJ(x kapi.Context, j *Jprobe) error {
	if !e.s.Jprobes {
		return EOPNOTSUPP
	}
	e.mutex.Lock(x)
	err := e.registerJ(x, j)
	e.mutex.Unlock(x)
	return err
}

func (e *Engine) registerJ(x kapi.Context, j *Jprobe) error {
	if (j.Entry == 0) == (j.Handler == nil) || j.Kprobe.aggr != nil {
		return EINVAL
	}
	if err := e.kprobeOnFuncEntry(x, &j.Kprobe); err != nil {
		return err
	}
	k := &j.Kprobe
	k.Pre, k.Post, k.jp = e.jp.onPre, nil, j
	return e.registerKprobe(x, k)
}

// UnregisterJ takes a jprobe away: when it returns its entry isn't running and
// doesn't run again. Context: may sleep.
func (e *Engine) UnregisterJ(x kapi.Context, j *Jprobe) error { return e.Unregister(x, &j.Kprobe) }

// hasJprobe reports whether one of the aggr's probes is a jprobe's.
func (p *Aggr) hasJprobe() bool {
	for _, k := range p.probes.Peek().probes {
		if k.jp != nil {
			return true
		}
	}
	return false
}

// setjmpPreHandler is the pre_handler of a jprobe's kprobe: it keeps registers and stack
// and goes to the entry. The CPU stays busy with the probe, and preemption off.
// Context: a pre_handler's, the last one of its aggr.
func (e *Engine) setjmpPreHandler(x kapi.Context, k *Kprobe, regs *arch.Regs) int {
	s := &e.jp.saved[x.CPU()]
	s.k, s.regs = k, *regs
	s.n = e.do.JprobeStack(e, x, regs)
	for i := range s.n {
		v, _ := x.Memory().Load(x86.SP(regs)+arch.Addr(i), 1)
		s.stack[i] = byte(v)
	}
	x.Work(kapi.WorkSave, 1)
	x.Work(kapi.WorkCopy, s.n)
	x.Emit(kpev.JprobeEnter, k.ID, regs.R[x86.RSP], 0)
	x.PreemptDisable()
	regs.Flags &^= x86.IF
	if regs.IP = k.jp.Entry; k.jp.Handler != nil {
		regs.IP = e.jp.entry
	}
	return 1
}

// jprobeCall is what the text that runs a Handler calls.
func (e *Engine) jprobeCall(x kapi.Context, _ *arch.Regs) {
	s := &e.jp.saved[x.CPU()]
	s.given = s.regs
	s.given.IP = s.k.Addr
	s.k.jp.Handler(x, s.k.jp, &s.given)
}

// jumped reports whether the CPU runs the entry of a jprobe.
func (e *Engine) jumped(x kapi.Context) bool { return e.s.Jprobes && e.jp.saved[x.CPU()].k != nil }

// longjmpBreakHandler is the break handler: if the breakpoint at an address is that of
// jprobe_return it puts registers and stack back, and the probed instruction is
// to be executed (spec 3.3). Context: interrupts off.
func (e *Engine) longjmpBreakHandler(x kapi.Context, at arch.Addr, regs *arch.Regs) bool {
	if !e.jumped(x) || at != e.jp.returns && at != e.jp.entry+callSize {
		return false
	}
	s := &e.jp.saved[x.CPU()]
	e.do.JprobeRegs(regs, &s.regs)
	for i := range s.n {
		x.Memory().Store(x86.SP(regs)+arch.Addr(i), 1, uint64(s.stack[i]))
	}
	x.Work(kapi.WorkSave, 1)
	x.Work(kapi.WorkCopy, s.n)
	x.Work(kapi.WorkMispredict, 3) // the entry never returns: what was called before it isn't where the CPU expects it (study of cycles 1)
	x.Emit(kpev.JprobeLeave, s.k.ID, regs.R[x86.RSP], 0)
	s.k = nil
	x.PreemptEnable()
	return true
}

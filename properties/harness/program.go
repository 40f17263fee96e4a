package harness

import (
	"kpsim/kprobes"
	"kpsim/kprobes/kpev"
	"kpsim/properties/scenario"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/isa"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// A program is a task's operations, run as a kernel routine.
type program struct {
	r      *Rig
	task   *smp.Task
	ops    []scenario.Op
	repeat int
	behind bool     // in the background
	calls  uint64   // made so far in the run
	called []called // by each operation: the function
	checks []int    // of each operation: the number of its first check
	came   uint64   // a digest of what its operations came to in the run
	errno  uint64   // what the API answered last
}

func (p *program) run(x *smp.Ctx) {
	for n := range p.repeat {
		if p.behind && n > 0 && p.r.front.Load(x) == 0 {
			break
		}
		for i := range p.ops {
			x.Forget(uint64(n*len(p.ops)+i) + 1)
			p.do(x, i)
		}
	}
	if p.r.behind && !p.behind {
		kapi.Add(&p.r.front, x, -1)
	}
}

func (p *program) do(x *smp.Ctx, i int) {
	r, op := p.r, &p.ops[i]
	switch op.Kind {
	case scenario.OpCall:
		p.call(x, i)
		return
	case scenario.OpExpect:
		p.expect(x, i)
		return
	case scenario.OpSchedule:
		x.Step("schedule", 0)
		x.Sleep(kapi.Yield)
		return
	case scenario.OpSpin:
		x.Step("spin", 0)
		r.Kernel.Latch.Spin(x)
		return
	case scenario.OpRelease:
		r.Kernel.Latch.Open(x)
		return
	case scenario.OpUser:
		r.Kernel.User(x)
		return
	}
	if r.twin {
		return
	}
	switch op.Kind {
	case scenario.OpRegister:
		errno, at := p.api(x, kpev.Register, op.Target, r.engine.Register)
		if op.Checked {
			p.got(x, i, 0, smpev.CheckErrno, errno, uint64(at))
		}
	case scenario.OpUnregister:
		p.api(x, kpev.Unregister, op.Target, r.engine.Unregister)
	case scenario.OpEnable:
		p.api(x, kpev.Enable, op.Target, r.engine.Enable)
	case scenario.OpDisable:
		p.api(x, kpev.Disable, op.Target, r.engine.Disable)
	case scenario.OpWaitOptimized:
		r.engine.WaitOptimizer(x)
	case scenario.OpOptimization:
		x.Emit(kpev.Sysctl, b2u(op.On), 0, 0)
		r.engine.SetOptimization(x, op.On)
		x.Emit(kpev.Sysctl, b2u(op.On), 1, 0)
	case scenario.OpHotplug:
		r.Kernel.Hotplug.Change(x)
	case scenario.OpEnableLabel, scenario.OpDisableLabel:
		for i := range r.labels {
			if r.Scenario.Labels[i].Name == op.Target {
				r.labels[i].Set(x, op.Kind == scenario.OpEnableLabel, r.patch)
			}
		}
	default:
		sim.Bug("operation %v", op.Kind)
	}
}

// argRegs are the registers of integer arguments (System V ABI).
var argRegs = [...]isa.Reg{isa.RDI, isa.RSI, isa.RDX, isa.RCX, isa.R8, isa.R9}

// call calls a function and tells what it left.
func (p *program) call(x *smp.Ctx, i int) {
	op, regs := &p.ops[i], x.Regs()
	anyRegs(regs)
	for i, a := range op.Args {
		regs.R[argRegs[i]] = a
	}
	x.Step("call", int(p.calls))
	p.r.census.enter(int(p.task.ID), p.called[i])
	x.Call(p.called[i].from)
	p.r.census.enter(int(p.task.ID), called{})
	if op.Checked {
		p.got(x, i, 0, smpev.CheckResult, p.task.Left().R[isa.RAX]&(^uint64(0)>>(64-op.Bits)), 0)
	}

	e := callEnd{uint64(p.task.ID), p.calls, p.digest(x)}
	if op.Changed {
		e.digest = 0
	}
	p.calls++
	p.came = sim.Mix(p.came ^ e.digest)
	p.r.ends = append(p.r.ends, e)
	x.Emit(smpev.CallEnd, e.task, e.call, e.digest)
}

// anyRegs gives the registers values that are nobody's, so that each call starts
// alike, whatever ran before.
func anyRegs(regs *isa.Regs) {
	for i := range regs.R {
		if isa.Reg(i) != isa.RSP {
			regs.R[i] = sim.Mix(uint64(i))
		}
	}
	regs.Flags = regs.Flags&isa.IF | isa.F1
}

// digest folds what a call left: every register, the flags, the stack pointer,
// the stack above it, and the data, if no other call can have written there.
func (p *program) digest(x *smp.Ctx) uint64 {
	left := p.task.Left()
	h := sim.Mix(left.Flags)
	for _, v := range left.R {
		h = sim.Mix(h ^ v)
	}
	h = fold(h, x, x.Regs().SP(), p.task.StackTop())
	if p.r.ownData {
		for i := range p.r.Scenario.Datas {
			d := &p.r.Scenario.Datas[i]
			at := copyAt(d, x.CPU())
			h = fold(h, x, at, at+isa.Addr(len(d.Bytes)))
		}
	}
	return h | 1
}

// fold folds memory.
func fold(h uint64, x *smp.Ctx, from, to isa.Addr) uint64 {
	for a := from; a < to; a++ {
		size := 1
		if a%8 == 0 && a+8 <= to {
			size = 8
		}
		v, _ := x.Memory().Load(a, size)
		h = sim.Mix(h ^ v)
		a += isa.Addr(size - 1)
	}
	return h
}

// onlyCaller reports whether one task alone runs the scenario's functions, so
// that what it finds in their data depends on no schedule.
func onlyCaller(sc *scenario.Scenario) bool {
	calls := 0
	for i := range sc.Tasks {
		for _, op := range sc.Tasks[i].Ops {
			if op.Kind == scenario.OpCall {
				calls++
				break
			}
		}
	}
	for i := range sc.Sources {
		if sc.Sources[i].Run != "" {
			calls++
		}
	}
	for i := range sc.Probes {
		for _, steps := range [][]scenario.Step{sc.Probes[i].Pre, sc.Probes[i].Post} {
			for _, s := range steps {
				if s.Kind == scenario.StepCall {
					calls++
				}
			}
		}
	}
	return calls == 1
}

// api makes a call of the probes' API and tells of it. It returns the answer,
// and where the probe is.
func (p *program) api(x *smp.Ctx, call uint64, name string, f func(kapi.Context, *kprobes.Kprobe) error) (errno uint64, at isa.Addr) {
	r := p.r
	for i := range r.probes {
		if r.Scenario.Probes[i].Name != name {
			continue
		}
		k := &r.probes[i]
		if call == kpev.Register && k.Addr == 0 { // unregistered once too often, which has cleared it
			k.Addr = r.fresh[i].Addr
		}
		x.Emit(kpev.ApiEnter, call, k.ID, uint64(k.Addr))
		if err := f(x, k); err != nil {
			errno = uint64(err.(kprobes.Errno))
		}
		p.came, p.errno = sim.Mix(p.came^errno), errno
		x.Emit(kpev.ApiReturn, call, k.ID, errno)
		return errno, k.Addr
	}
	sim.Bug("scenario %s was not checked: no probe %s", r.Scenario.Name, name)
	return 0, 0
}

// pre runs a probe's pre_handler.
func (r *Rig) pre(x kapi.Context, k *kprobes.Kprobe, regs *isa.Regs) int {
	x.Emit(kpev.Handler, k.ID, kpev.Pre, uint64(k.Addr))
	return r.handle(x, r.Scenario.Probes[k.ID].Pre, regs)
}

// post runs a probe's post_handler.
func (r *Rig) post(x kapi.Context, k *kprobes.Kprobe, regs *isa.Regs, _ uint64) {
	x.Emit(kpev.Handler, k.ID, kpev.Post, uint64(k.Addr))
	r.handle(x, r.Scenario.Probes[k.ID].Post, regs)
}

// handle runs the steps of a handler. It returns 1 if one has changed the path.
func (r *Rig) handle(x kapi.Context, steps []scenario.Step, regs *isa.Regs) (changed int) {
	for i := range steps {
		s := &steps[i]
		x.Step("handler", i)
		switch s.Kind {
		case scenario.StepSetReg:
			regs.R[s.Reg] = s.Value
		case scenario.StepSetIP:
			regs.IP, changed = r.funcs[s.Func]+isa.Addr(s.Value), 1
		case scenario.StepCall:
			x.Call(r.funcs[s.Func])
		}
	}
	return changed
}

package rig

import (
	"encoding/binary"

	"kpsim/internal/scenario"
	"kpsim/kprobes"
	"kpsim/kprobes/kpev"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// unregistered makes the probes that a run begins with.
func (r *Rig) unregistered() {
	for i := len(r.fresh); i < len(r.Scenario.Probes); i++ {
		sp := &r.Scenario.Probes[i]
		p := kprobes.Kprobe{ID: uint64(i), Symbol: sp.Symbol}
		if sp.Symbol != "" {
			p.Offset = sp.Offset
		}
		if sp.Func != "" {
			p.Addr = r.funcs[sp.Func]
			if sp.Symbol == "" {
				p.Addr += arch.Addr(sp.Offset)
			}
		}
		if sp.Disabled {
			p.Flags = kprobes.FlagDisabled
		}
		at := arch.Addr(0)
		if f, known := r.Scenario.Place(sp); known {
			at = r.funcs[f] + arch.Addr(sp.Offset+r.Scenario.Entry(sp))
		}
		r.placed = append(r.placed, at)
		ret := kprobes.Kretprobe{Kprobe: p, Maxactive: sp.Maxactive, DataSize: sp.DataSize}
		if sp.Kind == scenario.ProbeKretprobe {
			if sp.Pre != nil {
				ret.Entry = r.onEntry
			}
			if sp.Post != nil {
				ret.Handler = r.onRet
			}
		}
		if sp.Kind == scenario.ProbeKprobe {
			if sp.Pre != nil {
				p.Pre = r.onPre
			}
			if sp.Post != nil {
				p.Post = r.onPost
			}
			if sp.Fault != nil {
				p.Fault = r.onFault
			}
		}
		j := kprobes.Jprobe{Kprobe: p}
		if sp.Kind == scenario.ProbeJprobe {
			if sp.Pre != nil {
				j.Handler = r.onJump
			}
			j.Entry = r.funcs[sp.Entry]
		}
		r.freshJs = append(r.freshJs, j)
		r.fresh = append(r.fresh, p)
		r.freshRets = append(r.freshRets, ret)
		r.telling = r.telling || sp.Kind != scenario.ProbeKprobe || sp.Disabled
	}
}

// loadOwn lists the kernel's own text that a probe of its own is on: the nop that is
// the trampoline of 2.6, and the ud2 behind it.
func (r *Rig) loadOwn() error {
	if r.Scenario.Machine.Returns != kprobes.ReturnGlobal {
		return nil
	}
	t := scenario.Text{Name: "kretprobe_trampoline", At: r.Kernel.Stub("kretprobe_trampoline"), Code: make([]byte, 3)}
	r.Machine.BootText(t.At, t.Code)
	r.own = t.At
	return r.loadInsns(&t)
}

// renewProbes gives a run probes that nobody has registered.
func (r *Rig) renewProbes() {
	copy(r.probes, r.fresh)
	r.newTracer()
	if r.rets == nil {
		r.rets = make([]kprobes.Kretprobe, len(r.freshRets))
	}
	copy(r.rets, r.freshRets)
	if r.jprobes == nil {
		r.jprobes = make([]kprobes.Jprobe, len(r.freshJs))
	}
	copy(r.jprobes, r.freshJs)
}

// kprobe returns what the engine is given of probe i, if it isn't a return probe
// or jprobe that this is in.
func (r *Rig) kprobe(i int) *kprobes.Kprobe {
	switch r.Scenario.Probes[i].Kind {
	case scenario.ProbeKretprobe:
		return &r.rets[i].Kprobe
	case scenario.ProbeJprobe:
		return &r.jprobes[i].Kprobe
	}
	return &r.probes[i]
}

// tellProbes tells the monitors what they couldn't know of the probes.
func (r *Rig) tellProbes() {
	for i := range r.Scenario.Probes {
		r.tellProbe(i)
	}
	if r.own != 0 { // a raw site, as a jump label's
		for _, b := range [...]byte{target.Arch.Nop(1)[0], target.Arch.Breakpoint[0]} {
			r.Log.Emit(smpev.Image, 255, traces.NoTask, uint64(r.own), uint64(b), 1<<56)
		}
	}
	if r.tells() {
		r.tellContexts()
	}
}

func (r *Rig) tellContexts() {
	m := &r.Scenario.Machine
	r.Log.Emit(kpev.Contexts, 255, traces.NoTask, b2u(m.DetourIRQsOff), b2u(m.Returns >= kprobes.ReturnHashed), 0)
}

// tellProbe is tellProbes of one.
func (r *Rig) tellProbe(i int) {
	sp := &r.Scenario.Probes[i]
	if sp.Kind != scenario.ProbeKprobe || sp.Disabled || r.tells() {
		about := kpev.IsDisabled*b2u(sp.Disabled) | kpev.HasEntry*b2u(sp.Kind == scenario.ProbeKretprobe && sp.Pre != nil)
		if sp.Kind == scenario.ProbeJprobe {
			about |= kpev.ChangesPath
		}
		if sp.Kind == scenario.ProbeKprobe {
			about |= kpev.HasPost * b2u(sp.Pre != nil && sp.Post != nil)
			for _, st := range sp.Pre {
				if st.Kind == scenario.StepSetIP || st.Kind == scenario.StepNonzero {
					about |= kpev.ChangesPath
				}
			}
		}
		r.Log.Emit(kpev.Kind, 255, traces.NoTask, uint64(i), uint64(sp.Kind), about)
	}
	if sp.Kind == scenario.ProbeJprobe || sp.Kind == scenario.ProbeKprobe && sp.Post != nil {
		r.Log.Tell(kpev.NoJump, 255, traces.NoTask, uint64(i), 0, 0)
	}
	if sp.Kind == scenario.ProbeKretprobe {
		r.Log.Tell(kpev.Returner, 255, traces.NoTask, uint64(r.Kernel.Stub("kretprobe_trampoline")), 0, 0)
	}
	silent := sp.Pre == nil
	switch sp.Kind {
	case scenario.ProbeKretprobe:
		silent = sp.Post == nil
	case scenario.ProbeJprobe:
		silent = false
	}
	if silent {
		r.Log.Emit(kpev.NoPre, 255, traces.NoTask, uint64(i), 0, 0)
	}
}

// tells reports whether the contexts of handlers are told: where there is an
// edition to hold them against, or a probe that only editions have.
func (r *Rig) tells() bool { return r.telling || r.Scenario.Machine.Edition != scenario.EditionNone }

// tell tells that a handler begins.
func (r *Rig) tell(x kapi.Context, k *kprobes.Kprobe, which uint64, regs *arch.Regs) {
	if r.saw != nil {
		r.saw(k, which, regs)
	}
	x.Emit(kpev.Handler, k.ID, which, uint64(k.Addr))
	if !r.tells() {
		return
	}
	c := x.(*smp.Ctx)
	t := c.Thread()
	bits := kpev.PreemptOff*b2u(t.PreemptCount() > 0 || t.Traps() > 0) | kpev.IRQsOff*b2u(!c.Open()) | kpev.WereOff*b2u(regs.Flags&target.Arch.IRQFlag == 0)
	x.Emit(kpev.Context, k.ID, which, bits)
}

// pre runs a probe's pre_handler.
func (r *Rig) pre(x kapi.Context, k *kprobes.Kprobe, regs *arch.Regs) int {
	r.tell(x, k, kpev.Pre, regs)
	return r.handle(x, r.Scenario.Probes[k.ID].Pre, regs, nil)
}

// post runs a probe's post_handler.
func (r *Rig) post(x kapi.Context, k *kprobes.Kprobe, regs *arch.Regs, _ uint64) {
	r.tell(x, k, kpev.Post, regs)
	r.handle(x, r.Scenario.Probes[k.ID].Post, regs, nil)
}

// fault runs a probe's fault_handler.
func (r *Rig) fault(x kapi.Context, k *kprobes.Kprobe, regs *arch.Regs, _ int) int {
	r.tell(x, k, kpev.Fault, regs)
	return r.handle(x, r.Scenario.Probes[k.ID].Fault, regs, nil)
}

// entry runs a return probe's entry_handler.
func (r *Rig) entry(x kapi.Context, ri *kprobes.Instance, regs *arch.Regs) int {
	k := &ri.Rp.Kprobe
	r.tell(x, k, kpev.Entry, regs)
	sp := target.Arch.StackPointer(regs)
	to, _ := x.Memory().Load(sp, 8)
	x.Emit(kpev.RetEntry, k.ID, uint64(sp), to)
	left := r.handle(x, r.Scenario.Probes[k.ID].Pre, regs, ri.Data)
	if left != 0 {
		x.Emit(kpev.RetLeft, k.ID, uint64(sp), 0)
	}
	return left
}

// returned runs a return probe's handler.
func (r *Rig) returned(x kapi.Context, ri *kprobes.Instance, regs *arch.Regs) int {
	k := &ri.Rp.Kprobe
	r.tell(x, k, kpev.Return, regs)
	x.Emit(kpev.RetReturn, k.ID, uint64(target.Arch.StackPointer(regs))-8, uint64(ri.RetAddr))
	return r.handle(x, r.Scenario.Probes[k.ID].Post, regs, ri.Data)
}

// jump runs a jprobe's entry, where it is Go.
func (r *Rig) jump(x kapi.Context, j *kprobes.Jprobe, regs *arch.Regs) {
	r.tell(x, &j.Kprobe, kpev.Jump, regs)
	r.handle(x, r.Scenario.Probes[j.Kprobe.ID].Pre, regs, nil)
}

// handle runs the steps of a handler. It returns 1 if one has changed the path, or
// says so.
func (r *Rig) handle(x kapi.Context, steps []scenario.Step, regs *arch.Regs, private []byte) (result int) {
	for i := range steps {
		s := &steps[i]
		x.Step("handler", i)
		switch s.Kind {
		case scenario.StepSetReg:
			regs.R[s.Reg] = s.Value
		case scenario.StepSetIP:
			regs.IP, result = r.funcs[s.Func]+arch.Addr(s.Value), 1
		case scenario.StepCall:
			x.Call(r.funcs[s.Func])
		case scenario.StepNonzero:
			result = 1
		case scenario.StepStore:
			x.Memory().Store(r.data(s.Func, x.CPU())+arch.Addr(s.Off), 8, s.Value)
		case scenario.StepSave:
			binary.LittleEndian.PutUint64(private, regs.R[s.Reg])
		case scenario.StepRestore:
			regs.R[s.Reg] = binary.LittleEndian.Uint64(private)
		case scenario.StepSleep:
			c := x.(*smp.Ctx)
			if c.MightSleep(); !c.Atomic() {
				x.Sleep(kapi.Yield)
			}
		case scenario.StepRegister, scenario.StepUnregister, scenario.StepEnable, scenario.StepDisable:
			// No handler may, and the first lock that the call takes shows it.
			r.do(x, kpev.Register+uint64(s.Kind-scenario.StepRegister), r.index(s.Func))
		}
	}
	return result
}

// index returns the number of a probe.
func (r *Rig) index(name string) int {
	for i := range r.Scenario.Probes {
		if r.Scenario.Probes[i].Name == name {
			return i
		}
	}
	sim.Bug("scenario %s was not checked: no probe %s", r.Scenario.Name, name)
	return 0
}

// begins tells that a call of the API begins.
func (r *Rig) begins(x kapi.Context, call uint64, i int) {
	k, at := r.kprobe(i), r.placed[i]
	if call == kpev.Register {
		if sp := &r.Scenario.Probes[i]; sp.Symbol != "" && sp.Func == "" {
			k.Addr = 0 // the last registration has set it, and its user clears it
		} else if k.Addr == 0 { // unregistered once too often, which has cleared it
			k.Addr = r.fresh[i].Addr
		}
	}
	if k.Symbol == "" && k.Addr != r.fresh[i].Addr { // else it is placed, behind an endbr64 if there is one
		at = k.Addr
	}
	x.Emit(kpev.ApiEnter, call, uint64(i), uint64(at))
}

// do makes a call of the API and tells of it.
func (r *Rig) do(x kapi.Context, call uint64, i int) (errno uint64, at arch.Addr) {
	r.begins(x, call, i)
	var err error
	k := r.kprobe(i)
	if kind := r.Scenario.Probes[i].Kind; kind == scenario.ProbeJprobe && call == kpev.Register {
		err = r.engine.RegisterJ(x, &r.jprobes[i])
	} else if kind == scenario.ProbeJprobe && call == kpev.Unregister {
		err = r.engine.UnregisterJ(x, &r.jprobes[i])
	} else if kind == scenario.ProbeKretprobe {
		err = [...]func(kapi.Context, *kprobes.Kretprobe) error{kpev.Register: r.engine.RegisterRet, kpev.Unregister: r.engine.UnregisterRet,
			kpev.Enable: r.engine.EnableRet, kpev.Disable: r.engine.DisableRet}[call](x, &r.rets[i])
	} else {
		switch call {
		case kpev.Register:
			err = r.engine.Register(x, k)
		case kpev.Unregister:
			err = r.engine.Unregister(x, k)
		case kpev.Enable:
			err = r.engine.Enable(x, k)
		case kpev.Disable:
			err = r.engine.Disable(x, k)
		}
	}
	errno = errnoOf(err)
	x.Emit(kpev.ApiReturn, call, uint64(i), errno)
	return errno, k.Addr
}

func errnoOf(err error) uint64 {
	if err == nil {
		return 0
	}
	return uint64(err.(kprobes.Errno))
}

// api is do for an operation: it checks the answer.
func (p *program) api(x *smp.Ctx, i int, call uint64) {
	op := &p.ops[i]
	errno, at := p.r.do(x, call, p.r.index(op.Target))
	p.answer(x, i, errno, at)
}

func (p *program) answer(x *smp.Ctx, i int, errno uint64, at arch.Addr) {
	p.came, p.errno = sim.Mix(p.came^errno), errno
	if p.ops[i].Checked {
		p.got(x, i, 0, smpev.CheckErrno, errno, uint64(at))
	}
}

// apiAll makes a call of the API for an array, and tells of it as of a call for
// each: what one has answered they all have. But unregistering an array takes all
// of it away, whatever it answers: that one of it wasn't registered (spec 6.5).
func (p *program) apiAll(x *smp.Ctx, i int, call uint64) {
	r, op := p.r, &p.ops[i]
	var ks []*kprobes.Kprobe
	var rets []*kprobes.Kretprobe
	for _, name := range op.Targets {
		n := r.index(name)
		r.begins(x, call, n)
		ks = append(ks, r.kprobe(n))
		if r.Scenario.Probes[n].Kind == scenario.ProbeKretprobe {
			rets = append(rets, &r.rets[n])
		}
	}
	var err error
	switch {
	case call == kpev.Register && rets != nil:
		err = r.engine.RegisterRets(x, rets)
	case call == kpev.Register:
		err = r.engine.RegisterAll(x, ks)
	case rets != nil:
		err = r.engine.UnregisterRets(x, rets)
	default:
		err = r.engine.UnregisterAll(x, ks)
	}
	errno := errnoOf(err)
	each := errno
	if call == kpev.Unregister && len(op.Targets) > 1 {
		each = 0
	}
	for _, name := range op.Targets {
		x.Emit(kpev.ApiReturn, call, uint64(r.index(name)), each)
	}
	p.answer(x, i, errno, 0)
}

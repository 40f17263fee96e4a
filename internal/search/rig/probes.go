package rig

import (
	"kpsim/engine"
	"kpsim/internal/scenario"
	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// unregistered makes the probes of the scenario that a run begins with and hasn't made yet.
func (r *Rig) unregistered() {
	for i := len(r.config.Probes); i < len(r.Scenario.Probes); i++ {
		sp := &r.Scenario.Probes[i]
		p := engine.Probe{Kind: sp.Kind, Symbol: sp.Symbol, Disabled: sp.Disabled, Maxactive: sp.Maxactive,
			DataSize: sp.DataSize}
		if sp.Symbol != "" {
			p.Offset = sp.Offset
		}
		if sp.Func != "" {
			p.Addr = r.funcs[sp.Func]
			if sp.Symbol == "" {
				p.Addr += arch.Addr(sp.Offset)
			}
		}
		at := arch.Addr(0)
		if f, known := r.Scenario.Place(sp); known {
			at = r.funcs[f] + arch.Addr(sp.Offset+r.Scenario.Entry(sp))
		}
		r.placed = append(r.placed, at)
		for _, which := range sp.Which() {
			p.Handlers |= b2u(sp.Steps(which) != nil) << which
		}
		p.Entry = r.funcs[sp.Entry]
		r.config.Probes = append(r.config.Probes, p)
		r.telling = r.telling || sp.Kind != scenario.ProbeKprobe || sp.Disabled
	}
}

// loadOwn lists the text of the kernel on which the engine has a probe of its own.
func (r *Rig) loadOwn() error {
	name, at, code := r.engine.Own()
	if code == nil {
		return nil
	}
	t := scenario.Text{Name: name, At: at, Code: code}
	r.Machine.Memory().BootText(t.At, t.Code)
	r.own = t.At
	return r.loadInsns(&t)
}

// tellProbes tells the monitors what they can't otherwise know about the probes.
func (r *Rig) tellProbes() {
	for i := range r.Scenario.Probes {
		r.tellProbe(i)
	}
	if r.own != 0 { // a raw site, like a jump label's
		for _, b := range [...]byte{target.Arch.Nop(1)[0], target.Arch.Breakpoint[0]} {
			r.Log.Emit(smpev.Image, 255, traces.NoTask, uint64(r.own), uint64(b), 1<<56)
		}
	}
	if r.tells() {
		r.tellContexts()
	}
	r.tellModules()
}

// tellModules tells the monitors where modules are, and whether probes hold them.
func (r *Rig) tellModules() {
	for _, m := range r.modules {
		for _, s := range [...]kapi.Section{m.Core, m.Init} {
			if s.Size > 0 {
				r.claim(smpev.Module, uint64(s.At), uint64(s.Size), m.Number())
			}
		}
		if m.Now() == kapi.ModuleLive {
			r.claim(smpev.Asked, m.Number(), smpev.AskedLoad|smpev.AskedEnds, 0)
		}
	}
	if len(r.modules) > 0 {
		r.claim(kpev.Keeps, b2u(r.Scenario.Machine.ModuleRefs && r.row.Boot == nil), 0, 0)
	}
}

// LeaveAnswers makes later runs ignore Scenario.Answers, because they are compared with runs
// of an engine that Scenario.Answers says nothing about.
func (r *Rig) LeaveAnswers() { r.answers = nil }

func (r *Rig) tellContexts() {
	m := &r.Scenario.Machine
	r.Log.Emit(kpev.Contexts, 255, traces.NoTask, b2u(m.DetourIRQsOff), b2u(m.Return >= era.ReturnHashed), 0)
}

// tellProbe is tellProbes for one probe.
func (r *Rig) tellProbe(i int) {
	sp := &r.Scenario.Probes[i]
	if sp.Kind != scenario.ProbeKprobe || sp.Disabled || r.tells() {
		about := kpev.IsDisabled*b2u(sp.Disabled) | kpev.HasEntry*b2u(sp.Kind == scenario.ProbeKretprobe &&
			sp.Pre != nil)
		if sp.Kind == scenario.ProbeJprobe {
			about |= kpev.ChangesPath
		}
		if sp.Kind == scenario.ProbeKprobe {
			about |= kpev.HasPost * b2u(sp.Pre != nil && sp.Post != nil)
			about |= kpev.ChangesPath * b2u(scenario.AnyStep(sp.Pre, scenario.StepReturns1))
		}
		r.Log.Emit(kpev.Kind, 255, traces.NoTask, uint64(i), uint64(sp.Kind), about)
	}
	if sp.Kind == scenario.ProbeJprobe || sp.Kind == scenario.ProbeKprobe && sp.Post != nil {
		r.Log.Tell(kpev.NoJump, 255, traces.NoTask, uint64(i), 0, 0)
	}
	if i < len(r.answers) && r.answers[i].Known {
		r.claim(kpev.Fits, uint64(i), uint64(r.answers[i].Errno),
			uint64(r.answers[i].Or)|kpev.FitsJump*b2u(r.answers[i].Jump))
	}
	if i < len(r.ips) && r.ips[i].Pre != 0 {
		r.claim(kpev.Finds, uint64(i), uint64(r.ips[i].Pre), uint64(r.ips[i].Post))
	}
	if sp.Kind == scenario.ProbeKretprobe {
		r.claim(kpev.Returner, uint64(r.engine.Trampoline()), 0, 0)
		if n := r.maxactive(sp); n > 0 {
			r.claim(kpev.Wants, uint64(i), uint64(n), 0)
		}
	}
	if sp.Kind != scenario.ProbeJprobe && sp.Steps(sp.Which()[0]) == nil {
		r.Log.Emit(kpev.NoPre, 255, traces.NoTask, uint64(i), 0, 0)
	}
}

// tells reports whether the contexts of handlers are reported. They are where an edition can
// be compared with them, where a probe exists only in editions, and where the engine is a
// kernel's.
func (r *Rig) tells() bool {
	m := &r.Scenario.Machine
	return r.telling || m.Edition != rules.EditionNone || m.Image != ""
}

// tell reports that a handler begins.
func (r *Rig) tell(x kapi.Context, h engine.Hit) {
	if r.saw != nil {
		r.saw(h)
	}
	x.Emit(kpev.Handler, uint64(h.Probe), h.Which, uint64(h.At))
	c := x.(*smp.Ctx)
	if h.Probe < len(r.ips) && r.ips[h.Probe].Pre != 0 && (h.Which == kpev.Pre || h.Which == kpev.Post) {
		c.Tell(kpev.Sees, uint64(h.Probe), h.Which, uint64(h.Regs.IP))
	}
	if !r.tells() {
		return
	}
	t := c.Thread()
	bits := kpev.PreemptOff*b2u(c.PreemptOff() ||
		t.Interrupts() > 0) | kpev.IRQsOff*b2u(!c.Open()) | kpev.WereOff*b2u(h.Regs.Flags&target.Arch.IRQFlag == 0)
	x.Emit(kpev.Context, uint64(h.Probe), h.Which, bits)
}

// hit runs a probe's handler.
func (r *Rig) hit(x kapi.Context, h engine.Hit) int {
	r.tell(x, h)
	sp, id := &r.Scenario.Probes[h.Probe], uint64(h.Probe)
	at := target.Arch.StackPointer(h.Regs)
	switch h.Which {
	case kpev.Entry:
		to, _ := x.Memory().Load(at, r.arch.Word)
		x.Emit(kpev.RetEntry, id, uint64(at), to)
	case kpev.Return:
		x.Emit(kpev.RetReturn, id, uint64(at)-uint64(r.arch.Word), uint64(h.Ret))
	}
	left := r.handle(x, sp.Steps(h.Which), h.Regs, h.Private)
	if h.Which == kpev.Entry && left != 0 {
		x.Emit(kpev.RetLeft, id, uint64(at), 0)
	}
	return left
}

// handle runs the steps of a handler. It returns 1 if a step has changed the path, or returns
// 1 itself.
func (r *Rig) handle(x kapi.Context, steps []scenario.Step, regs *arch.Regs, private []byte) (result int) {
	hit := scenario.Running{Built: built{r}, Regs: regs, Private: private}
	for i := range steps {
		if x.Step("handler", i); steps[i].Do(hit, x) {
			result = 1
		}
	}
	return result
}

// built gives the steps of handlers access to the rig.
type built struct{ r *Rig }

func (b built) Arch() *arch.Arch                    { return b.r.arch }
func (b built) Func(name string) arch.Addr          { return b.r.funcs[name] }
func (b built) Data(name string, cpu int) arch.Addr { return b.r.data(name, cpu) }

func (b built) Call(x kapi.Context, verb uint64, probe string) { b.r.do(x, verb, b.r.index(probe)) }

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

// begins reports that a call of the API begins.
func (r *Rig) begins(x kapi.Context, call uint64, i int) {
	at := r.placed[i]
	if now, moved := r.engine.Prepare(call, i); moved { // otherwise it is placed after an endbr64, if there is one
		at = now
	}
	x.Emit(kpev.ApiEnter, call, uint64(i), uint64(at))
}

// do makes a call of the API and reports it.
func (r *Rig) do(x kapi.Context, call uint64, i int) (errno uint64, at arch.Addr) {
	r.begins(x, call, i)
	was := balance(x)
	errno = r.engine.Do(x, call, i)
	even(x, was)
	x.(*smp.Ctx).Agrees() // see program.Call
	x.Emit(kpev.ApiReturn, call, uint64(i), errno)
	return errno, r.engine.Status(i).Addr
}

// balance and even wrap those of a context: a call of the API must leave a CPU as it was.
func balance(x kapi.Context) smp.Balance   { return x.(*smp.Ctx).Balance() }
func even(x kapi.Context, was smp.Balance) { x.(*smp.Ctx).Even(was) } // see balance

// API is do for an operation: it also checks the answer.
func (p *program) API(x *smp.Ctx, i int, call uint64) {
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

// APIAll makes a call of the API for an array, and reports it as one call for each element,
// with the same answer. Unregistering an array removes all its probes, whatever it answers,
// even that one of them wasn't registered (spec 6.5).
func (p *program) APIAll(x *smp.Ctx, i int, call uint64) {
	r, op := p.r, &p.ops[i]
	var list []int
	for _, name := range op.Targets {
		n := r.index(name)
		r.begins(x, call, n)
		list = append(list, n)
	}
	was := x.Balance()
	errno := r.engine.DoAll(x, call, list)
	x.Even(was)
	x.Agrees() // see program.Call
	each := errno
	if call == kpev.Unregister && len(op.Targets) > 1 {
		each = 0
	}
	for _, name := range op.Targets {
		x.Emit(kpev.ApiReturn, call, uint64(r.index(name)), each)
	}
	p.answer(x, i, errno, 0)
}

// maxactive returns how many calls a return probe asks to follow at a time. If the probe
// leaves it to the kernel, the rule gives the number (spec 2.2). It is 0 unless the engine is
// the one in Go: others don't report their instances.
func (r *Rig) maxactive(sp *scenario.Probe) int {
	m := &r.Scenario.Machine
	switch {
	case m.Engine != "" || r.row.Boot != nil:
		return 0
	case sp.Maxactive > 0:
		return sp.Maxactive
	case m.MaxactiveAll || m.Kernel.Preemption:
		return max(10, 2*m.CPUs)
	}
	return m.CPUs
}

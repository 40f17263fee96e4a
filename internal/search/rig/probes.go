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
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// probes are the scenario's probes, and what their handlers do and report.
type probes struct {
	*Plan
	wiring     *wiring
	tasks      *tasks
	addrs      []arch.Addr // where they are, as far as that is known
	own        arch.Addr   // the kernel's own probe, 0 if it has none
	special    bool        // some aren't plain kprobes
	answers    []scenario.Answer
	handlerIPs []scenario.HandlerIP
	onHit      func(h engine.Hit)
	counts     counts
	added      int // during an interactive run
}

// make makes those of the scenario that a run begins with and that aren't made yet.
func (pr *probes) make() {
	for i := len(pr.wiring.config.Probes); i < len(pr.Scenario.Probes); i++ {
		sp := &pr.Scenario.Probes[i]
		p := engine.Probe{Kind: sp.Kind, Symbol: sp.Symbol, Disabled: sp.Disabled, Maxactive: sp.Maxactive,
			DataSize: sp.DataSize}
		if sp.Symbol != "" {
			p.Offset = sp.Offset
		}
		if sp.Func != "" {
			p.Addr = pr.funcs[sp.Func]
			if sp.Symbol == "" {
				p.Addr += arch.Addr(sp.Offset)
			}
		}
		at := arch.Addr(0)
		if f, known := pr.Scenario.Place(sp); known {
			at = pr.funcs[f] + arch.Addr(sp.Offset+pr.Scenario.Entry(sp))
		}
		pr.addrs = append(pr.addrs, at)
		for _, which := range sp.Which() {
			p.Handlers |= b2u(sp.Steps(which) != nil) << which
		}
		p.Entry = pr.funcs[sp.Entry]
		pr.wiring.config.Probes = append(pr.wiring.config.Probes, p)
		pr.special = pr.special || sp.Kind != scenario.ProbeKprobe || sp.Disabled
	}
}

// head tells the monitors what they can't otherwise know about the probes.
func (pr *probes) head() {
	for i := range pr.Scenario.Probes {
		pr.reportProbe(i)
	}
	if pr.own != 0 { // a raw site, like a jump label's
		for _, b := range [...][]byte{pr.arch.Nop(len(pr.arch.Breakpoint)), pr.arch.Breakpoint} {
			lo, hi := traces.PackBytes(b)
			pr.Log.Emit(smpev.Image, 255, traces.NoTask, uint64(pr.own), lo, hi)
		}
	}
	if kept := pr.reportHeld(); pr.hasContexts() || kept > 0 {
		pr.reportContexts(kept)
	}
	pr.reportModules()
}

// reportModules tells the monitors where modules are, and whether probes hold them.
func (pr *probes) reportModules() {
	for _, m := range pr.modules {
		for _, s := range [...]kapi.Section{m.Core, m.Init} {
			if s.Size > 0 {
				pr.claim(smpev.Module, uint64(s.At), uint64(s.Size), m.Number())
			}
		}
		if m.Now() == kapi.ModuleLive {
			pr.claim(smpev.Asked, m.Number(), smpev.AskedLoad|smpev.AskedEnds, 0)
		}
	}
	if len(pr.modules) > 0 {
		pr.claim(kpev.Keeps, b2u(pr.Scenario.Machine.ModuleRefs && pr.row.Boot == nil), 0, 0)
	}
}

// LeaveAnswers makes later runs ignore Scenario.Answers, because they are compared with runs
// of an engine that Scenario.Answers says nothing about.
func (r *Rig) LeaveAnswers() { r.probes.answers = nil }

// reportHeld tells the monitors what the engine has allocated before the run, and returns how many pieces of memory
// those are.
func (pr *probes) reportHeld() (n uint64) {
	h, ok := pr.wiring.engine.(engine.Holder)
	if !ok {
		return 0
	}
	for _, m := range h.Held() {
		pr.Log.Emit(smpev.Alloc, 255, traces.NoTask, uint64(m.At), m.Size, m.What)
		n++
	}
	return n
}

func (pr *probes) reportContexts(kept uint64) {
	m := &pr.Scenario.Machine
	hashed := m.Return >= era.ReturnHashed
	if g, is := pr.wiring.settings.(engine.Guest); is {
		hashed = g.HashesReturns()
	}
	pr.Log.Emit(kpev.Contexts, 255, traces.NoTask, b2u(m.DetourIRQsOff), b2u(hashed), kept)
}

// reportProbe is head for one probe.
func (pr *probes) reportProbe(i int) {
	sp := &pr.Scenario.Probes[i]
	if sp.Kind != scenario.ProbeKprobe || sp.Disabled || pr.hasContexts() {
		about := kpev.IsDisabled*b2u(sp.Disabled) | kpev.HasEntry*b2u(sp.Kind == scenario.ProbeKretprobe &&
			sp.Pre != nil)
		if sp.Kind == scenario.ProbeJprobe {
			about |= kpev.ChangesPath
		}
		if sp.Kind == scenario.ProbeKprobe {
			about |= kpev.HasPost * b2u(sp.Pre != nil && sp.Post != nil)
			about |= kpev.ChangesPath * b2u(scenario.AnyStep(sp.Pre, scenario.StepReturns1))
		}
		pr.Log.Emit(kpev.Kind, 255, traces.NoTask, uint64(i), uint64(sp.Kind), about)
	}
	if sp.Kind == scenario.ProbeJprobe || sp.Kind == scenario.ProbeKprobe && sp.Post != nil {
		pr.Log.Tell(kpev.NoJump, 255, traces.NoTask, uint64(i), 0, 0)
	}
	if i < len(pr.answers) && pr.answers[i].Known {
		pr.claim(kpev.Fits, uint64(i), uint64(pr.answers[i].Errno),
			uint64(pr.answers[i].Or)|kpev.FitsJump*b2u(pr.answers[i].Jump))
	}
	if i < len(pr.handlerIPs) && pr.handlerIPs[i].Pre != 0 {
		pr.claim(kpev.Finds, uint64(i), uint64(pr.handlerIPs[i].Pre), uint64(pr.handlerIPs[i].Post))
	}
	if sp.Kind == scenario.ProbeKretprobe {
		pr.claim(kpev.Returner, uint64(pr.wiring.engine.Trampoline()), 0, 0)
		if n := pr.maxactive(sp); n > 0 {
			pr.claim(kpev.Wants, uint64(i), uint64(n), 0)
		}
	}
	if sp.Kind != scenario.ProbeJprobe && sp.Steps(sp.Which()[0]) == nil {
		pr.Log.Emit(kpev.NoPre, 255, traces.NoTask, uint64(i), 0, 0)
	}
}

// hasContexts reports whether Context events are emitted. They are where an edition can
// be compared with them, where a probe exists only in editions, and where the engine is a
// kernel's.
func (pr *probes) hasContexts() bool {
	m := &pr.Scenario.Machine
	return pr.special || m.Edition != rules.EditionNone || m.Image != ""
}

// reportHandler emits Handler: a handler of a probe begins.
func (pr *probes) reportHandler(x kapi.Context, h engine.Hit) {
	if pr.onHit != nil {
		pr.onHit(h)
	}
	pr.counts.add(x, h)
	if pr.tasks.probed {
		pr.tasks.hit(x)
	}
	x.Emit(kpev.Handler, uint64(h.Probe), h.Which, uint64(h.At))
	c := x.(*smp.Ctx)
	known := h.Probe < len(pr.handlerIPs) && pr.handlerIPs[h.Probe].Pre != 0
	if known && (h.Which == kpev.Pre || h.Which == kpev.Post) {
		c.Tell(kpev.Sees, uint64(h.Probe), h.Which, uint64(h.Regs.IP))
	}
	if pr.hasContexts() {
		pr.reportContext(x, h)
	}
}

// reportContext emits Context: what the handler finds of its CPU.
func (pr *probes) reportContext(x kapi.Context, h engine.Hit) {
	c := x.(*smp.Ctx)
	t := c.Thread()
	bits := kpev.PreemptOff*b2u(c.PreemptOff() ||
		t.Interrupts() > 0) | kpev.IRQsOff*b2u(!c.Open()) | kpev.WereOff*b2u(h.Regs.Flags&arch.IRQ == 0)
	x.Emit(kpev.Context, uint64(h.Probe), h.Which, bits)
}

// hit runs a probe's handler.
func (pr *probes) hit(x kapi.Context, h engine.Hit) int {
	pr.reportHandler(x, h)
	sp, id := &pr.Scenario.Probes[h.Probe], uint64(h.Probe)
	at := pr.arch.StackPointer(h.Regs)
	switch h.Which {
	case kpev.Entry:
		to, _ := pr.arch.Caller(x.Memory(), h.Regs)
		x.Emit(kpev.RetEntry, id, uint64(at), uint64(to))
	case kpev.Return:
		x.Emit(kpev.RetReturn, id, uint64(at)-uint64(pr.arch.Pushed), uint64(h.Ret))
	}
	left := pr.handle(x, sp.Steps(h.Which), h)
	if h.Which == kpev.Entry && left != 0 {
		x.Emit(kpev.RetLeft, id, uint64(at), 0)
	}
	return left
}

// handle runs the steps of a handler. It returns 1 if a step has changed the path, or returns
// 1 itself.
func (pr *probes) handle(x kapi.Context, steps []scenario.Step, h engine.Hit) (result int) {
	hit := scenario.HandlerRun{Built: built{pr}, Hit: h}
	for i := range steps {
		if x.Step("handler", i); steps[i].Do(hit, x) {
			result = 1
		}
	}
	return result
}

// built gives the steps of handlers access to the rig.
type built struct{ *probes }

func (b built) Arch() *arch.Arch                    { return b.arch }
func (b built) Func(name string) arch.Addr          { return b.funcs[name] }
func (b built) Data(name string, cpu int) arch.Addr { return b.data(name, cpu) }

func (b built) Call(x kapi.Context, verb uint64, probe string) { b.do(x, verb, b.index(probe)) }

func (b built) ReadMissed(x kapi.Context, probe string) { b.readMissed(x, b.index(probe)) }

func (b built) ReadContext(x kapi.Context, h engine.Hit) { b.reportContext(x, h) }

// readMissed reads the nmissed of a probe, and reports it.
func (pr *probes) readMissed(x kapi.Context, i int) {
	x.Emit(kpev.Reading, kpev.ReadMissed, uint64(i), 0)
	n := pr.wiring.engine.ReadMissed(x, i)
	x.Emit(kpev.ReadEnd, kpev.ReadMissed, uint64(i), uint64(n))
}

// ReadMissed implements act.Task.
func (p *program) ReadMissed(x *smp.Ctx, probe string) {
	x.Agrees()
	p.r.probes.readMissed(x, p.r.index(probe))
}

// begins reports that a call of the API begins.
func (pr *probes) begins(x kapi.Context, call uint64, i int) {
	at := pr.addrs[i]
	if now, moved := pr.wiring.engine.Prepare(call, i); moved {
		at = now // otherwise it is placed after an endbr64, if there is one
	}
	x.Emit(kpev.ApiEnter, call, uint64(i), uint64(at))
}

// do makes a call of the API and reports it.
func (pr *probes) do(x kapi.Context, call uint64, i int) (errno uint64, at arch.Addr) {
	pr.begins(x, call, i)
	was := balance(x)
	errno = pr.wiring.engine.Do(x, call, i)
	even(x, was)
	x.(*smp.Ctx).Agrees() // see program.Call
	x.Emit(kpev.ApiReturn, call, uint64(i), errno)
	return errno, pr.wiring.engine.Status(i).Addr
}

// balance and even wrap those of a context: a call of the API must leave a CPU as it was.
func balance(x kapi.Context) smp.Balance { return x.(*smp.Ctx).Balance() }

func even(x kapi.Context, was smp.Balance) { was.Even(x.(*smp.Ctx)) } // see balance

// API is do for an operation: it also checks the answer.
func (p *program) API(x *smp.Ctx, i int, call uint64) {
	op := &p.ops[i]
	errno, at := p.r.probes.do(x, call, p.r.index(op.Target))
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
		r.probes.begins(x, call, n)
		list = append(list, n)
	}
	was := x.Balance()
	errno := r.wiring.engine.DoAll(x, call, list)
	was.Even(x)
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
func (pr *probes) maxactive(sp *scenario.Probe) int {
	m := &pr.Scenario.Machine
	switch {
	case m.Engine != "" || pr.row.Boot != nil:
		return 0
	case sp.Maxactive > 0:
		return sp.Maxactive
	case m.MaxactiveAll || m.Kernel.Preemption:
		return max(10, 2*m.CPUs)
	}
	return m.CPUs
}

package scenario

import (
	"slices"

	"kpsim/engine/ftrace"
	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/smp"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// Touches are the features of a scenario that decide which events its runs can have. Operations,
// parts, steps and the machine have them; their rows say so.
type Touches uint64

// The constants are the features. The first ones are of operations.
const (
	TouchAPI      Touches = 1 << iota // calls of the probes' API
	TouchRegister                     // a probe is registered
	TouchRemove                       // a probe is taken out of text
	TouchUndo                         // a jump is undone
	TouchEnabled                      // the file enabled is written
	TouchSysctl                       // the sysctl is written
	TouchFlip                         // other text is written
	TouchTrace                        // clients of ftrace are added and removed
	TouchLoad                         // modules are loaded and unloaded
	TouchDebugger                     // a debugger's breakpoints
	TouchWork                         // works are queued
	TouchUprobe                       // uprobes are hit
	TouchCall                         // functions are called
	TouchLive                         // functions are patched live
	TouchFprobe                       // fprobes are registered
	TouchCheck                        // results or memory are compared
	TouchRead                         // what the engine holds is read

	TouchPlug  // CPUs go offline or come online
	TouchLeave // a CPU stops being active
	TouchCome  // a CPU begins to be active
	TouchStop  // the machine is stopped for a CPU that goes or comes
	TouchFail  // a step of a CPU that goes or comes fails

	TouchProbe    // there is a probe
	TouchHandler  // one has a handler
	TouchSlot     // one has a breakpoint of its own, not a site of ftrace
	TouchJump     // one may get a jump
	TouchDetour   // a detour may be made for one, whether or not it gets a jump
	TouchSite     // one uses a site of ftrace
	TouchSibling  // two are at one place
	TouchSkip     // one may skip its siblings
	TouchNest     // handlers may hit probes
	TouchReturn   // there are return probes
	TouchEntry    // one has a handler of entries
	TouchReturned // one has a handler of returns
	TouchRefuse   // one refuses calls
	TouchHolder   // they have holders, as from 5.11 on
	TouchJprobe   // there are jprobes
	TouchContext  // contexts of handlers are reported
	TouchPatched  // there is text that others patch
	TouchSource   // there are sources of interrupts
	TouchPage     // data comes in during a run

	TouchStopped    // the machine is stopped to write text, or to wait
	TouchQuiesce    // the optimizer waits
	TouchBreakpoint // other text is written by breakpoints
	TouchOwnProbe   // the kernel has a probe of its own, on the trampoline of 2.6
	TouchCache      // slots are the kernel's
	TouchBoost      // copies may be boosted
	TouchStore      // CPUs hold stores
	TouchGo         // the engine is in Go: a kernel's is guest code, and writes text without reporting it

	TouchHand     // text is stored to by hand
	TouchMemory   // memory for code comes and goes
	TouchHalt     // CPUs are made to serialise, or stopped, by hand
	TouchMove     // a stopped task is moved
	TouchAwait    // a task waits for a grace period by hand
	TouchAlias    // text is mapped a second time
	TouchBpf      // BPF programs are attached
	TouchDispatch // programs of BPF dispatchers change
	TouchTramp    // clients of ftrace have trampolines of their own
	TouchUser     // text runs in user mode, and is patched there
)

// ofMachine lists the features that settings decide.
var ofMachine = []struct {
	touch Touches
	has   func(m *Machine) bool
}{
	{TouchPlug, func(m *Machine) bool { return m.Offline != 0 }},
	{TouchStopped, func(m *Machine) bool {
		return m.Patch == era.PatchStopMachine || m.Quiesce == kapi.QuiesceStackCheck
	}},
	{TouchQuiesce, func(m *Machine) bool { return m.Quiesce != kapi.QuiesceNone }},
	{TouchBreakpoint, func(m *Machine) bool { return m.Patch == era.PatchBreakpoint }},
	{TouchContext, func(m *Machine) bool { return m.Edition != rules.EditionNone }},
	{TouchOwnProbe, func(m *Machine) bool { return m.NopTrampoline() }},
	{TouchCache, func(m *Machine) bool { return m.InsnSlot() > 0 }},
	{TouchBoost, func(m *Machine) bool { return m.Boost != era.BoostNever && !m.Preempt.Built() }},
	{TouchStore, func(m *Machine) bool { return m.Memory == smp.TSO }},
	{TouchTramp, func(m *Machine) bool { return m.Trampolines == ftrace.Own }},
	{TouchHolder, func(m *Machine) bool { return m.Return < era.ReturnHashed }},
	{TouchGo, func(m *Machine) bool { return m.Row().Boot == nil }},
}

// Touches returns the scenario's features.
func (s *Scenario) Touches() (t Touches) {
	for _, f := range ofMachine {
		t |= bit(f.has(&s.Machine), f.touch)
	}
	for _, l := range Lists {
		for i := range l.Len(s) {
			if t |= l.Touches; l.touches != nil {
				t |= l.touches(s, l.At(s, i))
			}
		}
	}
	return t
}

// bit is t if it is so, else nothing.
func bit(is bool, t Touches) Touches {
	if !is {
		return 0
	}
	return t
}

// touches makes a function of any part one of the parts of a list.
func touches[T any](f func(s *Scenario, x *T) Touches) func(s *Scenario, x any) Touches {
	return func(s *Scenario, x any) Touches { return f(s, x.(*T)) }
}

// touches returns the features that a probe has.
func (k *Probe) touches(s *Scenario) (t Touches) {
	m := &s.Machine
	ret := k.Kind == ProbeKretprobe
	f, _ := s.Place(k)
	if m.Kernel.Ftrace && slices.Contains(s.Sites, Site{Func: f, Offset: k.Offset}) {
		t |= TouchSite
	} else {
		t |= TouchSlot | bit(m.Kernel.Optprobes, TouchDetour) |
			bit(m.Kernel.Optprobes && (k.Post == nil || ret), TouchJump)
	}
	for i := range s.Probes { // a second probe at a place undoes the first one's jump
		q := &s.Probes[i]
		g, _ := s.Place(q)
		t |= bit(q != k && f == g && k.Offset == q.Offset, TouchSibling|TouchUndo)
	}
	t |= bit(!m.Processor().BreakpointFirst, TouchStopped) // its breakpoint is written so
	return t | TouchProbe |
		bit(k.Pre != nil || k.Post != nil || k.Fault != nil, TouchHandler) |
		bit(k.Kind != ProbeKprobe || k.Disabled, TouchContext) |
		bit(k.AnyStep(StepRuns), TouchNest) |
		bit(ret && m.Return >= era.ReturnHashed, TouchNest) | // a probe on what runs under the lock
		bit(k.AnyStep(StepAPI), TouchAPI) |
		bit(k.AnyStep(StepReads), TouchRead) |
		bit(k.Kind == ProbeKprobe && k.AnyStep(StepReturns1), TouchSkip) |
		bit(k.Kind == ProbeJprobe, TouchJprobe) |
		bit(ret, TouchReturn) |
		bit(ret && k.Pre != nil, TouchEntry) |
		bit(ret && k.Post != nil, TouchReturned) |
		bit(ret && AnyStep(k.Pre, StepReturns1), TouchRefuse)
}

// touches returns the features that an operation has.
func (op *Op) touches() Touches {
	done := op.Fails == smpev.CPUStepNone
	t := op.Kind.Touches | bit(op.Checked, TouchCheck) | bit(!done, TouchFail) |
		bit(op.At != "" && op.Kind.Has(ParamNop), TouchUser) |
		bit(op.On && op.Kind.Has(ParamStopped), TouchStopped)
	if op.Kind.Has(ParamDownFails) {
		t |= TouchLeave | bit(done, TouchPlug) | bit(done || op.Fails == smpev.CPUStepTeardown, TouchStop)
	}
	if op.Kind.Has(ParamUpFails) {
		t |= bit(done, TouchCome) | bit(!done && op.Fails != smpev.CPUStepBringup, TouchStop)
	}
	return t
}

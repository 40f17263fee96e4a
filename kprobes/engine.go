package kprobes

import (
	"cmp"

	"kpsim/engine"
	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/arch/arm64"
	"kpsim/smp/arch/ppc64"
	"kpsim/smp/arch/riscv64"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/traces"
)

// Deps are the kernel services that the engine stands on.
type Deps = engine.Deps

// Settings are an engine's configuration and edition, and the steps that are broken on
// purpose.
type Settings struct {
	era.Settings
	Steps *Steps // nil: Linux; mutants wrap some of the steps
	_     struct{}
}

// An Engine is the kprobes of one machine, for one run. Each part owns the data that the kernel
// keeps in static variables of the same names. The engine's own methods are register_kprobe,
// unregister_kprobe, enable_kprobe, disable_kprobe, and their arming and disarming.
type Engine struct {
	env
	kprobeMutex kapi.Mutex `state:"boot"` // set at New

	// The parts, set at New. Each names the owners of its fields.
	Table      Table      // kprobe_table: the probes of an address
	Optimizer  Optimizer  // kprobe_optimizer
	Hits       Hits       // kprobe_int3_handler, optimized_callback
	Kretprobes Kretprobes // register_kretprobe, and the free instances
	Rethook    Rethook    // the trampoline, and the calls in flight
	Jprobes    Jprobes
	Ftrace     FtraceOps // kprobe_ftrace_ops
	Files      Files     // debugfs and the sysctl
	locks      textLocks
	slots      insnCache  // kprobe_insn_slots
	text       probedText // check_kprobe_address_safe, can_probe
	modules    modules    // kprobes_module_nb
	patch      patchText  // owned by text_mutex
}

// An env is shared by the parts of an engine.
type env struct {
	e   *Engine    `state:"boot"` // set at New
	d   Deps       `state:"boot"` // set at New
	do  *Steps     `state:"boot"` // set at New
	s   Settings   `state:"boot"` // set at New
	cpu *arch.Arch `state:"boot"` // set at New: the processor
	row *row       `state:"boot"` // set at New: what kprobes have for it
}

// A row is what the engine has to know of a processor beside arch.Arch: the kernel's arch/*/kernel/probes as data.
type row struct {
	word    int    // bytes of a word of the stack
	stepEnd []byte // stands after a copy that is stepped: the breakpoint that ends the step

	// stops says that a probe is written while the machine is stopped, by which all CPUs serialise. Otherwise it is
	// written under running CPUs, and they are synchronized then.
	stops bool
	// syncsCopies says that CPUs are synchronized after a copy was written: neither a trap nor the return from one
	// makes them fetch anew.
	syncsCopies bool
	// stepsAlone says that a hit while a copy is stepped is fatal, and not only one on top of that.
	stepsAlone bool
	// reentered says that of such a hit is printed what riscv and arm64 print.
	reentered bool

	// local says that no CPU but the one that writes a breakpoint is made to serialise.
	local bool
	// tries says that what is emulated has a copy, too, which is stepped if the emulation faults or traps
	// (try_to_emulate).
	tries bool

	// breakpoint returns the breakpoint that takes the place of an instruction.
	breakpoint func(orig []byte) []byte
	// written returns where, in code from off on, a probe may have written; len(code) if nowhere.
	written func(a *arch.Arch, code []byte, off int) int
	// emulates reports whether an instruction is emulated, or refuses it; not asked where copies are stepped.
	emulates func(c *insnCache, ap *Aggr) (bool, error)
	// writesFlags returns which of the flags that are restored after a step an instruction leaves right; nil: none.
	writesFlags func(in arch.Inst) uint64

	// resume corrects the registers after a copy was stepped by a trap of the processor; nil where none is.
	resume func(h *Hits, x kapi.Context, kcb *kprobeCtlblk, ap *Aggr, regs *arch.Regs)

	bug []byte // what stands after the trampoline of return probes: BUG()

	// trampoline appends the text of the trampoline of return probes, which calls an address.
	trampoline func(t *Rethook, buf []byte, call arch.Addr) []byte
	// enter reads the registers that the trampoline has saved, given the CPU's in its callback. It returns
	// where they lie, and where the address belongs that the trampoline goes to.
	enter    func(t *Rethook, m arch.Memory, cpu, regs *arch.Regs) (image, slot arch.Addr)
	putSaved func(m arch.Memory, at arch.Addr, r *arch.Regs) (ok bool)

	opt   *optRow // nil: no probe becomes a jump
	keeps int     // bytes of the stack that a jprobe keeps at most (setjmp_pre_handler)
	x86   *x86Row // nil on other processors
}

// rows are by name of the processor.
var rows = map[string]*row{x86.AMD64.Name: &rowAMD64, x86.I386.Name: &rowI386,
	riscv64.RV64.Name: &rowRISCV64, arm64.ARM64.Name: &rowARM64, ppc64.PPC64.Name: &rowPPC64}

// rowNone is a processor's whose kernels' probes aren't known: no probe is registered there.
var rowNone = row{breakpoint: func([]byte) []byte { return nil }}

// wired returns an engine whose parts share its env, with nothing else set.
func wired() *Engine {
	e := new(Engine)
	v := &e.env
	v.e = e
	e.Table.env, e.Optimizer.env, e.Hits.env, e.Kretprobes.env, e.Rethook.env, e.Jprobes.env = v, v, v, v, v, v
	e.Ftrace.env, e.Files.env, e.locks.env, e.slots.env, e.text.env, e.modules.env = v, v, v, v, v, v
	return e
}

// New builds the engine and hooks it to the kernel.
func New(d Deps, s Settings) *Engine {
	e := wired()
	e.Optimizer.onWork = func(x kapi.Context) { e.do.Optimizer.KprobeOptimizer(e, x) }
	e.Hits.init()
	e.Kretprobes.onEntry = func(x kapi.Context, p *Kprobe, regs *arch.Regs) int {
		return e.do.Ret.PreHandlerKretprobe(e, x, p, regs)
	}
	e.Rethook.init()
	e.Jprobes.init()
	e.patch.onStop = func(x kapi.Context) { e.d.Text.Write(x, e.patch.at, e.patch.insn) }
	e.modules.onModule, e.Ftrace.onFtrace = e.modules.kprobesModuleCallback, e.Ftrace.kprobeFtraceHandler
	e.Renew(d, s)
	return e
}

// Renew resets e to what New would return, in e's own memory, so that the next run allocates
// nothing. No state of the previous run remains.
func (e *Engine) Renew(d Deps, s Settings) {
	e.d, e.do, e.s, e.cpu = d, cmp.Or(s.Steps, &linux), s, d.Text.Arch()
	e.row = cmp.Or(rows[e.cpu.Name], &rowNone)
	if d.Tell == nil { // there are no monitors
		e.d.Tell = func(kapi.Context, traces.Kind, uint64, uint64, uint64) {}
	}
	e.kprobeMutex = d.Locks.NewMutex("kprobe_mutex")
	e.Hits.kcb.Init(d.CPUs)
	e.Table.renew()
	e.Optimizer.renew()
	e.slots.insn, e.text.code, e.modules.held = [maxDetour]byte{}, e.text.code[:0], false
	e.Hits.callback = d.Bind.Bind("optimized_callback", e.Hits.onCall)
	if e.row.opt != nil && e.row.opt.emulates {
		e.Hits.stepper = d.Bind.Bind("emulate_step", e.Hits.onEmulate)
	}
	e.Kretprobes.nInstances, e.Kretprobes.nHolders, e.Kretprobes.memories = 0, 0, 0
	e.Rethook.renew()
	e.Jprobes.renew()
	e.Files.kprobeSysctlMutex, e.Files.kprobesAllDisarmed = d.Locks.NewMutex("kprobe_sysctl_mutex"), false
	e.do.Files.InitKprobes(e)
	e.Hits.hook()
	if d.Modules != nil {
		d.Modules.OnChange(e.modules.onModule)
	}
	e.Ftrace.renew()
}

// Mutex returns kprobe_mutex.
func (e *Engine) Mutex() kapi.Mutex { return e.kprobeMutex }

// The engine's own kinds of work.
const (
	WorkLookup  kapi.Work = 0  // look up the chain of an address's probe
	WorkStep    kapi.Work = 2  // send the CPU to a copy to step it
	WorkResume  kapi.Work = 3  // correct the effects of a step
	WorkWalk    kapi.Work = 5  // go to the next probe of an aggregator
	WorkEmulate kapi.Work = 8  // emulate an instruction
	WorkCall    kapi.Work = 9  // follow a call that begins
	WorkReturn  kapi.Work = 10 // follow its return
	WorkDetour  kapi.Work = 11 // run a detour's callback: to the handlers and back
)

// The stubs: the trampoline of return probes, and what jprobes have. Traces contain the places of
// stubs.
const (
	trampoline = "kretprobe_trampoline"

	jprobeRet   = "jprobe_return"
	jprobeEntry = "jprobe_handler_entry"
)

// Tests look stubs up while variables are initialised: an init function is too late.
var _ = define()

func define() bool {
	kapi.DefineWork(WorkLookup, "lookup", 36)
	kapi.DefineWork(WorkStep, "step", 20)
	kapi.DefineWork(WorkResume, "resume", 30)
	kapi.DefineWork(WorkWalk, "walk", 10)
	kapi.DefineWork(WorkEmulate, "emulate", 30)
	kapi.DefineWork(WorkCall, "call", 40)
	kapi.DefineWork(WorkReturn, "return", 40)
	kapi.DefineWork(WorkDetour, "detour", 20)

	kapi.DefineStub(kapi.Stub{Name: trampoline, Offset: 0, Size: 112})
	kapi.DefineStub(kapi.Stub{Name: jprobeRet, Offset: 0x80, Size: 16})
	kapi.DefineStub(kapi.Stub{Name: jprobeEntry, Offset: 0x90, Size: 16})
	return true
}

// Largest pieces of executable memory in an arena.
const (
	slotMost   = 32 // 15 bytes of instruction and a jump back
	detourMost = 256
)

// Memory returns the kinds of executable memory that the engine uses: slots for copied instructions, and detours.
// slot is the size of a slot in bytes: 16 until 5.12, 15 later, 0 for an arena. detour is the size of a detour, 0 for
// 256; an arena's pieces are at least of that size.
func Memory(slot, detour int) []kapi.Memory {
	list := []kapi.Memory{
		{What: kpev.SlotMem, Most: slotMost, Slot: slot, Mutex: "kprobe_insn_slots.mutex"},
		{What: kpev.DetourMem, Most: detourMost, Mutex: "kprobe_optinsn_slots.mutex"},
	}
	if detour > detourMost { // whole slots, so that these remain aligned
		list[1].Most = (detour + slotMost - 1) / slotMost * slotMost
	}
	if slot > 0 {
		list[1].Slot = max(detour, 0)
		if detour <= 0 {
			list[1].Slot = detourMost
		}
	}
	for i := range list {
		m := &list[i]
		m.Alloc, m.Collect, m.Unmap = "alloc_insn_slot", "collect_garbage_slots", "collect_one_slot"
	}
	return list
}

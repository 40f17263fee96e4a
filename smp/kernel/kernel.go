package kernel

import (
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// Config is how the kernel was built, and how it runs (spec 8.1).
type Config struct {
	Preemptible bool          // CONFIG_PREEMPTION: decides RCU's flavour
	Voluntary   bool          // might_sleep() gives the CPU up when another task wants it
	Exec        []kapi.Memory // the kinds of executable memory that engines want
	PageGrace   bool          // a page of a cache of slots is unmapped after a grace period (4.12 and later)
	Hotplug     bool          // there is a writer of the CPU-hotplug lock
	TellReaders bool          // report its readers, with or without a writer
	StackCheck  bool          // stacks may be looked at
	Latch       bool          // tasks may spin until they are released
	Offline     bool          // CPUs go offline and come back, or begin offline
	Goes        Going         // how they go
	Signal      bool          // or sleep
	Stall       int           // a grace period that has lasted this many cycles is reported at a tick; 0: none is
	Counting    kapi.Counting // how a breakpoint's handler raises the preemption count
	NMIsNest    bool          // an NMI may nest in an NMI's handler, after a breakpoint there has returned
	NoModules   bool          // no CONFIG_MODULES: nothing can be loaded
	NoUnload    bool          // no CONFIG_MODULE_UNLOAD: loaded modules stay; set at boot
	_           struct{}
}

// A Going is how CPUs go offline, by the kernel's release: when tasks leave them, and what sched_cpu_deactivate waits
// for.
type Going uint8

// The ways to go.
const (
	GoesPushed Going = iota // tasks leave when they schedule (balance_push, 5.11 and later); rcu
	// they leave when the CPU is taken down, with the machine stopped (migrate_tasks, until 5.10); rcu, and sched if
	// the kernel is preemptible (until 4.20)
	GoesMigrated
	GoesSched // the same; sched (2.6)
)

// A Kernel is the services of one machine.
type Kernel struct {
	M            *smp.Machine `state:"skip: smp.State.Add has it"`
	Locks        Locks
	RCU          RCU
	Sync         Sync
	Stop         Stop
	Text         Text
	Poke         TextPoke
	Work         Workqueue
	Exec         ExecMem
	Symbols      Symbols
	Traps        Traps
	Tasks        Tasks
	Hotplug      Hotplug
	Stacks       Stacks
	Switches     Switches
	Pager        Pager
	Latch        Latch // spin, release
	Signal       Latch // wait_signal, signal
	Modules      Modules
	Prefix       LockPrefixes
	Alternatives Alternatives
	Guest        Guest
	IRQs         interrupts // set at boot
	cfg          Config     `state:"boot"` // set at boot
	booted       booted     // set at boot; bound is owned by the boot of a run
}

// booted is what engines and other clients have given the kernel at boot.
type booted struct {
	gates      []arch.Addr           `state:"boot"` // set at boot: the addresses of bound routines, in order
	bound      int                   // owned by the boot of a run: how many are bound so far
	faults     kapi.Faults           `state:"boot"` // owned by the boot of a run: what a mutant has planted
	onReset    []func()              `state:"boot"` // set at boot
	foreign    []kapi.Section        `state:"boot"` // set at boot: text that several patchers write
	onSections []kapi.SectionHandler `state:"boot"` // set at boot
	onSwitch   func(prev *smp.Task)  `state:"boot"` // set at boot; nil: there is none
	protect    Protector             `state:"boot"` // set at boot; nil: no page loses a permission
}

// Boot installs the kernel on a machine. Exports are bound first, in the fixed
// order of exports, so that linked text finds them where it was linked to.
func Boot(m *smp.Machine, cfg Config) *Kernel {
	k := &Kernel{M: m, cfg: cfg}
	k.Symbols.k, k.Guest.k, k.Switches.k = k, k, k
	k.IRQs.nmis.Init(m.CPUs())
	for _, e := range exports {
		m.Gates().Bind(e.name, func(x kapi.Context, regs *arch.Regs) { e.f(k, ctxOf(x)) })
	}
	for _, e := range lateExports {
		m.Gates().BindLate(e.name, func(x kapi.Context, regs *arch.Regs) { e.f(k, ctxOf(x)) })
	}
	k.Locks.init(k)
	k.RCU.init(k)
	k.Sync.init(k)
	k.Stop.init(k)
	k.Text.init(k)
	k.Poke.init(k)
	k.Work.init(k)
	k.Exec.init(k)
	k.Traps.init(k)
	k.Tasks.init(k)
	k.bootStubs()
	k.Hotplug.init(k)
	k.Stacks.init(k)
	k.Latch.init(k, k.cfg.Latch)
	k.Signal.init(k, k.cfg.Signal)
	k.Modules.init(k)
	k.Prefix.init(k)
	k.Alternatives.init(k)
	k.bootPerCPU()
	k.initCount()

	m.Names().Service = ServiceName
	h := m.Hooks()
	h.Nested = cfg.Preemptible || m.FullPreempt()
	h.Switched = k.switched
	h.Prompt = k.IRQs.prompt
	h.Idle = func(cpu int) {
		k.RCU.idle(cpu)
		k.Switches.left(k.M.Tasks().Idle(cpu))
	}
	h.Exited = k.RCU.exited
	h.Trap[smpev.VecNMI] = k.nmi
	h.Trap[smpev.VecTimer] = k.timer
	h.Trap[smpev.VecResch] = func(x *smp.Ctx, regs *arch.Regs) { k.irqExit(x, regs) }
	h.Trap[smpev.VecCall] = k.callFunction
	return k
}

// switched is called at each context switch.
func (k *Kernel) switched(prev, next *smp.Task, voluntary bool) {
	k.RCU.switched(prev, next, voluntary)
	if next.Idle() && k.cfg.Offline {
		k.Hotplug.idleDead(next.CPUID())
	}
	k.Stacks.switched(prev, next)
	if k.booted.onSwitch != nil {
		k.booted.onSwitch(prev)
	}
	k.Switches.left(prev)
	k.Guest.switched(next)
}

// Reset begins a run, after Machine.Reset. Objects that an engine made in the last run are forgotten; the engine
// makes them again, in the same order.
func (k *Kernel) Reset() {
	k.booted.bound, k.booted.faults = 0, kapi.Faults{}
	k.IRQs.reset(k)
	k.Locks.reset()
	k.RCU.reset()
	k.Sync.reset()
	k.Stop.reset()
	k.Poke.reset()
	k.Work.reset()
	k.Exec.reset()
	k.Traps.reset()
	k.Symbols.reset()
	k.Tasks.reset()
	k.Hotplug.reset()
	k.Stacks.reset()
	k.Switches.reset()
	k.Pager.reset()
	k.Latch.reset()
	k.Signal.reset()
	k.Modules.reset()
	k.Prefix.reset()
	k.Alternatives.reset()
	for _, f := range k.booted.onReset {
		f()
	}
}

// OnInterrupt sets the work of timer and NMI handlers besides their own, and for which sources there is none.
func (k *Kernel) OnInterrupt(f func(x *smp.Ctx, s *smp.Source), plain func(s *smp.Source) bool) {
	k.IRQs.handle, k.IRQs.plain = f, plain
}

// Bind implements kapi.Binder.
func (k *Kernel) Bind(name string, f kapi.Routine) arch.Addr {
	b := &k.booted
	if b.bound == len(b.gates) {
		b.gates = append(b.gates, k.M.Gates().Bind(name, f))
	}
	at := b.gates[b.bound]
	k.M.Gates().Rebind(at, f)
	b.bound++
	return at
}

// An export is a kernel routine that linked text calls by name.
type export struct {
	name string
	f    func(k *Kernel, x *smp.Ctx)
	says string // of those that a patcher calls: what it does
}

// exports are bound from the start of the gate page. Append only: text linked
// against them is kept in traces.
var exports = []export{
	{"cond_resched", (*Kernel).CondResched, ""},
}

// lateExports are bound from the end of the region down, so that addresses bound by engines don't move. Append only.
var lateExports = []export{
	{"do_exit", (*Kernel).Exit, ""},
	{"cond_resched_tasks_rcu_qs", (*Kernel).CondReschedTasks, ""},

	{"membarrier", (*Kernel).membarrier, "`membarrier(cmd, flags, cpu)`: with `cmd` 32 " +
		"(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE) all CPUs serialise before it returns; with another it is a " +
		"full barrier, which orders no fetch. It returns 0"},
	{"mprotect", (*Kernel).mprotect, "`mprotect(addr, len, prot)` of memory that `code()` makes is `protect()`: " +
		"without PROT_EXEC a CPU that runs there faults, and when that changes, the other CPUs are interrupted. Of " +
		"other memory, as of an alias, it changes nothing. It returns 0; -1: it isn't mapped"},
	{"__clear_cache", (*Kernel).clearCache, "nothing, as on x86, where `__builtin___clear_cache` is no instruction " +
		"at all: caches are coherent, and what a CPU has fetched is kept"},
	{"sched_yield", (*Kernel).schedYield, "gives up the CPU once; returns 0"},
	{"sync_core", (*Kernel).syncSelf, "this CPU serialises"},
	{"text_poke_sync", (*Kernel).syncAll, "all CPUs serialise before it returns"},
	{"smp_text_poke_sync_each_cpu", (*Kernel).syncAll, "likewise, by its name since 6.16"},
	{"synchronize_rcu", awaits(kapi.QuiesceRCU), "waits for a grace period of RCU"},
	{"synchronize_rcu_tasks", awaits(kapi.QuiesceTasks), "waits until each task has given up its CPU by itself"},
	{"synchronize_rcu_tasks_rude", awaits(kapi.QuiesceSched), "waits until each CPU has switched tasks"},
	{"wait_for_completion", (*Kernel).awaitSignal, "sleeps until a task has done `signal()`"},
	{"syscall", (*Kernel).syscall, "`syscall(SYS_membarrier, …)`, `SYS_mprotect` or `SYS_sched_yield`, as C " +
		"libraries that have no function for it are called; any other number returns -1"},
}

// Services calls do for each kernel routine that a patcher in compiled code calls by name, with what it does.
func Services(do func(name, says string)) {
	for _, e := range lateExports {
		if e.says != "" {
			do(e.name, e.says)
		}
	}
}

// syncCoreCommand is MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE (include/uapi/linux/membarrier.h).
const syncCoreCommand = 32

// membarrier is the system call, as its wrapper in a program. Context: may sleep.
func (k *Kernel) membarrier(x *smp.Ctx) { k.membarriers(x, k.args(x)) }

func (k *Kernel) membarriers(x *smp.Ctx, args []uint64) {
	x.Step("membarrier", 0)
	if uint32(args[0]) == syncCoreCommand {
		k.Sync.Core(x, smpev.SyncByHand)
	}
	k.returns(x, 0)
}

// A Protector gives memory the permission to execute, or takes it away, and returns an errno; 0, too, if that memory
// can't lose it. Context: interrupts on.
type Protector func(x *smp.Ctx, in kapi.Section, exec bool) (errno int)

// OnProtect sets, at boot, what mprotect does.
func (k *Kernel) OnProtect(f Protector) { k.booted.protect = f }

// protExec is PROT_EXEC (include/uapi/asm-generic/mman-common.h).
const protExec = 4

// mprotect is the system call, likewise.
func (k *Kernel) mprotect(x *smp.Ctx) { k.mprotects(x, k.args(x)) }

func (k *Kernel) mprotects(x *smp.Ctx, args []uint64) {
	x.Step("mprotect", 0)
	answer := uint64(0)
	in := kapi.Section{At: arch.Addr(args[0]), Size: int(uint32(args[1]))}
	if f := k.booted.protect; f != nil && f(x, in, args[2]&protExec != 0) != 0 {
		answer = ^answer
	}
	k.returns(x, answer)
}

// The system calls, by their number on x86-64 and on i386 (arch/x86/entry/syscalls).
var syscalls = []struct {
	number, number32 uint32
	do               func(k *Kernel, x *smp.Ctx, args []uint64)
}{
	{324, 375, (*Kernel).membarriers},
	{10, 125, (*Kernel).mprotects},
	{24, 158, func(k *Kernel, x *smp.Ctx, _ []uint64) { k.schedYield(x) }},
}

// syscall is the C library's function: its first argument is the number.
func (k *Kernel) syscall(x *smp.Ctx) {
	args, is32 := k.args(x), k.M.Arch().Word == 4
	if is32 { // its arguments are variable, and so on the stack, behind the return address
		for i := range args {
			v, _ := x.Memory().Load(k.M.Arch().StackPointer(x.Regs())+arch.Addr(4+4*i), 4)
			args[i] = v
		}
	}
	for _, c := range syscalls {
		if n := uint32(args[0]); n == c.number && !is32 || n == c.number32 && is32 {
			c.do(k, x, args[1:])
			return
		}
	}
	k.returns(x, ^uint64(0))
}

// args returns the arguments of text that has called a routine: at least four.
func (k *Kernel) args(x *smp.Ctx) []uint64 {
	args := make([]uint64, 4, 6)
	for i, r := range k.M.Arch().Args {
		if i < len(args) {
			args[i] = x.Regs().R[r]
		}
	}
	return args
}

func (k *Kernel) clearCache(x *smp.Ctx) { x.Step("__clear_cache", 0) }

// schedYield is sched_yield. Context: may sleep.
func (k *Kernel) schedYield(x *smp.Ctx) {
	x.Step("sched_yield", 0)
	x.Sleep(kapi.Yield)
	k.returns(x, 0)
}

// awaitSignal is wait_for_completion; where no task signals it is done at once. Context: may sleep.
func (k *Kernel) awaitSignal(x *smp.Ctx) {
	x.Step("wait_for_completion", 0)
	if k.cfg.Signal {
		k.Signal.Wait(x)
	}
}

// syncSelf is sync_core, syncAll text_poke_sync. Context of syncAll: interrupts on.
func (k *Kernel) syncSelf(x *smp.Ctx) {
	x.Step("sync_core", 0)
	x.SyncCore(smpev.SyncSelf)
}
func (k *Kernel) syncAll(x *smp.Ctx) { k.Sync.Core(x, smpev.SyncByHand) }

// awaits returns a wait for a grace period. Context: may sleep.
func awaits(f kapi.Flavour) func(k *Kernel, x *smp.Ctx) {
	return func(k *Kernel, x *smp.Ctx) { k.RCU.Synchronize(x, f) }
}

// returns sets what text that has called a routine gets from it.
func (k *Kernel) returns(x *smp.Ctx, v uint64) { x.Regs().R[k.M.Arch().Result] = v }

// Export returns the address, on x86-64 (arch.Arch.Addr), of a routine, or a stub, that text
// calls by name.
func Export(name string) (arch.Addr, bool) {
	for i := range exports {
		if exports[i].name == name {
			return smp.GateBase + arch.Addr(16*i), true
		}
	}
	for i := range lateExports {
		if lateExports[i].name == name {
			return smp.LateGate(i), true
		}
	}
	at := stubAt(name)
	return at, at != 0
}

// CondResched is cond_resched. In a non-preemptible build it gives the CPU up if
// another task wants it, or a grace period waits for this CPU (rcu_all_qs). In a
// preemptible one that runs as voluntary it preempts the task if another one wants
// the CPU, and a tasks-RCU grace period still waits for it (__cond_resched calls
// __schedule with SM_PREEMPT). Under full and lazy it does nothing
// (preempt_dynamic_disable(cond_resched)). Context: may sleep.
func (k *Kernel) CondResched(x *smp.Ctx) {
	if k.Switches.resched != nil {
		k.Switches.resched(x)
	}
	switch {
	case k.M.FullPreempt():
	case k.cfg.Preemptible:
		if x.NeedResched() {
			x.PreemptSelf()
		}
	case x.NeedResched() || k.RCU.urgent(x):
		x.Sleep(kapi.Yield)
	}
}

// CondReschedTasks is cond_resched_tasks_rcu_qs: a quiescent state of the task for
// tasks-RCU, then cond_resched. Context: may sleep.
func (k *Kernel) CondReschedTasks(x *smp.Ctx) {
	x.Step("cond_resched_tasks_rcu_qs", 0)
	k.RCU.noted(x)
	k.CondResched(x)
}

// User spends a moment in user mode: no kernel code of the task is in flight then.
func (k *Kernel) User(x *smp.Ctx) {
	x.Step("user mode", 0)
	x.SyncCore(0) // the way to user mode is an IRET
	k.RCU.user(x)
	if k.Switches.user != nil {
		k.Switches.user(x)
	}
	x.Step("user mode", 1)
}

// mightSleep is the preemption point of the model voluntary.
func (k *Kernel) mightSleep(x *smp.Ctx) {
	x.MightSleepIn(k.RCU.readers[x.Task()] > 0)            // a grace period would wait for the sleeper
	if k.cfg.Voluntary && x.NeedResched() && !x.Atomic() { // with that, might_resched is cond_resched
		k.CondResched(x)
	}
}

// ctxOf returns the machine's context of a kapi.Context. Only here the kernel goes from kapi down to the machine that
// it was booted on.
func ctxOf(x kapi.Context) *smp.Ctx { return x.(*smp.Ctx) }

// BootMutex implements kapi.Boot.
func (k *Kernel) BootMutex(name string) kapi.Mutex { return k.Locks.bootMutex(name) }

// BootBind implements kapi.Boot.
func (k *Kernel) BootBind(name string, f kapi.Routine) arch.Addr { return k.M.Gates().Bind(name, f) }

// AddSite implements kapi.Boot.
func (k *Kernel) AddSite(s kapi.Site) { k.Symbols.AddSite(s) }

// Present implements kapi.Boot.
func (k *Kernel) Present(addr arch.Addr) bool {
	m := k.Modules.holding(addr)
	return m == nil || m.boot && m.Core.Has(addr)
}

// AddForeign declares, at boot, that text is written by several patchers.
func (k *Kernel) AddForeign(s kapi.Section) { k.booted.foreign = append(k.booted.foreign, s) }

// Foreign implements kapi.Boot.
func (k *Kernel) Foreign(addr arch.Addr, n int) bool {
	for _, s := range k.booted.foreign {
		if addr < s.At+arch.Addr(s.Size) && s.At < addr+arch.Addr(n) {
			return true
		}
	}
	return false
}

// Shares implements kapi.Boot.
func (k *Kernel) Shares(x kapi.Context, addr arch.Addr, n int, by kapi.SiteKind, wrote bool) {
	if !k.Foreign(addr, n) {
		return
	}
	how := uint64(by) << 1
	if wrote {
		how |= smpev.SharesWrote
	}
	ctxOf(x).Tell(smpev.Shares, uint64(addr), uint64(n), how)
}

// OnSections implements kapi.Boot.
func (k *Kernel) OnSections(h kapi.SectionHandler) {
	k.booted.onSections = append(k.booted.onSections, h)
}

// OnReset implements kapi.Boot.
func (k *Kernel) OnReset(f func()) { k.booted.onReset = append(k.booted.onReset, f) }

// OnSwitch sets, at boot, a function that is called at each context switch with the task that gives its CPU up.
func (k *Kernel) OnSwitch(f func(prev *smp.Task)) { k.booted.onSwitch = f }

// OnCall gives the function-call IPI, at boot, a work besides sync_core. regs are the interrupted ones. Context: hard
// interrupt, interrupts off.
func (k *Kernel) OnCall(f func(x *smp.Ctx, regs *arch.Regs)) { k.IRQs.called = f }

// Planted implements kapi.Boot. Plant is a mutant's, after the reset that begins a run.
func (k *Kernel) Planted(f kapi.Fault) bool { return k.booted.faults.Has(f) }
func (k *Kernel) Plant(f kapi.Fault)        { k.booted.faults.Plant(f) } // see Planted

// section notifies clients of a module's section.
func (k *Kernel) section(x kapi.Context, in kapi.Section, here bool) {
	for _, h := range k.booted.onSections {
		h(x, in, here)
	}
}

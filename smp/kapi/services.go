package kapi

import (
	"kpsim/smp/arch"
	"kpsim/traces"
)

// Text is the kernel's text and the executable memory beside it.
type Text interface {
	// Read copies what is in memory at addr into b (point). It is a data read:
	// always the newest bytes.
	Read(x Context, addr arch.Addr, b []byte)

	// Write stores b at addr as memcpy does, in pieces of 8, 4, 2 or 1 bytes,
	// none across an aligned 8-byte chunk: a point before each piece. It
	// doesn't serialise any CPU, the storing one included.
	Write(x Context, addr arch.Addr, b []byte)

	// Fill stores b at addr in one step: for memory that no CPU can be in.
	Fill(x Context, addr arch.Addr, b []byte)

	// Poke is Write followed by a sync_core of the storing CPU alone
	// (text_poke). Context: text_mutex held.
	Poke(x Context, addr arch.Addr, b []byte)

	// Arch is the processor that the text is for.
	Arch() *arch.Arch

	// Decode is Arch's Decode, remembered by address and bytes. The instruction is
	// shared: it is not to be changed.
	Decode(b []byte, at arch.Addr) (arch.Inst, error)

	// Mutex is text_mutex.
	Mutex() Mutex
}

// A Patcher replaces a whole instruction while other CPUs may run it. A CPU that hits the
// patcher's own breakpoint at addr continues at resume.
// Context: may sleep; text_mutex held.
type Patcher interface {
	Patch(x Context, addr arch.Addr, insn []byte, resume arch.Addr)
}

// A Stopper stops the machine (stop_machine).
type Stopper interface {
	// Machine runs f on one CPU while all others do nothing, interrupts off everywhere. Each CPU
	// serialises before it goes on. Context: may sleep.
	Machine(x Context, f func(x Context))
}

// Why is the place of a protocol that a sync belongs to: one of smpev's, or one
// that the engine has defined (smpev.Whys).
type Why uint8

// Sync makes CPUs serialise their instruction stream.
type Sync interface {
	// Core sends an IPI to every other online CPU, has each run sync_core, runs
	// it here too, and waits for all. Context: interrupts on.
	Core(x Context, why Why)

	// Self runs sync_core on this CPU alone.
	Self(x Context, why Why)
}

// Flavour says what a grace period waits for.
type Flavour uint8

// The flavours. None waits for nothing.
const (
	QuiesceNone  Flavour = iota
	QuiesceSched         // every CPU has switched context, or was seen idle or in user mode
	QuiesceRCU           // the same in a non-preemptible build; else every read-side section has ended
	QuiesceTasks         // every task has switched voluntarily

	// QuiesceStackCheck isn't RCU's: the machine is stopped, and every task's
	// stack looked at (Stacks).
	QuiesceStackCheck
)

var flavourNames = [...]string{"none", "sched", "rcu", "tasks", "stack-check"}

func (f Flavour) String() string { return flavourNames[f] }

// Counting says what the handler of a breakpoint, and of the trap after a step, counts in the
// preemption count.
type Counting uint8

// The ways to count.
const (
	CountsNMI   Counting = iota // as that of an NMI (irqentry_nmi_enter, 5.8 and later)
	CountsTwice                 // preemption is disabled on entry and by kprobes (ist_enter, 4.0 to 5.7; until 4.18)
	CountsOnce                  // by kprobes
	CountsOwn                   // nothing: the kernel's own text counts
)

// Disables reports whether kprobes disables preemption from the breakpoint until its
// instruction was stepped.
func (c Counting) Disables() bool { return c == CountsTwice || c == CountsOnce }

// RCU waits for grace periods.
type RCU interface {
	// Synchronize returns after a grace period of the flavour. Context: may sleep.
	Synchronize(x Context, f Flavour)

	// ReadLock and ReadUnlock bound a read-side section. They nest. Where there
	// is preemption a task may lose its CPU in one, and the grace period waits.
	ReadLock(x Context)
	ReadUnlock(x Context)

	// Sections returns how many sections the task is in; negative if it has ended one that
	// it hadn't begun. No step depends on it.
	Sections(x Context) int

	// Call has h reclaimed after a grace period of QuiesceRCU (call_rcu), in the
	// step that ends it. Context: any.
	Call(x Context, h Reclaimer)
}

// A Reclaimer is the callback of call_rcu.
type Reclaimer interface {
	// Reclaim runs within a step: it waits for nothing and has no points.
	Reclaim(by Emitter)
}

// An Emitter emits events for the Context that called Call, which no longer exists.
type Emitter interface {
	Emit(k traces.Kind, a, b, c uint64)
	Mark(id CellID, mode Mode)
}

// A Mutex sleeps. Context: may sleep.
type Mutex interface {
	Lock(x Context)
	Unlock(x Context)
	// AssertHeld asserts that the caller has the lock, and tells monitors if it
	// hasn't (lockdep_assert_held). It is no point.
	AssertHeld(x Context)
}

// A Spinlock keeps the CPU: preemption is off while it is held, and interrupts
// too if it was made so. Context: any, but that of a taker that it interrupts.
type Spinlock interface {
	Lock(x Context)
	Unlock(x Context)
	AssertHeld(x Context) // see Mutex
}

// Locks makes locks. irqs says that a spinlock turns interrupts off while it is
// held and back to how they were (spin_lock_irqsave): its holder is interrupted
// by no taker.
type Locks interface {
	NewMutex(name string) Mutex
	NewSpinlock(name string, irqs bool) Spinlock
}

// CPUs is the CPU-hotplug lock: while it is read no CPU comes or goes
// (cpus_read_lock). Readers don't nest: with a writer between the two both
// would wait. Context: may sleep.
type CPUs interface {
	ReadLock(x Context)
	ReadUnlock(x Context)
	// AssertHeld reports a finding if the task doesn't read (lockdep_assert_cpus_held).
	AssertHeld(x Context)
}

// A Span is the addresses from From up to, and without, To.
type Span struct{ From, To arch.Addr }

// Stacks looks at which functions tasks are in.
type Stacks interface {
	// Quiesce returns when once, while the machine was stopped, no task's
	// instruction pointer and no word of any task's stack lay in a span: no
	// task was inside, and none will return into it. The caller must see to it
	// that no task enters a span anew. It is enough under CONFIG_PREEMPTION,
	// too (spec 4.11). Context: may sleep; one caller at a time.
	Quiesce(x Context, spans []Span)
}

// A Look is the result of looking at a task.
type Look uint8

// The results of a look.
const (
	LookOut    Look = iota // it doesn't run, and stands in no span; or it has ended
	LookInside             // it stands in one
	LookRuns               // it runs on another CPU, so its stack can't be looked at
)

// Switches is where a task can go over from one state to another: it is looked at, or comes
// by itself to a place where it is in no function that either state has. One client has it.
type Switches interface {
	// Begin begins a round of looks, at all tasks (Tasks.Count). Context: may sleep.
	Begin(x Context)
	// Look looks at a task within the step under way, as if its runqueue was held
	// (task_call_func). An idle task is out while its CPU is in the idle loop, as if that was
	// woken to go through it (wake_up_if_idle).
	Look(x Context, t TaskID, spans []Span) Look
	// LetGo ends, within the same step, what is done to a task with its runqueue held: the CPU
	// that runs the task next sees it, for it takes the runqueue's lock first.
	LetGo(x Context, t TaskID)
	// Await returns when a task that wasn't out in the last round has given its CPU up since,
	// or has left an interrupt for the idle loop, or Tell was called. Context: may sleep.
	Await(x Context)
	// Tell ends the wait of the callers of Await.
	Tell(x Context)
	// BootOn makes the kernel call user when a task goes to user mode, and resched, unless it
	// is nil, in cond_resched. It is for the boot, before Begin.
	BootOn(user, resched func(x Context))
}

// A DelayedWork runs a routine in a worker some time after it was queued.
type DelayedWork interface {
	// Queue arms the timer unless the work is pending already.
	Queue(x Context)

	// Flush runs pending work at once and waits until none runs. Context: may sleep.
	Flush(x Context)
}

// Workqueue makes delayed works.
type Workqueue interface {
	NewDelayedWork(name string, f func(x Context)) DelayedWork
}

// A Memory is a kind of executable memory that the kernel hands out to an engine. The kernel
// is built with all kinds.
type Memory struct {
	What  uint64 // its number in events (smpev.Memory)
	Most  int    // bytes of its largest piece
	Slot  int    // it is a cache of slots of so many bytes, a page each time; 0: an arena of pieces of Most bytes
	Mutex string // the name of the cache's mutex

	// Static names of routines, for their steps: handing out, taking back what is
	// retired, and unmapping a page.
	Alloc, Collect, Unmap string
}

// Exec hands out executable memory within reach of a rel32 from text.
type Exec interface {
	// Alloc returns size bytes; what is the number of a Memory that the kernel was
	// built with. ok false: there is none left.
	Alloc(x Context, size int, what uint64) (arch.Addr, bool)

	// Free poisons the memory and takes it back: int3 in each byte. No task may
	// be in it any more.
	Free(x Context, addr arch.Addr, size int, what uint64)

	// Retire gives back memory in which a task may have been interrupted: it is
	// freed some time after a grace period. Context: may sleep.
	Retire(x Context, addr arch.Addr, size int, what uint64)
}

// A TrapHandler of a notifier chain is asked whether a trap is its own: 0 says
// no. regs.IP is the address after the int3, or after the stepped instruction.
// Context: interrupts off.
type TrapHandler func(x Context, regs *arch.Regs) (owner uint64)

// A FaultHandler is asked whether a fault is its own, before any other code is.
// regs.IP is the instruction that had it; where the handler sets it and says no
// (0), the fault is treated as one of the instruction there. trapnr is the
// vector: 13 #GP, 14 #PF. Context: as in the fault; interrupts off.
type FaultHandler func(x Context, regs *arch.Regs, trapnr int) (owner uint64)

// A Routine is kernel code that guest text can call: bound to an address. The
// registers are the CPU's own, as of the call. Text that the routine calls leaves others
// there, and where preemption is on its task may go to another CPU, which has others: what
// is needed later is copied, and what is to be left is written before.
type Routine func(x Context, regs *arch.Regs)

// Traps is the notifier chains of exceptions.
type Traps interface {
	// OnBreakpoint appends h to the chain of #BP, after the text-poke handler.
	OnBreakpoint(h TrapHandler)
	// OnDebug appends h to the chain of #DB: an instruction was stepped. If no
	// handler claims it TF is cleared, and the CPU goes on.
	OnDebug(h TrapHandler)
	// OnFault appends h to the chain of faults. A fault that no handler claims
	// goes to the exception table.
	OnFault(h FaultHandler)
	// OnStepping sets f, which reports whether a CPU is stepping an instruction for a probe.
	OnStepping(f func(cpu int) bool)
	// FromUser reports whether user mode has taken the trap that the context handles
	// (user_mode(regs)): its instruction pointer is no address of the kernel's. The text-poke
	// handler has asked that.
	FromUser(x Context) bool
	// OnUser adds h, which is called on the way back to user mode from an exception, with the
	// registers of the return (TIF_UPROBE, exit_to_user_mode_loop). Context: may sleep.
	OnUser(h func(x Context, regs *arch.Regs))
	// InUser has the task go to user mode, with these registers, and take an exception
	// there; regs.IP is what is saved. When it returns regs are what user mode goes on with,
	// and the task is back in the kernel. Context: a task's program, not a handler.
	InUser(x Context, vector uint8, regs *arch.Regs)
	// RunUser has the task go to user mode, and call text there.
	RunUser(x Context, f arch.Addr)
	// Stepped says that the handler of a trap has executed an instruction of the interrupted code, on the saved
	// registers: it may have changed the stack pointer, and stored where the trap's frame lies.
	Stepped(x Context)
	// Bug is BUG() in a handler: the kernel dies, and the run ends. The handler
	// returns as if it had handled the trap.
	Bug(x Context, why string)
}

// Bind gives Go routines an address, for guest text to call.
type Binder interface {
	Bind(name string, f Routine) arch.Addr

	// Stub returns where a stub begins that an engine has defined (DefineStub), 0
	// if there is none of that name.
	Stub(name string) arch.Addr

	// Link gives a stub its text, which is the same whenever the engine is made.
	Link(stub arch.Addr, code []byte)
}

// An Unwind returns the address that a word of a task's stack at slot stands for: where
// a return address has been replaced, that. ok false: the kernel's unwinder doesn't
// know it. slot 0: the word is the task's instruction pointer.
type Unwind func(x Context, t TaskID, slot, word arch.Addr) (to arch.Addr, ok bool)

// Tasks are the kernel's tasks, and what is on their stacks.
type Tasks interface {
	// Count returns the number of tasks; all TaskIDs are below it.
	Count() int

	// StackTop returns the end of the stack that the context runs on.
	StackTop(x Context) arch.Addr

	// OnExit has f called by each program at its end: it runs no text any more.
	// (The kernel's finish_task_switch and delayed_put_task_struct do that for it.)
	OnExit(f func(x Context))

	// OnUnwind adds f to the functions that unwinders ask.
	OnUnwind(f Unwind)

	// Unwind asks those of OnUnwind, one after the other, what a word of a task's stack at
	// slot stands for. ok false: the kernel's unwinder can't go on there, nor where code
	// runs that it doesn't know, as in a slot or a detour.
	Unwind(x Context, t TaskID, slot, word arch.Addr) (to arch.Addr, ok bool)

	// Backtrace appends to the addresses of text that lie on the context's stack
	// from its stack pointer sp up, innermost first: what the kernel's guess
	// unwinder finds, less what only looks like it in functions that keep data
	// there.
	Backtrace(x Context, sp arch.Addr, to []arch.Addr) []arch.Addr
}

// A Function is a symbol with a size.
type Function struct {
	Name   string
	Addr   arch.Addr
	Size   int    // in bytes, to the next symbol: padding is in it
	Module string // "": the kernel itself
	_      struct{}
}

// A TextKind is what the memory at an address is to the kernel.
type TextKind uint8

// The kinds.
const (
	TextNone  TextKind = iota // nothing it knows of: no symbol, or a module that isn't there
	TextCore                  // text of the kernel, or of a module that is there
	TextInit                  // init text, before it is freed
	TextFreed                 // init text that is gone
	TextData                  // data with a symbol, or a module's
)

// A SiteKind says what a range of text is for, besides running. The kernel's own kinds are
// below; a client that rewrites text has a number of its own.
type SiteKind uint8

// The kinds of sites that are no client's.
const (
	SiteBug         SiteKind = 0 // the ud2 of a BUG or WARN
	SiteAlternative SiteKind = 3 // an instruction that alternatives may still rewrite
	SiteByHand      SiteKind = 9 // no table has it: tasks of the scenario write there
)

// A Site is a range of text that is rewritten while it runs, or that traps on
// purpose.
type Site struct {
	Addr arch.Addr
	Size int
	Kind SiteKind
}

// A Ban is the reason why a function refuses probes (spec 5.1).
type Ban uint8

// The reasons. Kernels of 2.6 know of BanSection alone.
const (
	BanNone    Ban = iota
	BanSection     // .kprobes.text: __kprobes
	BanSymbol      // NOKPROBE_SYMBOL
	BanNoinstr     // .noinstr.text
	BanEntry       // entry text, and trap handlers
)

// A Banned is a line of the blacklist.
type Banned struct {
	Function
	Ban Ban
}

// Symbols is what kallsyms and the tables beside the text know. What of it
// modules change in a run, they change at a point of theirs; Look says that the
// step under way has read it.
type Symbols interface {
	// Lookup returns the function or data symbol that addr lies in.
	Lookup(addr arch.Addr) (Function, bool)
	// Named returns the symbol of that name, or of "module:name".
	Named(name string) (Function, bool)
	// Kind returns what is at addr.
	Kind(addr arch.Addr) TextKind
	// Extable reports whether an instruction in [addr, addr+size) has an entry.
	Extable(addr arch.Addr, size int) bool
	// Reserved reports whether [addr, addr+size) overlaps a site of any kind.
	Reserved(addr arch.Addr, size int) bool
	// Sites appends the sites that overlap [addr, addr+size), by address.
	Sites(to []Site, addr arch.Addr, size int) []Site
	// Banned returns why the function at addr refuses probes.
	Banned(addr arch.Addr) Ban
	// Blacklist appends the functions that are there and refuse probes, in the order in which
	// they were added.
	Blacklist(to []Banned) []Banned
	// Look announces that the step reads what modules change.
	Look(x Context)
}

package uprobe

import (
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

var sentBack = kapi.DefineFault("uprobe-sent-back",
	"after its handler has run the task is sent back to the breakpoint, and takes it again", "handle_swbp: pre_ssout")

// Deps are the kernel services that uprobes stand on.
type Deps struct {
	Boot  kapi.Boot
	Cells *kapi.Cells
	Arch  *arch.Arch
	Traps kapi.Traps
	Text  kapi.Text
	Sync  kapi.Sync
	_     struct{}
}

// Uprobes are the uprobes of one kernel.
type Uprobes struct {
	d              Deps      `state:"boot"` // set at boot
	at, slot       arch.Addr // set at boot: of the probed instruction, and of its copy
	stack          arch.Addr // set at boot: the stack pointer of user mode
	any            bool      // set at boot: some task reaches a uprobe
	processes      int       // set at boot: the largest number of a process
	tasks          []utask   // owned by the task of that number
	begun          bool      // owned by the boot of a run
	first          bool      // owned by the boot of a run: the handler for #DB is registered already
	has            [4]uint64 // set at boot: the tasks whose programs reach a uprobe (MMF_HAS_UPROBES)
	SkipsUserCheck bool      // owned by the boot of a run: #BP isn't checked for user mode: a mutant
	stepsAway      bool      // owned by the boot of a run: nor is #DB: a mutant
	users          users
	nop            nop // set at boot
}

// A utask is a task's state for uprobes (struct uprobe_task).
type utask struct {
	state    state     // owned by the task
	back     bool      // owned by the task: a mutant has sent it back
	pending  bool      // owned by the task: there is work to do on the way back to user mode (TIF_UPROBE)
	emulated bool      // owned by the task: the hit's instruction has been
	handler  arch.Addr // owned by the task: the function that the uprobe's handler calls
	process  int       // owned by the task: whose text it runs
	object   int       // owned by the task: the uprobe that the hit refers to (active_uprobe), 0: none is counted
	calls    calls     // owned by the task
}

// state is a task's (enum uprobe_task_state).
type state uint8

const (
	running  state = iota
	sstep          // it steps a copy
	sstepAck       // it has stepped it
)

// insnSize is how many bytes the probed instruction has.
const insnSize = 3

// Where user mode has its text, its slots and its stack: as the kernel lays out a position-independent program
// (ELF_ET_DYN_BASE, TASK_SIZE).
var places = map[int][3]arch.Addr{
	8: {0x5555_5555_5040, 0x7fff_ffff_e000, 0x7fff_ffff_d000},
	4: {0x5655_5040, 0x7fff_e000, 0x7fff_d000},
}

// Processes is how many processes may have the file with the uprobe in their memory.
const Processes = 4

// addr is where a process has the uprobe: each has the file at another address.
func (u *Uprobes) addr(process int) arch.Addr {
	return u.at + arch.Addr(process)<<(u.d.Arch.Word*4)
}

// New returns a kernel's uprobes; no task reaches one yet.
func New(d Deps) *Uprobes {
	p := places[d.Arch.Word]
	u := &Uprobes{d: d, at: p[0], slot: p[1], stack: p[2]}
	d.Boot.OnReset(func() { u.begun, u.first, u.SkipsUserCheck, u.stepsAway = false, false, false, false })
	return u
}

// Add declares, at boot, that the program of a task reaches a uprobe.
func (u *Uprobes) Add(t kapi.TaskID, h Hit) {
	u.any, u.processes = true, max(u.processes, h.Process)
	u.has[t/64] |= 1 << (t % 64)
	for int(t) >= len(u.tasks) {
		u.tasks = append(u.tasks, utask{})
	}
}

// Any reports whether any task reaches a uprobe.
func (u *Uprobes) Any() bool { return u.any }

// Begin makes the uprobes ready, at the boot of a run: on the notifier chain after kprobes.
func (u *Uprobes) Begin() {
	if !u.any || u.begun {
		return
	}
	u.begun = true
	clear(u.tasks)
	u.users.begin()
	u.d.Traps.OnBreakpoint(u.onBreakpoint)
	if !u.first {
		u.d.Traps.OnDebug(u.onDebug)
	}
	u.d.Traps.OnUser(u.notifyResume)
}

// First makes the chain ask uprobes about #DB before kprobes, at the boot of a run, without a check for user mode: a
// mutant.
func (u *Uprobes) First() {
	if u.first, u.stepsAway = true, true; u.any {
		u.d.Traps.OnDebug(u.onDebug)
	}
}

// A Hit is how a task comes to the uprobe.
type Hit struct {
	Handler arch.Addr // the function that the uprobe's handler calls where no user comes and goes
	Process int       // whose text it runs
	Calls   int       // how many calls of the function, which begins at the uprobe, are under way at once; 0: one
	Leaves  int       // how many of them longjmp leaves, the innermost first; the others return
}

// Hit makes a task reach the breakpoint in user mode, continue until the instruction's copy is stepped, and return to
// the kernel. Context: a task's program.
func (u *Uprobes) Hit(x kapi.Context, h Hit) {
	t := &u.tasks[x.Task()]
	*t = utask{handler: h.Handler, process: h.Process, calls: t.calls}
	switch {
	case u.nop.there():
		u.run(x, t)
		return
	case !u.users.returns:
		u.reach(x, t)
		return
	}
	for range max(h.Calls, 1) {
		u.enter(x, t)
		u.reach(x, t)
	}
	for range h.Leaves {
		u.leave(x, t)
	}
	for t.calls.depth > 0 {
		u.back(x, t)
	}
}

// reach makes a task execute the instruction at the uprobe. Context: a task's program.
func (u *Uprobes) reach(x kapi.Context, t *utask) {
	at := u.addr(t.process)
	regs := u.regs(t, at)
	a, was := u.d.Arch, regs
	for regs.IP == at { // sent back to the breakpoint it takes it again
		x.Emit(smpev.Uprobe, uint64(at), smpev.UprobeHit, 0)
		if !u.users.stands(x, t.process) {
			x.Emit(smpev.Uprobe, uint64(at), smpev.UprobePasses, 0)
			regs.IP += insnSize
			break
		}
		regs.IP += arch.Addr(len(a.Breakpoint))
		u.d.Traps.InUser(x, smpev.VecBP, &regs)
	}
	if regs.IP == u.slot && regs.Flags&arch.Step != 0 {
		regs.IP += insnSize
		u.d.Traps.InUser(x, smpev.VecDB, &regs)
	}
	was.IP = at + insnSize
	what := uint64(smpev.UprobeDone)
	if regs != was {
		what = smpev.UprobeStrays
	}
	x.Emit(smpev.Uprobe, uint64(at), what, uint64(regs.IP))
}

// regs are a task's registers in user mode, at ip.
func (u *Uprobes) regs(t *utask, ip arch.Addr) arch.Regs {
	a := u.d.Arch
	regs := arch.Regs{IP: ip, Flags: arch.IRQ | a.FixedFlag}
	regs.R[a.SP] = uint64(u.stack) - uint64(t.calls.depth*a.Word)
	return regs
}

// onBreakpoint decides whether a #BP is a uprobe's (arch_uprobe_exception_notify, DIE_INT3;
// uprobe_pre_sstep_notifier). Context: interrupts off.
func (u *Uprobes) onBreakpoint(x kapi.Context, _ *arch.Regs) (owner uint64) {
	t := x.Task()
	if !u.SkipsUserCheck && !u.d.Traps.FromUser(x) || u.has[t/64]>>(t%64)&1 == 0 {
		return 0
	}
	if !u.users.known(x, &u.tasks[t]) {
		x.Emit(smpev.Uprobe, uint64(u.addr(u.tasks[t].process)), smpev.UprobeKills, 1)
		return 0
	}
	u.tasks[t].pending = true
	return smpev.OwnerUprobe
}

// onDebug decides whether a #DB is the end of a copy that user mode steps (DIE_DEBUG; uprobe_post_sstep_notifier).
// Context: interrupts off.
func (u *Uprobes) onDebug(x kapi.Context, _ *arch.Regs) (owner uint64) {
	t := x.Task()
	if !u.stepsAway && !u.d.Traps.FromUser(x) || u.has[t/64]>>(t%64)&1 == 0 || u.tasks[t].state != sstep {
		return 0
	}
	u.tasks[t].state, u.tasks[t].pending = sstepAck, true
	return smpev.OwnerUprobe
}

// notifyResume does the uprobe's work before the task continues in user mode with regs
// (uprobe_notify_resume).
func (u *Uprobes) notifyResume(x kapi.Context, regs *arch.Regs) {
	if t := x.Task(); u.has[t/64]>>(t%64)&1 == 0 || !u.tasks[t].pending {
		return
	}
	t := &u.tasks[x.Task()]
	t.pending = false
	if t.state == sstepAck {
		u.handleSinglestep(x, t, regs)
		return
	}
	u.handleSwbp(x, t, regs)
}

// handleSwbp runs the handler, and sends the task to the copy (handle_swbp, pre_ssout).
func (u *Uprobes) handleSwbp(x kapi.Context, t *utask, regs *arch.Regs) {
	at := u.addr(t.process)
	switch u.d.Arch.BreakpointAt(regs) {
	case at:
	case u.trampoline():
		u.users.handleTrampoline(x, t, regs)
		return
	default:
		return // no uprobe is there
	}
	switch {
	case !u.users.any():
		u.call(x, t, t.handler, smpev.UprobeRuns, t.handler)
	case !u.users.find(x, t):
		regs.IP = at
		return
	default:
		u.users.chain(x, t)
	}
	if u.d.Boot.Planted(sentBack) && !t.back {
		t.back = true
		regs.IP = at
		return
	}
	if u.nop.there() {
		u.optimize(x)
		u.emulate(x, t, regs)
		return
	}
	regs.IP, regs.Flags = u.slot, regs.Flags|arch.Step
	t.state = sstep
	x.Emit(smpev.Uprobe, uint64(at), smpev.UprobeSteps, uint64(u.slot))
}

// call calls the function f for the user with this handler; what is the event that says so.
func (u *Uprobes) call(x kapi.Context, t *utask, f arch.Addr, what uint64, handler arch.Addr) {
	at := uint64(u.addr(t.process))
	x.Emit(smpev.Uprobe, at, what, uint64(handler))
	x.Call(f)
	if u.users.any() {
		x.Emit(smpev.Uprobe, at, smpev.UprobeRan, uint64(handler))
	}
}

// handleSinglestep moves the task's instruction pointer from the end of the copy to the end of
// the instruction (handle_singlestep, arch_uprobe_post_xol).
func (u *Uprobes) handleSinglestep(x kapi.Context, t *utask, regs *arch.Regs) {
	regs.IP, regs.Flags = u.addr(t.process)+(regs.IP-u.slot), regs.Flags&^arch.Step
	t.state = running
	u.users.put(x, t.object)
	t.object = 0
}

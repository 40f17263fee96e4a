package smp

import (
	"fmt"

	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/cycles"
	"kpsim/smp/fetch"
	"kpsim/smp/kapi"
	"kpsim/traces"
)

// Config is what a machine is built to.
type Config struct {
	CPUs    int         // 1 to sim.MaxCPUs
	Fetch   fetch.Model // which bytes a fetch may see
	Full    bool        // an interrupt's return may switch tasks (preemption model full)
	Lazy    bool        // with Full: only after a tick has found a task that waits, or for a stopper (model lazy)
	Arch    *arch.Arch  // the processor; nil is x86.AMD64
	Budget  uint64      // boundaries of a run before it is Exhausted
	Memory  Ordering    // in what order other CPUs see a CPU's accesses to data
	FRED    bool        // events return by ERETS, which doesn't serialise, not by IRET (Intel's FRED specification, "ERETS")
	Late    bool        // interrupts are still taken between a breakpoint and its handler, as an emulator may have it
	NoHZ    bool        // an idle CPU with nothing to run has no timer tick (tick_nohz_idle_enter)
	Offline uint64      // a set of CPUs that are off when a run begins, not CPU 0
	_       struct{}
}

// Hooks are what the kernel installs at boot. Each runs within a step of the
// machine: it must not wait. Nil hooks are not called.
type Hooks struct {
	// Trap is the routine of each vector. regs are the saved registers: what it
	// leaves in them the CPU resumes with.
	Trap [256]func(x *Ctx, regs *arch.Regs)

	// Prompt says of an interrupt's handler that it has no yield point and waits for
	// nothing: it is run in one step. s is nil for an IPI.
	Prompt func(vec uint8, s *Source) bool

	// Nested says that what the handlers of interrupts do depends on Task.PreemptCount
	// of the task below.
	Nested bool

	// Counts is what a trap of each vector adds to the preemption count while it is
	// handled, but for exceptions of user mode.
	Counts func(vec uint8) uint32

	// Stepping returns what is added on a CPU for the instructions that probes have it step.
	Stepping func(cpu int) uint32

	// Busy reports whether text has preemption off by a count of its own.
	Busy func(x *Ctx) bool

	// Switched is called when c gives the CPU from prev to next (which are the
	// same if there is no other task to run).
	Switched func(prev, next *Task, voluntary bool)

	// Idle is called when an interrupt has returned to a CPU's idle loop.
	Idle func(cpu int)

	// Blames is asked about what the machine won't execute, at ip: whether the input has
	// no part in it, so that the kernel dies of it and no run is refused. code are the
	// bytes, nil if there are none. nil: the input is always to blame.
	Blames func(ip arch.Addr, code []byte) bool

	// Exiting is called by a program at its end, as a routine: it may wait.
	Exiting func(x *Ctx)

	// Exited is called when a program has ended.
	Exited func(t *Task)
}

// Outcome is how a run ended. A bug of the simulator panics instead.
type Outcome uint8

// The outcomes.
const (
	Passed    Outcome = iota // everything has ended
	Violated                 // a monitor has a finding: the engine under test is wrong
	Stuck                    // nothing can move, and work is left
	Exhausted                // the budget is out: not a pass
	Refused                  // the text holds what this simulator doesn't execute
	Abandoned                // the strategy has seen enough (sim.Enough): no run at all
)

var outcomeNames = [...]string{"passed", "violated", "stuck", "exhausted", "refused", "abandoned"}

func (o Outcome) String() string { return outcomeNames[o] }

// A Machine is one simulated computer. It is used by one goroutine.
//
// What each boundary looks at comes first: at a field behind the first 4 KiB the compiler
// looks anew, each time, whether there is a Machine at all.
type Machine struct {
	cfg   Config
	cpus  []CPU
	tasks []*Task
	log   *traces.Log
	foot  *Footprint // footprint, while an observer is told of steps; else nil

	// What can move, and what moves next. See run.go.
	chooser  sim.Chooser
	p        sim.Point
	moves    sim.Moves // as in p, kept up to date
	stale    uint64    // but for these CPUs
	hold     uint64    // until so many boundaries the answer is 0
	outlasts int       // more than that, by sim.Steady and sim.Through
	lead     *Task
	errand   *CPU
	spins    bool // a CPU has waited in a loop (switch.go)
	next     sim.Mover
	steps    uint64 // boundaries so far
	settled  uint64 // as many of them are counted in p.Seq, if they are to be
	limit    uint64 // up to so many no question is put but before watched text, and nothing is looked at
	changed  bool   // what can move, or what moves next, may have changed
	instr    uint64
	parks    uint64

	outcome Outcome
	over    bool
	refusal error
	died    string // what Hooks.Blames was asked about, if the kernel has died of it

	sources []*Source
	gates   []gate
	lates   []gate // from the end of the gate page down
	guests  []gate // see BindGuest
	waiters []*Ctx
	waitOn  [256]uint8 // how many wait on a cell, by the low bits of its number
	recheck bool

	pool sim.Pool
	free []*Ctx
	live []*Ctx

	text    *fetch.Text
	fenv    fetchEnv
	memo    *memo
	windows map[window]*decoded // what the memo had
	decoded uint64              // how often the memo didn't know
	fbuf    [maxLen]byte        // what a fetch reads into
	data    arch.Memory         // mem, converted once
	own     arch.Memory         // the same, as instructions access it (guard.go)
	guard   guardedMemory
	guards  bool
	tracer  tracing
	time    Clocks
	mem     Memory
	weak    weakMemory

	arch    *arch.Arch
	at      layout
	hooks   Hooks
	Cells   kapi.Cells // numbers of the cells; those made after Freeze are made anew each run
	nCells  int
	nStacks int
	perCPU  [sim.MaxCPUs]arch.Addr // the bases of the CPUs' own data, from boot
	counts  [sim.MaxCPUs]count     // where they have their preemption counts, from boot

	// Types of their own; a method of the same name returns each, and Clocks too.
	names       Names
	interactive Interactive
	inspector   Inspector
	state       State
	footprint   Footprint
}

// DefaultBudget is the budget of a run whose Config says 0.
const DefaultBudget = 200_000

// Where things lie. Text within ±2 GiB of the executable memory for slots, as
// the kernel has it.
const (
	TextBase  arch.Addr = 0xffffffff81000000
	GateBase  arch.Addr = 0xffffffff82000000
	DataBase  arch.Addr = 0xffffffff83000000
	ExecBase  arch.Addr = 0xffffffffa0000000
	stackBase arch.Addr = 0xffffc90000000000
	StackSize           = 2 * pageSize
)

// New builds a machine. The caller maps memory, adds tasks and sources,
// installs hooks, and then calls Freeze.
func New(cfg Config, log *traces.Log) (*Machine, error) {
	if cfg.CPUs < 1 || cfg.CPUs > sim.MaxCPUs {
		return nil, fmt.Errorf("%d CPUs: a machine has 1 to %d", cfg.CPUs, sim.MaxCPUs)
	}
	if cfg.Memory == TSO && cfg.CPUs > int(sim.NoMover-sim.MoverDrain) {
		return nil, fmt.Errorf("%d CPUs: a machine whose CPUs hold stores has 1 to %d", cfg.CPUs, sim.NoMover-sim.MoverDrain)
	}
	if cfg.Budget == 0 {
		cfg.Budget = DefaultBudget
	}
	if cfg.Arch == nil {
		cfg.Arch = x86.AMD64
	}
	m := &Machine{
		cfg: cfg, arch: cfg.Arch, at: layoutOf(cfg.Arch), log: log, memo: new(memo), windows: make(map[window]*decoded),
		cpus: make([]CPU, cfg.CPUs),
		text: fetch.NewText(cfg.Fetch, cfg.CPUs),
		lead: nil, next: sim.NoMover,
	}
	log.Stop = m.again // look at the next boundary
	m.mem.noCode = new(decodedPage)
	m.mem.init()
	m.data, m.own, m.guard.Memory, m.mem.m = &m.mem, &m.mem, &m.mem, m
	m.names.m, m.interactive.m, m.inspector.m, m.state.m = m, m, m, m
	m.time.m, m.time.costs = m, cycles.Nominal()
	m.weak.init(m)
	m.footprint.m, m.footprint.data = m, &watchedMemory{&m.footprint}
	m.footprint.trial.f = &m.footprint
	m.footprint.guard = &guardedWatch{watchedMemory{&m.footprint}}
	m.fenv.m = m
	m.p.Clocks = &m.time.now
	m.mem.mapCode(m.at.gate, PermRead|PermExec).gate = true
	for i := range m.cpus {
		c := &m.cpus[i]
		c.id, c.bit, c.code = uint8(i), 1<<i, m.mem.noCode
		c.idle = m.newTask(fmt.Sprintf("idle/%d", i), c, classIdle, nil)
	}
	for i := range m.cpus {
		c := &m.cpus[i]
		c.stopper = m.newTask(fmt.Sprintf("stopper/%d", i), c, classStopper, nil)
	}
	return m, nil
}

func (m *Machine) newTask(name string, c *CPU, k class, body func(*Ctx)) *Task {
	if len(m.tasks) >= int(traces.NoTask) {
		sim.Bug("more than %d tasks", traces.NoTask)
	}
	t := &Task{ID: kapi.TaskID(len(m.tasks)), Name: name, cpu: c, home: c, class: k, body: body}
	t.frames = make([]frame, 0, 16)
	base := m.at.stack + arch.Addr(m.nStacks)*(StackSize+pageSize) // an unmapped page between: overflow faults
	m.nStacks++
	for a := base; a < base+StackSize; a += pageSize {
		m.mem.mapPage(a, PermRead|PermWrite)
	}
	t.stack = base + StackSize
	m.rewind(t)
	m.tasks = append(m.tasks, t)
	return t
}

// AddProgram adds a task that is runnable from the start and ends when its
// body returns.
func (m *Machine) AddProgram(name string, cpu int, body func(*Ctx)) *Task {
	t := m.newTask(name, &m.cpus[cpu], classProgram, body)
	t.boot = true
	return t
}

// AddThread adds a kernel thread: dormant until woken, and again when its body
// has returned.
func (m *Machine) AddThread(name string, cpu int, body func(*Ctx)) *Task {
	return m.newTask(name, &m.cpus[cpu], classThread, body)
}

// SetStopper gives the stopper of a CPU its body.
func (m *Machine) SetStopper(cpu int, body func(*Ctx)) *Task {
	t := m.cpus[cpu].stopper
	t.body = body
	return t
}

// AddSource adds a source of interrupts of cpu (ignored for a WorkSource).
func (m *Machine) AddSource(s *Source, cpu int) error {
	if len(m.sources) >= sim.MaxCPUs {
		return fmt.Errorf("more than %d interrupt sources", sim.MaxCPUs)
	}
	s.index = sim.MoverSource + sim.Mover(len(m.sources))
	s.bit = 1 << len(m.sources)
	if s.Kind != WorkSource {
		s.cpu = &m.cpus[cpu]
		s.cpu.sources = append(s.cpu.sources, s)
	}
	m.sources = append(m.sources, s)
	return nil
}

// Hooks returns the hooks for the kernel to fill in at boot.
func (m *Machine) Hooks() *Hooks { return &m.hooks }

// SetPerCPUBase gives a CPU the base of its own data with which it begins each run.
func (m *Machine) SetPerCPUBase(cpu int, base arch.Addr) { m.perCPU[cpu] = base }

// Freeze ends the boot: Reset goes back to this state.
func (m *Machine) Freeze() {
	m.mem.freeze()
	m.mem.bootWatched = len(m.mem.watched)
	m.nCells = m.Cells.Count()
	for i := range m.cpus {
		m.cpus[i].boot = m.bootSystem(uint32(i))
	}
	m.mem.frozen = true
}

// Keep makes the state of memory at the end of a run the one that runs begin with. No
// task may be inside a call or a handler.
func (m *Machine) Keep() {
	for _, p := range m.mem.moved {
		p.absent, p.moved = p.perm == 0, false
	}
	m.mem.moved = m.mem.moved[:0]
	m.mem.freeze()
	m.mem.bootWatched = len(m.mem.watched)
}

// Reset puts the machine back to the state of Freeze, to be run under ch. Its
// cost is what the last run touched, not the size of the machine.
func (m *Machine) Reset(ch sim.Chooser) {
	if !m.mem.frozen {
		m.Freeze()
	}
	m.unwind()
	m.resetWeak()
	m.mem.reset()
	m.resetPages()
	m.unwatch()
	m.text.Reset()
	m.Cells.Rewind(m.nCells)
	m.log.Reset()
	m.observe()

	m.chooser = ch
	m.p.Seq, m.p.Moves, m.moves = 0, sim.Moves{}, sim.Moves{}
	m.hold, m.outlasts, m.steps, m.settled, m.limit, m.instr, m.parks = 0, 0, 0, 0, 0, 0, 0
	m.lead, m.errand, m.next, m.mem.cpu = nil, nil, sim.NoMover, 0
	m.over, m.outcome, m.refusal, m.died = false, Passed, nil, ""
	m.waiters, m.recheck, m.spins = m.waiters[:0], false, false
	clear(m.waitOn[:])
	m.resetClocks()

	for i := range m.cpus {
		c := &m.cpus[i]
		c.runq, c.nmiBlocked, c.after, c.ipi, c.needResched, c.urgent, c.hot = c.runq[:0], false, 0, 0, false, false, hotplugged{}
		c.owed, c.beside, c.owedStores, c.storesBeside, c.user = 0, 0, 0, 0, false
	}
	for _, t := range m.tasks {
		m.rewind(t)
	}
	for i := range m.cpus {
		c := &m.cpus[i]
		c.task, c.regs, c.guest = c.idle, c.idle.regs, false
		c.sys = c.boot
		c.idle.state = runnable
		m.absent(c)
	}
	for _, s := range m.sources {
		s.left, s.armed = s.AtMost, false
	}
	for i := range m.cpus {
		m.attend(&m.cpus[i])
	}
	for _, t := range m.tasks {
		if t.boot && !t.cpu.hot.off {
			m.time.spender = t.cpu.id // each is woken on its own CPU, when that begins
			m.Wake(t)
		}
	}
}

// unwind kills the routines that the last run left parked.
func (m *Machine) unwind() {
	m.over = true // what is deferred in them asks nothing any more
	m.again()
	for len(m.live) > 0 {
		x := m.live[len(m.live)-1]
		m.live = m.live[:len(m.live)-1]
		if x.fibre != nil { // else it goes with its host's
			x.fibre.Kill()
			if x.fibre.Lost() { // it had panicked, and so the run
				x.fibre = nil
			}
		}
		m.release(x)
	}
}

// Close ends the machine's fibres. It is not used afterwards.
func (m *Machine) Close() {
	m.unwind()
	for _, x := range m.free {
		if x.fibre != nil {
			m.pool.Put(x.fibre)
			x.fibre = nil
		}
	}
	m.pool.Close()
}

// Refusal says what the machine wouldn't execute, after Refused.
func (m *Machine) Refusal() error { return m.refusal }

// Died says what the kernel has died of, in words; "": nothing, or the finding says it.
func (m *Machine) Died() string { return m.died }

// Log returns the machine's log.
func (m *Machine) Log() *traces.Log { return m.log }

// Tasks returns all tasks, in the order of their IDs.
func (m *Machine) Tasks() []*Task { return m.tasks }

// FullPreempt reports whether an interrupt's return may switch tasks.
func (m *Machine) FullPreempt() bool { return m.cfg.Full }

// Stopper returns the stopper task of a CPU.
func (m *Machine) Stopper(cpu int) *Task { return m.cpus[cpu].stopper }

// IdleTask returns the idle task of a CPU.
func (m *Machine) IdleTask(cpu int) *Task { return m.cpus[cpu].idle }

// SeenIdle reports whether a CPU is in its idle loop, outside an interrupt.
func (m *Machine) SeenIdle(cpu int) bool {
	c := &m.cpus[cpu]
	m.touch(objIdle, uint64(cpu), false)
	return c.task == c.idle && len(c.task.frames) == 0
}

// Arch returns the machine's processor.
func (m *Machine) Arch() *arch.Arch { return m.arch }

// CPUs returns the number of CPUs.
func (m *Machine) CPUs() int { return len(m.cpus) }

// Counts are what a run did.
type Counts struct {
	Boundaries   uint64 // all, with one alternative or more
	Points       uint64 // questions: boundaries with a choice, held ones counted
	Instructions uint64 // of guest text
	Switches     uint64 // fibres parked
}

// Add adds the counts of other runs.
func (c *Counts) Add(o *Counts) {
	c.Boundaries += o.Boundaries
	c.Points += o.Points
	c.Instructions += o.Instructions
	c.Switches += o.Switches
}

// Counts returns what the run since Reset did.
func (m *Machine) Counts() Counts {
	m.settle()
	return Counts{m.steps, m.p.Seq, m.instr, m.parks}
}

// emit takes an event of c down.
func (m *Machine) emit(c *CPU, k traces.Kind, a, b, d uint64) {
	m.log.Emit(k, c.id, uint8(c.task.ID), a, b, d)
}

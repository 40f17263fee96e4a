package smp

import (
	"errors"
	"fmt"

	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/cycles"
	"kpsim/smp/fetch"
	"kpsim/smp/kapi"
	"kpsim/traces"
)

// Config says how a machine is built.
type Config struct {
	CPUs   int         // 1 to sim.MaxCPUs
	Fetch  fetch.Model // which bytes a fetch may see
	Full   bool        // an interrupt's return may switch tasks (preemption model full)
	Lazy   bool        // with Full: only after a tick has found a task that waits, or for a stopper (model lazy)
	Arch   *arch.Arch  // the processor
	Budget uint64      // boundaries of a run before it is Exhausted
	Memory Ordering    // in what order other CPUs see a CPU's accesses to data
	// FRED: events return by ERETS, which doesn't serialise, not by IRET (Intel's FRED specification, "ERETS")
	FRED    bool
	Late    bool   // interrupts are still taken between a breakpoint and its handler, as some emulators do
	NoHZ    bool   // an idle CPU with nothing to run has no timer tick (tick_nohz_idle_enter)
	Offline uint64 // a set of CPUs that are off when a run begins, not CPU 0
	_       struct{}
}

// Hooks are the functions that the kernel installs at boot. Each runs within a step of the
// machine, so it must not wait. Nil hooks are not called.
type Hooks struct {
	// Trap is the routine of each vector. regs are the saved registers; the CPU resumes
	// with what the routine leaves in them.
	Trap [256]func(x *Ctx, regs *arch.Regs)

	// Prompt reports whether an interrupt's handler has no yield point and waits for
	// nothing, so that it can run in one step. s is nil for an IPI.
	Prompt func(vec uint8, s *Source) bool

	// Nested says that interrupt handlers depend on Task.PreemptCount of the interrupted
	// task.
	Nested bool

	// Counts is what a trap of each vector adds to the preemption count while it is
	// handled, but for exceptions of user mode.
	Counts func(vec uint8) uint32

	// Stepping returns what is added to a CPU's count while it single-steps for a probe.
	Stepping func(cpu int) uint32

	// Busy reports whether text has preemption off by a count of its own.
	Busy func(x *Ctx) bool

	// TaskRegs is called with the registers and the state that a task begins a run with.
	TaskRegs func(t kapi.TaskID, r *arch.Regs, s *arch.TaskState)

	// CPURegs is called with a CPU's registers at the entry of a trap's handler, after the return from one, and when
	// the CPU switches to another task: it sets those that belong to the CPU. nil: none do.
	CPURegs func(cpu int, r *arch.Regs)

	// Switched is called when a CPU switches from prev to next (which are the same if
	// there is no other task to run).
	Switched func(prev, next *Task, voluntary bool)

	// Idle is called when an interrupt has returned to a CPU's idle loop.
	Idle func(cpu int)

	// Blames is called when the machine can't execute the bytes at ip. It returns true if
	// the input isn't to blame: then the kernel dies, instead of the run being refused. code
	// are the bytes, nil if there are none. nil: the input is always to blame.
	Blames func(ip arch.Addr, code []byte) bool

	// Linked replaces the text that has an alias, and begins at a, by that without what other patchers have written
	// over it: their jumps and breakpoints hide where instructions begin. nil: there are no others.
	Linked func(a arch.Addr, text []byte)

	// Stores is called before text stores n bytes to text by an alias, and Shares when it has read such text (wrote
	// false), or stored to it. nil: nothing is to be done.
	Stores func(a arch.Addr, v uint64, n int)
	Shares func(cpu, task uint8, a arch.Addr, n int, wrote bool)

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
	Exhausted                // the budget is spent: not a pass
	Refused                  // the text contains something that this simulator doesn't execute
	Abandoned                // the strategy has seen enough (sim.Enough): no run at all
)

var outcomeNames = [...]string{"passed", "violated", "stuck", "exhausted", "refused", "abandoned"}

func (o Outcome) String() string { return outcomeNames[o] }

// A Machine is one simulated computer: its parts, and the loop that steps them. It is
// used by one goroutine.
//
// The fields used at each boundary come first: for a field beyond the first 4 KiB the
// compiler adds a nil check of the Machine to each access.
type Machine struct {
	cfg   Config
	turns turns // whose step is next
	cpus  Processors
	log   *traces.Log
	foot  *Footprint // &footprint while an observer is set, else nil

	ending   ending
	waits    Waits
	tracer   tracing
	time     Clocks
	mem      Memory
	weak     WeakMemory
	irqs     Interrupts
	tasks    Tasks
	routines routines
	gates    Gates
	traps    traps
	text     Text

	arch   *arch.Arch
	hooks  Hooks
	Cells  kapi.Cells // numbers of the cells; those made after Freeze are made anew each run
	nCells int        // the number of cells made at boot

	names       Names
	interactive Interactive
	state       State
	footprint   Footprint
}

// DefaultBudget is the budget of a run if Config.Budget is 0.
const DefaultBudget = 200_000

// The memory layout. Text lies within ±2 GiB of the executable memory for slots, as in the
// kernel.
const (
	TextBase  arch.Addr = 0xffffffff81000000
	GateBase  arch.Addr = 0xffffffff82000000
	DataBase  arch.Addr = 0xffffffff83000000
	NearBase  arch.Addr = 0xffffffff82c00000 // in place of ExecBase: arch.Branches.NearExec
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
		return nil, fmt.Errorf("%d CPUs: a machine whose CPUs hold stores has 1 to %d", cfg.CPUs,
			sim.NoMover-sim.MoverDrain)
	}
	if cfg.Budget == 0 {
		cfg.Budget = DefaultBudget
	}
	if cfg.Arch == nil {
		return nil, errors.New("no processor")
	}
	m := &Machine{cfg: cfg, arch: cfg.Arch, log: log}
	log.Stop = m.turns.again // look at the next boundary
	m.turns.init(m)
	m.ending.m, m.waits.m, m.irqs.m, m.routines.m, m.traps.m = m, m, m, m, m
	m.names.m, m.interactive.m, m.state.m, m.tracer.m = m, m, m, m
	m.cpus.init(m)
	m.text.init(m)
	m.mem.init(m)
	m.time.m, m.time.costs = m, cycles.Nominal()
	m.weak.init(m)
	m.footprint.init(m)
	m.gates.init(m)
	m.tasks.init(m)
	return m, nil
}

// Add adds a source of interrupts of cpu (ignored for a WorkSource).
func (ir *Interrupts) Add(s *Source, cpu int) error {
	if len(ir.sources) >= sim.MaxCPUs {
		return fmt.Errorf("more than %d interrupt sources", sim.MaxCPUs)
	}
	s.index = sim.MoverSource + sim.Mover(len(ir.sources))
	s.bit = 1 << len(ir.sources)
	if s.Kind != WorkSource {
		s.cpu = &ir.m.cpus.list[cpu]
		s.cpu.sources = append(s.cpu.sources, s)
	}
	ir.sources = append(ir.sources, s)
	return nil
}

// Hooks returns the hooks for the kernel to fill in at boot.
func (m *Machine) Hooks() *Hooks { return &m.hooks }

// Freeze ends the boot: Reset goes back to this state.
func (m *Machine) Freeze() {
	m.mem.freeze()
	m.mem.bootWatched = len(m.mem.watched)
	m.nCells = m.Cells.Count()
	for i := range m.cpus.list {
		boot := m.arch.BootSystem(uint32(i), m.cpus.bases[i])
		m.cpus.list[i].boot, m.cpus.list[i].sys = boot, boot.New()
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
	m.routines.unwind()
	m.weak.reset()
	m.mem.reset()
	m.mem.resetPages()
	m.text.unwatch()
	m.text.model.Reset()
	m.Cells.Rewind(m.nCells)
	m.log.Reset()
	m.footprint.reset()

	m.turns.reset(ch)
	m.ending = ending{m: m}
	m.waits.reset()
	m.time.reset()
	m.routines.parks, m.mem.cpu = 0, 0
	m.cpus.reset()
	for _, s := range m.irqs.sources {
		s.left, s.armed = s.AtMost, false
	}
	for i := range m.cpus.list {
		m.turns.attend(&m.cpus.list[i])
	}
	for _, t := range m.tasks.all {
		if t.boot && !t.cpu.hot.off {
			m.time.spender = t.cpu.id // each task is woken on its own CPU, when that begins
			m.tasks.Wake(t)
		}
	}
}

// unwind kills the routines that the last run left parked.
func (rs *routines) unwind() {
	rs.m.ending.over = true // their deferred functions must put no question
	rs.m.turns.again()
	for len(rs.live) > 0 {
		x := rs.live[len(rs.live)-1]
		rs.live = rs.live[:len(rs.live)-1]
		if x.fibre != nil { // else the host's fibre is unwound
			x.fibre.Kill()
			if x.fibre.Lost() { // the routine had panicked, and the run with it
				x.fibre = nil
			}
		}
		rs.release(x)
	}
}

// Close ends the machine's fibres. It is not used afterwards.
func (m *Machine) Close() {
	m.routines.unwind()
	for _, x := range m.routines.free {
		if x.fibre != nil {
			m.routines.pool.Put(x.fibre)
			x.fibre = nil
		}
	}
	m.routines.pool.Close()
	m.mem.release()
}

// Log returns the machine's log.
func (m *Machine) Log() *traces.Log { return m.log }

// FullPreempt reports whether an interrupt's return may switch tasks.
func (m *Machine) FullPreempt() bool { return m.cfg.Full }

// Arch returns the machine's processor.
func (m *Machine) Arch() *arch.Arch { return m.arch }

// CPUs returns the number of CPUs.
func (m *Machine) CPUs() int { return len(m.cpus.list) }

// Counts are what a run did.
type Counts struct {
	Boundaries   uint64 // all boundaries, with one alternative or more
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
	m.turns.settle()
	return Counts{m.turns.steps, m.turns.p.Seq, m.turns.instr, m.routines.parks}
}

// emit logs an event of c.
func (m *Machine) emit(c *CPU, k traces.Kind, a, b, d uint64) {
	m.log.Emit(k, c.id, uint8(c.task.ID), a, b, d)
}

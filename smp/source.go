package smp

import (
	"kpsim/sim"
	"kpsim/smp/cycles"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// SourceKind says how a source reaches its CPU.
type SourceKind uint8

// The kinds of source.
const (
	TimerSource   SourceKind = iota // a hard interrupt, vector smpev.VecTimer
	NMISource                       // an NMI
	PreemptSource                   // a reschedule interrupt that lets another task run
	WorkSource                      // a delayed work's timer: fires a hook, interrupts no CPU
)

var sourceNames = [...]string{"timer", "nmi", "preempt", "work"}

func (k SourceKind) String() string { return sourceNames[k] }

// A Source is something that can happen to a CPU at any boundary, as often as
// its budget allows. It is an actor, as a CPU is.
type Source struct {
	Kind   SourceKind
	Name   string // as traces print it
	AtMost int    // how often it may fire in a run
	Idle   bool   // the source, a timer or an NMI, also interrupts an idle CPU
	Fire   func() // WorkSource: what happens
	Waker  *Task  // WorkSource: the task that will do the work

	cpu   *CPU // nil for a WorkSource
	left  int
	armed bool // WorkSource
	bit   uint64
	index sim.Mover
}

// Interrupts are the machine's sources of interrupts, and the IPIs between its CPUs.
type Interrupts struct {
	m       *Machine
	sources []*Source // in the order of their movers
}

// Interrupts returns the machine's interrupts.
func (m *Machine) Interrupts() *Interrupts { return &m.irqs }

// Arm makes a work source able to fire, once.
func (ir *Interrupts) Arm(s *Source) {
	m := ir.m
	m.foot.touchSource(s)
	if !s.armed {
		s.armed = true
		m.turns.moves[2] |= s.bit
		m.turns.again()
	}
}

// Disarm stops a work source from firing. It reports whether the source was armed.
func (ir *Interrupts) Disarm(s *Source) (could bool) {
	m := ir.m
	m.foot.touchSource(s)
	if could = s.armed; could {
		s.armed = false
		m.turns.moves[2] &^= s.bit
		m.turns.again()
	}
	return could
}

// Disarmed notes that the current step depends on whether a work source can fire.
func (ir *Interrupts) Disarmed(s *Source) { ir.m.foot.touchSource(s) }

// Mover returns the source's mover, once the source was added to a machine.
func (s *Source) Mover() sim.Mover { return s.index }

// ready reports whether a CPU's source with budget left can fire at this boundary. open says
// whether the CPU takes interrupts.
func (s *Source) ready(cfg *Config, open bool) bool {
	switch c := s.cpu; s.Kind {
	case NMISource:
		return !c.hot.off && !c.nmiBlocked && c.after&deaf == 0 && (s.Idle || c.task != c.idle)
	case PreemptSource:
		return cfg.Full && open && len(c.runq) > 0 && c.task.preempt == 0 && c.task.class != classStopper
	default:
		return open && (c.task != c.idle || s.Idle && !(cfg.NoHZ && len(c.runq) == 0))
	}
}

// fire makes the source s happen.
func (ir *Interrupts) fire(s *Source) {
	m := ir.m
	if s.cpu != nil {
		m.emit(s.cpu, smpev.Fire, uint64(s.index), 0, 0)
	} else {
		m.log.Emit(smpev.Fire, 255, traces.NoTask, uint64(s.index), 0, 0)
	}
	m.foot.touchSource(s)
	switch s.Kind {
	case WorkSource:
		s.armed = false
		m.turns.moves[2] &^= s.bit
		m.turns.again()
		s.Fire()
	case NMISource:
		s.left--
		ir.interrupt(s, smpev.VecNMI)
	case PreemptSource:
		s.left--
		m.foot.touchQueue(s.cpu, true)
		s.cpu.needResched = true
		ir.interrupt(s, smpev.VecResch)
	case TimerSource:
		s.left--
		if m.cfg.NoHZ && s.cpu.task == s.cpu.idle { // it came because a task is to run there
			m.foot.touchQueue(s.cpu, false)
		}
		ir.interrupt(s, smpev.VecTimer)
	}
}

func (ir *Interrupts) interrupt(s *Source, vec uint8) {
	m := ir.m
	m.foot.touchIdle(s.cpu)
	ir.beginAtomic(s.cpu, vec, s)
	m.traps.deliver(s.cpu, vec, s.cpu.regs.IP, 0) // this makes the next turn look at the CPU
	if !m.ending.over {
		f := s.cpu.task.top()
		f.ctx.source, f.ctx.prompt = s, ir.prompt(vec, s, f.user)
	}
}

// ipiFence orders an IPI after earlier stores: a write of x2APIC's register isn't ordered
// with them.
var ipiFence = kapi.DefineBarrier("ipi: what was stored before it is sent", kapi.OrderMB,
	"x2apic_send_IPI: weak_wrmsr_fence (25a068b8e9a4)")

// SendIPI makes an IPI of the reason pending on each CPU of the set.
func (ir *Interrupts) SendIPI(x *Ctx, set uint64, why ipiSet) {
	m := ir.m
	x.Fence(ipiFence)
	if set != 0 { // with no other CPU nothing is sent
		m.time.spend(x.cpu.id, cycles.SendIPI, 1)
	}
	m.emit(x.task.cpu, smpev.SendIPI, set, uint64(why), 0)
	for ; set != 0; set &= set - 1 {
		c := &m.cpus.list[firstCPU(set)]
		m.foot.touch(objIPI, uint64(c.id), true)
		c.ipi |= why
		m.weak.handOver(x.cpu.id, c.id)
		m.time.now[sim.MoverIPI+sim.Mover(c.id)] = m.time.now[x.cpu.id]
		m.turns.attend(c)
	}
}

// takeIPI delivers the IPIs that are pending on c.
func (ir *Interrupts) takeIPI(c *CPU) {
	m := ir.m
	vec := uint8(smpev.VecCall)
	m.foot.touch(objIPI, uint64(c.id), true)
	m.foot.touchIdle(c)
	m.time.catchUp(c, m.time.now[sim.MoverIPI+sim.Mover(c.id)])
	m.weak.takeOver(c)
	m.turns.errand = nil
	if c.ipi&IPICall != 0 {
		c.ipi &^= IPICall
		m.turns.errand = c
	} else {
		c.ipi &^= IPIResched
		vec = smpev.VecResch
	}
	ir.beginAtomic(c, vec, nil)
	m.traps.deliver(c, vec, c.regs.IP, 0)
	if !m.ending.over {
		f := c.task.top()
		f.ctx.prompt = ir.prompt(vec, nil, f.user)
	}
}

// Sources returns all sources, in the order of their movers.
func (ir *Interrupts) Sources() []*Source { return ir.sources }

// CPU returns the mover of the CPU that the source interrupts, NoMover if it
// interrupts none.
func (s *Source) CPU() sim.Mover {
	if s.cpu == nil {
		return sim.NoMover
	}
	return sim.Mover(s.cpu.id)
}

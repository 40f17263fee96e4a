package smp

import (
	"fmt"

	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// Names gives addresses, movers, places, objects and answers to questions their names in
// messages and traces.
type Names struct {
	m       *Machine
	symbols []symbol
	spots   [spotNames]spotName

	// Further looks up addresses that no AddSymbol covers; nil: there are no further names.
	Further func(a arch.Addr) (name string, off int, ok bool)

	Cell    func(id kapi.CellID) string // names a cell, "" if it has no name
	Monitor func(monitor int) string    // names a monitor passed to Footprint.TouchEvent
	Service func(number uint64) string  // names an object passed to Footprint.TouchService
}

// Names returns the machine's names.
func (m *Machine) Names() *Names { return &m.names }

// A symbol names an address range.
type symbol struct {
	name string
	at   arch.Addr
	size int
}

// AddSymbol names [at, at+size). The latest name of an address wins.
func (n *Names) AddSymbol(name string, at arch.Addr, size int) {
	n.spots = [spotNames]spotName{}
	n.symbols = append(n.symbols, symbol{name, at, size})
}

// SymbolAt returns the name of the range a lies in and the offset in it.
func (n *Names) SymbolAt(a arch.Addr) (name string, off int, ok bool) {
	for i := len(n.symbols) - 1; i >= 0; i-- {
		if s := &n.symbols[i]; a >= s.at && a < s.at+arch.Addr(s.size) {
			return s.name, int(a - s.at), true
		}
	}
	if a == n.m.gates.idleIP() {
		return "kernel", 0, true
	}
	if a >= n.m.gates.page && a < n.m.gates.page+pageSize || a >= n.m.gates.guestPages &&
		a < n.m.gates.guestPages+arch.Addr(len(n.m.gates.guests))*gateSize {
		if a == n.m.gates.returnGate() {
			return "return", 0, true
		}
		if g := n.m.gates.find(a &^ (gateSize - 1)); g != nil {
			return g.name, int(a % gateSize), true
		}
	}
	if n.Further != nil {
		return n.Further(a)
	}
	return "", 0, false
}

// Symbol prints an address as symbol+0xoff, or as a number.
func (n *Names) Symbol(a arch.Addr) string {
	if name, off, ok := n.SymbolAt(a); ok {
		return fmt.Sprintf("%s+%#x", name, off)
	}
	return fmt.Sprintf("%#x", uint64(a))
}

// Where says where a mover's CPU stands: the symbol and offset of guest text, or a routine
// and its step. It is called only when a trace is written or replayed, never in a search.
func (n *Names) Where(mv sim.Mover) (name string, off int, text bool) {
	return n.SpotName(n.Spot(mv))
}

// A Spot says where a CPU stands, without a name, so that it is cheap enough for a search.
type Spot struct {
	text    bool
	returns bool   // the CPU is about to leave the handler of vector at
	at      uint64 // in text: the address
	routine string // outside text: the routine; "" at the end of a handler
	step    int
}

// Spot says where a mover's CPU stands.
func (n *Names) Spot(mv sim.Mover) Spot {
	var c *CPU
	switch {
	case mv < sim.MoverIPI:
		c = &n.m.cpus.list[mv]
	case mv < sim.MoverSource:
		c = &n.m.cpus.list[mv-sim.MoverIPI]
	case mv == sim.NoMover:
		return Spot{routine: "nowhere"}
	case mv >= sim.MoverDrain:
		c = &n.m.cpus.list[mv-sim.MoverDrain]
	default:
		s := n.m.irqs.sources[mv-sim.MoverSource]
		if s.cpu == nil {
			return Spot{routine: s.Name}
		}
		c = s.cpu
	}
	f := c.task.top()
	switch {
	case f == nil:
		return Spot{routine: "idle"}
	case f.kind == guest:
		return Spot{text: true, at: uint64(c.regs.IP)}
	case f.kind == iret:
		return Spot{returns: true, at: uint64(f.vector)}
	}
	return Spot{routine: f.ctx.place, step: f.ctx.step}
}

// A spotName is the cached name of a spot in text. A replay needs the name at every
// question, a kernel has a hundred thousand symbols, and a run meets the same spots often.
type spotName struct {
	at   uint64
	name string
	off  int
}

const spotNames = 1 << 10

// SpotName names a spot as Where does.
func (n *Names) SpotName(s Spot) (name string, off int, text bool) {
	switch {
	case s.text:
		known := &n.spots[s.at%spotNames]
		if known.name != "" && known.at == s.at {
			return known.name, known.off, true
		}
		name, off, ok := n.SymbolAt(arch.Addr(s.at))
		if !ok {
			return "text", int(s.at), true
		}
		*known = spotName{s.at, name, off}
		return name, off, true
	case s.returns:
		return vectorName(uint8(s.at)) + " iret", 0, false
	}
	return s.routine, s.step, false
}

// moverNames are the names of CPUs, of their IPIs, and of their stores that take effect.
var moverNames = func() (names [sim.NoMover]string) {
	for i := range sim.MoverIPI {
		names[i], names[sim.MoverIPI+i] = fmt.Sprintf("cpu%d", i), fmt.Sprintf("ipi@cpu%d", i)
		if drain := sim.MoverDrain + i; drain < sim.NoMover {
			names[drain] = fmt.Sprintf("drain@cpu%d", i)
		}
	}
	return names
}()

// Mover names a mover as traces do.
func (n *Names) Mover(mv sim.Mover) string {
	if mv < sim.MoverSource || mv >= sim.MoverDrain {
		return moverNames[mv]
	}
	return n.m.irqs.sources[mv-sim.MoverSource].Name
}

// Alternative names one answer to a question as traces do.
func (n *Names) Alternative(p *sim.Point, pick int) string {
	switch p.Kind {
	case sim.Step:
		return n.Mover(p.Mover(pick))
	case sim.Task:
		if q := n.m.cpus.list[p.First].runq; pick < len(q) {
			return q[pick].Name
		}
	case sim.Fetch:
		if pick == 0 {
			return "fresh"
		}
		return fmt.Sprintf("older %d", pick)
	case sim.Buffer:
		return [...]string{"none", "held"}[pick]
	case sim.Version:
		if pick == 0 {
			return "newest"
		}
		return fmt.Sprintf("older %d", pick)
	}
	return fmt.Sprint(pick)
}

// StackOf returns the name of the task whose stack contains an address, "" if none does.
func (n *Names) StackOf(a uint64) string {
	for _, t := range n.m.tasks.all {
		if t.stack-arch.Addr(a) <= StackSize {
			return t.Name
		}
	}
	return ""
}

// SymbolName is Symbol for an address out of an event.
func (n *Names) SymbolName(a uint64) string { return n.Symbol(arch.Addr(a)) }

// Movers returns all movers: CPUs, their IPIs, sources, and, if CPUs hold stores, the
// draining of those.
func (n *Names) Movers() (list []sim.Mover) {
	for mv := range sim.NoMover {
		switch base := mv / sim.MaxCPUs * sim.MaxCPUs; {
		case base == sim.MoverSource && int(mv-base) >= len(n.m.irqs.sources):
		case base != sim.MoverSource && int(mv-base) >= len(n.m.cpus.list):
		case base == sim.MoverDrain && n.m.cfg.Memory != TSO:
		default:
			list = append(list, mv)
		}
	}
	return list
}

// MoverNamed returns the mover with that name in traces.
func (n *Names) MoverNamed(name string) (sim.Mover, bool) {
	for _, mv := range n.Movers() {
		if n.Mover(mv) == name {
			return mv, true
		}
	}
	return sim.NoMover, false
}

// TaskNamed returns the number of a task; the kernel's own are among them.
func (n *Names) TaskNamed(name string) (id int, ok bool) {
	for id, t := range n.m.tasks.all {
		if t.Name == name {
			return id, true
		}
	}
	return 0, false
}

// FindSymbol returns the address and size of a name that was passed to AddSymbol.
func (n *Names) FindSymbol(name string) (at arch.Addr, size int, ok bool) {
	for i := len(n.symbols) - 1; i >= 0; i-- {
		if s := &n.symbols[i]; s.name == name {
			return s.at, s.size, true
		}
	}
	return 0, 0, false
}

// CPUOf returns the CPU on which a mover's step runs, -1 if on none.
func (n *Names) CPUOf(mv sim.Mover) int {
	switch {
	case mv < sim.MoverIPI:
		return int(mv)
	case mv < sim.MoverSource:
		return int(mv - sim.MoverIPI)
	case mv >= sim.MoverDrain:
		return int(mv - sim.MoverDrain)
	}
	if c := n.m.irqs.sources[mv-sim.MoverSource].cpu; c != nil {
		return int(c.id)
	}
	return -1
}

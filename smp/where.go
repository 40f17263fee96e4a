package smp

import (
	"fmt"

	"kpsim/sim"
	"kpsim/smp/arch"
)

// A Symbol names an address range, for messages and traces.
type symbol struct {
	name string
	at   arch.Addr
	size int
}

// AddSymbol names [at, at+size). Later ones of the same place win.
func (m *Machine) AddSymbol(name string, at arch.Addr, size int) {
	m.symbols = append(m.symbols, symbol{name, at, size})
}

// SymbolAt returns the name of the range a lies in and the offset in it.
func (m *Machine) SymbolAt(a arch.Addr) (name string, off int, ok bool) {
	for i := len(m.symbols) - 1; i >= 0; i-- {
		if s := &m.symbols[i]; a >= s.at && a < s.at+arch.Addr(s.size) {
			return s.name, int(a - s.at), true
		}
	}
	if a == m.idleIP() {
		return "kernel", 0, true
	}
	if a >= m.gateAt && a < m.gateAt+pageSize {
		if a == m.returnGate() {
			return "return", 0, true
		}
		if g := m.gate(a &^ (gateSize - 1)); g != nil {
			return g.name, int(a % gateSize), true
		}
	}
	return "", 0, false
}

// Symbol prints an address as symbol+0xoff, or as a number.
func (m *Machine) Symbol(a arch.Addr) string {
	if name, off, ok := m.SymbolAt(a); ok {
		return fmt.Sprintf("%s+%#x", name, off)
	}
	return fmt.Sprintf("%#x", uint64(a))
}

// Where says where a mover's CPU stands: the symbol and offset of guest text,
// or a routine and its step. It is asked only when a trace is written or
// replayed, never in a search.
func (m *Machine) Where(mv sim.Mover) (name string, off int, text bool) {
	return m.SpotName(m.Spot(mv))
}

// A Spot is where a CPU stands, without its name: what a search can afford.
type Spot struct {
	text    bool
	returns bool   // it is about to leave the handler of vector at
	at      uint64 // of text: the address
	routine string // else; "" at the end of a handler
	step    int
}

// Spot says where a mover's CPU stands.
func (m *Machine) Spot(mv sim.Mover) Spot {
	var c *CPU
	switch {
	case mv < sim.MoverIPI:
		c = &m.cpus[mv]
	case mv < sim.MoverSource:
		c = &m.cpus[mv-sim.MoverIPI]
	case mv == sim.NoMover:
		return Spot{routine: "nowhere"}
	default:
		s := m.sources[mv-sim.MoverSource]
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

// SpotName names a spot as Where does.
func (m *Machine) SpotName(s Spot) (name string, off int, text bool) {
	switch {
	case s.text:
		if name, off, ok := m.SymbolAt(arch.Addr(s.at)); ok {
			return name, off, true
		}
		return "text", int(s.at), true
	case s.returns:
		return vectorName(uint8(s.at)) + " iret", 0, false
	}
	return s.routine, s.step, false
}

// MoverName names a mover as traces do.
func (m *Machine) MoverName(mv sim.Mover) string {
	switch {
	case mv < sim.MoverIPI:
		return fmt.Sprintf("cpu%d", mv)
	case mv < sim.MoverSource:
		return fmt.Sprintf("ipi@cpu%d", mv-sim.MoverIPI)
	}
	return m.sources[mv-sim.MoverSource].Name
}

// Alternative names one answer to a question as traces do.
func (m *Machine) Alternative(p *sim.Point, pick int) string {
	switch p.Kind {
	case sim.Step:
		return m.MoverName(p.Mover(pick))
	case sim.Task:
		if q := m.cpus[p.First].runq; pick < len(q) {
			return q[pick].Name
		}
	case sim.Fetch:
		if pick == 0 {
			return "fresh"
		}
		return fmt.Sprintf("older %d", pick)
	}
	return fmt.Sprint(pick)
}

// SymbolName is Symbol for an address out of an event.
func (m *Machine) SymbolName(a uint64) string { return m.Symbol(arch.Addr(a)) }

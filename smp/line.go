package smp

import (
	"kpsim/sim"
	"kpsim/smp/cycles"
	"kpsim/smp/kapi"
)

// A line is the line of cache that a shared cell is in, as MESI has it: in the caches
// of all that have loaded it since it was stored to last, and alone in that of who
// stores. What wants it waits for what has had it before: it is in one place at a time.
type line struct {
	holders uint64   // CPUs that have it in their caches, 0: it is in memory only, and costs nothing more
	stored  sim.Time // when it was stored to last, by the clock of who did
	loaded  sim.Time // when it was loaded last
}

// bring brings the line of a cell that is about to be loaded or stored to.
func (x *Ctx) bring(id kapi.CellID, mode kapi.Mode) {
	if x.m.lines != nil {
		x.m.bring(x.cpu, id, mode == kapi.Write)
	}
}

// bring brings a cell's line to a CPU that is about to load it or to store to it. A
// CPU that nobody shares the cell with has it, however often it stores.
func (m *Machine) bring(c *CPU, id kapi.CellID, store bool) {
	for int(id) >= len(m.lines) {
		m.lines = append(m.lines, line{})
	}
	l := &m.lines[id]
	after := l.stored
	if store {
		after = max(after, l.loaded)
	}
	m.catchUp(c, after)
	if others := l.holders &^ c.bit; others != 0 && (store || l.holders == others) {
		m.spend(c.id, cycles.Line, 1)
	}
	if now := m.clocks[c.id%sim.MaxCPUs]; store {
		l.holders, l.stored = c.bit, now
	} else {
		l.holders |= c.bit
		l.loaded = max(l.loaded, now)
	}
}

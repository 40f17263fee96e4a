package smp

import (
	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/cycles"
	"kpsim/smp/kapi"
)

// A line is a line of cache that CPUs share, as MESI has it: in the caches of all that have
// loaded it since it was stored to last, and alone in that of who stores. What wants it
// waits for what has had it before: it is in one place at a time, so that clocks say
// in which order its accesses were.
type line struct {
	holders uint64   // CPUs that have it in their caches, 0: it is in memory only, and costs nothing more
	stored  sim.Time // when it was stored to last, by the clock of who did
	loaded  sim.Time // when it was loaded last
}

// lines are those of a machine that has been told costs.
type lines struct {
	cells  []line // by the number of the cell
	queues [sim.MaxCPUs]line
	text   [1 << textLineBits]line // of watched text, by a hash of eight aligned bytes
}

const textLineBits = 10

func (ls *lines) reset() {
	clear(ls.cells)
	clear(ls.queues[:])
	clear(ls.text[:])
}

// cell returns the line of a cell.
func (ls *lines) cell(id kapi.CellID) *line {
	for int(id) >= len(ls.cells) {
		ls.cells = append(ls.cells, line{})
	}
	return &ls.cells[id]
}

// bring brings the line of a cell that is about to be loaded or stored to.
func (x *Ctx) bring(id kapi.CellID, mode kapi.Mode) {
	if x.m.time.lines != nil {
		x.m.bring(x.cpu, x.m.time.lines.cell(id), mode == kapi.Write)
	}
}

// bringQueue brings the run queue of a CPU to the one that changes it.
func (m *Machine) bringQueue(c *CPU, of *CPU) {
	if m.time.lines != nil {
		m.bring(c, &m.time.lines.queues[of.id%sim.MaxCPUs], true)
	}
}

// bringText brings n bytes of watched text that are about to be fetched or stored to.
func (m *Machine) bringText(c *CPU, a arch.Addr, n int, store bool) {
	if m.time.lines == nil {
		return
	}
	for at := a &^ (chunk - 1); at < a+arch.Addr(n); at += chunk {
		m.bring(c, &m.time.lines.text[bytesNumber(at)*0x9e3779b97f4a7c15>>(64-textLineBits)], store)
	}
}

// bring brings a line to a CPU that is about to load from it or to store to it. A CPU
// that alone holds the line stores to it for nothing more.
func (m *Machine) bring(c *CPU, l *line, store bool) {
	after := l.stored
	if store {
		after = max(after, l.loaded)
	}
	m.catchUp(c, after)
	if others := l.holders &^ c.bit; others != 0 && (store || l.holders == others) {
		m.spend(c.id, cycles.Line, 1)
	}
	if now := m.time.now[c.id]; store {
		l.holders, l.stored = c.bit, now
	} else {
		l.holders |= c.bit
		l.loaded = max(l.loaded, now)
	}
}

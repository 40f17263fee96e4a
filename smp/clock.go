package smp

import (
	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/cycles"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// Clocks are the CPUs' clocks. A clock advances by the cost of the CPU's events and by the
// time the CPU waits. Times are in cycles.Unit-ths of a cycle.
type Clocks struct {
	m       *Machine
	costs   *cycles.Profile
	lines   *lines                     // nil: no costs were set
	tally   *[sim.MaxCPUs]cycles.Tally // nil: events aren't counted
	now     sim.Clocks
	starts  *[sim.MaxCPUs]sim.Time // the clocks when a run begins; nil: 0
	waited  [sim.MaxCPUs]sim.Time  // the part of now that was spent waiting
	spender uint8                  // the CPU whose clock advanced last
	stored  sim.Time               // when the cell was stored that waiters have yet to look at
}

// Clocks returns the CPUs' clocks.
func (m *Machine) Clocks() *Clocks { return &m.time }

// Costs sets what events cost from the next run on; nil is the nominal profile. It also
// turns on the simulation of cache lines; a search doesn't need that and never calls Costs.
// Runs are otherwise unchanged, except with text that reads the clock or a strategy that
// follows time.
func (c *Clocks) Costs(p *cycles.Profile) {
	if c.costs = p; p == nil {
		c.costs = cycles.Nominal()
	}
	if c.lines == nil && len(c.m.cpus.list) > 1 { // a single CPU never pays for a line
		c.lines = new(lines)
	}
}

// Start sets the clocks' values at the beginning of each run from the next one on. nil is
// 0, as on a new machine.
func (c *Clocks) Start(at *[sim.MaxCPUs]sim.Time) { c.starts = at }

// reset begins the time of a run.
func (k *Clocks) reset() {
	clear(k.now[:])
	if k.starts != nil {
		copy(k.now[:], k.starts[:])
	}
	copy(k.waited[:], k.now[:])
	k.spender, k.stored = 0, 0
	if k.lines != nil {
		k.lines.reset()
	}
}

// Count counts each CPU's events in tally from now on; nil ends the counting.
func (c *Clocks) Count(tally *[sim.MaxCPUs]cycles.Tally) { c.tally = tally }

// Of returns what a CPU's clock shows.
func (c *Clocks) Of(cpu int) sim.Time { return c.now[cpu] }

// Spent returns what events have cost on a CPU: its clock less the time it has waited.
func (c *Clocks) Spent(cpu int) sim.Time { return c.now[cpu] - c.waited[cpu] }

// AppendSpent appends what events have cost on each CPU so far, for Passed.
func (c *Clocks) AppendSpent(list []sim.Time) []sim.Time {
	for i := range c.m.cpus.list {
		list = append(list, c.Spent(i))
	}
	return list
}

// Passed returns how much time has certainly passed since AppendSpent made the list. It is
// the least time spent since then by any CPU with something to do, the context's included. A
// CPU that could go on but isn't chosen by the strategy holds time up. While a timer could
// fire or a store could take effect, no time has passed.
func (c *Clocks) Passed(x *Ctx, since []sim.Time) sim.Time {
	m := c.m
	for _, s := range m.irqs.sources {
		if s.armed {
			return 0
		}
	}
	if m.turns.moves[3] != 0 {
		return 0
	}
	least := c.Spent(int(x.cpu.id)) - since[x.cpu.id]
	for i := range m.cpus.list {
		if u := &m.cpus.list[i]; u.guest || u.canGoOn() || u.open() && u.ipi != 0 {
			least = min(least, c.Spent(i)-since[i])
		}
	}
	return least
}

// spend advances a CPU's clock by n events.
func (k *Clocks) spend(cpu uint8, e cycles.Event, n int) {
	t, cpu := k, cpu%sim.MaxCPUs
	t.spender = cpu
	t.now[cpu] += sim.Time(t.costs[e]) * sim.Time(n)
	if t.tally != nil {
		t.tally[cpu][e] += uint64(n)
	}
}

// Now returns the clock of the CPU that spent time last. Only routines let waiting CPUs go
// on, so this is the time at which they continue.
func (c *Clocks) Now() sim.Time { return c.now[c.spender] }

// catchUp advances a waiting CPU to the time at which another CPU let it go on. All clocks
// show the same time base, as the time-stamp counters of CPUs that were reset together do
// (SDM vol. 3, 18.17.4).
func (k *Clocks) catchUp(c *CPU, to sim.Time) {
	if at := k.now[c.id]; at < to {
		k.now[c.id] = to
		k.waited[c.id%sim.MaxCPUs] += to - at
	}
}

// delivery returns the event that prices the delivery of a vector.
func delivery(vec uint8) cycles.Event {
	switch vec {
	case smpev.VecBP:
		return cycles.Breakpoint
	case smpev.VecDB:
		return cycles.Debug
	}
	return cycles.Trap
}

// A line is a cache line that CPUs share, as in MESI. It is in the caches of all CPUs that
// have loaded it since the last store; after a store it is in the storing CPU's cache alone.
// An access waits for the previous access, so the clocks agree with the order of accesses.
type line struct {
	holders uint64   // CPUs that have it cached; 0: it is in memory only, and costs nothing extra
	stored  sim.Time // when it was stored to last, by the storing CPU's clock
	loaded  sim.Time // when it was loaded last
}

// lines are the cache lines of a machine on which Costs was called. With told they cost nothing.
type lines struct {
	// told is called before each store to a cell (Interactive.Stores). nil: lines cost time.
	told   func(cpu uint8, id kapi.CellID)
	cells  []line // by the number of the cell
	queues [sim.MaxCPUs]line
	text   [1 << textLineBits]line // of watched text, by a hash of eight aligned bytes
}

const textLineBits = 10

// priced reports whether cache lines cost time.
func (k *Clocks) priced() bool { return k.lines != nil && k.lines.told == nil }

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

// access brings the line of a cell that a CPU is about to load or store to.
func (k *Clocks) access(c *CPU, id kapi.CellID, mode kapi.Mode) {
	if k.lines != nil {
		k.bringCell(c, id, mode)
	}
}

func (k *Clocks) bringCell(c *CPU, id kapi.CellID, mode kapi.Mode) {
	if k.lines.told != nil && mode == kapi.Write {
		k.lines.told(c.id, id)
	}
	k.bring(c, k.lines.cell(id), mode == kapi.Write)
}

// bringQueue brings of's run queue to c, which changes it.
func (k *Clocks) bringQueue(c *CPU, of *CPU) {
	if k.lines != nil {
		k.bring(c, &k.lines.queues[of.id%sim.MaxCPUs], true)
	}
}

// bringText brings n bytes of watched text that are about to be fetched or stored to.
func (k *Clocks) bringText(c *CPU, a arch.Addr, n int, store bool) {
	if k.lines == nil {
		return
	}
	for at := a &^ (chunk - 1); at < a+arch.Addr(n); at += chunk {
		k.bring(c, &k.lines.text[bytesNumber(at)*0x9e3779b97f4a7c15>>(64-textLineBits)], store)
	}
}

// bring brings a line to a CPU that is about to load from it or store to it. A store is
// free for a CPU that alone holds the line.
func (k *Clocks) bring(c *CPU, l *line, store bool) {
	if k.lines.told != nil {
		return
	}
	after := l.stored
	if store {
		after = max(after, l.loaded)
	}
	k.catchUp(c, after)
	if others := l.holders &^ c.bit; others != 0 && (store || l.holders == others) {
		k.spend(c.id, cycles.Line, 1)
	}
	if now := k.now[c.id]; store {
		l.holders, l.stored = c.bit, now
	} else {
		l.holders |= c.bit
		l.loaded = max(l.loaded, now)
	}
}

package lkmm

import (
	"math/bits"

	"kpsim/sim"
)

// Fence is a barrier of its own. A context switch is an MB.
func (m *Model) Fence(cpu int, f Fence) {
	c := &m.cpus[cpu]
	switch f {
	case RMB:
		c.floor.join(c.all)
		c.load.join(c.read)
	case WMB:
		c.store.join(c.own)
		c.write.join(c.wrote)
	default:
		c.all.join(m.global)
		m.global.join(c.all)
		c.strong(c.all)
	}
}

// strong puts v before everything that follows on the CPU, as an mb does.
func (c *cpu) strong(v view) {
	c.all.join(v)
	c.floor.join(v)
	c.store.join(v)
	c.event.join(v)
}

// Lock is the RMW that takes a lock. After an earlier Unlock of the CPU, of any lock, it
// also orders all before but a store against a load.
func (m *Model) Lock(cpu int, at uint32) {
	c := &m.cpus[cpu]
	list := m.grow(at).messages
	if last := &list[len(list)-1]; int(last.author) != cpu {
		c.store.join(last.data.view) // the stores of the last holder are before ours, as by a wmb
	}
	m.RMWAfter(cpu, at, Acquire, 0)
	if !c.unlock {
		return
	}
	c.floor.join(c.all)
	c.store.join(c.own)
	c.event.join(c.read)
	c.event.join(c.wrote)
}

// Unlock is the store that releases a lock. Its holder has the newest version.
func (m *Model) Unlock(cpu int, at uint32) {
	c := &m.cpus[cpu]
	m.StoreAfter(cpu, at, Release, 0, newest)
	list := m.cells[at].messages
	list[len(list)-1].data.view.join(c.own)
	c.unlock = true
}

// Send hands what the CPU from has seen to IPIs that the CPU to takes: a release.
func (m *Model) Send(from, to int) { m.cpus[to].mailbox.join(m.cpus[from].all) }

// Take is an IPI's arrival: an acquire of what the senders handed over.
func (m *Model) Take(cpu int) {
	c := &m.cpus[cpu]
	c.all.join(c.mailbox)
	c.floor.join(c.mailbox)
}

// Enter is an exception's or interrupt's entry: what follows is executed after it, so that
// it sees what was before the full fences that came before. It orders nothing else.
func (m *Model) Enter(cpu int) {
	c := &m.cpus[cpu]
	c.all.join(m.global)
	c.floor.join(m.global)
}

// ReadLock begins a section of RCU, or of SRCU in a domain above 0. Sections nest.
func (m *Model) ReadLock(cpu, domain int) {
	c := &m.cpus[cpu]
	if c.nest[domain]++; c.nest[domain] > 1 {
		return
	}
	m.inside[domain] |= 1 << cpu
	c.strong(m.began[domain])
}

// ReadUnlock ends a section. It is a bug to end what hasn't begun.
func (m *Model) ReadUnlock(cpu, domain int) {
	c := &m.cpus[cpu]
	if c.nest[domain] == 0 {
		sim.Bug("cpu %d: the end of no RCU section", cpu)
	}
	if c.nest[domain]--; c.nest[domain] > 0 {
		return
	}
	m.inside[domain] &^= 1 << cpu
	m.ended[domain].join(c.all)
	for i := range m.cpus {
		if g := &m.cpus[i]; g.waits[domain]>>cpu&1 != 0 {
			g.waits[domain] &^= 1 << cpu
			g.sees[domain].join(c.all)
		}
	}
}

// GPBegin begins a grace period on the CPU, which has one at a time in a domain.
func (m *Model) GPBegin(cpu, domain int) {
	m.Fence(cpu, MB)
	c := &m.cpus[cpu]
	m.began[domain].join(c.all)
	c.waits[domain] = m.inside[domain] &^ (1 << cpu)
	c.sees[domain].clear()
	c.sees[domain].join(m.ended[domain])
}

// Waiting is the set of CPUs, a bit each, whose sections the grace period that began on
// this CPU has to outlast.
func (m *Model) Waiting(cpu, domain int) uint64 { return m.cpus[cpu].waits[domain] }

// Inside reports whether the CPU is in a section.
func (m *Model) Inside(cpu, domain int) bool { return m.cpus[cpu].nest[domain] > 0 }

// GPEnd ends it. The user has waited; a section still running counts as seen so far.
func (m *Model) GPEnd(cpu, domain int) {
	c := &m.cpus[cpu]
	for w := c.waits[domain]; w != 0; w &= w - 1 {
		c.sees[domain].join(m.cpus[bits.TrailingZeros64(w)].all)
	}
	c.waits[domain] = 0
	c.strong(c.sees[domain])
	m.Fence(cpu, MB)
	c.sees[domain].clear()
}

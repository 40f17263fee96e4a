package smp

import (
	"kpsim/sim"
	"kpsim/smp/arch"
)

// Loads that reserve, and stores that happen only while the reservation holds (arch.Reserver). A
// reservation has the bytes that were loaded, the fewest that an architecture allows. A store to one
// of them by another CPU breaks it. So do a trap and a switch of tasks on its own CPU: a
// kernel's way into and out of a handler ends it.

// reservations are those of all CPUs. A machine whose processor has none has no reservations.
type reservations struct {
	m    *Machine
	held [sim.MaxCPUs]reservation
	data reservingMemory
	own  reservingMemory
}

// A reservation is n bytes at an address; 0: there is none.
type reservation struct {
	at arch.Addr
	n  uint8
}

// overlaps reports whether it has one of n bytes at an address.
func (r *reservation) overlaps(a arch.Addr, n int) bool {
	return r.n > 0 && a < r.at+arch.Addr(r.n) && r.at < a+arch.Addr(n)
}

// covers reports whether it has all of n bytes at an address.
func (r *reservation) covers(a arch.Addr, n int) bool {
	return r.n > 0 && r.at <= a && a+arch.Addr(n) <= r.at+arch.Addr(r.n)
}

// reserve gives a machine reservations, if its processor has them.
func (ps *Processors) reserve() {
	if ps.m.arch.Reserves {
		ps.reserves = &reservations{m: ps.m}
		ps.reserves.data.rs, ps.reserves.own.rs = ps.reserves, ps.reserves
	}
}

// wrapMemory puts the reservations in front of memory as CPUs access it.
func (rs *reservations) wrapMemory() {
	if rs == nil {
		return
	}
	m := rs.m
	rs.data.Memory, rs.own.Memory = m.mem.data, m.mem.own
	m.mem.data, m.mem.own = &rs.data, &rs.own
}

// reset ends all reservations.
func (rs *reservations) reset() {
	if rs != nil {
		clear(rs.held[:])
	}
}

// lose ends that of a CPU.
func (rs *reservations) lose(c *CPU) {
	if rs != nil {
		rs.held[c.id] = reservation{}
	}
}

// addState adds that of a CPU to a hash.
func (rs *reservations) addState(h *sim.Hash, c *CPU) {
	if rs != nil {
		h.Add(uint64(rs.held[c.id].at))
		h.Add(uint64(rs.held[c.id].n))
	}
}

// A reservingMemory is memory whose stores break reservations.
type reservingMemory struct {
	rs *reservations
	arch.Memory
}

// Store implements arch.Memory.
func (x *reservingMemory) Store(a arch.Addr, size int, v uint64) bool {
	ok := x.Memory.Store(a, size, v)
	for i := range x.rs.held[:len(x.rs.m.cpus.list)] {
		if r := &x.rs.held[i]; ok && uint8(i) != x.rs.m.mem.cpu && r.overlaps(a, size) {
			*r = reservation{}
		}
	}
	return ok
}

// System implements arch.Systemic.
func (x *reservingMemory) System() system { return x.Memory.(arch.Systemic).System() }

// Reserve implements arch.Reserver.
func (x *reservingMemory) Reserve(a arch.Addr, n int) {
	x.rs.held[x.rs.m.mem.cpu] = reservation{a, uint8(n)}
}

// Reserved implements arch.Reserver. The step depends on other CPUs' stores there, as a load does.
func (x *reservingMemory) Reserved(a arch.Addr, n int) bool {
	x.Memory.Load(a, n)
	r := &x.rs.held[x.rs.m.mem.cpu]
	good := r.covers(a, n)
	*r = reservation{}
	return good
}

// Reserve implements arch.Reserver: a trial has no effect.
func (t *trial) Reserve(arch.Addr, int) {}

// Reserved implements arch.Reserver.
func (t *trial) Reserved(a arch.Addr, n int) bool {
	t.Load(a, n)
	return t.f.m.cpus.reserves.held[t.cpu.id].covers(a, n)
}

// Reserve implements arch.Reserver: what a patcher would do next reserves nothing.
func (f *ahead) Reserve(arch.Addr, int) {}

// Reserved implements arch.Reserver: others' stores aren't foreseen.
func (f *ahead) Reserved(arch.Addr, int) bool { return true }

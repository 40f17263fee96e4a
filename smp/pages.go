package smp

import (
	"kpsim/sim"
	"kpsim/smp/isa"
	"kpsim/smp/smpev"
)

// Text that comes and goes: pages that are mapped while the machine runs, and
// taken away again. An access to one that is away faults, as one to memory that
// was never mapped does. No TLB is modelled: who takes pages away sends the IPIs
// that flush it.

// MapLater sets pages of text aside that are away when a run begins, or there
// with here, before Freeze. All of them is watched.
func (m *Machine) MapLater(a isa.Addr, pages int, here bool) {
	m.MapExec(a, pages)
	for i := range pages {
		p := m.mem.page(a + isa.Addr(i*pageSize))
		p.later, p.away = true, !here
		if p.away {
			p.perm = 0
		}
	}
}

// Present reports whether a page of text is mapped at a.
func (m *Machine) Present(a isa.Addr) bool {
	p := m.mem.page(a)
	return p != nil && p.perm&PermExec != 0
}

// MapPages puts pages of MapLater where they belong. They hold what they held:
// the caller fills them, before anybody can know of them.
func (x *Ctx) MapPages(a isa.Addr, pages int) { x.m.setPages(a, pages, PermRead|PermExec) }

// MapExec maps a page for code that is written at run time, for the rest of the
// run: as Machine.MapExec does at boot. false: something else is there.
func (x *Ctx) MapExec(a isa.Addr) bool {
	p := x.m.mem.page(a)
	if p == nil {
		x.m.MapLater(a, 1, false)
		p = x.m.mem.page(a)
		p.grown = true
	}
	if !p.grown || p.perm != 0 {
		return false
	}
	x.MapPages(a, 1)
	return true
}

// UnmapPages takes pages of MapLater away.
func (x *Ctx) UnmapPages(a isa.Addr, pages int) { x.m.setPages(a, pages, 0) }

func (m *Machine) setPages(a isa.Addr, pages int, perm Perm) {
	for i := range pages {
		p := m.mem.page(a + isa.Addr(i*pageSize))
		if p == nil || !p.later {
			sim.Bug("the page of %#x isn't one that comes and goes", uint64(a))
		}
		if p.perm == perm {
			continue
		}
		p.perm = perm
		if !p.moved {
			p.moved = true
			m.mem.moved = append(m.mem.moved, p)
		}
		m.forgetPage(p)
	}
}

// forgetPage has the CPUs look a page up again.
func (m *Machine) forgetPage(p *page) {
	for i := range m.cpus {
		if c := &m.cpus[i]; c.page == p {
			c.page, c.code, c.next = nil, m.noCode, nil
		}
	}
}

// resetPages puts the pages back that the last run has moved.
func (m *Machine) resetPages() {
	for _, p := range m.mem.moved {
		p.perm = PermRead | PermExec
		if p.away {
			p.perm = 0
		}
		p.moved = false
		m.forgetPage(p)
	}
	m.mem.moved = m.mem.moved[:0]
}

// addPages adds to a hash which pages aren't where they were when the run began.
func (m *Machine) addPages(h *sim.Hash) {
	for _, p := range m.mem.moved {
		if (p.perm == 0) != p.away {
			h.Join(sim.Hash{Hi: uint64(p.at), Lo: uint64(p.at) + 1})
		}
	}
}

// storeAway is a store to text that was taken away: the kernel dies of it.
func (m *Machine) storeAway(c *CPU, a isa.Addr) {
	m.touchFetch(a, 1)
	m.emit(c, smpev.Oops, smpev.VecPF, uint64(c.regs.IP), uint64(a))
	m.refuseAt(c, a, "a store to text that was unmapped")
}

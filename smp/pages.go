package smp

import (
	"errors"

	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/smpev"
)

// Text and data that come and go: pages that are mapped and unmapped while the
// machine runs. An access to an unmapped page faults, as to memory that was never
// mapped. No TLB is modelled: the unmapping code sends the IPIs that flush it.

// MapLater sets aside pages of text that a run maps and unmaps. They are mapped when
// a run begins if here is set. All of them are watched. It is called before Freeze.
func (m *Memory) MapLater(a arch.Addr, pages int, here bool) {
	m.MapExec(a, pages)
	for i := range pages {
		p := m.page(a + arch.Addr(i*pageSize))
		p.later, p.absent = true, !here
		if p.absent {
			p.perm = 0
		}
	}
}

// ComeAndGo makes the mapped pages of data that hold the n bytes at a pages that a run
// maps and unmaps. They are mapped when a run begins if here is set. It is called
// before Freeze.
func (m *Memory) ComeAndGo(a arch.Addr, n int, here bool) {
	for at := a &^ (pageSize - 1); at < a+arch.Addr(n); at += pageSize {
		p := m.page(at)
		p.later, p.absent = true, !here
		if p.absent {
			p.perm = 0
		}
	}
}

// Present reports whether a page of text is mapped at a.
func (m *Memory) Present(a arch.Addr) bool {
	p := m.page(a)
	return p != nil && p.perm&PermExec != 0
}

// lent reports whether a page of text is one whose code is written at run time, or comes and goes: monitors judge an
// interrupt by whether it returns there.
func (m *Memory) lent(a arch.Addr) bool {
	p := m.page(a)
	return p != nil && p.code != nil && p.code == m.noCode
}

// Pages is a context as it maps and unmaps pages, and as it handles their faults.
type Pages Ctx

// Pages returns the context for mapping and unmapping pages.
func (x *Ctx) Pages() *Pages { return (*Pages)(x) }

// Map maps pages of MapLater or ComeAndGo. Data are as at boot. Text keeps its old
// bytes: the caller fills it before any other CPU can know its address.
func (x *Pages) Map(a arch.Addr, pages int) { x.m.mem.setPages(a, pages, true) }

// MapExec maps a page for code that is written at run time, as Memory.MapExec does at boot.
// It stays until the run ends. false: something else is mapped there.
func (x *Pages) MapExec(a arch.Addr) bool {
	p := x.m.mem.page(a)
	if p == nil {
		x.m.mem.MapLater(a, 1, false)
		p = x.m.mem.page(a)
		p.grown = true
	}
	if !p.grown || p.perm != 0 {
		return false
	}
	x.Map(a, 1)
	return true
}

// MapData maps a page of zeros for data, until Unmap or the end of the run. false:
// something else is mapped there.
func (x *Pages) MapData(a arch.Addr) bool {
	p := x.m.mem.page(a)
	if p == nil {
		p = x.m.mem.mapPage(a, PermRead|PermWrite)
		p.perm, p.later, p.absent, p.grown = 0, true, true, true
	}
	if !p.grown || p.code != nil || p.perm != 0 {
		return false
	}
	x.Map(a, 1)
	return true
}

// Unmap unmaps pages of MapLater, ComeAndGo or MapData.
func (x *Pages) Unmap(a arch.Addr, pages int) { x.m.mem.setPages(a, pages, false) }

// Protect takes the permission to execute from the pages of MapLater that hold the n bytes at a, or gives it back
// (mprotect). They are mapped. A CPU that fetches there without it faults. What was decoded before isn't run any more.
func (x *Pages) Protect(a arch.Addr, n int, exec bool) {
	m := &x.m.mem
	for at := a &^ (pageSize - 1); at < a+arch.Addr(n); at += pageSize {
		p := m.page(at)
		if p == nil || !p.later || p.code == nil || p.perm == 0 {
			sim.Bug("the page of %#x isn't mapped text that comes and goes", uint64(at))
		}
		perm := PermRead
		if exec {
			perm = p.there()
		}
		m.setPage(p, perm)
	}
	if f := x.m.foot; f != nil {
		f.text(a, n, true) // fetches depend on it
	}
}

// Draft has ordinary stores write to pages of MapExec, which no CPU executes until Publish. They are mapped.
func (x *Pages) Draft(a arch.Addr, pages int) {
	m := &x.m.mem
	for i := range pages {
		m.setPage(m.page(a+arch.Addr(i*pageSize)), PermRead|PermWrite)
	}
}

// Publish ends Draft: CPUs execute what was stored, all of it, and only patching code stores there.
func (x *Pages) Publish(a arch.Addr, pages int) {
	m := &x.m.mem
	m.m.weak.flushAll()
	for i := range pages {
		p := m.page(a + arch.Addr(i*pageSize))
		m.setPage(p, p.there())
	}
	if f := x.m.foot; f != nil {
		f.text(a, pages*pageSize, true) // fetches depend on it
	}
}

func (m *Memory) setPages(a arch.Addr, pages int, there bool) {
	if !there {
		m.m.weak.flushAll()
	}
	for i := range pages {
		p := m.page(a + arch.Addr(i*pageSize))
		if p == nil || !p.later {
			sim.Bug("the page of %#x isn't one that comes and goes", uint64(a))
		}
		perm := Perm(0)
		if there {
			perm = p.there()
		}
		if m.setPage(p, perm) && p.code == nil {
			m.swapData(p, there)
		}
	}
}

// setPage gives a page that comes and goes other permissions, and reports whether they are others.
func (m *Memory) setPage(p *page, perm Perm) bool {
	if p.perm == perm {
		return false
	}
	p.perm = perm
	if !p.moved {
		p.moved = true
		m.moved = append(m.moved, p)
	}
	m.forgetPage(p)
	return true
}

// there returns the permissions that a page that comes and goes has while it is mapped.
func (p *page) there() Perm {
	if p.code == nil {
		return PermRead | PermWrite
	}
	return PermRead | PermExec
}

// first returns the permissions that a page that comes and goes has when a run begins.
func (p *page) first() Perm {
	if p.absent {
		return 0
	}
	return p.there()
}

// swapData is called when a page of data was mapped or unmapped: accesses to its words now
// find other values, or fault.
func (m *Memory) swapData(p *page, there bool) {
	if there {
		p.restore()
	}
	m.m.foot.touchPage(p)
}

// forgetPage makes the CPUs look a page up again.
func (m *Memory) forgetPage(p *page) {
	for i := range m.m.cpus.list {
		if c := &m.m.cpus.list[i]; c.page == p {
			c.page, c.code = nil, m.noCode
		}
	}
}

// resetPages maps and unmaps pages as they were when the last run began.
func (m *Memory) resetPages() {
	for _, p := range m.moved {
		p.perm = p.first()
		p.moved = false
		m.forgetPage(p)
	}
	m.moved = m.moved[:0]
}

// addPages adds to a hash which pages have other permissions than when the run began.
func (m *Memory) addPages(h *sim.Hash) {
	for _, p := range m.moved {
		if p.perm != p.first() {
			h.Join(sim.Hash{Hi: uint64(p.at), Lo: uint64(p.at) + 1 + uint64(p.perm)})
		}
	}
}

// ErrGoneText is in the refusal of a run that stored to text that was unmapped. Only patching code stores to text, so
// no scenario is to blame.
var ErrGoneText = errors.New("a store to text that was unmapped")

// storeUnmapped is a store to text that was unmapped: the kernel dies of it.
func (m *Memory) storeUnmapped(c *CPU, a arch.Addr) {
	m.m.foot.touchFetch(a, 1)
	m.m.emit(c, smpev.Oops, smpev.VecPF, uint64(c.regs.IP), uint64(a))
	m.m.ending.refuseFor(c, m.m.names.Symbol(a), ErrGoneText)
}

// Data that is paged out when a run begins: an access to it faults until the kernel
// pages it in.

// MapPagedOut puts b at a in pages of their own that are paged out when a run begins.
// It is called before Freeze.
func (m *Memory) MapPagedOut(a arch.Addr, b []byte) {
	m.Map(a, b, PermRead|PermWrite)
	for at := a; at < a+arch.Addr(len(b)); at += pageSize {
		p := m.page(at)
		p.absent, p.perm = true, 0
	}
}

// PagedOut reports whether a lies in data that is paged out.
func (m *Memory) PagedOut(a arch.Addr) bool {
	p := m.page(a)
	return p != nil && p.absent && p.perm == 0 && p.code == nil && !p.later
}

// PagedIn reports whether a lies in data that was paged out and isn't any more.
func (m *Memory) PagedIn(a arch.Addr) bool {
	p := m.page(a)
	return p != nil && p.absent && p.perm != 0 && p.code == nil
}

// PageIn maps the paged-out page that contains a. Later accesses by any CPU depend on it, so
// its words count as shared.
func (x *Pages) PageIn(a arch.Addr) {
	m := x.m
	p := m.mem.page(a)
	p.perm = PermRead | PermWrite
	m.mem.moved = append(m.mem.moved, p)
	m.foot.touchPage(p)
}

// touchPage marks each word of a page as shared, and as stored to.
func (f *Footprint) touchPage(p *page) {
	if f != nil {
		for off := arch.Addr(0); off < pageSize; off += 8 {
			n := bytesNumber(p.at + off)
			f.grew = f.words.share(n) || f.grew
			f.add(object(objWord, n), true)
		}
	}
}

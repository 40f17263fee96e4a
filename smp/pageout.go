package smp

import "kpsim/smp/arch"

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

// PageIn maps the paged-out page that a lies in. Later accesses by any CPU find it
// there, so its words count as shared.
func (x *Ctx) PageIn(a arch.Addr) {
	m := x.m
	p := m.mem.page(a)
	p.perm = PermRead | PermWrite
	m.mem.moved = append(m.mem.moved, p)
	m.touchPage(p)
}

// touchPage says that each word of a page is shared, and stored to.
func (m *Machine) touchPage(p *page) {
	if f := m.foot; f != nil {
		for off := arch.Addr(0); off < pageSize; off += 8 {
			n := bytesNumber(p.at + off)
			f.grew = f.words.share(n) || f.grew
			f.add(object(objWord, n), true)
		}
	}
}

package smp

import "kpsim/smp/arch"

// Data that is away when a run begins, as what is paged out is: an access to it
// faults until somebody has brought its page in.

// MapAway puts b at a in pages of their own that are away when a run begins,
// before Freeze.
func (m *Machine) MapAway(a arch.Addr, b []byte) {
	m.Map(a, b, PermRead|PermWrite)
	for at := a; at < a+arch.Addr(len(b)); at += pageSize {
		p := m.mem.page(at)
		p.away, p.perm = true, 0
	}
}

// Away reports whether a lies in data that is away.
func (m *Machine) Away(a arch.Addr) bool {
	p := m.mem.page(a)
	return p != nil && p.away && p.perm == 0 && p.code == nil && !p.later
}

// CameIn reports whether a lies in data that was away and isn't any more.
func (m *Machine) CameIn(a arch.Addr) bool {
	p := m.mem.page(a)
	return p != nil && p.away && p.perm != 0 && p.code == nil
}

// BringIn brings the page in that a lies in, which is away. Whoever accesses it
// afterwards finds it there: so its words are shared with him.
func (x *Ctx) BringIn(a arch.Addr) {
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

package lkmm

import "math/bits"

// Load reads a version of the cell and returns how much older it is than the newest, 0
// for the newest. choose is asked which of n the CPU may see, if there is more than
// one; 0 is the newest.
func (m *Model) Load(cpu int, at uint32, o Order, choose func(n int) int) (back int) {
	if o == Deref {
		o = Acquire
	}
	back, _ = m.load(cpu, at, o, 0, false, choose)
	return back
}

// LoadAfter is Load for callers that know dependencies: the address depends on after. The set
// returned holds this load.
func (m *Model) LoadAfter(cpu int, at uint32, o Order, after Deps, choose func(n int) int) (back int, d Deps) {
	return m.load(cpu, at, o, after, true, choose)
}

// Failed is a read-modify-write operation that changed nothing: it reads the newest
// version, and orders nothing.
func (m *Model) Failed(cpu int, at uint32) { m.load(cpu, at, Relaxed, 0, false, newest) }

// FailedAfter is Failed for callers that know dependencies.
func (m *Model) FailedAfter(cpu int, at uint32, after Deps) (d Deps) {
	_, d = m.load(cpu, at, Relaxed, after, true, newest)
	return d
}

func newest(int) int { return 0 }

func (m *Model) load(id int, at uint32, o Order, after Deps, keep bool, choose func(n int) int) (back int, d Deps) {
	cell := m.grow(at)
	c := &m.cpus[id]
	m.depend(c, after)
	low := max(c.floor.at(at), m.dep.at(at))
	last := uint32(len(cell.messages) - 1)
	if n := int(last-low) + 1; n > 1 {
		back = choose(n)
	}
	pos := last - uint32(back)
	msg := &cell.messages[pos]

	t := &m.dep
	t.fence.join(c.event)
	t.fence.join(c.load)
	if int(msg.author) == id {
		t.join(&msg.data)
	} else {
		m.overtaken(id, at, pos, msg, t)
		t.join(&msg.carries)
		t.view.raise(at, pos)
	}
	msg.readers |= 1 << id
	c.floor.raise(at, pos)
	c.all.raise(at, pos)
	c.all.join(t.view)
	c.all.join(t.fence)
	c.read.join(t.fence)
	if o == Acquire || o == Full {
		c.acquire(t)
	}
	if keep {
		d = c.keep(t)
	}
	return back, d
}

// acquire orders what follows after t.
func (c *cpu) acquire(t *pair) {
	c.floor.join(t.view)
	c.floor.join(t.fence)
	c.event.join(t.fence)
}

// depend collects in m.dep what the loads stand after.
func (m *Model) depend(c *cpu, on Deps) {
	m.dep.clear()
	for on != 0 {
		i := bits.TrailingZeros64(uint64(on))
		on &= on - 1
		if i < c.loads {
			m.dep.join(&c.slots[i])
		}
	}
}

// keep gives a load its place in the sets of dependencies.
func (c *cpu) keep(t *pair) Deps {
	i := c.loads
	if i == 64 {
		i = 63
		c.slots[i].join(t)
		return 1 << i
	}
	if i == len(c.slots) {
		c.slots = append(c.slots, pair{})
	}
	c.loads++
	c.slots[i].clear()
	c.slots[i].join(t)
	return 1 << i
}

// overtaken adds to t what earlier accesses of the CPU stand after that were overwritten
// by something that msg carries: they happened before this load (prop within one
// CPU, in the kernel's model).
func (m *Model) overtaken(id int, at, pos uint32, msg *message, t *pair) {
	seen := func(k, below uint32) {
		list := m.cells[k].messages
		for i := range list[:min(int(below), len(list))] {
			q := &list[i]
			switch {
			case int(q.author) == id:
				t.fence.join(q.carries.fence)
			case q.readers>>id&1 != 0:
				t.join(&q.carries)
				t.view.raise(k, uint32(i))
			}
		}
	}
	for k, p := range msg.carries.view {
		if p != 0 && k < len(m.cells) && uint32(k) != at {
			seen(uint32(k), p)
		}
	}
	seen(at, pos)
}

// Store puts a version into the cell and returns how many versions remain newer, 0 if it
// is the newest. choose is asked for one of n places, if there is more than one;
// 0 is the newest.
func (m *Model) Store(cpu int, at uint32, o Order, choose func(n int) int) (back int) {
	c := &m.cpus[cpu]
	m.dep.clear()
	m.dep.view.join(c.all)
	m.dep.fence.join(c.read)
	return m.put(cpu, at, o, false, choose)
}

// StoreAfter is Store for callers that know dependencies: the address, the value, or whether the
// store happens depends on after.
func (m *Model) StoreAfter(cpu int, at uint32, o Order, after Deps, choose func(n int) int) (back int) {
	m.depend(&m.cpus[cpu], after)
	return m.put(cpu, at, o, true, choose)
}

// put stores. m.dep is what the store depends on.
func (m *Model) put(id int, at uint32, o Order, keep bool, choose func(n int) int) (back int) {
	cell := m.grow(at)
	c := &m.cpus[id]
	m.before(id, cell, o == Release)
	low := max(c.floor.at(at), m.dep.at(at), m.carry.at(at))
	back = place(cell, low, choose)
	pos := uint32(len(cell.messages) - back)
	m.insert(id, cell, at, pos)
	msg := &cell.messages[pos]
	if keep {
		msg.data.join(&m.dep)
	}
	m.done(c, msg, at, pos)
	if o == Full {
		m.Fence(id, MB)
	}
	return back
}

// before collects in m.carry what a store to the cell carries.
func (m *Model) before(id int, cell *cell, release bool) {
	c := &m.cpus[id]
	carry := &m.carry
	carry.clear()
	carry.view.join(c.store)
	carry.fence.join(c.event)
	carry.fence.join(c.write)
	carry.fence.join(m.dep.fence)
	for i := range cell.messages { // a store isn't moved before an access of its CPU to the same cell
		q := &cell.messages[i]
		if int(q.author) == id || q.readers>>id&1 != 0 {
			carry.fence.join(q.carries.fence)
		}
	}
	if release {
		carry.view.join(c.all)
		carry.fence.join(c.read)
		carry.fence.join(c.wrote)
	}
}

// place asks where after low a store goes: between no RMW and what it read.
func place(cell *cell, low uint32, choose func(n int) int) (back int) {
	n := 1
	for i := len(cell.messages) - 1; i > int(low); i-- {
		if !cell.messages[i].glued {
			n++
		}
	}
	if n == 1 {
		return 0
	}
	k := choose(n)
	for i := len(cell.messages) - 1; k > 0; i-- {
		back++
		if !cell.messages[i].glued {
			k--
		}
	}
	return back
}

// insert makes a message at pos.
func (m *Model) insert(id int, cell *cell, at, pos uint32) {
	cell.push()
	last := len(cell.messages) - 1
	if int(pos) < last {
		fresh := cell.messages[last]
		copy(cell.messages[pos+1:], cell.messages[pos:last])
		cell.messages[pos] = fresh
		m.opened(at, pos)
	}
	cell.messages[pos].author = int8(id)
}

// done lets the CPU know of its store.
func (m *Model) done(c *cpu, msg *message, at, pos uint32) {
	msg.carries.join(&m.carry)
	c.floor.raise(at, pos)
	c.all.raise(at, pos)
	c.own.raise(at, pos)
	c.own.join(m.carry.view)
	c.all.join(m.carry.view)
	c.all.join(m.carry.fence)
	c.wrote.join(m.carry.fence)
	// What a CPU reads as the store of another one includes the store itself, which
	// load adds: the message's own view doesn't need it.
}

// RMW is a successful read-modify-write operation: it reads the newest version and
// becomes the newest.
func (m *Model) RMW(cpu int, at uint32, o Order) { m.rmw(cpu, at, o, 0, false) }

// RMWAfter is RMW for callers that know dependencies: its address, its operands, or whether it
// happens depends on after.
func (m *Model) RMWAfter(cpu int, at uint32, o Order, after Deps) (d Deps) {
	return m.rmw(cpu, at, o, after, true)
}

func (m *Model) rmw(id int, at uint32, o Order, after Deps, keep bool) (d Deps) {
	if o == Full {
		m.Fence(id, MB)
	}
	lo := o
	if o == Release || o == Deref {
		lo = Relaxed
	}
	_, d = m.load(id, at, lo, after, keep, newest)
	cell := m.grow(at)
	c := &m.cpus[id]
	pos := uint32(len(cell.messages))
	if !keep {
		m.dep.fence.join(c.read)
	}
	m.before(id, cell, o == Release)
	m.carry.join(&cell.messages[pos-1].carries) // a chain of RMWs hands on what a release before them carries
	m.insert(id, cell, at, pos)
	msg := &cell.messages[pos]
	msg.glued = true
	if keep {
		msg.data.join(&m.dep)
	}
	m.done(c, msg, at, pos)
	if o == Full {
		m.Fence(id, MB)
	}
	return d
}

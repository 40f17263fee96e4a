package lkmm

import "kpsim/sim"

// An Order is what an access is ordered against.
type Order uint8

// Relaxed is READ_ONCE, WRITE_ONCE and the _relaxed operations; Deref is
// rcu_dereference; Full is the operations that return a value and have no suffix, and
// smp_store_mb.
const (
	Relaxed Order = iota
	Acquire
	Release
	Full
	Deref
)

// A Fence is a barrier that stands alone.
type Fence uint8

// MB is smp_mb, and smp_mb__before_atomic and its kin; RMB and WMB are smp_rmb and
// smp_wmb.
const (
	MB Fence = iota
	RMB
	WMB
)

// Sizes of a model.
const (
	MaxCPUs = 64
	Domains = 8  // of RCU and SRCU
	Depth   = 16 // versions of a cell that are kept, at most; see Forget
)

// Deps is a set of loads of one CPU, on which something depends.
type Deps uint64

// A message is a store to a cell.
type message struct {
	author  int8   // CPU; -1 for the first value
	glued   bool   // to the message before it, which it read
	readers uint64 // CPUs
	carries pair   // what is ordered before it
	data    pair   // what its value depended on: what its own CPU reads back
}

// A cell's messages, oldest first. Beyond them, up to its capacity, lie messages whose
// views are used again.
type cell struct{ messages []message }

// A cpu is what one CPU knows.
type cpu struct {
	floor  view // what its loads see at least
	all    view // what it has read and stored, and what that carried
	own    view // its stores and what they carried
	store  view // what its next store carries
	slots  []pair
	loads  int // slots in use
	nest   [Domains]uint16
	unlock bool // has released a lock

	read  view // fence views: of all its loads,
	wrote view // of all its stores,
	event view // before each later event,
	load  view // before each later load,
	write view // before each later store

	waits   [Domains]uint64 // CPUs that its grace period waits for
	sees    [Domains]view   // what its end of a grace period will see
	mailbox view            // what IPIs to it carry
}

// A Model is the memory of one machine. The zero value has no CPUs: call Reset.
type Model struct {
	cells  []cell
	cpus   []cpu
	global view
	began  [Domains]view // what was before the grace periods that have begun
	ended  [Domains]view // what was before the ends of sections
	inside [Domains]uint64
	dep    pair // scratch
	carry  pair
}

// Reset forgets everything and makes a machine of n CPUs, at most MaxCPUs. Each cell
// has one version, which all CPUs see.
func (m *Model) Reset(n int) {
	if n < 1 || n > MaxCPUs {
		sim.Bug("a memory model of %d CPUs", n)
	}
	for len(m.cpus) < n {
		m.cpus = append(m.cpus, cpu{})
	}
	m.cpus = m.cpus[:n]
	for i := range m.cpus {
		m.cpus[i].reset()
	}
	for i := range m.cells {
		m.cells[i].messages = m.cells[i].messages[:0]
	}
	m.cells = m.cells[:0]
	m.global.clear()
	for d := range Domains {
		m.began[d].clear()
		m.ended[d].clear()
		m.inside[d] = 0
	}
}

func (c *cpu) reset() {
	for _, v := range []*view{&c.floor, &c.all, &c.own, &c.store, &c.read, &c.wrote, &c.event, &c.load, &c.write,
		&c.mailbox} {
		v.clear()
	}
	for d := range Domains {
		c.nest[d], c.waits[d] = 0, 0
		c.sees[d].clear()
	}
	c.loads, c.unlock = 0, false
}

// grow makes the cell known, with its first value.
func (m *Model) grow(at uint32) *cell {
	for int(at) >= len(m.cells) {
		if len(m.cells) < cap(m.cells) {
			m.cells = m.cells[:len(m.cells)+1]
		} else {
			m.cells = append(m.cells, cell{})
		}
		c := &m.cells[len(m.cells)-1]
		c.messages = c.messages[:0]
		c.push().author = -1
	}
	return &m.cells[at]
}

// push appends an empty message, in memory that was used before if there is some.
func (c *cell) push() *message {
	n := len(c.messages)
	if n < cap(c.messages) {
		c.messages = c.messages[:n+1]
	} else {
		c.messages = append(c.messages, message{})
	}
	msg := &c.messages[n]
	msg.author, msg.glued, msg.readers = 0, false, 0
	msg.carries.clear()
	msg.data.clear()
	return msg
}

// opened moves every position at or after pos one up: a message comes there.
func (m *Model) opened(at, pos uint32) {
	m.each(func(v view) { v.opened(at, pos) })
}

// dropped forgets the n oldest messages of a cell.
func (m *Model) dropped(at, n uint32) {
	m.each(func(v view) { v.dropped(at, n) })
}

// each calls f with each view there is.
func (m *Model) each(f func(v view)) {
	both := func(p *pair) {
		f(p.view)
		f(p.fence)
	}
	for i := range m.cells {
		for j := range m.cells[i].messages {
			both(&m.cells[i].messages[j].carries)
			both(&m.cells[i].messages[j].data)
		}
	}
	for i := range m.cpus {
		c := &m.cpus[i]
		for _, v := range c.views() {
			f(v)
		}
		for j := range c.loads {
			both(&c.slots[j])
		}
		for d := range Domains {
			f(c.sees[d])
		}
	}
	f(m.global)
	for d := range Domains {
		f(m.began[d])
		f(m.ended[d])
	}
	both(&m.carry)
	both(&m.dep)
}

func (c *cpu) views() [10]view {
	return [...]view{c.floor, c.all, c.own, c.store, c.read, c.wrote, c.event, c.load, c.write, c.mailbox}
}

// Forget drops the versions of a cell that no CPU can read any more, and those beyond
// Depth, which CPUs that could still read them then can't. It returns how many of the
// oldest it dropped; the holder of the values drops as many.
func (m *Model) Forget(at uint32) (n int) {
	if int(at) >= len(m.cells) {
		return 0
	}
	c := &m.cells[at]
	low := uint32(len(c.messages) - 1)
	for i := range m.cpus {
		low = min(low, m.cpus[i].floor.at(at))
	}
	if over := len(c.messages) - Depth; over > int(low) {
		low = uint32(over)
	}
	if low == 0 {
		return 0
	}
	for i := int(low); i < len(c.messages); i++ { // those dropped keep their memory, at the end
		c.messages[i-int(low)], c.messages[i] = c.messages[i], c.messages[i-int(low)]
	}
	c.messages = c.messages[:len(c.messages)-int(low)]
	c.messages[0].glued = false
	m.dropped(at, low)
	return int(low)
}

// Versions is how many versions of the cell are kept.
func (m *Model) Versions(at uint32) int {
	if int(at) >= len(m.cells) {
		return 1
	}
	return len(m.cells[at].messages)
}

// Readable is how many versions of the cell a load of the CPU may see, if its address
// depends on nothing.
func (m *Model) Readable(cpu int, at uint32) int {
	return m.Versions(at) - int(m.cpus[cpu].floor.at(at))
}

// AddState appends what futures depend on. If Forget was called after the accesses,
// histories with the same future have the same state in most cases, and others never.
func (m *Model) AddState(h *sim.Hash) {
	for i := range m.cells {
		c := &m.cells[i]
		h.Add(uint64(len(c.messages)))
		for j := range c.messages {
			msg := &c.messages[j]
			w := uint64(uint8(msg.author)) << 1
			if msg.glued {
				w |= 1
			}
			h.Add(w)
			h.Add(msg.readers)
			msg.carries.addState(h)
			msg.data.addState(h)
		}
	}
	for i := range m.cpus {
		m.cpus[i].addState(h)
	}
	m.global.addState(h)
	for d := range Domains {
		h.Add(m.inside[d])
		m.began[d].addState(h)
		m.ended[d].addState(h)
	}
}

func (c *cpu) addState(h *sim.Hash) {
	for _, v := range c.views() {
		v.addState(h)
	}
	h.Add(uint64(c.loads))
	for j := range c.loads {
		c.slots[j].addState(h)
	}
	for d := range Domains {
		h.Add(uint64(c.nest[d]))
		h.Add(c.waits[d])
		c.sees[d].addState(h)
	}
	if c.unlock {
		h.Add(1)
	}
}

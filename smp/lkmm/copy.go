package lkmm

// Copy makes m what o is: searches go back to states with it.
func (m *Model) Copy(o *Model) {
	for cap(m.cpus) < len(o.cpus) {
		m.cpus = append(m.cpus[:cap(m.cpus)], cpu{})
	}
	m.cpus = m.cpus[:len(o.cpus)]
	for i := range m.cpus {
		m.cpus[i].copy(&o.cpus[i])
	}
	for cap(m.cells) < len(o.cells) {
		m.cells = append(m.cells[:cap(m.cells)], cell{})
	}
	m.cells = m.cells[:len(o.cells)]
	for i := range m.cells {
		to, from := &m.cells[i], &o.cells[i]
		to.messages = to.messages[:0]
		for j := range from.messages {
			msg, old := to.push(), &from.messages[j]
			msg.author, msg.glued, msg.readers = old.author, old.glued, old.readers
			msg.carries.set(&old.carries)
			msg.data.set(&old.data)
		}
	}
	m.global.set(o.global)
	m.inside = o.inside
	for d := range Domains {
		m.began[d].set(o.began[d])
		m.ended[d].set(o.ended[d])
	}
}

func (c *cpu) copy(o *cpu) {
	c.floor.set(o.floor)
	c.all.set(o.all)
	c.own.set(o.own)
	c.store.set(o.store)
	c.read.set(o.read)
	c.wrote.set(o.wrote)
	c.event.set(o.event)
	c.load.set(o.load)
	c.write.set(o.write)
	c.mailbox.set(o.mailbox)
	for len(c.slots) < o.loads {
		c.slots = append(c.slots, pair{})
	}
	c.loads = o.loads
	for i := range o.loads {
		c.slots[i].set(&o.slots[i])
	}
	c.nest, c.waits, c.unlock = o.nest, o.waits, o.unlock
	for d := range Domains {
		c.sees[d].set(o.sees[d])
	}
}

func (v *view) set(o view) { *v = append((*v)[:0], o...) }

func (p *pair) set(o *pair) {
	p.view.set(o.view)
	p.fence.set(o.fence)
}

// Keep says that nothing will depend on other loads of the CPU than these: states that
// differ in the others only are the same.
func (m *Model) Keep(cpu int, d Deps) {
	c := &m.cpus[cpu]
	for i := range c.loads {
		if d>>i&1 == 0 {
			c.slots[i].clear()
		}
	}
}

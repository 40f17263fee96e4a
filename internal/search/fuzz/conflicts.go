package fuzz

import (
	"kpsim/internal/search/rig"
	"kpsim/sim"
)

// conflicts reports features to shown: successive accesses of two CPUs to one object, at least
// one of them a write. A feature combines the object's sort, which of the two wrote, and the
// second CPU's last event. The opposite order is another feature. Only the first run of one
// program in observedIn is observed, as that makes it about three times slower.
type conflicts struct {
	rig   *rig.Rig
	on    bool
	shown *shown
	last  map[sim.Object]access // in this run
	sort  map[sim.Object]uint64 // in this program
}

// An access is the latest one to an object.
type access struct {
	cpu   sim.Mover
	write bool
}

const observedIn = 4

// Sample implements rig.Watcher.
func (c *conflicts) Sample(i uint64) bool { return c.on && i == 0 }

// Over implements rig.Watcher.
func (c *conflicts) Over(ch sim.Chooser) sim.Chooser {
	c.rig.ObserveAfresh(c)
	return ch
}

// begin begins with a program.
func (c *conflicts) begin(r *rig.Rig, s *shown, on bool) {
	if c.last == nil {
		c.last, c.sort = make(map[sim.Object]access), make(map[sim.Object]uint64)
	}
	c.rig, c.shown, c.on = r, s, on
	clear(c.last)
	clear(c.sort)
}

// Stepped implements sim.Observer.
func (c *conflicts) Stepped(mv sim.Mover, touched []sim.Touch) {
	if mv >= sim.MoverSource && mv < sim.MoverDrain { // a source's own accesses don't count
		return
	}
	cpu := mv % sim.MaxCPUs // also for a store that takes effect
	after := c.shown.last[cpu] >> 8
	for _, t := range touched {
		was, ok := c.last[t.Object]
		if ok && was.cpu != cpu && (was.write || t.Write) {
			f := c.sortOf(t.Object) ^ after<<8 ^ 3<<60
			if was.write {
				f ^= 1 << 56
			}
			if t.Write {
				f ^= 1 << 57
			}
			c.shown.add(sim.Mix(f))
		}
		if !ok || was.cpu != cpu || t.Write || !was.write {
			c.last[t.Object] = access{cpu, t.Write}
		}
	}
}

// sortOf returns a hash of an object's name without its numbers, which is the same in all
// programs.
func (c *conflicts) sortOf(o sim.Object) uint64 {
	h, ok := c.sort[o]
	if ok {
		return h
	}
	for _, b := range []byte(c.rig.Machine.Names().Object(o)) {
		if b < '0' || b > '9' {
			h = sim.Mix(h ^ uint64(b))
		}
	}
	h &= 1<<56 - 1
	c.sort[o] = h
	return h
}

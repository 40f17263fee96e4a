package sched

import (
	"math/bits"

	"kpsim/sim"
)

// conflicts records which movers touch which objects, as far as runs have shown. A step
// is visible if it touches an object with a conflict: one mover writes it, another
// touches it.
type conflicts struct {
	objects objectIndex
	users   []users           // by object
	movers  []sim.Mover       // in the order of their first step
	number  [sim.Movers]uint8 // by mover, from 1; 0 if it has made no step. From the 64th on all share one
	grew    bool              // a step that was called invisible isn't
	learnt  bool              // something was noted since this was last cleared
}

// users are the movers that read an object, and those that write it, as bits.
type users struct{ read, write uint64 }

// MostMovers is how many movers are distinguished, each by a bit.
const MostMovers = 64

// crowd is the bit of all movers from the 64th on. One of them is treated as several:
// its steps conflict with each other's more often than they really do.
const crowd = 1 << (MostMovers - 1)

// shows reports whether accesses of one of these movers conflict with another's.
func (u users) shows(mover uint64, write bool) bool {
	mover &^= crowd
	if write {
		return (u.read|u.write)&^mover != 0
	}
	return u.write&^mover != 0
}

// exposes reports whether a step that u made invisible is visible with now, which has
// more users.
func (u users) exposes(now users) bool {
	for g := uint64(1); g != 0 && g <= u.read|u.write; g <<= 1 {
		if u.read&g != 0 && !u.shows(g, false) && now.shows(g, false) ||
			u.write&g != 0 && !u.shows(g, true) && now.shows(g, true) {
			return true
		}
	}
	return false
}

// step records a mover's step, and reports whether it is visible.
func (c *conflicts) step(mv sim.Mover, touched []sim.Touch) (visible bool) {
	me := uint64(1) << c.numberOf(mv)
	for _, t := range touched {
		i := c.objects.of(t.Object)
		for int(i) >= len(c.users) {
			c.users = append(c.users, users{})
		}
		u := &c.users[i]
		was := *u
		if t.Write {
			u.write |= me
		} else {
			u.read |= me
		}
		if *u != was {
			c.learnt = true
			c.grew = c.grew || was.exposes(*u)
		}
		visible = visible || u.shows(me, t.Write)
	}
	return visible
}

// numberOf numbers movers from 0, in the order in which they are first seen.
func (c *conflicts) numberOf(mv sim.Mover) uint8 {
	if c.number[mv] == 0 {
		if len(c.movers) < MostMovers {
			c.movers = append(c.movers, mv)
			c.learnt = true
		}
		c.number[mv] = uint8(len(c.movers))
	}
	return c.number[mv] - 1
}

// copy gives c all that from knows.
func (c *conflicts) copy(from *conflicts) {
	c.objects.slots = append(c.objects.slots[:0], from.objects.slots...)
	c.objects.list = append(c.objects.list[:0], from.objects.list...)
	c.objects.shift = from.objects.shift
	c.users = append(c.users[:0], from.users...)
	c.movers = append(c.movers[:0], from.movers...)
	c.number, c.grew, c.learnt = from.number, false, false
}

// numbers returns a set of movers as a set of their numbers.
func (c *conflicts) numbers(moves *sim.Moves) (set uint64) {
	for w, m := range moves {
		for ; m != 0; m &= m - 1 {
			set |= 1 << c.numberOf(sim.Mover(w*sim.MaxCPUs+bits.TrailingZeros64(m)))
		}
	}
	return set
}

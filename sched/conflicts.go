package sched

import "kpsim/sim"

// conflicts are which movers touch which objects, as far as runs have shown. A
// step is visible if it touches an object that another mover's steps conflict
// at: one writes, the other touches.
type conflicts struct {
	objects objectIndex
	users   []users // of each object
	movers  int
	number  [3 * sim.MaxCPUs]uint8 // of a mover, from 1; 0 if it has done nothing
	grew    bool                   // what was said to be invisible isn't
}

// users are the movers that read an object, and those that write it, as bits.
type users struct{ read, write uint64 }

// shows reports whether accesses of one of these movers conflict with another's.
func (u users) shows(mover uint64, write bool) bool {
	if write {
		return (u.read|u.write)&^mover != 0
	}
	return u.write&^mover != 0
}

// exposes reports whether what was invisible of u isn't of now, which has more.
func (u users) exposes(now users) bool {
	for g := uint64(1); g != 0 && g <= u.read|u.write; g <<= 1 {
		if u.read&g != 0 && !u.shows(g, false) && now.shows(g, false) ||
			u.write&g != 0 && !u.shows(g, true) && now.shows(g, true) {
			return true
		}
	}
	return false
}

// step takes a mover's step, and reports whether it is visible.
func (c *conflicts) step(mv sim.Mover, touched []sim.Touch) (visible bool) {
	if c.number[mv] == 0 {
		if c.movers++; c.movers > 64 {
			sim.Bug("more than 64 movers")
		}
		c.number[mv] = uint8(c.movers)
	}
	me := uint64(1) << (c.number[mv] - 1)
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
			c.grew = c.grew || was.exposes(*u)
		}
		visible = visible || u.shows(me, t.Write)
	}
	return visible
}

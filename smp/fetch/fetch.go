package fetch

import (
	"bytes"
	"slices"

	"kpsim/sim"
)

// Env is what a fetch needs of the machine.
type Env interface {
	// Newest copies the newest bytes at addr into b and returns how many of
	// them are mapped and executable.
	Newest(addr uint64, b []byte) int

	// Length returns how many bytes the instruction has that begins with b and
	// stands at addr; len(b) if b is undecodable or unfinished. It must be
	// what a decoder that reads byte by byte would say: if it is n < len(b), it
	// is n for whatever has the same first n bytes. (So for an undecodable one
	// it may also be the number of bytes that it took to know; then no choice
	// is wasted on the others.)
	Length(addr uint64, b []byte) int

	// Choose asks which of n >= 2 alternatives: 0 is the freshest, 1 the next
	// older, and so on.
	Choose(n int) int
}

// Fetch fills buf with the instruction at addr as cpu sees it now, and returns
// how many bytes it has, or how many of them are mapped and executable if that
// is fewer. The rest of buf is zero.
//
// It asks env only about what the instruction really uses. As its length
// depends on its bytes, they are chosen in order: the buffer starts out with
// the freshest of all, and the next chunk (or byte, under Mixing) is chosen
// only if the instruction, decoded from the ones chosen so far, isn't over
// before it. If it isn't, no continuation can end it earlier, so what the
// freshest bytes after it say doesn't matter: see Env.Length.
//
// buf escapes: it is best a field of the machine.
func (t *Text) Fetch(cpu int, addr uint64, buf *[15]byte, env Env) (n int) {
	mapped := env.Newest(addr, buf[:])
	if mapped > 0 {
		n = length(env, addr, buf[:mapped])
		if t.MayBeStale(cpu) {
			n = t.choose(cpu, addr, buf[:mapped], n, env)
		}
	}
	clear(buf[n:])
	return n
}

// choose replaces the freshest bytes in b, n of which are used, by those that
// env chooses, and returns how many of them are.
func (t *Text) choose(cpu int, addr uint64, b []byte, n int, env Env) int {
	var c *chunk
	for at := 0; at < n; {
		addr := addr + uint64(at)
		first := int(addr % chunkBytes)
		if at == 0 || first == 0 {
			c = t.find(addr / chunkBytes)
		}
		if c == nil {
			at += chunkBytes - first
			continue
		}

		// What is chosen at once: a unit of the chunk; and its own floor.
		mask, width, own := t.unitAt(first), t.unit-first%t.unit, &c.fetched[cpu*t.floors+first/t.unit]
		floor := max(t.serialised[cpu], *own)
		if alternatives := c.alternatives(mask, floor); alternatives > 1 {
			pick := env.Choose(alternatives)
			if pick < 0 || pick >= alternatives {
				sim.Bug("fetch: alternative %d of %d was chosen", pick, alternatives)
			}
			v := c.alternative(mask, floor, pick)
			// Never lower than before: the one that was fetched before is a
			// version of this chunk, and none older was offered.
			*own = v.epoch
			if c.copy(b[at:min(at+width, len(b))], first, v) {
				n = length(env, addr-uint64(at), b)
			}
		}
		at += width
	}
	return n
}

// Oldest replaces the newest bytes at addr by the oldest that a fetch of cpu may
// see, byte by byte. It changes nothing.
func (t *Text) Oldest(cpu int, addr uint64, b []byte) {
	for i := range b {
		at := addr + uint64(i)
		c := t.find(at / chunkBytes)
		if c == nil || !t.MayBeStale(cpu) {
			continue
		}
		first := int(at % chunkBytes)
		mask, own := t.unitAt(first), c.fetched[cpu*t.floors+first/t.unit]
		floor := max(t.serialised[cpu], own)
		c.copy(b[i:i+1], first, c.alternative(mask, floor, c.alternatives(mask, floor)-1))
	}
}

// Seen lists what a fetch of cpu may see in place of b, the newest bytes at addr: each choice of each unit, the newest
// first, without repetitions. It tries at most limit combinations; all is false if there are more. It changes nothing.
func (t *Text) Seen(cpu int, addr uint64, b []byte, limit int) (list [][]byte, all bool) {
	now := slices.Clone(b)
	var from func(at int) bool
	from = func(at int) bool {
		if at >= len(now) {
			if limit--; limit >= 0 && !slices.ContainsFunc(list, func(o []byte) bool { return bytes.Equal(o, now) }) {
				list = append(list, slices.Clone(now))
			}
			return limit >= 0
		}
		first := int((addr + uint64(at)) % chunkBytes)
		mask, width := t.unitAt(first), t.unit-first%t.unit
		c := t.find((addr + uint64(at)) / chunkBytes)
		if c == nil || !t.MayBeStale(cpu) {
			return from(at + width)
		}
		unit := now[at:min(at+width, len(now))]
		floor := max(t.serialised[cpu], c.fetched[cpu*t.floors+first/t.unit])
		for pick := range c.alternatives(mask, floor) {
			copy(unit, b[at:])
			if c.copy(unit, first, c.alternative(mask, floor, pick)); !from(at + width) {
				return false
			}
		}
		copy(unit, b[at:])
		return true
	}
	all = from(0)
	return list, all
}

// alternatives returns how many different things can be seen under mask (a
// chunk, or a byte of it): the runs of equal neighbours among the version that
// was current at floor and those after it.
//
// Why a run of equal neighbours is one alternative, and nothing is lost by it:
// let the full model keep them apart. Its state, of one CPU and one chunk (or
// byte), is the index of the oldest version allowed. Call two indices alike if
// they lie in the same run. Alike states offer the same runs: that run, and
// each later one. Choosing any member of a run shows the same bytes and leads
// to states that are alike again. A new version is put at the end for both (it
// prolongs the last run or starts one), and serialising moves both to it. So
// alike states can't be told apart by any sequence of fetches, now or later,
// and to which member of the run the floor rises is all the same. It rises to
// the oldest one that is allowed, which promises the least.
//
// A, B, A are three alternatives, not two: a CPU that has seen the last A can't
// see B any more, one that has seen the first can.
func (c *chunk) alternatives(mask uint64, floor uint32) int {
	n := 1
	for i := len(c.versions) - 1; c.versions[i].epoch > floor; i-- {
		if (c.versions[i].bytes^c.versions[i-1].bytes)&mask != 0 {
			n++
		}
	}
	return n
}

// alternative returns the oldest version of the run that is the pick-th,
// counted back from the newest.
func (c *chunk) alternative(mask uint64, floor uint32, pick int) version {
	i := len(c.versions) - 1
	for ; c.versions[i].epoch > floor; i-- {
		if (c.versions[i].bytes^c.versions[i-1].bytes)&mask != 0 {
			if pick == 0 {
				break
			}
			pick--
		}
	}
	return c.versions[i]
}

// copy puts the bytes of v, from the first-th on, into b, as far as they were
// ever changed, and reports whether that makes a difference.
func (c *chunk) copy(b []byte, first int, v version) (changed bool) {
	known, bytes := c.known>>(8*first), v.bytes>>(8*first)
	for i := range b {
		if byte(known) != 0 && b[i] != byte(bytes) {
			b[i] = byte(bytes)
			changed = true
		}
		known, bytes = known>>8, bytes>>8
	}
	return changed
}

func length(env Env, addr uint64, b []byte) int {
	n := env.Length(addr, b)
	if n < 1 || n > len(b) {
		sim.Bug("fetch: an instruction of %d bytes at %#x, where there are %d", n, addr, len(b))
	}
	return n
}

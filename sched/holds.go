package sched

import (
	"math/bits"

	"kpsim/sim"
)

// holds decides which stores CPUs hold, if the memory model allows it (sim.Buffer), and which loads read an old value
// (sim.Version), for strategies that draw. Few delays find much (PCTWM, ASPLOS 2023; OZZ, SOSP 2024): in half of the
// runs nothing is held; in the others one store in 4, 16 or 64 is put off, and then for long: until it must take
// effect, or for a number of boundaries whose mean is drawn anew. All others take effect at once.
//
// Nothing is drawn for a question that isn't asked: under sequentially consistent memory, a strategy draws the same
// numbers as without holds.
type holds struct {
	on    bool   // CPUs hold stores in this run
	of    int    // one store in this many is put off; 0: not drawn yet, -1: none is
	skip  int    // stores before the next that is put off
	held  uint64 // the CPUs whose stores wait
	until [sim.MaxCPUs]uint64
}

// holdsLong bounds the mean number of boundaries, as a power of two.
const holdsLong = 10

func (h *holds) begin() { h.on, h.of, h.skip, h.held = false, 0, 0, 0 }

// answer answers a question that is no Step.
func (h *holds) answer(r *sim.Rand, p *sim.Point) (pick int) {
	switch p.Kind {
	case sim.Buffer:
		h.draw(r)
		h.on = h.of > 0
		return b2i(h.on)
	case sim.Version:
		if h.of == 0 {
			h.draw(r)
		}
		if h.of < 0 || !h.puts(r) {
			return 0
		}
		return 1 + r.N(p.N-1)
	}
	return other(r, p)
}

// draw draws how much is put off in this run.
func (h *holds) draw(r *sim.Rand) {
	if h.of = -1; r.N(2) == 0 {
		h.of = 4 << (2 * r.N(3))
		h.skip = r.Gap(h.of - 1)
	}
}

// puts reports whether the next one is put off.
func (h *holds) puts(r *sim.Rand) bool {
	if h.skip > 0 {
		h.skip--
		return false
	}
	h.skip = r.Gap(h.of - 1)
	return true
}

// next returns the store that takes effect at Step question number at, or NoMover: then
// something else moves, which is not First if that is a store. It is called
// if CPUs hold stores.
func (h *holds) next(r *sim.Rand, p *sim.Point, at uint64) sim.Mover {
	h.held &= p.Moves[3]
	if p.First >= sim.MoverDrain {
		bit := uint64(1) << (p.First - sim.MoverDrain)
		if h.held&bit != 0 || p.Moves[0]|p.Moves[1]|p.Moves[2] == 0 || !h.puts(r) {
			return p.First // its CPU waits for something, or too many are held
		}
		h.held |= bit
		h.until[p.First-sim.MoverDrain] = 1 << 63
		if r.N(2) == 0 {
			h.until[p.First-sim.MoverDrain] = at + 1 + uint64(r.Gap(1<<r.N(holdsLong)))
		}
		return sim.NoMover
	}
	for set := h.held; set != 0; set &= set - 1 {
		if c := bits.TrailingZeros64(set); h.until[c] <= at {
			return sim.MoverDrain + sim.Mover(c)
		}
	}
	return sim.NoMover
}

// wait returns how many questions after number at, at least 1, a store takes effect.
func (h *holds) wait(at uint64) int {
	least := uint64(forever)
	for set := h.held; set != 0; set &= set - 1 {
		if u := h.until[bits.TrailingZeros64(set)]; u > at {
			least = min(least, u-at)
		}
	}
	return int(least)
}

// outlasts returns the flags that still apply to a hold.
func (h *holds) outlasts(flags int) int {
	if h.on { // each store is asked about
		return flags &^ sim.Steady
	}
	return flags
}

// goesOn returns the mover of alternative 0; if that is a store that is put off, its CPU,
// or if that can't move any that isn't a store.
func goesOn(p *sim.Point) sim.Mover {
	if p.First < sim.MoverDrain {
		return p.First
	}
	for w := range sim.Mover(2) {
		if c := p.First - sim.MoverDrain; p.Moves[w]>>c&1 != 0 {
			return w*sim.MaxCPUs + c
		}
	}
	for w, set := range p.Moves[:3] {
		if set != 0 {
			return sim.Mover(w*sim.MaxCPUs + bits.TrailingZeros64(set))
		}
	}
	return p.First
}

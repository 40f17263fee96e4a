package sched

import "kpsim/sim"

// Happens identifies runs that differ only in the order of commuting steps. It gets the
// steps of a run and keeps a hash of the class of the run so far: the runs that make
// the same steps, with the same answers, and order each two conflicting steps alike (a
// Mazurkiewicz trace: "Trace theory", 1986). Equal hashes mean equal classes, except
// for a collision of 128 bits.
//
// A step's hash is computed from its mover, the hash of that mover's previous step, the
// answers given within it, and, for each object touched, the last write to it. The hash
// of a class is the sum over its steps. That is enough: it fixes each mover's steps,
// the order of the writes to each object, and between which two of them each read lies.
// The reads since the last write aren't part of a write's hash, because they have hashes
// of their own.
//
// The zero value is a run with no steps. Stepped takes the steps, and Chose the answers
// to questions other than Step, both in the order in which they occur.
type Happens struct {
	class   lanes
	answers lanes // within the step that is being made
	movers  [sim.Movers]lanes
	objects objectIndex
	state   []written // for the object with that number
	epoch   uint32    // which run the states are of
}

// lanes are two hashes computed side by side.
type lanes struct{ hi, lo uint64 }

// written is the last write to an object.
type written struct {
	epoch uint32
	step  lanes // its hash
}

// Arbitrary odd numbers, which separate the kinds of input to a hash.
const (
	saltHi   = 0x9e3779b97f4a7c15
	saltLo   = 0xd6e8feb86659fd93
	saltAlso = 0xa0761d6478bd642f
)

// whoHash is an arbitrary number for each mover.
var whoHash = func() (t [sim.Movers]lanes) {
	for i := range t {
		t[i] = lanes{sim.Mix(2*uint64(i) + 1), sim.Mix(2*uint64(i) + 2)}
	}
	return t
}()

// Reset begins a run. The known objects are kept: they have the same numbers in all
// runs.
func (h *Happens) Reset() {
	h.class, h.answers = lanes{}, lanes{}
	h.movers = [sim.Movers]lanes{}
	if h.epoch++; h.epoch == 0 { // once in 4 billion runs
		clear(h.state)
		h.epoch = 1
	}
}

// Hash returns the hash of the class of the steps so far.
func (h *Happens) Hash() (hi, lo uint64) { return h.class.hi, h.class.lo }

// Chose records an answer. An answer to a Step question is ignored: the step names its
// mover.
func (h *Happens) Chose(p *sim.Point, pick int) {
	if p.Kind == sim.Step {
		return
	}
	x := uint64(p.Kind)<<32 | uint64(pick)<<1 | 1
	h.answers.hi = sim.Mix((h.answers.hi + x) * saltHi)
	h.answers.lo = sim.Mix((h.answers.lo + x) * saltLo)
}

// Stepped implements sim.Observer.
func (h *Happens) Stepped(mv sim.Mover, touches []sim.Touch) {
	who := &whoHash[mv]
	me := &h.movers[mv]
	if len(touches) == 0 && h.answers == (lanes{}) { // private: only the number of such steps counts
		me.hi += saltHi
		me.lo += saltLo
		h.class.hi += who.lo
		h.class.lo += who.hi
		return
	}

	var sum lanes
	for _, t := range touches {
		hi, lo := uint64(t.Object)*saltHi, uint64(t.Object)*saltLo
		if t.Write {
			hi, lo = hi+saltAlso, lo+saltAlso
		}
		w := h.last(t.Object)
		sum.hi += sim.Mix(hi ^ sim.Mix(w.hi))
		sum.lo += sim.Mix(lo ^ sim.Mix(w.lo+1))
	}
	step := lanes{
		sim.Mix(me.hi + h.answers.hi + sum.hi*saltAlso + who.hi),
		sim.Mix(me.lo + h.answers.lo + sum.lo*saltAlso + who.lo),
	}
	for _, t := range touches {
		if t.Write {
			*h.last(t.Object) = step
		}
	}
	*me, h.answers = step, lanes{}
	h.class.hi += step.hi
	h.class.lo += step.lo
}

// last returns the hash of the last write to an object in this run.
func (h *Happens) last(o sim.Object) *lanes {
	i := int(h.objects.of(o))
	for i >= len(h.state) {
		h.state = append(h.state, written{epoch: h.epoch})
	}
	w := &h.state[i]
	if w.epoch != h.epoch {
		*w = written{epoch: h.epoch}
	}
	return &w.step
}

// objectIndex numbers objects from 0, in the order in which they are first seen.
type objectIndex struct {
	slots []objectSlot // open addressing, a power of two, at most half full
	list  []sim.Object
	shift uint
}

type objectSlot struct {
	object sim.Object
	index  int32 // plus 1; 0 is a free slot
}

// of returns the number of an object.
func (x *objectIndex) of(o sim.Object) int32 {
	if len(x.slots) == 0 {
		x.grow()
	}
	for i := uint64(o) * saltHi >> x.shift; ; i = (i + 1) & uint64(len(x.slots)-1) {
		s := &x.slots[i]
		if s.index == 0 {
			x.list = append(x.list, o)
			if 2*len(x.list) > len(x.slots) {
				x.grow()
			} else {
				*s = objectSlot{o, int32(len(x.list))}
			}
			return int32(len(x.list)) - 1
		}
		if s.object == o {
			return s.index - 1
		}
	}
}

// grow doubles the table and inserts the whole list.
func (x *objectIndex) grow() {
	n := max(64, 2*len(x.slots))
	x.slots = make([]objectSlot, n)
	x.shift = 64
	for ; n > 1; n /= 2 {
		x.shift--
	}
	for k, o := range x.list {
		i := uint64(o) * saltHi >> x.shift
		for x.slots[i].index != 0 {
			i = (i + 1) & uint64(len(x.slots)-1)
		}
		x.slots[i] = objectSlot{o, int32(k) + 1}
	}
}

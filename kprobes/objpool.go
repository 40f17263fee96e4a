package kprobes

import "kpsim/smp/kapi"

// The arrays of free instances (6.7 and later): a ring a CPU. A CPU puts what is
// free into its own ring, takes from there first, and then from those of others.
//
//	push  1  tail goes on by one: the place is reserved
//	      2  the instance is put there, with the turn it is there for
//	pop   1  the place at head, if it has been filled for this turn
//	      2  head goes on by one, unless somebody else has made it: taken
//
// The kernel has no turns. It publishes how far places are filled, in last, by a
// plain store at the end of each push. An NMI between the steps of a push that
// pushes too (it called a return-probed function) publishes the place before its
// own, which isn't filled yet: whoever pops takes what was there a lap ago, an
// instance that may be in use; and the interrupted push then sets last back.
type ring struct {
	head   kapi.Var[uint32]
	tail   kapi.Var[uint32]
	last   kapi.Var[uint32] // the kernel's, see above
	cell   kapi.Var[uint32] // stands for the places
	places []place          // set at registration; what is in them goes with cell
}

// A place of a ring.
type place struct {
	ri   *Instance
	turn uint32 // of tail when it was filled
}

func (r *ring) place(at uint32) *place { return &r.places[at&uint32(len(r.places)-1)] }

// fillRings deals the instances of a new holder out to the CPUs.
func (e *Engine) fillRings(h *holder) {
	size := 1
	for size < len(h.all) {
		size *= 2
	}
	n, rest := len(h.all)/e.d.CPUs, len(h.all)%e.d.CPUs
	next := 0
	for c := range e.d.CPUs {
		if c == len(h.rings) {
			if c < cap(h.rings) {
				h.rings = h.rings[:c+1]
			} else {
				h.rings = append(h.rings, ring{})
			}
		}
		r := &h.rings[c]
		if cap(r.places) < size {
			r.places = make([]place, size)
		}
		r.places = r.places[:size]
		clear(r.places)
		mine := uint32(n)
		if c < rest {
			mine++
		}
		for i := range mine {
			r.places[i] = place{h.all[next], i}
			next++
		}
		cells := e.d.Cells
		r.head.Init(cells, 0)
		r.tail.Init(cells, mine)
		r.last.Init(cells, mine)
		r.cell.Init(cells, 0)
	}
}

// objpoolPush gives an instance back to the ring of the CPU. Interrupts are off
// meanwhile, but for NMIs.
func objpoolPush(x kapi.Context, h *holder, ri *Instance, byLast bool) {
	on := x.IRQ(false)
	r := &h.rings[x.CPU()]
	tail := r.tail.Load(x)
	for !r.tail.Swap(x, tail, tail+1) { // an NMI came between
		tail = r.tail.Load(x)
	}
	x.Access(r.cell.ID(), kapi.Write)
	*r.place(tail) = place{ri, tail}
	if byLast {
		r.last.Store(x, tail+1)
	}
	x.IRQ(on)
}

// objpoolPop takes a free instance; nil: no ring has one. Interrupts are off
// meanwhile, but for NMIs.
func objpoolPop(x kapi.Context, h *holder, byLast bool) (ri *Instance) {
	on := x.IRQ(false)
	cpu := x.CPU()
	for i := range h.rings {
		r := &h.rings[(cpu+i)%len(h.rings)]
		if byLast {
			ri = r.popByLast(x, uint32(len(h.all)))
		} else {
			ri = r.pop(x)
		}
		if ri != nil {
			break
		}
	}
	x.IRQ(on)
	return ri
}

// pop takes from one ring. Each time round another CPU has taken in between.
func (r *ring) pop(x kapi.Context) *Instance {
	for {
		head := r.head.Load(x)
		x.Access(r.cell.ID(), kapi.Read)
		p := *r.place(head)
		if p.ri == nil || p.turn != head {
			return nil
		}
		if r.head.Swap(x, head, head+1) {
			return p.ri
		}
	}
}

// spins is how often popByLast looks for another CPU's push to end.
const spins = 20

// popByLast is the kernel's: it believes last. Where last was set back behind head
// the kernel spins, interrupts off, until somebody pushes; this gives up.
func (r *ring) popByLast(x kapi.Context, n uint32) *Instance {
	head := r.head.Load(x)
	for range spins {
		last := r.last.Load(x)
		if head == last {
			break
		}
		if last-head-1 < n {
			x.Access(r.cell.ID(), kapi.Read)
			ri := r.place(head).ri
			if r.head.Swap(x, head, head+1) {
				return ri
			}
		}
		head = r.head.Load(x)
	}
	return nil
}

package kprobes

import "kpsim/smp/kapi"

// The arrays of free instances (6.7 and later): a ring a CPU. A CPU puts what is
// free into its own ring, takes from there first, and then from those of others.
//
//	push  1  tail goes on by one: the place is reserved
//	      2  the instance is put there, with the turn it is there for
//	pop   1  the place at head, if it has been filled for this turn
//	      2  head goes on by one, unless another CPU has advanced it: taken
//
// The kernel has no turns (mutant objpool-last). It publishes how far places are
// filled, in last, by a plain store at the end of each push:
//
//	push  1  tail goes on by one: the place is reserved
//	      2  the instance is put there
//	      3  last = that place + 1
//	pop   1  head and last: nothing is there, or at most as much as there are
//	         instances; anything else is another CPU's doing, and is looked at again
//	      2  head goes on by one
//
// An NMI between 1 and 3 that calls the return-probed function n times pops and
// pushes n times on this ring, and publishes the reserved place with its own; then
// 3 sets last back. With r instances on the ring, k of them free after the call
// that was interrupted (k = r-1):
//
//	n <= k      nothing is lost: the next push publishes what last hides
//	n == k+1    the last pop takes the reserved place: what was put there a lap ago.
//	            If that isn't the interrupted push's own instance it is free, and
//	            there twice from then on; the own one is behind head, lost
//	n >  k+1    last is behind head: the next pop looks again for ever, with
//	            interrupts off; an NMI that calls the function does, too
//
// On 2 CPUs with the default maxactive, 10, r is 5; with 16 on 8 CPUs it is 2.
type ObjpoolSlot struct {
	Head   kapi.Var[uint32]
	tail   kapi.Var[uint32]
	Last   kapi.Var[uint32] // the kernel's, see above: ours doesn't read it
	cell   kapi.Var[uint32] // stands for the places
	places []place          // set at registration; what is in them goes with cell
	Most   uint32           // set at registration: instances of the return probe
}

// A place of a ring.
type place struct {
	ri   *Instance
	turn uint32 // of tail when it was filled
}

// At returns the instance at a place (point).
func (r *ObjpoolSlot) At(x kapi.Context, at uint32) *Instance {
	x.Access(r.cell.ID(), kapi.Read)
	return r.place(at).ri
}

func (r *ObjpoolSlot) place(at uint32) *place { return &r.places[at&uint32(len(r.places)-1)] }

// objpoolInit deals the instances of a new holder out to the CPUs.
func (e *Engine) objpoolInit(h *holder) {
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
				h.rings = append(h.rings, ObjpoolSlot{})
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
		r.Head.Init(cells, 0)
		r.tail.Init(cells, mine)
		r.Last.Init(cells, mine)
		r.cell.Init(cells, 0)
		r.Most = uint32(len(h.all))
	}
}

// objpoolPush gives an instance back to the ring of the CPU. Interrupts are off
// meanwhile, but for NMIs.
func objpoolPush(x kapi.Context, h *holder, ri *Instance) {
	on := x.IRQ(false)
	r := &h.rings[x.CPU()]
	tail := r.tail.Load(x)
	for !r.tail.Swap(x, tail, tail+1) { // an NMI came between
		tail = r.tail.Peek()
	}
	x.Access(r.cell.ID(), kapi.Write)
	*r.place(tail) = place{ri, tail}
	h.do.ObjpoolPublish(x, r, tail)
	x.IRQ(on)
}

// objpoolPop takes a free instance; nil: no ring has one. Interrupts are off
// meanwhile, but for NMIs.
func objpoolPop(x kapi.Context, h *holder) (ri *Instance) {
	on := x.IRQ(false)
	cpu := x.CPU()
	for i := range h.rings {
		r := &h.rings[(cpu+i)%len(h.rings)]
		if ri = h.do.ObjpoolPop(x, r); ri != nil {
			break
		}
	}
	x.IRQ(on)
	return ri
}

// pop takes from one ring. Each time round another CPU has taken in between.
func (r *ObjpoolSlot) pop(x kapi.Context) *Instance {
	for {
		head := r.Head.Load(x)
		x.Access(r.cell.ID(), kapi.Read)
		p := *r.place(head)
		if p.ri == nil || p.turn != head {
			return nil
		}
		if r.Head.Swap(x, head, head+1) {
			return p.ri
		}
	}
}

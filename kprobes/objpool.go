package kprobes

import "kpsim/smp/kapi"

// ObjpoolSlot is a CPU's ring of free instances (6.7 and later). A CPU puts free instances into its own ring. It
// takes instances from there first, and then from the rings of others.
//
//	push  1  advance tail: the entry is reserved
//	      2  store the instance there, with its turn
//	pop   1  read the entry at head, if it has been filled for this turn
//	      2  advance head, unless another CPU has: the instance is taken
//
// The kernel has no turns (mutant objpool-last). It publishes how far entries are filled, in last, by a plain store
// at the end of each push:
//
//	push  1  advance tail: the entry is reserved
//	      2  store the instance there
//	      3  last = that entry + 1
//	pop   1  compare head and last: the ring is empty, or has at most as many entries as
//	         there are instances; any other difference means that another CPU has
//	         changed them, so they are read again
//	      2  advance head
//
// An NMI between 1 and 3 that calls the return-probed function n times pops and pushes n times on this ring, and
// publishes the reserved entry with its own; then 3 sets last back. With r instances on the ring, k of them free
// after the call that was interrupted (k = r-1):
//
//	n <= k      nothing is lost: the next push publishes the entries that last hides
//	n == k+1    the last pop takes the reserved entry: the instance stored there a lap
//	            ago. Unless that is the interrupted push's own instance, it is free, and
//	            is on the ring twice from then on; the push's own is before head, lost
//	n >  k+1    last is before head: the next pop reads them for ever, with
//	            interrupts off; so does an NMI that calls the function
//
// On 2 CPUs with the default maxactive, 10, r is 5; with 16 on 8 CPUs it is 2.
type ObjpoolSlot struct {
	Head   kapi.Var[uint32]
	tail   kapi.Var[uint32]
	Last   kapi.Var[uint32] // the kernel's, see above: ours doesn't read it
	places kapi.Array[place]
	Most   uint32 // set at registration: instances of the return probe
}

// The orders of the arrays. The turn in an entry replaces the kernel's last.
var (
	objpoolReserves = kapi.DefineBarrier("objpool_push: reserve, then fill", kapi.OrderAcquire,
		"__objpool_try_add_slot, lib/objpool.c: try_cmpxchg_acquire(&slot->tail)")
	objpoolPublishes = kapi.DefineBarrier("objpool_push: the instance, then its turn", kapi.OrderRelease,
		"__objpool_try_add_slot: smp_store_release(&slot->last, tail + 1)")
	objpoolHead = kapi.DefineBarrier("objpool_pop: head, then what is there", kapi.OrderAcquire,
		"__objpool_try_get_slot, include/linux/objpool.h: smp_load_acquire(&slot->head)")
	objpoolTakes = kapi.DefineBarrier("objpool_pop: what is there, then move head", kapi.OrderRelease,
		"__objpool_try_get_slot: try_cmpxchg_release(&slot->head)")
)

// A place of a ring.
type place struct {
	ri   *Instance
	turn uint32 // tail when it was filled
}

// At returns the instance at a position (aggr).
func (slot *ObjpoolSlot) At(x kapi.Context, at uint32) *Instance {
	return slot.places.Load(x, kapi.Through, slot.place(at)).ri
}

// Owned returns the instance at a position while no CPU pushes.
func (slot *ObjpoolSlot) Owned(at uint32) *Instance { return slot.places.Owned(slot.place(at)).ri }

// place returns the index of the place for a position of head or tail.
func (slot *ObjpoolSlot) place(at uint32) int { return int(at & uint32(slot.places.Len()-1)) }

// objpoolInit distributes the instances of a new holder among the CPUs.
func (k *Kretprobes) objpoolInit(rph *holder) {
	size := 1
	for size < len(rph.all) {
		size *= 2
	}
	n, rest := len(rph.all)/k.d.CPUs, len(rph.all)%k.d.CPUs
	next := 0
	for c := range k.d.CPUs {
		if c == len(rph.rings) {
			if c < cap(rph.rings) {
				rph.rings = rph.rings[:c+1]
			} else {
				rph.rings = append(rph.rings, ObjpoolSlot{})
			}
		}
		slot := &rph.rings[c]
		mine := uint32(n)
		if c < rest {
			mine++
		}
		cells := k.d.Cells
		slot.Head.Init(cells, 0)
		slot.tail.Init(cells, mine)
		slot.Last.Init(cells, mine)
		slot.places.Init(cells, size)
		for i := range mine {
			slot.places.Fill(int(i), place{rph.all[next], i})
			next++
		}
		slot.Most = uint32(len(rph.all))
	}
}

// objpoolPush gives an instance back to the ring of the CPU. Interrupts are off
// meanwhile, but for NMIs.
func (k *Kretprobes) objpoolPush(x kapi.Context, rph *holder, ri *Instance) {
	on := x.IRQ(false)
	slot := &rph.rings[x.CPU()]
	tail := slot.tail.ReadOnce(x)
	for !slot.tail.Swap(x, objpoolReserves, tail, tail+1) { // an NMI came between
		tail = slot.tail.Peek() // the value that the exchange has read
	}
	slot.places.Store(x, objpoolPublishes, slot.place(tail), place{ri, tail})
	rph.do.Ret.ObjpoolPublish(x, slot, tail)
	k.lies(x, ri, true)
	x.IRQ(on)
}

// objpoolPop takes a free instance, or returns nil if no ring has one. Interrupts are off, but NMIs may come.
func (k *Kretprobes) objpoolPop(x kapi.Context, rph *holder) (ri *Instance) {
	on := x.IRQ(false)
	cpu := x.CPU()
	for i := range rph.rings {
		slot := &rph.rings[(cpu+i)%len(rph.rings)]
		if ri = rph.do.Ret.ObjpoolPop(x, slot); ri != nil {
			k.lies(x, ri, false)
			break
		}
	}
	x.IRQ(on)
	return ri
}

// pop takes an instance from one ring. It retries each time another CPU has taken one in between.
func (slot *ObjpoolSlot) pop(x kapi.Context) *Instance {
	for {
		head := slot.Head.LoadAcquire(x, objpoolHead)
		p := slot.places.Load(x, kapi.Through, slot.place(head))
		if p.ri == nil || p.turn != head {
			return nil
		}
		if slot.Head.Swap(x, objpoolTakes, head, head+1) {
			return p.ri
		}
	}
}

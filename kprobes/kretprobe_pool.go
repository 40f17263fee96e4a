package kprobes

import (
	"slices"

	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/smp/kapi"
)

// The orders of the lock-free list (include/linux/freelist.h), and of the flag that a return probe is live: since 6.7
// (a1461f1fd6cf, d839a656d0f3) it is read by rcu_dereference.
var (
	holderPublish = kapi.DefineBarrier("rethook: publish the handler", kapi.OrderRelease,
		"rethook_alloc, rethook_stop, kernel/trace/rethook.c: rcu_assign_pointer(rh->handler); of 5.11 to 5.17 "+
			"kretprobe_holder's rp")
	freelistPublish = kapi.DefineBarrier("freelist_add: the link, then the head", kapi.OrderRelease,
		"__freelist_add, include/linux/freelist.h: try_cmpxchg_release(&list->head)")
	freelistCounts = kapi.DefineBarrier("freelist_add: the link, then the count", kapi.OrderRelease,
		"__freelist_add: atomic_set_release(&node->refs, 1)")
	freelistLeaves = kapi.DefineBarrier("freelist_add: what was done, then the count", kapi.OrderRelease,
		"freelist_add, __freelist_add: atomic_fetch_add_release(&node->refs)")
	freelistHead = kapi.DefineBarrier("freelist_try_get: the head, then what it points to", kapi.OrderAcquire,
		"freelist_try_get: smp_load_acquire(&list->head)")
	freelistLooks = kapi.DefineBarrier("freelist_try_get: count, then read the link", kapi.OrderAcquire,
		"freelist_try_get: atomic_try_cmpxchg_acquire(&head->refs)")
	freelistTakes = kapi.DefineBarrier("freelist_try_get: take, then use", kapi.OrderAcquire,
		"freelist_try_get: try_cmpxchg_acquire(&list->head)")
	freelistDrops = kapi.DefineBarrier("freelist_try_get: use, then count", kapi.OrderFull,
		"freelist_try_get: atomic_fetch_add(-2, &head->refs)")
)

// listed reports whether calls in flight are in lists of their tasks' own
// (5.11 and later); until then they are in a table, under locks.
func (k *Kretprobes) listed() bool { return k.s.Return <= era.ReturnFreelist }

// fillPool makes all instances of a new holder free.
func (k *Kretprobes) fillPool(rph *holder) {
	cells := k.d.Cells
	// One more than there are instances: the return probe's own reference. Without it (5.11 to 5.17) the last call in
	// flight frees the holder, and unregister, which finds no free instance to count, reads it afterwards (K7).
	rph.refs.Init(cells, len(rph.all)+k.do.Ret.HolderOwnRefs())
	switch k.s.Return {
	case era.ReturnObjpool:
		k.objpoolInit(rph)
	case era.ReturnRethook, era.ReturnFreelist:
		rph.head.Init(cells, nil)
		for _, ri := range rph.all {
			ri.next.Init(cells, rph.head.Peek())
			ri.refs.Init(cells, 1)
			rph.head.Set(ri)
		}
	default:
		rph.free.Init(cells)
		rph.used.Init(cells)
		for _, ri := range rph.all {
			rph.free.Fill(ri)
		}
		if k.s.Return == era.ReturnHashed {
			rph.lock = k.d.Locks.NewSpinlock("kretprobe.lock", true)
		}
	}
}

// rethookTryGet takes a free instance from a lock-free pool. It returns nil if none is free or
// the return probe is being unregistered. Context: preemption off.
func (k *Kretprobes) rethookTryGet(x kapi.Context, rph *holder) (ri *Instance) {
	switch {
	case k.s.Return == era.ReturnFreelist:
		ri = k.freelistTryGet(x, rph)
	case !rph.live.Deref(x):
	case k.s.Return == era.ReturnRethook:
		ri = k.freelistTryGet(x, rph)
	default:
		ri = k.objpoolPop(x, rph)
	}
	rph.look(x)
	if ri != nil {
		x.Emit(kpev.InstanceGet, ri.ID, rph.probe, 0)
	}
	return ri
}

// rethookRecycle returns an instance to the pool. If its return probe is unregistered, its
// memory is freed instead, once no CPU can read it any more. Context: preemption off.
func (k *Kretprobes) rethookRecycle(x kapi.Context, ri *Instance) {
	rph := ri.holder
	rph.look(x)
	x.Emit(kpev.InstancePut, ri.ID, rph.probe, 0)
	k.e.Rethook.stays(x, ri)
	switch {
	case !rph.live.Deref(x):
		k.d.RCU.Call(x, (*instanceHead)(ri))
	case k.s.Return == era.ReturnObjpool:
		k.objpoolPush(x, rph, ri)
	default:
		k.freelistAdd(x, rph, ri)
	}
	rph.look(x)
}

// seeks, lies and stays report to monitors where instances are, in the step in which that changes: which of them a
// call can find, and whether a returned one is still among the calls in flight of its task. Under weak memory an
// instance that a CPU has returned is there for that CPU, which sees its own stores; others may see the older list.
func (k *Kretprobes) seeks(x kapi.Context, rph *holder) { k.d.Tell(x, kpev.Seeks, rph.probe, 0, 0) }

func (k *Kretprobes) lies(x kapi.Context, ri *Instance, free bool) { // see seeks
	on := uint64(0)
	switch {
	case free && x.Weak():
		on = 2
	case free:
		on = 1
	}
	k.d.Tell(x, kpev.Lies, ri.ID, ri.holder.probe, on)
}

func (t *Rethook) stays(x kapi.Context, ri *Instance) { // see seeks
	found := false
	if !t.e.Kretprobes.listed() {
		found = slices.Contains(t.bucket(x).calls.Owned(), ri)
	} else {
		for o, n := t.calls[x.Task()].Owned(), 0; o != nil && n < mostCalls && !found; o, n = o.below, n+1 {
			found = o == ri
		}
	}
	if found {
		t.d.Tell(x, kpev.Stays, ri.ID, ri.holder.probe, uint64(x.Task()))
	}
}

// look reports an access to freed memory, as a kernel's KASAN would. It is no scheduling point.
func (ri *Instance) look(x kapi.Context) {
	if ri.freed {
		x.Emit(kpev.InstanceGet, ri.ID, ri.holder.probe, 1)
	}
}

// look reports an access to a freed holder, as Instance.look does for an instance.
func (rph *holder) look(x kapi.Context) {
	if rph.freed {
		x.Emit(kpev.HolderDrop, rph.id, 0, 0)
	}
}

// instanceHead is an instance that waits for its grace period.
type instanceHead Instance

// Reclaim implements kapi.Reclaimer.
func (i *instanceHead) Reclaim(by kapi.Emitter) {
	ri := (*Instance)(i)
	ri.free(by)
	ri.holder.drop(by, 1)
}

// free gives an instance's memory back.
func (ri *Instance) free(by kapi.Emitter) {
	ri.freed = true
	by.Emit(kpev.InstanceFree, ri.ID, ri.holder.probe, ri.holder.id)
}

// drop takes n references from a holder; the last one gives its memory back.
func (rph *holder) drop(by kapi.Emitter, n int) {
	by.Mark(rph.refs.ID(), kapi.Write)
	left := rph.refs.Peek() - n
	rph.refs.Overwrite(left)
	by.Emit(kpev.HolderDrop, rph.id, uint64(n), uint64(left))
	if left == 0 {
		rph.freed = true
		by.Emit(kpev.HolderFree, rph.id, rph.probe, 0)
	}
}

// rethookFree is the part of unregistering before the grace period. After the grace period, no
// handler of the return probe begins. Context: kprobe_mutex held.
func (k *Kretprobes) rethookFree(x kapi.Context, rph *holder) {
	if !k.listed() {
		return // freelist kernels drain later: cleanupRpInst
	}
	rph.live.StoreRelease(x, holderPublish, false)
	if k.s.Return != era.ReturnFreelist { // rethook_free
		k.d.RCU.Call(x, (*holderHead)(rph))
	}
}

// holderHead is a rethook that waits for its grace period.
type holderHead holder

// Reclaim implements kapi.Reclaimer: the free instances go, those in flight when
// they return.
func (i *holderHead) Reclaim(by kapi.Emitter) { (*holder)(i).drain(by, 1) }

// drain frees a holder's free instances and drops their references, and n more.
func (rph *holder) drain(by kapi.Emitter, n int) {
	for ri := rph.head.Owned(); ri != nil && n <= len(rph.all); ri = ri.next.Owned() {
		ri.free(by)
		n++
	}
	for i := range rph.rings {
		slot := &rph.rings[i]
		at := slot.Head.Owned()
		for range len(rph.all) { // a bound, whatever head and tail are
			if at == rph.do.Ret.ObjpoolFilled(slot) {
				break
			}
			if ri := slot.Owned(at); ri != nil {
				ri.free(by)
				n++
			}
			at++
		}
	}
	rph.drop(by, n)
}

// cleanupRpInst is the part of unregistering after the grace period. It frees the free
// instances. Those in flight belong to no return probe from now on. Context: may sleep;
// nothing held.
func (k *Kretprobes) cleanupRpInst(x kapi.Context, rph *holder) {
	switch k.s.Return {
	case era.ReturnObjpool, era.ReturnRethook: // the rethook's own callback does it
	case era.ReturnFreelist:
		rph.drain(x, k.do.Ret.HolderOwnRefs())
	case era.ReturnHashed:
		for i := range k.e.Rethook.buckets {
			b := &k.e.Rethook.buckets[i]
			b.lock.Lock(x)
			for j := range len(b.calls.Owned()) {
				if ri := b.calls.At(x, j); ri.holder == rph {
					ri.gone = true
				}
			}
			b.lock.Unlock(x)
		}
		k.freeList(x, rph)
	case era.ReturnGlobal:
		k.e.Rethook.global.Lock(x)
		for range len(rph.used.Owned()) {
			ri := rph.used.At(x, 0)
			ri.gone = true
			rph.used.Del(x, ri)
		}
		k.e.Rethook.global.Unlock(x)
		k.freeList(x, rph)
	}
}

// freeList frees the instances in the list of free ones.
func (k *Kretprobes) freeList(x kapi.Context, rph *holder) {
	for _, ri := range rph.free.Owned() {
		ri.free(x)
	}
}

// The lock-free list of free instances (5.11 to 6.6) is a stack. Each element counts the CPUs that look at it, so
// that it isn't put back, and its link rewritten, while another CPU is about to take its neighbour by that link. An
// element's count is 1 for being on the list and 1 for each CPU that looks; the highest bit means that the last CPU
// to look puts it on the list. (The algorithm is Cameron Desrochers', public since 2014.)

// toList is the highest bit of an element's count.
const toList = 1 << 31

// freelistAdd puts an instance on the list, or leaves that to the last CPU that looks at it.
func (k *Kretprobes) freelistAdd(x kapi.Context, rph *holder, ri *Instance) {
	if addRefs(x, ri, freelistLeaves, toList) == toList {
		k.freelistPut(x, rph, ri)
	}
}

// freelistPut puts an instance that no CPU looks at on the list. It retries if another CPU has
// changed the list in between.
func (k *Kretprobes) freelistPut(x kapi.Context, rph *holder, ri *Instance) {
	for {
		first := rph.head.ReadOnce(x)
		ri.next.WriteOnce(x, first)
		ri.refs.StoreRelease(x, freelistCounts, 1)
		if rph.head.Swap(x, freelistPublish, first, ri) {
			k.lies(x, ri, true)
			return
		}
		if addRefs(x, ri, freelistLeaves, toList-1) != toList {
			return
		}
	}
}

// freelistTryGet takes the first instance of the list, or returns nil if the list is empty. It
// retries each time another CPU has changed the list in between.
func (k *Kretprobes) freelistTryGet(x kapi.Context, rph *holder) *Instance {
	for {
		ri := rph.head.LoadAcquire(x, freelistHead)
		if ri == nil {
			return nil
		}
		refs := ri.refs.ReadOnce(x)
		ri.look(x)
		if refs&^toList == 0 || !ri.refs.Swap(x, freelistLooks, refs, refs+1) {
			continue
		}
		if rph.head.Swap(x, freelistTakes, ri, ri.next.ReadOnce(x)) {
			k.lies(x, ri, false)
			ri.look(x)
			addRefs(x, ri, freelistDrops, ^uint32(1)) // ours and the list's
			return ri
		}
		if addRefs(x, ri, freelistDrops, ^uint32(0)) == toList {
			k.freelistPut(x, rph, ri)
		}
	}
}

// addRefs adds to an instance's count atomically and returns the sum (point).
func addRefs(x kapi.Context, ri *Instance, b kapi.Barrier, d uint32) uint32 {
	refs := ri.refs.RMW(x, b)
	*refs += d
	return *refs
}

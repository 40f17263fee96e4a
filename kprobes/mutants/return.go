package mutants

import (
	"kpsim/kprobes"
	"kpsim/kprobes/era"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

type (
	kretprobe = kprobes.Kretprobe
	instance  = kprobes.Instance
	slot      = kprobes.ObjpoolSlot
)

func hookFirst(s *steps) {
	handle, hook := s.Ret.PreHandlerKretprobe, s.Ret.ReplaceReturn
	s.Ret.PreHandlerKretprobe = func(e *engine, x context, p *kprobe, r *regs) int { hook(e, x, r); return handle(e, x, p, r) }
}

func entryReturns(s *steps) {
	handle := s.Ret.PreHandlerKretprobe
	s.Ret.PreHandlerKretprobe = func(e *engine, x context, p *kprobe, r *regs) int { handle(e, x, p, r); return 1 }
}

func entryIgnored(s *steps) {
	call := s.Ret.CallEntryHandler
	s.Ret.CallEntryHandler = func(x context, rp *kretprobe, ri *instance, r *regs) int { call(x, rp, ri, r); return 0 }
}

func holderRefs(w *Wiring) {
	if w.Engine.Return == era.ReturnFreelist {
		w.Steps().Ret.HolderOwnRefs = func() int { return 0 }
	}
}

func retAddrLost(s *steps) {
	s.Ret.SetRetAddr = func(e *engine, ri *instance, _ arch.Addr) { ri.RetAddr = e.Rethook.Trampoline() }
}

// disarmTrampoline puts the probe on the trampoline among the others.
func disarmTrampoline(s *steps) {
	nop, disarm, ready := s.Ret.TrampolineAggr, s.Files.DisarmAllKprobes, false
	s.Ret.TrampolineAggr = func(e *engine) *aggr {
		ready = true
		return e.Table.AddAggr(nop(e).Addr())
	}
	s.Files.DisarmAllKprobes = func(e *engine, x context) {
		if disarm(e, x); ready {
			e.DisarmKprobeNow(x, nop(e))
		}
	}
}

func oneHandler(s *steps) {
	handle := s.Ret.KretprobeRethookHandler
	s.Ret.KretprobeRethookHandler = func(e *engine, x context, ri *instance, to arch.Addr, r *regs) {
		if ri.RetAddr != e.Rethook.Trampoline() {
			handle(e, x, ri, to, r)
		}
	}
}

func retRegsLost(s *steps) {
	handle := s.Ret.KretprobeRethookHandler
	s.Ret.KretprobeRethookHandler = func(e *engine, x context, ri *instance, to arch.Addr, r *regs) {
		lost := *r
		handle(e, x, ri, to, &lost)
	}
}

func oneData(s *steps) {
	var of *kretprobe
	var data []byte
	s.Ret.InitInstance = func(rp *kretprobe, ri *instance) {
		if rp != of {
			of, data = rp, ri.Data
		}
		ri.Data = data
	}
}

func oneLess(s *steps) {
	alloc := s.Ret.AllocRethook
	s.Ret.AllocRethook = func(e *engine, x context, rp *kretprobe) {
		rp.Maxactive--
		alloc(e, x, rp)
		rp.Maxactive++
	}
}

// ownRing makes a call read only one array, the first.
func ownRing(s *steps) {
	handle, pop := s.Ret.PreHandlerKretprobe, s.Ret.ObjpoolPop
	var asked [64]bool // by CPU
	s.Ret.PreHandlerKretprobe = func(e *engine, x context, p *kprobe, r *regs) int {
		asked[x.CPU()] = false
		return handle(e, x, p, r)
	}
	s.Ret.ObjpoolPop = func(x context, r *slot) *instance {
		if asked[x.CPU()] {
			return nil
		}
		asked[x.CPU()] = true
		return pop(x, r)
	}
}

// onlineRings passes over the arrays of CPUs that are offline.
func onlineRings(w *Wiring) {
	s := w.Steps()
	handle, pop := s.Ret.PreHandlerKretprobe, s.Ret.ObjpoolPop
	var asked [64]int // by CPU: how many arrays, its own first
	s.Ret.PreHandlerKretprobe = func(e *engine, x context, p *kprobe, r *regs) int {
		was := asked[x.CPU()]
		asked[x.CPU()] = 0
		answer := handle(e, x, p, r)
		asked[x.CPU()] = was // an NMI has read in between
		return answer
	}
	s.Ret.ObjpoolPop = func(x context, r *slot) *instance {
		ring := (x.CPU() + asked[x.CPU()]) % w.Deps.CPUs
		if asked[x.CPU()]++; w.Kernel.Hotplug.Online(x)>>ring&1 == 0 {
			return nil
		}
		return pop(x, r)
	}
}

// objpoolLast is the kernel's array of free instances (6.7 to 6.18), described at kprobes.ObjpoolSlot: it publishes
// how far entries are filled in last.
func objpoolLast(s *steps) {
	s.Ret.ObjpoolPublish = func(x context, r *slot, tail uint32) { r.Last.StoreRelease(x, lastPublishes, tail+1) }
	s.Ret.ObjpoolPop = objpoolPop
	s.Ret.ObjpoolFilled = func(r *slot) uint32 {
		// The kernel pops until the ring is empty (objpool_fini): entries that last hides stay, and nothing is taken
		// where it would loop for ever.
		if !settled(r, r.Head.Owned()) {
			return r.Head.Owned()
		}
		return r.Last.Owned()
	}
}

// The orders of the kernel's array.
var (
	lastPublishes = kapi.DefineBarrier("objpool_push with last: the instance, then last", kapi.OrderRelease,
		"__objpool_try_add_slot, lib/objpool.c: smp_store_release(&slot->last, tail + 1); of mutant objpool-last")
	lastHead = kapi.DefineBarrier("objpool_pop with last: head, then last", kapi.OrderAcquire,
		"__objpool_try_get_slot, include/linux/objpool.h: smp_load_acquire(&slot->head); of mutant objpool-last")
	lastLast = kapi.DefineBarrier("objpool_pop with last: last, then the instance", kapi.OrderAcquire,
		"__objpool_try_get_slot: READ_ONCE(&slot->last), which orders nothing; of mutant objpool-unchecked")
	lastTakes = kapi.DefineBarrier("objpool_pop with last: the instance, then head", kapi.OrderRelease,
		"__objpool_try_get_slot: try_cmpxchg_release(&slot->head); of mutant objpool-last")
)

// objpoolPop takes an instance from a slot: it believes last.
func objpoolPop(x context, r *slot) *instance {
	head := r.Head.LoadAcquire(x, lastHead)
	for r.Last.ReadOnce(x) != head {
		if r.Last.ReadOnce(x)-head-1 >= r.Most {
			if head = r.Head.ReadOnce(x); !settled(r, head) {
				x.Spin((*lastSettled)(r))
			}
			continue
		}
		ri := r.At(x, head)
		if r.Head.Swap(x, lastTakes, head, head+1) {
			return ri
		}
		head = r.Head.Peek() // the value that the exchange has read; a failed exchange orders nothing
	}
	return nil
}

// objpoolUnchecked is objpoolLast in its first version: a pop doesn't check that last is after head. A failed
// exchange orders nothing, so last may be read as it was before the head that the exchange has read: then they differ
// although the ring is empty. Here the instance is read after last, so that nothing else goes wrong.
func objpoolUnchecked(s *steps) {
	objpoolLast(s)
	s.Ret.ObjpoolPop = func(x context, r *slot) *instance {
		head := r.Head.LoadAcquire(x, lastHead)
		for r.Last.LoadAcquire(x, lastLast) != head {
			ri := r.At(x, head)
			if r.Head.Swap(x, lastTakes, head, head+1) {
				return ri
			}
			head = r.Head.Peek() // as in objpoolPop
		}
		return nil
	}
}

// settled reports whether last is at head, or at most as far after it as possible.
func settled(r *slot, head uint32) bool { return r.Last.Peek()-head <= r.Most }

// lastSettled is the condition that a looping pop waits for. Head can't move before last has: only pops move it. It
// implements kapi.Cond.
type lastSettled slot

func (r *lastSettled) Cell() kapi.CellID { return r.Last.ID() }
func (r *lastSettled) Holds() bool       { return settled((*slot)(r), r.Head.Peek()) }

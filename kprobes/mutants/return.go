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
	handle, hook := s.PreHandlerKretprobe, s.ReplaceReturn
	s.PreHandlerKretprobe = func(e *engine, x context, p *kprobe, r *regs) int { hook(e, x, r); return handle(e, x, p, r) }
}

func entryReturns(s *steps) {
	handle := s.PreHandlerKretprobe
	s.PreHandlerKretprobe = func(e *engine, x context, p *kprobe, r *regs) int { handle(e, x, p, r); return 1 }
}

func entryIgnored(s *steps) {
	call := s.CallEntryHandler
	s.CallEntryHandler = func(x context, rp *kretprobe, ri *instance, r *regs) int { call(x, rp, ri, r); return 0 }
}

func holderRefs(w *Wiring) {
	if w.Engine.Return == era.ReturnFreelist {
		w.Steps().HolderOwnRefs = func() int { return 0 }
	}
}

func retAddrLost(s *steps) {
	s.SetRetAddr = func(e *engine, ri *instance, _ arch.Addr) { ri.RetAddr = e.Trampoline() }
}

// disarmTrampoline puts the probe on the trampoline among the others.
func disarmTrampoline(s *steps) {
	nop, disarm, ready := s.TrampolineAggr, s.DisarmAllKprobes, false
	s.TrampolineAggr = func(e *engine) *aggr {
		ready = true
		return e.AddAggr(nop(e).Addr())
	}
	s.DisarmAllKprobes = func(e *engine, x context) {
		if disarm(e, x); ready {
			e.DisarmKprobeNow(x, nop(e))
		}
	}
}

func oneHandler(s *steps) {
	handle := s.KretprobeRethookHandler
	s.KretprobeRethookHandler = func(e *engine, x context, ri *instance, to arch.Addr, r *regs) {
		if ri.RetAddr != e.Trampoline() {
			handle(e, x, ri, to, r)
		}
	}
}

func retRegsLost(s *steps) {
	handle := s.KretprobeRethookHandler
	s.KretprobeRethookHandler = func(e *engine, x context, ri *instance, to arch.Addr, r *regs) {
		lost := *r
		handle(e, x, ri, to, &lost)
	}
}

func oneData(s *steps) {
	var of *kretprobe
	var data []byte
	s.InitInstance = func(rp *kretprobe, ri *instance) {
		if rp != of {
			of, data = rp, ri.Data
		}
		ri.Data = data
	}
}

func oneLess(s *steps) {
	alloc := s.AllocRethook
	s.AllocRethook = func(e *engine, x context, rp *kretprobe) {
		rp.Maxactive--
		alloc(e, x, rp)
		rp.Maxactive++
	}
}

// ownRing looks into one array a call, the first that is asked.
func ownRing(s *steps) {
	handle, pop := s.PreHandlerKretprobe, s.ObjpoolPop
	var asked [64]bool // by CPU
	s.PreHandlerKretprobe = func(e *engine, x context, p *kprobe, r *regs) int {
		asked[x.CPU()] = false
		return handle(e, x, p, r)
	}
	s.ObjpoolPop = func(x context, r *slot) *instance {
		if asked[x.CPU()] {
			return nil
		}
		asked[x.CPU()] = true
		return pop(x, r)
	}
}

// objpoolLast is the kernel's array of free instances (6.7 to 6.18), as said at
// kprobes.ObjpoolSlot: it publishes how far places are filled in last.
func objpoolLast(s *steps) {
	s.ObjpoolPublish = func(x context, r *slot, tail uint32) { r.Last.WriteOnce(x, tail+1) }
	s.ObjpoolPop = objpoolPop
	s.ObjpoolFilled = func(r *slot) uint32 {
		// The kernel pops until nothing comes (objpool_fini): what last hides stays, and
		// nothing is taken where it would look for ever.
		if !settled(r, r.Head.Peek()) {
			return r.Head.Peek()
		}
		return r.Last.Peek()
	}
}

// objpoolPop takes an instance from a slot: it believes last.
func objpoolPop(x context, r *slot) *instance {
	head := r.Head.ReadOnce(x)
	for r.Last.ReadOnce(x) != head {
		if r.Last.ReadOnce(x)-head-1 >= r.Most {
			if head = r.Head.ReadOnce(x); !settled(r, head) {
				x.Spin((*lastSettled)(r))
			}
			continue
		}
		ri := r.At(x, head)
		if r.Head.Swap(x, kapi.Once, head, head+1) {
			return ri
		}
		head = r.Head.Peek()
	}
	return nil
}

// settled reports whether last is at head, or so far in front of it as can be.
func settled(r *slot, head uint32) bool { return r.Last.Peek()-head <= r.Most }

// lastSettled is what a pop waits for by looking again and again. Head can't move
// before last has: pops alone move it. It implements kapi.Cond.
type lastSettled slot

func (r *lastSettled) Cell() kapi.CellID { return r.Last.ID() }
func (r *lastSettled) Holds() bool       { return settled((*slot)(r), r.Head.Peek()) }

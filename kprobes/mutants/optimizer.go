package mutants

import (
	"encoding/binary"

	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

func freeEarly(s *steps) {
	unoptimize := s.Optimizer.DoUnoptimizeKprobes
	s.Optimizer.DoUnoptimizeKprobes = func(e *engine, x context) {
		unoptimize(e, x)
		s.Optimizer.DoFreeCleanedKprobes(e, x)
	}
}

func flagEarly(s *steps) {
	unoptimize, mark := s.Optimizer.ArchUnoptimizeKprobe, s.Optimizer.ClearOptimized
	s.Optimizer.ArchUnoptimizeKprobe = func(e *engine, x context, ap *aggr) { mark(x, ap); unoptimize(e, x, ap) }
	skip2(&s.Optimizer.ClearOptimized)
}

func flushLocked(s *steps) {
	queued := s.Optimizer.OptimizerQueued
	s.Optimizer.OptimizerQueued = func(e *engine, x context) int {
		n := queued(e, x)
		if n != 0 {
			s.Optimizer.FlushOptimizer(e, x)
		}
		return n
	}
}

func savedAtPrepare(w *Wiring) {
	s := w.Steps()
	prepare := s.Optimizer.PrepareOptimizedKprobe
	s.Optimizer.PrepareOptimizedKprobe = func(e *engine, x context, ap *aggr) {
		if prepare(e, x, ap); ap.HasDetour() {
			var tail [8]byte
			w.Deps.Text.Read(x, ap.Addr()+1, tail[:4])
			ap.Note = ap.Note&^0xffffffff | binary.LittleEndian.Uint64(tail[:])
		}
	}
	s.Optimizer.CopiedInsn = func(ap *aggr) []byte {
		return binary.LittleEndian.AppendUint32(nil, uint32(ap.Note))
	}
}

func optimizedLate(s *steps) {
	setup := s.Hit.SetupDetourExecution
	s.Hit.SetupDetourExecution = func(e *engine, x context, ap *aggr, r *regs, owes bool) bool {
		ip := r.IP
		if !setup(e, x, ap, r, owes) {
			return false
		}
		if !ap.Jumped() {
			r.IP = ip
		}
		return ap.Jumped()
	}
}

func backOff(s *steps) {
	quiesce, ran := s.Optimizer.Quiesce, 0
	s.Optimizer.Quiesce = func(e *engine, x context) {
		ran++
		for range 1 << ran {
			quiesce(e, x)
		}
	}
}

func kickUnlocked(s *steps) {
	optimizer, kick := s.Optimizer.KprobeOptimizer, s.Optimizer.KickAgain
	s.Optimizer.KprobeOptimizer = func(e *engine, x context) { optimizer(e, x); kick(e, x) }
	skip2(&s.Optimizer.KickAgain)
}

func hotplugLast(w *Wiring) {
	w.Steps().Arm.LockText = func(_ *engine, x context) {
		w.Deps.Text.Mutex().Lock(x)
		w.Deps.Hotplug.ReadLock(x)
	}
}

// unplugged is the hotplug lock of an engine that doesn't take it. It implements kapi.CPUs.
type unplugged struct{}

func (unplugged) ReadLock(context)   {}
func (unplugged) ReadUnlock(context) {}
func (unplugged) AssertHeld(context) {}

func labelsLast(w *Wiring) {
	s := w.Steps()
	s.Arm.LockSites = func(e *engine, x context) {
		s.Arm.LockText(e, x)
		if w.Deps.LabelMutex != nil {
			w.Deps.LabelMutex.Lock(x)
		}
	}
}

// unkicked are works that are never queued.
type unkicked struct{ kapi.Workqueue }

// NewDelayedWork implements kapi.Workqueue.
func (u unkicked) NewDelayedWork(name string, f func(x context)) kapi.DelayedWork {
	return unqueued{u.Workqueue.NewDelayedWork(name, f)}
}

type unqueued struct{ kapi.DelayedWork }

// Queue implements kapi.DelayedWork.
func (unqueued) Queue(context) {}

// jumpHidden ends the search for the jump over an address at the nearest probe before it.
func jumpHidden(s *steps) {
	get := s.Arm.GetOptimizedKprobe
	s.Arm.GetOptimizedKprobe = func(e *engine, addr arch.Addr) *aggr {
		q := get(e, addr)
		for i := 0; q != nil && i < e.Table.Points(); i++ {
			if at, _, _, ok := e.Table.StateOf(i); ok && uint64(q.Addr()) < at && at < uint64(addr) {
				return nil
			}
		}
		return q
	}
}

// waitUnderText holds text_mutex over the wait, as kernels did that took it for a whole run.
func waitUnderText(w *Wiring) {
	s := w.Steps()
	quiesce := s.Optimizer.Quiesce
	s.Optimizer.Quiesce = func(e *engine, x context) {
		s.Arm.LockText(e, x)
		quiesce(e, x)
		w.Deps.Text.Mutex().Unlock(x)
		w.Deps.Hotplug.ReadUnlock(x)
	}
}

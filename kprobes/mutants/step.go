package mutants

import (
	"slices"

	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
)

// resumedAs makes the end of a step treat the instructions that is selects as a nop.
func resumedAs(is func(ap *aggr, op, group int) bool) func(*Wiring) {
	return on(func(s *steps) {
		look := s.Copy.ResumeOpcode
		s.Copy.ResumeOpcode = func(ap *aggr) (op, group int) {
			if op, group = look(ap); is(ap, op, group) {
				return 0x90, 0
			}
			return op, group
		}
	})
}

// postInSlot swaps two steps: the post_handlers come before resume_execution. K is the
// control block of a CPU.
func postInSlot[K any](s *steps, resume *func(*engine, context, K, *aggr, *regs)) {
	was, post := *resume, s.Hit.AggrPostHandler
	*resume = func(e *engine, x context, kcb K, ap *aggr, r *regs) {
		if !s.Hit.Reentered(e, x) {
			post(e, x, ap, r)
		}
		was(e, x, kcb, ap, r)
	}
	skip4(&s.Hit.AggrPostHandler)
}

// removed makes f handle a trap on a breakpoint that is gone; f returns its owner. It also drops the sync after the
// disarm: with one, no CPU arrives so late.
func removed(f func(s *steps, e *engine, x context, r *regs) uint64) func(*Wiring) {
	return func(w *Wiring) {
		w.Engine.RemovedInt3 = true
		s := w.Steps()
		handle := s.Hit.KprobeInt3Handler
		s.Hit.KprobeInt3Handler = func(e *engine, x context, r *regs) uint64 {
			owner := handle(e, x, r)
			if owner == kpev.OwnerRemoved {
				return f(s, e, x, r)
			}
			return owner
		}
		SkipSync(kpev.SyncDisarm)(w)
	}
}

// postDisarms writes the original byte once a post_handler has run for a probe (arch_disarm_kprobe): later hits there
// are lost.
func postDisarms(w *Wiring) {
	s := w.Steps()
	handle := s.Hit.KprobeInt3Handler
	s.Hit.KprobeInt3Handler = func(e *engine, x context, r *regs) uint64 {
		if !e.Hits.InPostHandler(x) {
			return handle(e, x, r)
		}
		ap := e.Table.Find(x, r.IP-1)
		if ap == nil {
			return handle(e, x, r)
		}
		w.Deps.Text.Poke(x, ap.Addr(), ap.Orig()[:1])
		r.IP = ap.Addr()
		return kpev.OwnerKprobe
	}
}

// shortUnsigned treats the displacement of an emulated one-byte jump (70 to 7F, E0 to E3, EB) as unsigned.
func shortUnsigned(ap *aggr, r *regs, _ arch.Memory, _ *regs) {
	in := insnOf(ap)
	op := in.Opcode()
	if op>>4 != 7 && op>>2 != 0xe0>>2 && op != 0xeb {
		return
	}
	if to, _ := in.Target(); r.IP == to && to < in.Next() {
		r.IP += 256
	}
}

// opcodeUnderJump keeps the bytes in memory at a probe's registration in its Aggr's Note.
func opcodeUnderJump(w *Wiring) {
	s := w.Steps()
	s.Register.SaveOpcode = func(x context, ap *aggr) {
		var now [1]byte
		w.Deps.Text.Read(x, ap.Addr(), now[:])
		ap.Note = ap.Note&^0xff | uint64(now[0])
	}
	s.Arm.RestoreOpcode = func(_ *engine, x context, ap *aggr) {
		w.Deps.Text.Poke(x, ap.Addr(), []byte{byte(ap.Note)})
	}
}

func arrayFirst(s *steps) {
	register := s.Register.RegisterKprobes
	s.Register.RegisterKprobes = func(e *engine, x context, kps []*kprobe) error {
		if err := register(e, x, kps[:1]); err == nil || len(kps) == 1 {
			return err
		}
		return register(e, x, kps[1:])
	}
}

// unregisterUnknown has a probe that isn't registered taken out of the table by links that
// are null.
func unregisterUnknown(w *Wiring) {
	w.Steps().Register.ClearAddr = func(x context, _ *kprobe) {
		w.Deps.Traps.Bug(x, "hlist_del follows a null pointer")
	}
}

func nullHandler(w *Wiring) {
	s := w.Steps()
	handle := s.Ret.KretprobeRethookHandler
	s.Ret.KretprobeRethookHandler = func(e *engine, x context, ri *instance, to arch.Addr, r *regs) {
		if ri.Rp.Handler == nil {
			w.Deps.Traps.Bug(x, "a null pointer is called")
		}
		handle(e, x, ri, to, r)
	}
}

func unarmedRegistered(s *steps) {
	arm := s.Arm.ArmKprobe
	s.Arm.ArmKprobe = func(e *engine, x context, ap *aggr) error { _ = arm(e, x, ap); return nil }
}

func unarmedEnabled(s *steps) {
	enable := s.Arm.EnableAggr
	s.Arm.EnableAggr = func(e *engine, x context, ap *aggr, p *kprobe) error {
		err := enable(e, x, ap, p)
		if err != nil {
			s.Arm.SetDisabled(x, p, false)
		}
		return err
	}
}

func unarmedKilled(s *steps) {
	kill := s.Gone.KillKprobe
	s.Gone.KillKprobe = func(e *engine, x context, ap *aggr) {
		if ap.Traced() && !ap.Armed() {
			s.Gone.DisarmKprobeFtrace(e, x, ap)
		}
		kill(e, x, ap)
	}
}

// postCleared forgets that an Aggr has had a post_handler when that leaves others. L is its list
// of probes.
func postCleared[L any](s *steps, publish *func(context, *aggr, *L), posts func(*L) bool) {
	was, modifies := *publish, s.Gone.ArmedIPModify
	*publish = func(x context, ap *aggr, list *L) {
		had := slices.ContainsFunc(ap.List(), func(p *kprobe) bool { return p.Post != nil })
		was(x, ap, list)
		switch has := posts(list); {
		case has:
			ap.Note &^= noteCleared
		case had && !ap.Unused():
			ap.Note |= noteCleared
		}
	}
	s.Gone.ArmedIPModify = func(e *engine, ap *aggr) bool { return modifies(e, ap) && ap.Note&noteCleared == 0 }
}

// forcedKept leaves the breakpoint of an aggr that loses its jump by force while it waits for the optimizer to remove
// both.
func forcedKept(s *steps) {
	unoptimize, work, disarmed, working := s.Optimizer.ArchUnoptimizeKprobe, s.Optimizer.DoUnoptimizeKprobes,
		s.Optimizer.FreedDisarmed, false
	s.Optimizer.DoUnoptimizeKprobes = func(e *engine, x context) {
		working = true
		work(e, x)
		working = false
	}
	s.Optimizer.ArchUnoptimizeKprobe = func(e *engine, x context, ap *aggr) {
		if !working && e.Optimizer.Unoptimizing(ap) {
			ap.Note |= noteForced
		}
		unoptimize(e, x, ap)
	}
	s.Optimizer.FreedDisarmed = func(e *engine, ap *aggr) bool { return ap.Note&noteForced == 0 && disarmed(e, ap) }
}

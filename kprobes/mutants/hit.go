package mutants

import (
	"kpsim/kprobes"
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

var int3 = []byte{x86.Int3}

// emulated does something to what an emulated instruction has done. before is what it found.
func emulated(f func(ap *aggr, r *regs, m arch.Memory, before *regs)) func(*Wiring) {
	return on(func(s *steps) {
		emulate := s.Emulate
		s.Emulate = func(e *engine, x context, ap *aggr, r *regs) {
			before := *r
			emulate(e, x, ap, r)
			f(ap, r, x.Memory(), &before)
		}
	})
}

func byteFirst(w *Wiring) {
	w.Engine.RemovedInt3 = false // it is looked at earlier
	s := w.Steps()
	handle := s.KprobeInt3Handler
	s.KprobeInt3Handler = func(e *engine, x context, r *regs) uint64 {
		var now [1]byte
		if w.Deps.Text.Read(x, r.IP-1, now[:]); now[0] == x86.Int3 {
			return handle(e, x, r)
		}
		r.IP--
		return kpev.OwnerRemoved
	}
	SkipSync(kpev.SyncDisarm)(w)
}

func postByList(s *steps) {
	s.OwesPost = never(s.OwesPost)
	s.PostProbes = func(x context, ap *aggr, asked []*kprobe) []*kprobe {
		if now := ap.Probes(x); len(now) > 0 {
			return now
		}
		return asked
	}
}

// never is no, whatever is asked.
func never[A any](func(A) bool) func(A) bool { return func(A) bool { return false } }

func always(_, _ arch.Addr) bool { return true }

func copyRegs(s *steps) {
	pre, post := s.AggrPreHandler, s.AggrPostHandler
	s.AggrPreHandler = func(e *engine, x context, ap *aggr, r *regs, stop bool) bool {
		own := *r
		return pre(e, x, ap, &own, stop)
	}
	s.AggrPostHandler = func(e *engine, x context, ap *aggr, r *regs) {
		own := *r
		post(e, x, ap, &own)
	}
}

func noteUnlocked(s *steps) {
	pre := s.AggrPreHandler
	s.AggrPreHandler = func(e *engine, x context, ap *aggr, r *regs, stop bool) bool {
		ap.Note++
		return pre(e, x, ap, r, stop)
	}
}

func ignorePre(s *steps) {
	call := s.CallPreHandler
	s.CallPreHandler = func(e *engine, x context, p *kprobe, r *regs) int { call(e, x, p, r); return 0 }
}

func nilStops(s *steps) {
	call := s.CallPreHandler
	s.CallPreHandler = func(e *engine, x context, p *kprobe, r *regs) int {
		if p.Pre == nil {
			return 1
		}
		return call(e, x, p, r)
	}
}

func preIP(s *steps) {
	pre := s.AggrPreHandler
	s.AggrPreHandler = func(e *engine, x context, ap *aggr, r *regs, stop bool) bool {
		if stop {
			r.IP = ap.Addr()
		}
		return pre(e, x, ap, r, stop)
	}
}

func detourStops(s *steps) {
	pre := s.AggrPreHandler
	s.AggrPreHandler = func(e *engine, x context, ap *aggr, r *regs, _ bool) bool { return pre(e, x, ap, r, true) }
}

func runDisabled(s *steps) {
	disabled := s.KprobeDisabled
	s.KprobeDisabled = func(x context, p *kprobe, stop bool) bool { disabled(x, p, stop); return false }
}

func detourDisabled(s *steps) {
	disabled, all := s.KprobeDisabled, s.OptimizedDisabled
	s.KprobeDisabled = func(x context, p *kprobe, stop bool) bool { return disabled(x, p, stop) && stop }
	s.OptimizedDisabled = func(x context, ap *aggr) bool { all(x, ap); return false }
}

func detourPath(s *steps) {
	store := s.StoreRegs
	s.StoreRegs = func(e *engine, x context, ap *aggr, image, sp arch.Addr, r *regs) {
		if store(e, x, ap, image, sp, r); r.IP != ap.Addr()+1 {
			x.Memory().Store(sp, 8, uint64(r.IP))
		}
	}
}

func missedByPoint(s *steps) {
	count := s.IncNmissed
	s.IncNmissed = func(x context, probes []*kprobe) {
		if len(probes) <= 1 {
			count(x, probes)
		}
	}
}

func missedEnabled(s *steps) {
	count := s.IncNmissed
	s.IncNmissed = func(x context, probes []*kprobe) {
		for i, p := range probes {
			if !p.Disabled() {
				count(x, probes[i:i+1])
			}
		}
	}
}

func ftraceKeepsPath(s *steps) {
	handle := s.KprobeFtraceHandler
	s.KprobeFtraceHandler = func(e *engine, x context, ip arch.Addr, r *regs) {
		was := r.IP
		handle(e, x, ip, r)
		r.IP = was
	}
}

func killKeepsFtrace(s *steps) {
	kill, disarm, killing := s.KillKprobe, s.DisarmKprobeFtrace, false
	s.KillKprobe = func(e *engine, x context, ap *aggr) {
		killing = true
		kill(e, x, ap)
		killing = false
	}
	s.DisarmKprobeFtrace = func(e *engine, x context, ap *aggr) {
		if !killing {
			disarm(e, x, ap)
		}
	}
}

func enabledAll(s *steps) {
	enabled, arm, all := s.AggrEnabled, s.ArmAllKprobes, false
	s.AggrEnabled = func(ap *aggr) bool { return all || enabled(ap) }
	s.ArmAllKprobes = func(e *engine, x context) (failed, tried int) {
		all = true
		failed, tried = arm(e, x)
		all = false
		return failed, tried
	}
}

func listOldest(s *steps) {
	s.ShowKprobes = func(e *engine, buf []byte, ap *aggr) []byte {
		probes := ap.List()
		for i := len(probes) - 1; i >= 0; i-- {
			buf = e.ReportProbe(buf, ap, probes[i])
		}
		return buf
	}
}

func listJumps(s *steps) {
	flags := s.ListedFlags
	s.ListedFlags = func(e *engine, ap *aggr, p *kprobe) kprobes.Flags {
		if !ap.Jumped() {
			return 0
		}
		return flags(e, ap, p)
	}
}

func graceEach(s *steps) {
	unregister := s.UnregisterKprobes
	s.UnregisterKprobes = func(e *engine, x context, kps []*kprobe) error {
		for i := range kps {
			_ = unregister(e, x, kps[i:i+1])
		}
		return nil
	}
}

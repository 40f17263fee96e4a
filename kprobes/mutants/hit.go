package mutants

import (
	"kpsim/kprobes"
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

var int3 = []byte{x86.Int3}

func byteFirst(w *Wiring) {
	w.Engine.RemovedInt3 = false // otherwise RemovedInt3 handles it earlier
	s := w.Steps()
	handle := s.Hit.KprobeInt3Handler
	s.Hit.KprobeInt3Handler = func(e *engine, x context, r *regs) uint64 {
		var now [1]byte
		if w.Deps.Text.Read(x, r.IP-1, now[:]); now[0] == x86.Int3 {
			return handle(e, x, r)
		}
		r.IP--
		return kpev.OwnerRemoved
	}
	SkipSync(kpev.SyncDisarm)(w)
}

// postByList also leaves out the last probe of a point that several have shared: it stays on the kernel's list until no
// CPU can reach it, but unregister_kprobe marks it as disabled first.
func postByList(s *steps) {
	s.Hit.OwesPost = never(s.Hit.OwesPost)
	add := s.Register.AddNewKprobe
	s.Register.AddNewKprobe = func(e *engine, x context, ap *aggr, p *kprobe) {
		add(e, x, ap, p)
		ap.Note |= noteShared
	}
	s.Hit.PostProbes = func(x context, ap *aggr, asked []*kprobe) []*kprobe {
		if now := ap.Probes(x); len(now) > 0 || ap.Note&noteShared != 0 {
			return now
		}
		return asked
	}
}

// never returns a check that is always false.
func never[A any](func(A) bool) func(A) bool { return func(A) bool { return false } }

func always(_, _ arch.Addr) bool { return true }

func copyRegs(s *steps) {
	pre, post := s.Hit.AggrPreHandler, s.Hit.AggrPostHandler
	s.Hit.AggrPreHandler = func(e *engine, x context, ap *aggr, r *regs, stop bool) bool {
		own := *r
		return pre(e, x, ap, &own, stop)
	}
	s.Hit.AggrPostHandler = func(e *engine, x context, ap *aggr, r *regs) {
		own := *r
		post(e, x, ap, &own)
	}
}

func noteUnlocked(s *steps) {
	pre := s.Hit.AggrPreHandler
	s.Hit.AggrPreHandler = func(e *engine, x context, ap *aggr, r *regs, stop bool) bool {
		ap.Note++
		return pre(e, x, ap, r, stop)
	}
}

func ignorePre(s *steps) {
	call := s.Hit.CallPreHandler
	s.Hit.CallPreHandler = func(e *engine, x context, p *kprobe, r *regs) int { call(e, x, p, r); return 0 }
}

func nilStops(s *steps) {
	call := s.Hit.CallPreHandler
	s.Hit.CallPreHandler = func(e *engine, x context, p *kprobe, r *regs) int {
		if p.Pre == nil {
			return 1
		}
		return call(e, x, p, r)
	}
}

func preIP(s *steps) {
	pre := s.Hit.AggrPreHandler
	s.Hit.AggrPreHandler = func(e *engine, x context, ap *aggr, r *regs, stop bool) bool {
		if stop {
			r.IP = ap.Addr()
		}
		return pre(e, x, ap, r, stop)
	}
}

func detourStops(s *steps) {
	pre := s.Hit.AggrPreHandler
	s.Hit.AggrPreHandler = func(e *engine, x context, ap *aggr, r *regs, _ bool) bool { return pre(e, x, ap, r, true) }
}

func runDisabled(s *steps) {
	disabled := s.Hit.KprobeDisabled
	s.Hit.KprobeDisabled = func(x context, p *kprobe, stop bool) bool { disabled(x, p, stop); return false }
}

func detourDisabled(s *steps) {
	disabled, all := s.Hit.KprobeDisabled, s.Hit.OptimizedDisabled
	s.Hit.KprobeDisabled = func(x context, p *kprobe, stop bool) bool { return disabled(x, p, stop) && stop }
	s.Hit.OptimizedDisabled = func(x context, ap *aggr) bool { all(x, ap); return false }
}

func detourPath(s *steps) {
	store := s.Hit.StoreRegs
	s.Hit.StoreRegs = func(e *engine, x context, ap *aggr, image, sp arch.Addr, r *regs) {
		if store(e, x, ap, image, sp, r); r.IP != ap.Addr()+1 {
			x.Memory().Store(sp, 8, uint64(r.IP))
		}
	}
}

func missedByPoint(s *steps) {
	count := s.Hit.IncNmissed
	s.Hit.IncNmissed = func(x context, probes []*kprobe) {
		if len(probes) <= 1 {
			count(x, probes)
		}
	}
}

func missedEnabled(s *steps) {
	count := s.Hit.IncNmissed
	s.Hit.IncNmissed = func(x context, probes []*kprobe) {
		for i, p := range probes {
			if !p.Disabled() {
				count(x, probes[i:i+1])
			}
		}
	}
}

func ftraceKeepsPath(s *steps) {
	handle := s.Gone.KprobeFtraceHandler
	s.Gone.KprobeFtraceHandler = func(e *engine, x context, ip arch.Addr, r *regs) {
		was := r.IP
		handle(e, x, ip, r)
		r.IP = was
	}
}

func killKeepsFtrace(s *steps) {
	kill, disarm, killing := s.Gone.KillKprobe, s.Gone.DisarmKprobeFtrace, false
	s.Gone.KillKprobe = func(e *engine, x context, ap *aggr) {
		killing = true
		kill(e, x, ap)
		killing = false
	}
	s.Gone.DisarmKprobeFtrace = func(e *engine, x context, ap *aggr) {
		if !killing {
			disarm(e, x, ap)
		}
	}
}

func enabledAll(s *steps) {
	enabled, arm, all := s.Arm.AggrEnabled, s.Files.ArmAllKprobes, false
	s.Arm.AggrEnabled = func(ap *aggr) bool { return all || enabled(ap) }
	s.Files.ArmAllKprobes = func(e *engine, x context) (failed, tried int) {
		all = true
		failed, tried = arm(e, x)
		all = false
		return failed, tried
	}
}

func listOldest(s *steps) {
	s.Files.ShowKprobes = func(e *engine, buf []byte, ap *aggr) []byte {
		probes := ap.List()
		for i := len(probes) - 1; i >= 0; i-- {
			buf = e.Files.ReportProbe(buf, ap, probes[i])
		}
		return buf
	}
}

func listJumps(s *steps) {
	flags := s.Files.ListedFlags
	s.Files.ListedFlags = func(e *engine, ap *aggr, p *kprobe) kprobes.Flags {
		if !ap.Jumped() {
			return 0
		}
		return flags(e, ap, p)
	}
}

func graceEach(s *steps) {
	unregister := s.Register.UnregisterKprobes
	s.Register.UnregisterKprobes = func(e *engine, x context, kps []*kprobe) error {
		for i := range kps {
			_ = unregister(e, x, kps[i:i+1])
		}
		return nil
	}
}

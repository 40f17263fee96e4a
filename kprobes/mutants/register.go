package mutants

import (
	"kpsim/kprobes"
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

func reregUnlocked(s *steps) {
	check := s.Register.CheckKprobeRereg
	s.Register.CheckKprobeRereg = func(e *engine, x context, p *kprobe) error {
		if err := check(e, x, p); err != nil {
			return err
		}
		e.Mutex().Unlock(x)
		x.Step("warn_kprobe_rereg", 1)
		e.Mutex().Lock(x)
		return nil
	}
}

func checkUnlocked(s *steps) {
	get := s.Register.TryModuleGet
	s.Register.TryModuleGet = func(e *engine, x context, addr arch.Addr) (*kapi.Module, error) {
		e.Mutex().Unlock(x)
		m, err := get(e, x, addr)
		x.Step("check_kprobe_address_safe", 1)
		e.Mutex().Lock(x)
		return m, err
	}
}

// unheld are modules that aren't held; deaf ones don't notify of their state.
type (
	unheld struct{ kapi.Modules }
	deaf   struct{ kapi.Modules }
)

// Get implements kapi.Modules.
func (unheld) Get(context, *kapi.Module) bool { return true }

// Put implements kapi.Modules.
func (unheld) Put(context, *kapi.Module) {}

// heldOnce are modules that are never released.
type heldOnce struct{ kapi.Modules }

// Put implements kapi.Modules.
func (heldOnce) Put(context, *kapi.Module) {}

func moduleHeld(w *Wiring) {
	if w.Deps.Modules != nil {
		w.Deps.Modules = heldOnce{w.Deps.Modules}
	}
}

// OnChange implements kapi.Modules.
func (deaf) OnChange(kapi.ModuleNotifier) {}

func noModuleRef(w *Wiring) {
	if w.Deps.Modules != nil {
		w.Deps.Modules = unheld{w.Deps.Modules}
	}
}

func moduleKept(w *Wiring) {
	if w.Deps.Modules != nil {
		w.Deps.Modules = deaf{w.Deps.Modules}
	}
}

func enableLost(s *steps) {
	enabled, add, enable := s.Arm.AggrEnabled, s.Register.AddNewKprobe, s.Arm.EnableAggr
	s.Arm.AggrEnabled = func(ap *aggr) bool { return ap.Note&noteSilent == 0 && enabled(ap) }
	s.Register.AddNewKprobe = func(e *engine, x context, ap *aggr, p *kprobe) {
		add(e, x, ap, p)
		ap.Note |= noteShared
		if e.FlagsOf(p)&kprobes.FlagDisabled == 0 {
			ap.Note &^= noteSilent
		}
	}
	s.Arm.EnableAggr = func(e *engine, x context, ap *aggr, p *kprobe) error {
		if !e.Files.Disarmed() {
			ap.Note &^= noteSilent
			return enable(e, x, ap, p)
		}
		if ap.Note&noteShared != 0 || ap.HasDetour() {
			if !s.Arm.AggrEnabled(ap) {
				ap.Note |= noteSilent
			}
			s.Arm.SetDisabled(x, p, false)
		}
		return nil
	}
}

func disabledDropped(s *steps) {
	add := s.Register.AddNewKprobe
	s.Register.AddNewKprobe = func(e *engine, x context, ap *aggr, p *kprobe) {
		if !p.Disabled() {
			add(e, x, ap, p)
		}
	}
}

func reuseDisabled(s *steps) {
	enabled, add, reuse := s.Arm.AggrEnabled, s.Register.AddNewKprobe, s.Optimizer.CancelUnoptimize
	s.Arm.AggrEnabled = func(ap *aggr) bool { return enabled(ap) || ap.Note&(noteReused|noteSilent) == noteReused }
	s.Register.AddNewKprobe = func(e *engine, x context, ap *aggr, p *kprobe) {
		if e.Optimizer.Unoptimizing(ap) && ap.Unused() {
			reuse(e, x, ap)
			ap.Note |= noteReused
		}
		add(e, x, ap, p)
	}
}

func saveArmed(w *Wiring) {
	w.Steps().Arm.ArchArmKprobe = func(_ *engine, x context, ap *aggr) {
		w.Deps.Text.Poke(x, ap.Addr(), int3)
		w.Deps.Text.Read(x, ap.Addr(), ap.Orig()[:1])
		w.Deps.Sync.Core(x, kpev.SyncArm)
	}
}

func hideFirst(s *steps) {
	disarm := s.Arm.DisarmKprobe
	s.Arm.DisarmKprobe = func(e *engine, x context, ap *aggr) bool {
		if ap.Unused() {
			s.Register.HideKprobe(e, x, ap)
		}
		return disarm(e, x, ap)
	}
}

// swapInTwo shows an empty list first: list_del and list_add in two.
func swapInTwo[L any](publish *func(context, *aggr, *L)) {
	was := *publish
	*publish = func(x context, ap *aggr, list *L) { was(x, ap, new(L)); was(x, ap, list) }
}

func sharedNoGrace(s *steps) {
	wait := s.Register.UnregisterWait
	s.Register.UnregisterWait = func(e *engine, x context, gone *aggr) {
		if gone != nil {
			wait(e, x, gone)
		}
	}
}

func freeFirst(s *steps) {
	wait, free := s.Register.UnregisterWait, s.Register.UnregisterKprobeBottom
	s.Register.UnregisterWait = func(e *engine, x context, gone *aggr) {
		if gone != nil {
			free(e, x, gone)
		}
		wait(e, x, gone)
	}
	skip3(&s.Register.UnregisterKprobeBottom)
}

func jumpKept(s *steps) {
	disarm := s.Arm.DisarmDisabled
	s.Arm.DisarmDisabled = func(e *engine, x context, ap *aggr) {
		if !ap.Jumped() {
			disarm(e, x, ap)
		}
	}
}

func toggleAny(s *steps) {
	for _, toggle := range []*func(*engine, context, *kprobe) error{&s.Arm.EnableKprobe, &s.Arm.DisableKprobe} {
		was := *toggle
		*toggle = func(e *engine, x context, p *kprobe) error {
			if err := was(e, x, p); err != kprobes.EINVAL || p.Registered() {
				return err
			}
			return nil
		}
	}
}

func toggleOnce(s *steps) {
	for _, t := range []struct {
		toggle *func(*engine, context, *kprobe) error
		is     kprobes.Flags
	}{{&s.Arm.EnableKprobe, 0}, {&s.Arm.DisableKprobe, kprobes.FlagDisabled}} {
		was := *t.toggle
		*t.toggle = func(e *engine, x context, p *kprobe) error {
			already := p.Registered() && e.FlagsOf(p)&kprobes.FlagDisabled == t.is
			if err := was(e, x, p); err != nil || !already {
				return err
			}
			return kprobes.EINVAL
		}
	}
}

func armBeforeClear(s *steps) {
	set, arm := s.Files.SetAllDisarmed, s.Files.ArmAllKprobes
	s.Files.SetAllDisarmed = func(e *engine, on bool) {
		if on {
			set(e, true)
		}
	}
	s.Files.ArmAllKprobes = func(e *engine, x context) (failed, all int) {
		failed, all = arm(e, x)
		set(e, false)
		return failed, all
	}
}

func ftraceByPost(s *steps) {
	add, modifies := s.Register.AddNewKprobe, s.Gone.ArmedIPModify
	s.Register.AddNewKprobe = func(e *engine, x context, ap *aggr, p *kprobe) {
		if add(e, x, ap, p); p.Post != nil {
			ap.Note |= notePosted
		}
	}
	s.Gone.ArmedIPModify = func(e *engine, ap *aggr) bool { return modifies(e, ap) || ap.Note&notePosted != 0 }
}

func goneTraced(s *steps) {
	kill, disarm := s.Gone.KillKprobe, s.Gone.DisarmKprobeFtrace
	s.Gone.KillKprobe = func(e *engine, x context, ap *aggr) {
		ap.Note |= noteGoing
		kill(e, x, ap)
		ap.Note &^= noteGoing
	}
	s.Gone.DisarmKprobeFtrace = func(e *engine, x context, ap *aggr) {
		if ap.Note&noteGoing == 0 {
			disarm(e, x, ap)
		}
	}
}

func symbolFirst(s *steps) {
	addr := s.Register.KprobeAddr
	s.Register.KprobeAddr = func(e *engine, p *kprobe) (arch.Addr, error) {
		at := p.Addr
		if p.Symbol != "" {
			p.Addr = 0
		}
		to, err := addr(e, p)
		p.Addr = at
		return to, err
	}
}

package mutants

import (
	"kpsim/kprobes"
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

func reregUnlocked(s *steps) {
	check := s.CheckKprobeRereg
	s.CheckKprobeRereg = func(e *engine, x context, k *kprobe) error {
		if err := check(e, x, k); err != nil {
			return err
		}
		e.Mutex().Unlock(x)
		x.Step("warn_kprobe_rereg", 1)
		e.Mutex().Lock(x)
		return nil
	}
}

func checkUnlocked(s *steps) {
	get := s.TryModuleGet
	s.TryModuleGet = func(e *engine, x context, addr arch.Addr) (*kapi.Module, error) {
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
	enabled, add, enable := s.AggrEnabled, s.AddNewKprobe, s.EnableAggr
	s.AggrEnabled = func(p *aggr) bool { return p.Note&noteSilent == 0 && enabled(p) }
	s.AddNewKprobe = func(e *engine, x context, p *aggr, k *kprobe) {
		add(e, x, p, k)
		p.Note |= noteShared
		if e.FlagsOf(k)&kprobes.FlagDisabled == 0 {
			p.Note &^= noteSilent
		}
	}
	s.EnableAggr = func(e *engine, x context, p *aggr, k *kprobe) error {
		if !e.Disarmed() {
			p.Note &^= noteSilent
			return enable(e, x, p, k)
		}
		if p.Note&noteShared != 0 || p.HasDetour() {
			if !s.AggrEnabled(p) {
				p.Note |= noteSilent
			}
			s.SetDisabled(x, k, false)
		}
		return nil
	}
}

func reuseDisabled(s *steps) {
	enabled, add, reuse := s.AggrEnabled, s.AddNewKprobe, s.CancelUnoptimize
	s.AggrEnabled = func(p *aggr) bool { return enabled(p) || p.Note&(noteReused|noteSilent) == noteReused }
	s.AddNewKprobe = func(e *engine, x context, p *aggr, k *kprobe) {
		if e.Unoptimizing(p) && p.Unused() {
			reuse(e, x, p)
			p.Note |= noteReused
		}
		add(e, x, p, k)
	}
}

func saveArmed(w *Wiring) {
	w.Steps().ArchArmKprobe = func(_ *engine, x context, p *aggr) {
		w.Deps.Text.Poke(x, p.Addr(), int3)
		w.Deps.Text.Read(x, p.Addr(), p.Orig()[:1])
		w.Deps.Sync.Core(x, kpev.SyncArm)
	}
}

func hideFirst(s *steps) {
	disarm := s.DisarmKprobe
	s.DisarmKprobe = func(e *engine, x context, p *aggr) bool {
		if p.Unused() {
			s.HideKprobe(e, x, p)
		}
		return disarm(e, x, p)
	}
}

// swapInTwo shows an empty list first: list_del and list_add in two.
func swapInTwo[L any](publish *func(context, *aggr, *L)) {
	was := *publish
	*publish = func(x context, p *aggr, list *L) { was(x, p, new(L)); was(x, p, list) }
}

func sharedNoGrace(s *steps) {
	wait := s.UnregisterWait
	s.UnregisterWait = func(e *engine, x context, gone *aggr) {
		if gone != nil {
			wait(e, x, gone)
		}
	}
}

func freeFirst(s *steps) {
	wait, free := s.UnregisterWait, s.UnregisterKprobeBottom
	s.UnregisterWait = func(e *engine, x context, gone *aggr) {
		if gone != nil {
			free(e, x, gone)
		}
		wait(e, x, gone)
	}
	skip3(&s.UnregisterKprobeBottom)
}

func jumpKept(s *steps) {
	disarm := s.DisarmDisabled
	s.DisarmDisabled = func(e *engine, x context, p *aggr) {
		if !p.Jumped() {
			disarm(e, x, p)
		}
	}
}

func toggleAny(s *steps) {
	for _, toggle := range []*func(*engine, context, *kprobe) error{&s.EnableKprobe, &s.DisableKprobe} {
		was := *toggle
		*toggle = func(e *engine, x context, k *kprobe) error {
			if err := was(e, x, k); err != kprobes.EINVAL || k.Registered() {
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
	}{{&s.EnableKprobe, 0}, {&s.DisableKprobe, kprobes.FlagDisabled}} {
		was := *t.toggle
		*t.toggle = func(e *engine, x context, k *kprobe) error {
			already := k.Registered() && e.FlagsOf(k)&kprobes.FlagDisabled == t.is
			if err := was(e, x, k); err != nil || !already {
				return err
			}
			return kprobes.EINVAL
		}
	}
}

func armBeforeClear(s *steps) {
	set, arm := s.SetAllDisarmed, s.ArmAllKprobes
	s.SetAllDisarmed = func(e *engine, on bool) {
		if on {
			set(e, true)
		}
	}
	s.ArmAllKprobes = func(e *engine, x context) { arm(e, x); set(e, false) }
}

func ftraceByPost(s *steps) {
	add, modifies := s.AddNewKprobe, s.ArmedIPModify
	s.AddNewKprobe = func(e *engine, x context, p *aggr, k *kprobe) {
		if add(e, x, p, k); k.Post != nil {
			p.Note |= notePosted
		}
	}
	s.ArmedIPModify = func(e *engine, p *aggr) bool { return modifies(e, p) || p.Note&notePosted != 0 }
}

func symbolFirst(s *steps) {
	addr := s.KprobeAddr
	s.KprobeAddr = func(e *engine, k *kprobe) (arch.Addr, error) {
		at := k.Addr
		if k.Symbol != "" {
			k.Addr = 0
		}
		to, err := addr(e, k)
		k.Addr = at
		return to, err
	}
}

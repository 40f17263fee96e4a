package rig

import (
	"fmt"

	"kpsim/engine"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/kprobes"
	"kpsim/kprobes/plug"
	"kpsim/kprobes/rules"
	"kpsim/linux"
	"kpsim/linux/boot"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// kernelOf returns how a scenario's kernel is built and booted.
func kernelOf(sc *scenario.Scenario, row *engine.Row, settings any) kernel.Config {
	c := kernel.Config{
		Preemptible: sc.Machine.Preempt.Built(),
		Voluntary:   sc.Machine.Preempt == scenario.PreemptVoluntary || sc.Machine.Preempt == scenario.PreemptDynamic,
		Hotplug:     sc.Does(act.Hotplug) || offline(sc),
		Offline:     offline(sc),
		Goes:        goes(sc.Machine.Edition),
		Stall:       sc.Machine.Stall,
		TellReaders: row == &linux.Row,
		Latch:       sc.Does(act.Spin),
		Signal:      sc.Does(act.WaitSignal) || sc.Does(act.Signal),
		StackCheck:  sc.Machine.Quiesce == kapi.QuiesceStackCheck,
		NoModules:   sc.Machine.Modules == scenario.LoadingNone,
		NoUnload:    sc.Machine.Modules == scenario.LoadingStay,
		NMIsNest:    !sc.Machine.NMILatch,
		PageGrace:   sc.Machine.Edition != rules.Edition26,
	}
	if c.Counting = sc.Machine.Counting; row == &linux.Row {
		c.Counting = kapi.CountsOwn
	}
	if row.Memory != nil {
		c.Exec = row.Memory(settings)
	}
	return c
}

// offline reports whether CPUs go offline in a scenario.
func offline(sc *scenario.Scenario) bool {
	return sc.Machine.Offline != 0 || sc.Does(act.Offline) || sc.Does(act.Online)
}

// goes returns how CPUs go offline in an edition.
func goes(e rules.Edition) kernel.Going {
	switch e {
	case rules.Edition26:
		return kernel.GoesSched
	case rules.Edition415:
		return kernel.GoesMigrated
	}
	return kernel.GoesPushed
}

// settingsOf returns the settings of a scenario's engine (engine.Config); those of machine()
// concern kprobes. A kernel's own engine has been booted before.
func settingsOf(sc *scenario.Scenario, mutant string) (any, error) {
	m := &sc.Machine
	switch m.Row() {
	case &plug.Row:
		return &plug.Settings{Settings: kprobes.Settings{Settings: m.Kprobes()},
			Memory: kprobes.Memory(m.InsnSlot(), m.DetourSlot())}, nil
	case &linux.Row:
		k, err := boot.Given(m.Image)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", sc.Name, err)
		}
		if k.Processor != m.Arch {
			return nil, fmt.Errorf("%s: it is for %s, and the kernel %s for %s; give a kernel of %s", sc.Name,
				target.Words[m.Arch], k.Image.Release, target.Words[k.Processor], target.Words[m.Arch])
		}
		b, err := boot.Kernel(k, m.CPUs)
		if mutant != "" {
			b, err = boot.Mutant(k, m.CPUs, mutant)
		}
		return &linux.Settings{Kernel: k, From: b}, err
	}
	return nil, nil
}

// siteOf returns where a function calls ftrace, 0 if it doesn't.
func (r *Rig) siteOf(name string) arch.Addr {
	for _, s := range r.Scenario.Sites {
		if s.Func == name {
			return r.funcs[name] + arch.Addr(s.Offset)
		}
	}
	return 0
}

// settings returns the settings for the engine. Each call returns a copy, because a mutant may
// change them.
func (r *Rig) settings() any {
	if s, ok := r.given.(*plug.Settings); ok {
		c := *s
		return &c
	}
	return r.given
}

// addAlternatives adds the lock prefixes that are patched in and out, and the alternatives.
func (r *Rig) addAlternatives() error {
	for i, s := range r.Scenario.Locked {
		at := r.funcs[s.Func] + arch.Addr(s.Offset)
		in, err := target.Decode(r.Text(s.Func).Code[s.Offset:], at)
		if err != nil {
			err = fmt.Errorf("%s: lock_prefix(): %s+%#x: %w", r.Scenario.Name, s.Func, s.Offset, err)
			return scenario.Placed(scenario.PartOf(scenario.TheLocked, i), err)
		}
		r.Machine.Memory().Watch(at, in.Size())
		r.Kernel.Prefix.Add(at)
	}
	for i := range r.Scenario.Alternatives {
		a := &r.Scenario.Alternatives[i]
		at := r.funcs[a.Func] + arch.Addr(a.Offset)
		r.Machine.Memory().Watch(at, len(a.Code))
		r.Kernel.Alternatives.Add(at, a.Code)
	}
	return nil
}

// image tells the monitors about an instruction that may stand at a place.
func (r *Rig) image(at arch.Addr, insn []byte) {
	lo, hi := traces.PackBytes(insn)
	r.Log.Emit(smpev.Image, 255, traces.NoTask, uint64(at), lo, hi)
}

// alternativeImages tells the monitors about both forms of each lock prefix and alternative.
func (r *Rig) alternativeImages() {
	for _, s := range r.Scenario.Locked {
		code := r.Text(s.Func).Code[s.Offset:]
		in, _ := r.arch.Decode(code, 0) // it has been decoded before
		r.Kernel.Prefix.Images(func(at arch.Addr, first [2]byte) {
			if at != r.funcs[s.Func]+arch.Addr(s.Offset) {
				return
			}
			for _, b := range first {
				r.image(at, append([]byte{b}, code[1:in.Size()]...))
			}
		})
	}
	for i := range r.Scenario.Alternatives {
		a := &r.Scenario.Alternatives[i]
		at := r.funcs[a.Func] + arch.Addr(a.Offset)
		r.image(at, r.Text(a.Func).Code[a.Offset:][:len(a.Code)])
		r.image(at, a.Code)
	}
}

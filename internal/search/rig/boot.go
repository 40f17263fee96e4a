package rig

import (
	"fmt"

	"kpsim/engine"
	"kpsim/internal/scenario"
	"kpsim/kprobes"
	"kpsim/kprobes/plug"
	"kpsim/kprobes/rules"
	"kpsim/linux"
	"kpsim/linux/boot"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
)

// kernelOf is how a scenario's kernel is built and booted.
func kernelOf(sc *scenario.Scenario, row *engine.Row, settings any) kernel.Config {
	c := kernel.Config{
		Preemptible: sc.Machine.Preempt.Built(),
		Voluntary:   sc.Machine.Preempt == scenario.PreemptVoluntary || sc.Machine.Preempt == scenario.PreemptDynamic,
		Hotplug:     sc.Does(scenario.OpHotplug) || offline(sc),
		Offline:     offline(sc),
		Stall:       sc.Machine.Stall,
		TellReaders: row == &linux.Row,
		Latch:       sc.Does(scenario.OpSpin),
		Signal:      sc.Does(scenario.OpWaitSignal) || sc.Does(scenario.OpSignal),
		StackCheck:  sc.Machine.Quiesce == kapi.QuiesceStackCheck || sc.Does(scenario.OpUnpatchFunc),
		NoModules:   sc.Machine.Modules == scenario.LoadingNone,
		NoUnload:    sc.Machine.Modules == scenario.LoadingStay,
		PageGrace:   sc.Machine.Edition != rules.Edition26,
	}
	if row.Memory != nil {
		c.Exec = row.Memory(settings)
	}
	return c
}

// offline reports whether CPUs go in a scenario.
func offline(sc *scenario.Scenario) bool {
	return sc.Does(scenario.OpOffline) || sc.Does(scenario.OpOnline)
}

// settingsOf are the settings of a scenario's engine (engine.Config): those of
// machine() are of kprobes. A kernel's own engine has been booted.
func settingsOf(sc *scenario.Scenario, mutant string) (any, error) {
	m := &sc.Machine
	switch m.Row() {
	case &plug.Row:
		return &plug.Settings{Settings: kprobes.Settings{Settings: m.Kprobes()}, Memory: kprobes.Memory(m.InsnSlot(), m.DetourSlot())}, nil
	case &linux.Row:
		k, err := boot.Given(m.Image)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", sc.Name, err)
		}
		if k.Processor != m.Arch {
			return nil, fmt.Errorf("%s: it is for %s, and the kernel %s for %s; give a kernel of %s", sc.Name, target.Words[m.Arch], k.Image.Release, target.Words[k.Processor], target.Words[m.Arch])
		}
		b, err := boot.Kernel(k, m.CPUs)
		if mutant != "" {
			b, err = boot.Mutant(k, m.CPUs, mutant)
		}
		return &linux.Settings{Kernel: k, From: b}, err
	}
	return nil, nil
}

// siteOf is where a function calls ftrace, 0 if it doesn't.
func (r *Rig) siteOf(name string) arch.Addr {
	for _, s := range r.Scenario.Sites {
		if s.Func == name {
			return r.funcs[name] + arch.Addr(s.Offset)
		}
	}
	return 0
}

package rig

import (
	"kpsim/internal/scenario"
	"kpsim/kprobes"
	"kpsim/smp/kernel"
)

// kernelOf is how a scenario's kernel is built and booted.
func kernelOf(sc *scenario.Scenario) kernel.Config {
	return kernel.Config{
		Preemptible: sc.Machine.Preempt.Built(),
		Voluntary:   sc.Machine.Preempt == scenario.PreemptVoluntary || sc.Machine.Preempt == scenario.PreemptDynamic,
		Hotplug:     sc.Does(scenario.OpHotplug),
		Latch:       sc.Does(scenario.OpSpin),
		Signal:      sc.Does(scenario.OpWaitSignal) || sc.Does(scenario.OpSignal),
		StackCheck:  sc.Machine.Quiesce == scenario.QuiesceStackCheck,
		NoModules:   sc.Machine.Modules == scenario.LoadingNone,
		NoUnload:    sc.Machine.Modules == scenario.LoadingStay,
		Exec:        kprobes.Memory(sc.Machine.InsnSlot(), sc.Machine.DetourSlot()),
		PageGrace:   sc.Machine.Edition != scenario.Edition26,
	}
}

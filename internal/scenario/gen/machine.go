package gen

import (
	"kpsim/internal/scenario"
	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
	"kpsim/smp/fetch"
	"kpsim/smp/kapi"
)

// machineOf draws the machine. From a list it takes one, and draws only its CPUs and its fetch
// model. With no list it takes an edition, or none, and changes some settings individually.
func (g *maker) machineOf(list []scenario.Machine) {
	m := &g.sc.Machine
	any := list == nil
	if any {
		list = Machines()
	}
	if *m = list[g.rand.N(len(list))]; any && g.one(8) {
		*m = scenario.Machine{Preempt: scenario.Preempt(g.rand.N(int(scenario.PreemptLazy) + 1))}
		m.Settle()
	}
	if m.CPUs = 3 + g.rand.N(2); g.one(6) {
		m.CPUs = cpusMost - g.rand.N(2)
	} else if g.one(10) { // most have a prober and a caller on the same CPU
		m.CPUs = 2
	}
	m.Memory = g.on.Memory
	m.Fetch = fetch.Model(g.rand.N(int(fetch.Mixing) + 1))
	for any && g.one(2) {
		r := &era.Drawn[g.rand.N(len(era.Drawn))]
		r.Set(&m.Settings, uint8(g.rand.N(r.Drawable())))
	}
	if g.i386 {
		m.Arch, m.Kernel.Bits32 = target.I386, true
	}
	if tongues[m.Arch] == nil {
		sound(m)
	}
}

// sound resets settings under which the correct engine, like the kernel's, breaks a property in
// some schedule.
func sound(m *scenario.Machine) {
	if m.Patch > era.PatchStopMachine {
		m.Patch = era.PatchBreakpoint
	}
	m.SyncArm = true  // kernels before 5.5 race here: --as-shipped
	m.NMILatch = true // kernels before 3.2 may nest their NMI handlers
	if m.Kernel.Edition == rules.Edition26 || m.Jprobes {
		// those rules know no ftrace site, so a breakpoint may stand in one; and a jprobe's entry
		// can't return through ftrace
		m.Kernel.Ftrace = false
	}
	if !m.Kernel.Optprobes {
		return
	}
	if m.Preempt.Built() {
		m.Quiesce = max(m.Quiesce, kapi.QuiesceTasks)
	} else {
		m.Quiesce = max(m.Quiesce, kapi.QuiesceSched)
	}
}

// built builds some kernels with retpolines or IBT, if all text fits: nothing may jump through a
// register or memory.
func (g *maker) built() {
	g.part("build")
	retpoline, ibt := g.one(6), g.one(6)
	if !retpoline && !ibt || g.on.Machines != nil {
		return
	}
	for i := range g.sc.Texts {
		t := &g.sc.Texts[i]
		for _, off := range Boundaries(g.sc, t.Name) {
			in, _ := g.arch().Decode(t.Code[off:], t.At+arch.Addr(off))
			if f := in.Flow(); f == arch.FlowIndirectCall || f == arch.FlowIndirectJump {
				return
			}
		}
	}
	g.sc.Machine.Kernel.Retpoline, g.sc.Machine.Kernel.IBT = retpoline, ibt && !g.i386
}

// settings enables the settings that rows of machine() give to a few machines: with ofEngine those
// that need something of the engine, otherwise the others. The order of parts is that of recipes.
func (g *maker) settings(ofEngine bool) {
	for _, r := range scenario.Settings {
		d := r.Drawn
		if d == nil || (d.With != nil) != ofEngine {
			continue
		}
		g.part(d.Part)
		if !g.one(d.In) || g.on.Machines != nil || d.Unless != nil && d.Unless(g.sc) {
			continue
		}
		value := uint64(1)
		if n := len(r.Words()); n > 2 {
			value += uint64(g.rand.N(n - 1))
		}
		if r.Set(&g.sc.Machine, value); d.With != nil {
			d.With(&g.sc.Machine)
		}
	}
}

// Machines returns the machines that scenarios are drawn on: each edition with each preemption
// model that it can be built with.
func Machines() (list []scenario.Machine) {
	for _, e := range rules.AllEditions() {
		for p := scenario.PreemptNone; p <= scenario.PreemptLazy; p++ {
			if e == rules.Edition26 && (p == scenario.PreemptDynamic || p == scenario.PreemptLazy) ||
				e == rules.EditionDocumented && p.Built() || p == scenario.PreemptLazy && e < rules.Edition69 {
				continue
			}
			m := scenario.Machine{Edition: e, Preempt: p}
			m.Settle()
			list = append(list, m)
		}
	}
	return list
}

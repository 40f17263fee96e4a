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

// machineOf draws the machine: one of a list, as it is but for its CPUs and its fetch model.
// Of none it is one of an edition, or of no edition, some of whose settings are changed by
// themselves.
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
	} else if g.one(10) { // most have a prober and a caller in turn
		m.CPUs = 2
	}
	m.Memory = g.on.Memory
	m.Fetch = fetch.Model(g.rand.N(int(fetch.Mixing) + 1))
	for any && g.one(2) {
		r := &era.Drawn[g.rand.N(len(era.Drawn))]
		r.Set(&m.Settings, uint8(g.rand.N(len(r.Values))))
	}
	if g.i386 {
		m.Arch, m.Kernel.Bits32 = target.I386, true
	}
	sound(m)
}

// sound puts settings under which the right engine breaks a property in some schedule,
// as the kernel's would, back to such as don't.
func sound(m *scenario.Machine) {
	if m.Patch > era.PatchStopMachine {
		m.Patch = era.PatchBreakpoint
	}
	m.SyncArm = true  // kernels until 5.5: --as-shipped
	m.NMILatch = true // kernels until 3.2: their handlers of NMIs may nest
	if m.Kernel.Edition == rules.Edition26 || m.Jprobes {
		// those rules know no site of ftrace: a breakpoint may stand in one; and through ftrace no
		// jprobe's entry comes back
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

// built lets some kernels be built with retpolines or with IBT, where all text is as such a
// kernel's: nothing jumps through a register or memory.
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

// settings switches on what rows of machine() say of a few machines: those that need something of the
// engine, or the others. The order of parts is that of recipes.
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
		if r.Set(&g.sc.Machine, 1); d.With != nil {
			d.With(&g.sc.Machine)
		}
	}
}

// Machines are the machines that scenarios are drawn on: each edition under each model
// of preemption that it can be built with.
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

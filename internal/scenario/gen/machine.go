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
		m.Kernel.Ftrace = false // those rules know no site of ftrace: a breakpoint may stand in one; and through ftrace no jprobe's entry comes back
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

// returns lets some CPUs return from events as FRED has it, beside an engine that can do
// with that: one that synchronizes them after it has written a copy. A jump that is put
// behind a copy later can't be.
func (g *maker) returns() {
	g.part("returns")
	m := &g.sc.Machine
	if !g.one(12) || g.on.Machines != nil || m.Boost == era.BoostStepped || g.i386 { // there is no FRED of 32 bits
		return
	}
	m.FRED, m.SyncCopies = true, true
}

// late lets the traps of some breakpoints come late, beside an engine that can do with
// that: one that looks whether the breakpoint is still there. That is no help beside
// other patchers, whose breakpoints come again at the same place.
func (g *maker) late() {
	g.part("late")
	s, m := g.sc, &g.sc.Machine
	if !g.one(12) || g.on.Machines != nil || len(s.Labels)+len(s.Sites)+len(s.Locked)+len(s.Calls) > 0 {
		return
	}
	m.Late, m.RemovedInt3 = true, true
}

// ticks takes the timer tick from some machines' idle CPUs. Stalls aren't drawn: a program
// that is drawn may well keep a CPU for long.
func (g *maker) ticks() {
	g.part("ticks")
	g.sc.Machine.NoHZ = g.one(12) && g.on.Machines == nil
}

// Machines are the machines that scenarios are drawn on: each edition under each model
// of preemption that it can be built with.
func Machines() (list []scenario.Machine) {
	for _, e := range rules.AllEditions() {
		for p := scenario.PreemptNone; p <= scenario.PreemptLazy; p++ {
			if e == rules.Edition26 && (p == scenario.PreemptDynamic || p == scenario.PreemptLazy) || e == rules.EditionDocumented && p.Built() || p == scenario.PreemptLazy && e < rules.Edition69 {
				continue
			}
			m := scenario.Machine{Edition: e, Preempt: p}
			m.Settle()
			list = append(list, m)
		}
	}
	return list
}

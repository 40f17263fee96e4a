package twoengines

import (
	"fmt"
	"strings"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/gen"
	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/linux"
	"kpsim/smp/arch/target"
)

// Edition returns the edition whose protocols a kernel has, by the release's number; for a name without one it is the
// newest.
func Edition(release string) rules.Edition {
	for _, of := range [...]struct {
		series  string
		edition rules.Edition
	}{{"5.", rules.Edition514}, {"6.0", rules.Edition514}, {"6.1", rules.Edition65}, {"6.2", rules.Edition65},
		{"6.3", rules.Edition65}, {"6.4", rules.Edition65}, {"6.5", rules.Edition65}} {
		rest, is := strings.CutPrefix(release, of.series)
		if is && (strings.HasSuffix(of.series, ".") || rest == "" || rest[0] < '0' || rest[0] > '9') {
			return of.edition
		}
	}
	return rules.Edition69
}

// Machine returns the machine for which programs are drawn that a kernel is to run.
func Machine(k *linux.Kernel) scenario.Machine {
	m := scenario.Machine{Arch: k.Processor, CPUs: 2, Preempt: scenario.PreemptDynamic,
		Edition: Edition(k.Image.Release)}
	m.Settle()
	build(&m, k)
	settle(&m, k)
	return m
}

// SetOurs makes a scenario's machine that of kpsim's engine in the edition nearest to a kernel. An error is a part of
// the scenario that this edition lacks.
func SetOurs(sc *scenario.Scenario, k *linux.Kernel) error {
	if err := sc.SetEdition(Edition(k.Image.Release).String()); err != nil {
		return err
	}
	settle(&sc.Machine, k)
	return nil
}

// settle sets what a kernel has otherwise than its edition.
func settle(m *scenario.Machine, k *linux.Kernel) {
	if k.HashesReturns() {
		m.Return = era.ReturnHashed
	}
}

// examined are the processors whose kernels break nothing in drawn programs but what is known.
var examined = [...]bool{target.X8664: true, target.I386: true, target.RISCV64: true, target.ARM64: true,
	target.PPC64LE: true}

// Draws returns an error if no programs are drawn for a kernel.
func Draws(k *linux.Kernel) error {
	if examined[k.Processor] {
		return nil
	}
	return fmt.Errorf("%s: is a kernel for %s, for which no programs are drawn; give one of another processor, or "+
		"scenarios of that one to explore", k.Image.Path, k.Processor)
}

// DrawnFor returns the target of programs that a kernel's own engine runs.
func DrawnFor(k *linux.Kernel) gen.On {
	return gen.On{Machines: Machines(k), Contract: true, Few: true, Debugger: !k.AsksKgdbFirst(),
		Uprobes: k.ServesUser()}
}

// Machines returns the machines on which programs for a kernel's engine are drawn: that of Machine, and the same with
// the other preemption models that the kernel can have.
func Machines(k *linux.Kernel) (list []scenario.Machine) {
	models := []scenario.Preempt{scenario.PreemptNone, scenario.PreemptVoluntary}
	if k.Preemptible() {
		models = []scenario.Preempt{scenario.PreemptDynamic, scenario.PreemptFull}
	}
	for _, p := range models {
		m := scenario.Machine{Arch: k.Processor, CPUs: 2, Preempt: p, Edition: Edition(k.Image.Release)}
		m.Settle()
		build(&m, k)
		list = append(list, m)
	}
	return list
}

// build sets the properties of a kernel's build that the rules check: functions that only such a build has.
func build(m *scenario.Machine, k *linux.Kernel) {
	thunk := "__x86_indirect_thunk_rax"
	if m.Kernel.Bits32 = k.Processor.Bits32(); m.Kernel.Bits32 {
		thunk = "__x86_indirect_thunk_eax"
	}
	_, m.Kernel.Retpoline = k.Image.Symbol(thunk)
	_, m.Kernel.IBT = k.Image.Symbol("ibt_save")
}

// Drawn are the serial programs of a seed: with waits, and without.
func Drawn(seed uint64, m scenario.Machine) []*scenario.Scenario {
	return Serials(Straight(gen.FuzzOn(seed, m)))
}

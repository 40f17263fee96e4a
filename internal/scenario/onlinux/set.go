package onlinux

import (
	"fmt"
	"slices"

	"kpsim/engine"
	"kpsim/engine/ftrace"
	"kpsim/internal/scenario"
	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/linux"
	_ "kpsim/linux/boot" // the engine that a scenario names
	"kpsim/smp/arch/target"
)

// Set makes the machine that of a kernel's own engine, in place of the scenario's engine.
// The build is the kernel's, and off x86 how sites of ftrace are written. Of the other settings
// only patch is kept, which says how the other patchers work.
func Set(s *scenario.Scenario, k *linux.Kernel) error {
	m := &s.Machine
	if m.Arch != k.Processor {
		of, search := target.Words[k.Processor], ""
		if k.Processor != 0 { // those for the first processor don't name it
			search = " (kpsim list scenarios --search " + of + ")"
		}
		return fmt.Errorf("it is for %s, and the kernel %s for %s; take a scenario for %s%s, or leave the kernel out",
			target.Words[m.Arch], k.Image.Release, of, of, search)
	}
	if id := k.ID(); m.Image != "" && m.Image != id {
		return fmt.Errorf("it is of the kernel %s, and %s is %s; give the file that it names", m.Image, k.Image.Path,
			id)
	}
	edition := m.Edition
	m.Engine, m.Edition, m.Image = linux.Row.Name, rules.EditionNone, k.ID()
	if k.Preemptible() && m.Preempt < scenario.PreemptDynamic {
		m.Preempt = scenario.PreemptDynamic
	}
	if !k.Preemptible() {
		m.Preempt = min(m.Preempt, scenario.PreemptVoluntary)
	}
	m.Settle()
	if m.Stubs = k.Stubs(); k.StopsForSites() {
		m.Patch = era.PatchStopMachine
	}
	if m.Trampolines != ftrace.NoText { // since 3.19
		m.Trampolines = ftrace.Own
	}
	if err := hasClients(s, k, edition); err != nil {
		return err
	}
	for i := range s.Tasks {
		for j := range s.Tasks[i].Ops {
			kind := s.Tasks[i].Ops[j].Kind
			if slices.ContainsFunc(kind.Switches, func(w engine.Switch) bool { return !k.Has(w) }) {
				return scenario.Faultf(scenario.PartIn(scenario.TheTasks, i, j),
					"task %q ops[%d]: the kernel was built without the %s",
					s.Tasks[i].Name, j, kind.What)
			}
			if kind.Has(scenario.ParamInsn) && k.AsksKgdbFirst() {
				return scenario.Faultf(scenario.PartIn(scenario.TheTasks, i, j),
					"task %q ops[%d]: the kernel was built with CONFIG_KGDB_LOW_LEVEL_TRAP, and asks a "+
						"debugger before its probes; leave %s or the kernel out", s.Tasks[i].Name, j, kind)
			}
		}
	}
	if why := k.Lacks("kprobes"); why != "" && len(s.Probes) > 0 {
		return scenario.Faultf(scenario.PartOf(scenario.TheProbes, 0),
			"probe %q: kprobes of the kernel can't be run: %s; leave it out",
			s.Probes[0].Name, why)
	}
	if why := k.Lacks("fprobe"); why != "" && len(s.Fprobes) > 0 {
		return scenario.Faultf(scenario.PartOf(scenario.TheFprobes, 0),
			"fprobe %q: fprobes of the kernel can't be run: %s; leave it out",
			s.Fprobes[0].Name, why)
	}
	if len(s.Calls) > 0 && !k.CallSites() {
		return scenario.Faultf(scenario.PartOf(scenario.TheCalls, 0),
			"static call %q: the kernel is built without sites of static calls, whose calls go through "+
				"trampolines alone; leave it out", s.Calls[0].Name)
	}
	if i := s.ShortLabel(); i >= 0 && !k.ShortLabels() {
		return scenario.Faultf(scenario.PartOf(scenario.TheLabels, i),
			"label %q has a site of two bytes, which the kernel doesn't know; take 0f1f440000, or a kernel from "+
				"5.14 on", s.Labels[i].Name)
	}
	for i := range s.Labels {
		for k := range s.Modules {
			if m := &s.Modules[k]; m.Loaded && slices.ContainsFunc(s.Labels[i].Sites, func(t scenario.LabelSite) bool {
				return slices.Contains(m.Core, t.Func)
			}) {
				return scenario.Faultf(scenario.PartOf(scenario.TheLabels, i),
					"label %q is in module %q, which is there from the start: a kernel's own jump labels hear "+
						"of modules that come; let insmod load it, or leave the kernel out", s.Labels[i].Name, m.Name)
			}
		}
	}
	return scenario.Check(s)
}

// hasClients checks that a kernel has the clients of ftrace that a scenario asks for, and shares a function as those of
// its edition do.
func hasClients(s *scenario.Scenario, k *linux.Kernel, of rules.Edition) error {
	if !s.OwnClients() {
		return nil
	}
	if why := linux.ClientsLack(k); why != "" {
		return scenario.Faultf(scenario.PartOf(scenario.TheSites, 0),
			"direct calls and trampolines of the kernel's ftrace can't be run: %s; "+
				"leave them out", why)
	}
	if len(s.Fprobes) > 0 {
		return scenario.Faultf(scenario.PartOf(scenario.TheFprobes, 0),
			"fprobe %q is beside direct calls or trampolines, which a kernel's own "+
				"ftrace has: fprobes are run without them; leave it out", s.Fprobes[0].Name)
	}
	has := func(o scenario.Object) bool { return s.Any(func(op *scenario.Op) bool { return op.Kind.Object == o }) }
	if !linux.TellsClients(k) && has(scenario.TheTracer) && has(scenario.TheLivepatch) {
		return scenario.Faultf(scenario.PartOf(scenario.TheSites, 0),
			"tracer() and livepatch() together aren't run by a kernel's own ftrace "+
				"before 5.11; leave one out, or the kernel")
	}
	for i := range s.Sites {
		f := s.Sites[i].Func
		if s.Redirected(f, scenario.Live) && s.Redirected(f, scenario.Direct) && of != rules.EditionNone &&
			(of == rules.Edition514) == linux.SharesDirects(k) {
			return scenario.Faultf(scenario.PartOf(scenario.TheSites, i),
				"function %q has a direct call and a live patch: the kernel %s, and "+
					"those that the scenario is about don't; leave the kernel out", f,
				map[bool]string{true: "shares it among both", false: "refuses the second"}[linux.SharesDirects(k)])
		}
		for j := range s.Modules {
			if m := &s.Modules[j]; slices.Contains(m.Core, f) || slices.Contains(m.Init, f) {
				return scenario.Faultf(scenario.PartOf(scenario.TheSites, i),
					"function %q has a site of ftrace and is in module %q: a kernel's "+
						"own clients of ftrace know sites of the kernel itself here; take another function, or leave "+
						"the kernel out", f, m.Name)
			}
		}
	}
	return nil
}

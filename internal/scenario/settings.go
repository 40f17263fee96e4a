package scenario

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/engine"
	"kpsim/engine/ftrace"
	"kpsim/internal/nearest"
	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/linux"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
)

// SetEdition makes the machine that of an edition, by its name. All settings get the edition's
// presets, except those of the build.
func (s *Scenario) SetEdition(name string) error {
	e, ok := rules.ParseEdition(name)
	if !ok {
		return nearest.Unknown("edition", name, rules.EditionNames())
	}
	built := s.Machine
	s.Machine.Edition = e
	s.Machine.Settle()
	for i := range era.Table {
		if r := &era.Table[i]; r.Build {
			r.Set(&s.Machine.Settings, r.Get(&built.Settings))
		}
	}
	return Check(s)
}

// SetLinux makes the machine that of a kernel's own engine, in place of the scenario's engine.
// The build is the kernel's, and off x86 how sites of ftrace are written. Of the other settings
// only patch is kept, which says how the other patchers work.
func (s *Scenario) SetLinux(k *linux.Kernel) error {
	m := &s.Machine
	if m.Arch != k.Processor {
		return fmt.Errorf("it is for %s, and the kernel %s for %s; leave the kernel out", target.Words[m.Arch],
			k.Image.Release, target.Words[k.Processor])
	}
	if id := k.ID(); m.Image != "" && m.Image != id {
		return fmt.Errorf("it is of the kernel %s, and %s is %s; give the file that it names", m.Image, k.Image.Path,
			id)
	}
	edition := m.Edition
	m.Engine, m.Edition, m.Image = linux.Row.Name, rules.EditionNone, k.ID()
	if k.Preemptible() && m.Preempt < PreemptDynamic {
		m.Preempt = PreemptDynamic
	}
	if !k.Preemptible() {
		m.Preempt = min(m.Preempt, PreemptVoluntary)
	}
	m.Settle()
	if m.Stubs = k.Stubs(); k.StopsForSites() {
		m.Patch = era.PatchStopMachine
	}
	if m.Trampolines != ftrace.NoText { // since 3.19
		m.Trampolines = ftrace.Own
	}
	if err := s.hasClients(k, edition); err != nil {
		return err
	}
	for i := range s.Tasks {
		for j := range s.Tasks[i].Ops {
			kind := s.Tasks[i].Ops[j].Kind
			if slices.ContainsFunc(kind.Switches, func(w engine.Switch) bool { return !k.Has(w) }) {
				return Faultf(PartIn(TheTasks, i, j), "task %q ops[%d]: the kernel was built without the %s",
					s.Tasks[i].Name, j, kind.What)
			}
			if kind.Has(ParamInsn) && k.AsksKgdbFirst() {
				return Faultf(PartIn(TheTasks, i, j),
					"task %q ops[%d]: the kernel was built with CONFIG_KGDB_LOW_LEVEL_TRAP, and asks a "+
						"debugger before its probes; leave %s or the kernel out", s.Tasks[i].Name, j, kind)
			}
		}
	}
	if why := k.Lacks("kprobes"); why != "" && len(s.Probes) > 0 {
		return Faultf(PartOf(TheProbes, 0), "probe %q: kprobes of the kernel can't be run: %s; leave it out",
			s.Probes[0].Name, why)
	}
	if why := k.Lacks("fprobe"); why != "" && len(s.Fprobes) > 0 {
		return Faultf(PartOf(TheFprobes, 0), "fprobe %q: fprobes of the kernel can't be run: %s; leave it out",
			s.Fprobes[0].Name, why)
	}
	if len(s.Calls) > 0 && !k.CallSites() {
		return Faultf(PartOf(TheCalls, 0),
			"static call %q: the kernel is built without sites of static calls, whose calls go through "+
				"trampolines alone; leave it out", s.Calls[0].Name)
	}
	if i := s.ShortLabel(); i >= 0 && !k.ShortLabels() {
		return Faultf(PartOf(TheLabels, i),
			"label %q has a site of two bytes, which the kernel doesn't know; take 0f1f440000, or a kernel from "+
				"5.14 on", s.Labels[i].Name)
	}
	for i := range s.Labels {
		for k := range s.Modules {
			if m := &s.Modules[k]; m.Loaded && slices.ContainsFunc(s.Labels[i].Sites, func(t LabelSite) bool {
				return slices.Contains(m.Core, t.Func)
			}) {
				return Faultf(PartOf(TheLabels, i),
					"label %q is in module %q, which is there from the start: a kernel's own jump labels hear "+
						"of modules that come; let insmod load it, or leave the kernel out", s.Labels[i].Name, m.Name)
			}
		}
	}
	return Check(s)
}

// hasClients checks that a kernel has the clients of ftrace that a scenario asks for, and shares a function as those of
// its edition do.
func (s *Scenario) hasClients(k *linux.Kernel, of rules.Edition) error {
	if !s.OwnClients() {
		return nil
	}
	if why := linux.ClientsLack(k); why != "" {
		return Faultf(PartOf(TheSites, 0), "direct calls and trampolines of the kernel's ftrace can't be run: %s; "+
			"leave them out", why)
	}
	if len(s.Fprobes) > 0 {
		return Faultf(PartOf(TheFprobes, 0), "fprobe %q is beside direct calls or trampolines, which a kernel's own "+
			"ftrace has: fprobes are run without them; leave it out", s.Fprobes[0].Name)
	}
	has := func(o Object) bool { return s.Any(func(op *Op) bool { return op.Kind.Object == o }) }
	if !linux.TellsClients(k) && has(TheTracer) && has(TheLivepatch) {
		return Faultf(PartOf(TheSites, 0), "tracer() and livepatch() together aren't run by a kernel's own ftrace "+
			"before 5.11; leave one out, or the kernel")
	}
	for i := range s.Sites {
		f := s.Sites[i].Func
		if s.Redirected(f, Live) && s.Redirected(f, Direct) && of != rules.EditionNone &&
			(of == rules.Edition514) == linux.SharesDirects(k) {
			return Faultf(PartOf(TheSites, i), "function %q has a direct call and a live patch: the kernel %s, and "+
				"those that the scenario is about don't; leave the kernel out", f,
				map[bool]string{true: "shares it among both", false: "refuses the second"}[linux.SharesDirects(k)])
		}
		for j := range s.Modules {
			if m := &s.Modules[j]; slices.Contains(m.Core, f) || slices.Contains(m.Init, f) {
				return Faultf(PartOf(TheSites, i), "function %q has a site of ftrace and is in module %q: a kernel's "+
					"own clients of ftrace know sites of the kernel itself here; take another function, or leave "+
					"the kernel out", f, m.Name)
			}
		}
	}
	return nil
}

// Built reports whether a model is built with CONFIG_PREEMPTION (spec 8.1).
func (p Preempt) Built() bool { return p >= PreemptDynamic }

// Settle gives every setting the value that the edition has with this preemption, which is
// what machine(edition = …) says before anything else. Without an edition, settings get their
// defaults. How text is patched is the processor's, where that has one way.
func (m *Machine) Settle() {
	of := era.Of
	if m.Arch.Bits32() {
		of = era.Of386
	}
	m.Settings = of(m.Edition, m.Preempt.Built())
	if a := m.Processor(); !a.BreakpointFirst {
		d, _ := rules.DecoderOf(a)
		m.Settings = era.OfNumbers(m.Edition, m.Preempt.Built(), d)
		m.Patch = era.PatchWhole
	}
}

// Processor returns the architecture that the machine's kernel is built for. For i386 that is
// the row with the trap frames of its edition's kernels, or the row of a kernel's own engine.
// Code that emulates instructions changes the stack pointer, which the frames of 3c88c692c287
// (5.3) have and earlier ones don't.
func (m *Machine) Processor() *arch.Arch {
	if m.Engine == linux.Row.Name {
		return m.Arch.Linux()
	}
	return m.Arch.Row(m.Edition == rules.EditionNone || m.Edition >= rules.Edition514 || m.Step == era.StepInt3)
}

// Kprobes returns the settings in the form that kprobes takes.
func (m *Machine) Kprobes() era.Settings {
	e := m.Settings
	e.Kernel.Preemption = m.Preempt.Built()
	if d := e.Kernel.Decoder; m.Engine == linux.Row.Name && d != rules.DecodesX86 {
		e.Kernel.Ftrace = d.Traced() // what it asks for is on in each build that has ftrace
	}
	return e
}

// InsnSlot returns the size in bytes of a slot for a copied instruction, for machines of an
// edition, which allocate slots as the kernel does (MAX_INSN_SIZE). It is 0 without an
// edition: slots are then allocated so that use after free shows.
func (m *Machine) InsnSlot() int {
	switch {
	case m.Edition == rules.EditionNone:
		return 0
	case m.Processor().Align > 1: // two words
		return 8
	case m.Step == era.StepDebug || m.Boost == era.BoostStepped:
		return 16
	}
	return 15
}

// DetourSlot is that of a slot for a detour (MAX_OPTINSN_SIZE): what comes before the
// copy, 19 bytes of that and the way back, on x86-64 without frame pointers. It was
// read off a 6.1 and a 6.12 kernel, 124; those before 5.9 and 5.10 save no ss, and
// have no room for a clac.
func (m *Machine) DetourSlot() int {
	switch {
	case m.Processor().NearExec: // of ppc64le, for an arena, too
		return 396
	case m.Edition == rules.EditionNone:
		return 0
	case m.SaveSS:
		return 124
	}
	return 119
}

// Has reports whether a setting of the editions is on.
func (m *Machine) Has(word string) bool {
	i := slices.IndexFunc(era.Table, func(r era.Row) bool { return r.Word == word })
	return i >= 0 && era.Table[i].Get(&m.Settings) == 1
}

// has checks that the machine has the feature of a setting. If not, the error names the
// editions that have it.
func (c checker) has(p Part, who, what, word string, m *Machine) error {
	if m.Has(word) {
		return nil
	}
	for i := range era.Table {
		r := &era.Table[i]
		if r.Word != word {
			continue
		}
		var have []string
		for _, e := range rules.AllEditions() {
			if r.Preset(e, m.Preempt.Built()) == 1 {
				have = append(have, e.String())
			}
		}
		here := "a machine with " + word + " = False"
		if m.Edition != rules.EditionNone {
			here = "edition " + m.Edition.String()
			if word == "optprobes" && m.Preempt.Built() {
				here += " built with preemption"
			}
		}
		return Faultf(p, "%s: %s has no %s; %s: choose one, or say machine(%s = True)", who, here, what, haveIt(have),
			word)
	}
	return nil
}

func haveIt(editions []string) string {
	switch n := len(editions); n {
	case 0:
		return "no edition has"
	case 1:
		return "edition " + editions[0] + " has"
	default:
		return "editions " + strings.Join(editions[:n-1], ", ") + " and " + editions[n-1] + " have"
	}
}

// Directs reports whether the machine's kernel has direct calls from sites of ftrace, and so what BPF makes of them.
// They came with 5.5.
func (m *Machine) Directs() bool {
	return m.Edition != rules.Edition26 && m.Edition != rules.Edition415
}

// Optimizes reports whether the machine turns breakpoints into jumps, according to its
// settings and its rules.
func (m *Machine) Optimizes() bool {
	return m.Kernel.Optprobes && !m.AnyByte && m.Kernel.Edition != rules.Edition26
}

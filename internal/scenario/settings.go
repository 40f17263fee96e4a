package scenario

import (
	"slices"
	"strings"

	"kpsim/internal/nearest"
	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
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
	if m.Guest() {
		return m.Arch.Linux()
	}
	return m.Arch.Row(m.Edition == rules.EditionNone || m.Edition >= rules.Edition514 || m.Step == era.StepInt3)
}

// Kprobes returns the settings in the form that kprobes takes.
func (m *Machine) Kprobes() era.Settings {
	e := m.Settings
	e.Kernel.Preemption = m.Preempt.Built()
	if d := e.Kernel.Decoder; m.Guest() && d != rules.DecodesX86 {
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

package scenario

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/engine/ftrace"
	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
)

// Probe returns the probe of that name, nil if there is none.
func (s *Scenario) Probe(name string) *Probe {
	for i := range s.Probes {
		if s.Probes[i].Name == name {
			return &s.Probes[i]
		}
	}
	return nil
}

// Place returns the function that a probe is on. ok is false if its symbol is not a function
// here, or if the probe is after the function's end.
func (s *Scenario) Place(k *Probe) (f string, ok bool) {
	if k.Func != "" {
		return k.Func, true
	}
	for i := range s.Texts {
		if t := &s.Texts[i]; t.Name == k.Symbol && k.Offset < len(t.Code) {
			return k.Symbol, true
		}
	}
	return "", false
}

// Entry returns the distance from the place that a probe asks for to where it
// goes: the length of a function's endbr64 on a machine that is built with IBT, and that of what finds the TOC where a
// probe of ppc64le is registered by a symbol, else 0.
func (s *Scenario) Entry(k *Probe) int {
	f, ok := s.Place(k)
	if !ok || k.Offset != 0 {
		return 0
	}
	kernel := s.Machine.Kprobes().Kernel
	t := s.Text(f)
	switch {
	case t == nil:
		return 0
	case k.Symbol != "" && kernel.Decoder != rules.DecodesX86:
		at, _ := rules.LocalEntry(&kernel, t.Code, s.siteIn(f))
		return at
	case !kernel.IBT:
		return 0
	}
	return rules.Entry(&kernel, t.Code)
}

// siteIn returns where ftrace's site is in a function, -1 if it has none.
func (s *Scenario) siteIn(f string) int {
	form, ok := s.SiteForm()
	for i := range s.Sites {
		if t := &s.Sites[i]; ok && t.Func == f {
			return t.Offset + len(form.Before)
		}
	}
	return -1
}

// Where returns the address of a probe. ok is false if its symbol isn't a function here.
func (s *Scenario) Where(k *Probe) (at arch.Addr, ok bool) {
	f, ok := s.Place(k)
	for i := range s.Texts {
		if s.Texts[i].Name == f && ok {
			return s.Texts[i].At + arch.Addr(k.Offset), true
		}
	}
	return 0, false
}

// PlaceName returns the place that was asked for a probe: "f+0x3".
func (s *Scenario) PlaceName(k *Probe) string {
	f, ok := s.Place(k)
	if !ok {
		f = k.Symbol
	}
	return fmt.Sprintf("%s+%#x", f, k.Offset)
}

// Does reports whether a task does an operation.
func (s *Scenario) Does(kind *Operation) bool {
	return s.Any(func(op *Op) bool { return op.Kind == kind })
}

// OfKernel reports whether a kernel's own engine would have anything to do: for probes, or for
// other code that patches text as text_poke_bp does, or as its processor's kernels always do.
func (s *Scenario) OfKernel() bool {
	others := len(s.Labels) + len(s.Calls) + len(s.Sites)
	return len(s.Probes) > 0 ||
		others > 0 && (s.Machine.Patch == era.PatchBreakpoint || !s.Machine.Processor().BreakpointFirst)
}

// OwnClients reports whether ftrace's clients are the kernel's own: with a kernel's own engine, where there is a direct
// call, what BPF has, or ftrace's trampolines are text. Otherwise kpsim has them, and the engine only writes the sites.
func (s *Scenario) OwnClients() bool {
	return s.Machine.Guest() && (s.Machine.Trampolines != ftrace.NoText || len(s.Bpfs) > 0 ||
		s.Any(func(op *Op) bool {
			return op.Kind.Traits&Direct != 0 || op.Kind.Object == ADispatcher || op.Kind.Object == ATailCall
		}))
}

// DoesTo reports whether a task does one of these operations to the part of that name.
func (s *Scenario) DoesTo(name string, kinds ...*Operation) bool {
	return s.Any(func(op *Op) bool { return slices.Contains(kinds, op.Kind) && op.Names(name) })
}

// Any reports whether is returns true for some operation of a task.
func (s *Scenario) Any(is func(*Op) bool) bool {
	for i := range s.Tasks {
		for k := range s.Tasks[i].Ops {
			if is(&s.Tasks[i].Ops[k]) {
				return true
			}
		}
	}
	return false
}

// Uses reports whether a task does an operation on the part of that name.
func (s *Scenario) Uses(l *List, name string) bool {
	return s.Any(func(op *Op) bool { return op.Kind.Takes(l) && op.Names(name) })
}

// Symbols returns the functions and data that an operation names.
func (op *Op) Symbols() (names []string) {
	for _, a := range op.Kind.Params {
		switch a.Kind {
		case ParamFunc, ParamFuncs, ParamInsn, ParamData:
			names = append(names, op.Target)
		case ParamInto, ParamIntos, ParamCallee:
			names = append(names, op.Targets...)
		}
	}
	return names
}

// Compares reports whether an operation compares its result with the author's expectation.
func (op *Op) Compares() bool {
	return op.Checked || op.Kind.Has(ParamBytes) || op.On && op.Kind.Has(ParamProbed)
}

// Names reports whether an operation is about the part of that name.
func (op *Op) Names(name string) bool { return op.Target == name || slices.Contains(op.Targets, name) }

// DoesAny reports whether a task does an operation with one of these traits.
func (s *Scenario) DoesAny(is Traits) bool {
	return s.Any(func(op *Op) bool { return op.Kind.Traits&is != 0 })
}

// Registers reports whether a task or a handler registers a probe.
func (s *Scenario) Registers(name string) bool {
	registers := func(op *Op) bool { return op.Kind.Touches&TouchRegister != 0 && op.Names(name) }
	return s.Any(registers) || s.HandlerDoes(StepRegister, name)
}

// HandlerDoes reports whether some handler has a step of a kind on the part of that name.
func (s *Scenario) HandlerDoes(kind *StepKind, name string) bool {
	return slices.ContainsFunc(s.Probes, func(k Probe) bool {
		return slices.ContainsFunc(slices.Concat(k.Pre, k.Post, k.Fault), func(st Step) bool {
			return st.Kind == kind && st.Target == name
		})
	})
}

// Shares reports whether calls of the API about the same object may overlap: two tasks call it
// for one probe, or write one switch.
func (s *Scenario) Shares() bool {
	owner := make(map[string]int) // by probe and switch: the last task that calls the API for it, from 1
	shared := false
	for i := range s.Tasks {
		claim := func(name string) {
			shared = shared || owner[name] > 0 && owner[name] <= i
			owner[name] = i + 1
		}
		for k := range s.Tasks[i].Ops {
			op := &s.Tasks[i].Ops[k]
			switch {
			case op.Kind.Has(ParamParts):
				for _, name := range op.Targets {
					claim(name)
				}
			case op.Kind.Takes(TheProbes) && op.Kind.Touches&TouchAPI != 0:
				claim(op.Target)
			case op.Kind.Touches&(TouchSysctl|TouchEnabled) != 0:
				claim(" " + op.Kind.Word)
			}
		}
	}
	return shared
}

// SourceNames returns the names of the sources as traces have them, in order:
// "timer@cpu1", and "timer@cpu1.2" for the second of a kind on a CPU.
func (s *Scenario) SourceNames() []string {
	times := make(map[string]int)
	names := make([]string, len(s.Sources))
	for i := range s.Sources {
		name := fmt.Sprintf("%s@cpu%d", s.Sources[i].Kind, s.Sources[i].CPU)
		times[name]++
		if names[i] = name; times[name] > 1 {
			names[i] = fmt.Sprintf("%s.%d", name, times[name])
		}
	}
	return names
}

// Size describes the size of a scenario by counting what Smaller leaves out: "2 CPUs, 2 tasks,
// 5 operations, 1 source, 1 probe, 1 function".
func (s *Scenario) Size() string {
	ops := 0
	for i := range s.Tasks {
		ops += len(s.Tasks[i].Ops) * max(s.Tasks[i].Repeat, 1)
	}
	said := []string{count(s.Machine.CPUs, "CPU"), TheTasks.count(s), count(ops, "operation"), TheSources.count(s)}
	var memory []string
	for _, l := range Lists {
		switch {
		case l.Paragraph < InProbes:
			memory = append(memory, l.count(s))
		case l.Paragraph < InPrograms:
			said = append(said, l.count(s))
		}
	}
	said = slices.DeleteFunc(append(said, memory...), func(text string) bool { return text == "" })
	return strings.Join(said, ", ")
}

// count counts the parts of a list for Size.
func (l *List) count(s *Scenario) string {
	if l.Counted == "" {
		return ""
	}
	return count(l.Len(s), l.Counted)
}

func count(n int, what string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Patches reports whether a task does anything that writes text, or causes it to be written.
// If none does, a search of the scenario shows nothing.
func (s *Scenario) Patches() bool {
	return len(s.Aliases) > 0 || s.DoesAny(Patches)
}

package shell

import (
	"fmt"
	"slices"

	"kpsim/internal/search/calls"
	"kpsim/linux"
	"kpsim/linux/source"
	"kpsim/smp"
	"kpsim/smp/arch"
)

// Commands on a kernel's own engine: its compiled functions have breakpoints, and frames in a backtrace.

// kernel returns the kernel whose engine runs; nil: the engine is kpsim's own.
func (h *machine) kernel() *linux.Kernel {
	m := &h.Rig.Scenario.Machine
	if !m.Guest() {
		return nil
	}
	k, err := linux.Given(m.Image) // opened when the machine was made
	if err != nil {
		return nil
	}
	return k
}

// kernelFunctions names the compiled functions of the kernel that CPUs execute; nil: there are none.
func (h *machine) kernelFunctions() (names []string) {
	if k := h.kernel(); k != nil {
		for i := range k.Closure.Inside {
			names = append(names, k.Closure.Inside[i].Name)
		}
	}
	return names
}

// kernelPlace reads a place in a compiled function of the kernel. ok is false if the kernel has no such function. An
// error is about one that no CPU executes, or about the offset.
func (h *machine) kernelPlace(word string) (at arch.Addr, ok bool, err error) {
	k := h.kernel()
	if k == nil {
		return 0, false, nil
	}
	name, off, err := splitPlace(word)
	if err != nil {
		return 0, false, err
	}
	for i := range k.Closure.Inside {
		f := &k.Closure.Inside[i]
		switch {
		case f.Name != name:
		case uint64(off) >= max(f.Size, 1):
			return 0, true, fmt.Errorf("%s is beyond %s, which has %d bytes; write break %s", word, name, f.Size, name)
		default:
			return arch.Addr(f.Addr) + arch.Addr(off), true, nil
		}
	}
	if s, known := k.Image.Symbol(name); known && s.Func {
		return 0, true, fmt.Errorf("%s is a function of the kernel's that no CPU executes here: the engine's own "+
			"are, as register_kprobe; break Call stops where they call another, which kpsim answers", name)
	}
	return 0, false, nil
}

// stack returns what reads calls of the kernel's functions from a stack; nil: the engine is kpsim's own.
func (h gdb) stack() *calls.Stack {
	k := h.s.kernel()
	if k == nil {
		return nil
	}
	if h.source == nil || h.source.Kernel() != k {
		h.source = source.Of(k, "")
	}
	return calls.NewStack(h.s.Rig.Machine, h.source)
}

// frames describes a level of text, and the functions that have called it. depth is the number of levels above.
func (h gdb) frames(l *smp.Level, cpu, depth int) []string {
	m := h.s.Rig.Machine
	regs, _ := m.Inspect().Regs(cpu)
	switch stack := h.stack(); {
	case l.At == 0 && depth == 1 && stack != nil: // a routine that the kernel has called
		if list := stack.Called(&regs); list != nil {
			return list
		}
		return []string{"text"}
	case l.At == 0:
		return []string{"text"}
	case stack != nil && h.s.kernel().Closure.Function(uint64(l.At)) != nil:
		link := arch.Addr(0)
		if a := m.Arch(); depth == 0 && a.Pushed == 0 {
			link = arch.Addr(regs.R[a.Link])
		}
		return slices.Concat(stack.Inlined(l.At), stack.Above(l.At, l.SP, link))
	}
	list := []string{m.Names().Symbol(l.At)}
	for _, a := range h.s.callers(l.SP) {
		list = append(list, m.Names().Symbol(a))
	}
	return list
}

package scenario

import (
	"bytes"
	"fmt"
	"slices"

	"kpsim/engine/uprobe"
	"kpsim/smp/arch"
	"kpsim/smp/image"
)

// breakpoint checks the place of a debugger's breakpoint: the first byte of an instruction
// that the debugger can step, and that nothing but probes rewrites.
func (c checker) breakpoint(p Part, who string, op *Op) error {
	m := &c.s.Machine
	if err := c.function(p, who, op.Target, op.Offset); err != nil {
		return err
	}
	place := placeName(op.Target, op.Offset)
	switch {
	case !m.Row().Debugged:
		return Faultf(p, "%s: engine %s isn't told of a debugger's breakpoints; leave %s out", who, m.Engine, op.Kind)
	case c.inModule(op.Target):
		return Faultf(p, "%s: %s is of a module, which comes and goes; give a function that stays", who, op.Target)
	case c.rewritten(op.Target, op.Offset), slices.ContainsFunc(c.s.Alternatives, func(a Alternative) bool {
		return a.holds(op.Target, op.Offset)
	}):
		return Faultf(p, "%s: at %s text is rewritten by others than probes; take another instruction", who, place)
	}
	in, err := c.instruction(p, who, op.Target, op.Offset)
	if err != nil {
		return err
	}
	return c.steps(p, who, place, in)
}

// instruction returns the instruction that begins at a place of a function. It decodes from
// the function's first instruction.
func (c checker) instruction(p Part, who, name string, offset int) (in arch.Inst, err error) {
	t := c.s.Text(name)
	for off := 0; off <= offset; off += in.Size() {
		in, err = c.s.Machine.Processor().Decode(t.Code[off:], t.At+arch.Addr(off))
		if err != nil {
			return in, Faultf(p, "%s: the bytes at %s are no instruction", who, placeName(name, off))
		}
		if off == offset {
			return in, nil
		}
	}
	return in, Faultf(p, "%s: %s is inside an instruction; give the place of its first byte", who,
		placeName(name, offset))
}

// inModule reports whether a function belongs to a module.
func (c checker) inModule(name string) bool {
	return slices.ContainsFunc(c.s.Modules, func(m Module) bool {
		return slices.Contains(m.Core, name) || slices.Contains(m.Init, name)
	})
}

func placeName(f string, off int) string { return fmt.Sprintf("%s+%#x", f, off) }

// steps checks that a debugger can step an instruction.
func (c checker) steps(p Part, who, place string, in arch.Inst) error {
	switch in.Flow() {
	case arch.FlowTrapReturn, arch.FlowBreakpoint, arch.FlowHalt, arch.FlowUndefined, arch.FlowOther:
		return Faultf(p, "%s: the debugger doesn't step %v, at %s; take another instruction", who, in, place)
	}
	return nil
}

// rewritten reports whether ftrace, a jump label, a static call or smp_locks() rewrites a
// place.
func (c checker) rewritten(name string, off int) (is bool) {
	n := c.s.Machine.Processor().BranchLen
	c.s.Patched(func(t Patched) {
		is = is || t.Kind != image.SiteAlternative && t.Func == name && off >= t.Offset && off < t.Offset+n
	})
	return is
}

// ofProcess checks the number of the process in which a task hits a uprobe.
func ofProcess(_ checker, p Part, who string, op *Op) error {
	if op.Process < 0 || op.Process >= uprobe.Processes {
		return Faultf(p, "%s: process = %d; give 0 to %d", who, op.Process, uprobe.Processes-1)
	}
	return nil
}

// recursion checks how often the function at a uprobe calls itself.
func recursion(_ checker, p Part, who string, op *Op) error {
	if op.Recurses < 0 || op.Recurses >= uprobe.MostCalls {
		return Faultf(p, "%s: recurses = %d; give 0 to %d", who, op.Recurses, uprobe.MostCalls-1)
	}
	return nil
}

// longjmp checks how many calls of it longjmp leaves.
func longjmp(_ checker, p Part, who string, op *Op) error {
	if op.Leaves < 0 || op.Leaves > op.Recurses+1 {
		return Faultf(p, "%s: leaves = %d, and the function is called %d times; give 0 to %d", who, op.Leaves,
			op.Recurses+1, op.Recurses+1)
	}
	return nil
}

// returnHandler checks what a return handler calls.
func returnHandler(c checker, p Part, who string, op *Op) error {
	if op.Ret == "" {
		return nil
	}
	return c.function(p, who, op.Ret, 0)
}

// skipped checks the processes that a filter is against.
func skipped(_ checker, p Part, who string, op *Op) error {
	if op.Skips>>uprobe.Processes != 0 {
		return Faultf(p, "%s: skips has a process above %d; give 0 to %d", who, uprobe.Processes-1, uprobe.Processes-1)
	}
	return nil
}

// ofNop checks the function that begins with a uprobe's nop. All hits are of the same uprobe.
func ofNop(c checker, p Part, who string, op *Op) error {
	if c.s.Any(func(o *Op) bool { return o.Kind == op.Kind && o.At != op.At }) {
		return Faultf(p, "%s: another %s has another at; there is one uprobe: give all the same", who, op.Kind)
	}
	if op.At == "" {
		return nil
	}
	if err := c.function(p, who, op.At, 0); err != nil {
		return err
	}
	t, m := c.s.Text(op.At), &c.s.Machine
	switch pr := m.Processor(); {
	case m.Row().Boot != nil, pr.Word != 8:
		return Faultf(p, "%s: at is for the engine %q on x86-64; leave it out", who, "kprobes")
	case !bytes.HasPrefix(t.Code, pr.BranchNop.Bytes()):
		return Faultf(p, "%s: %s doesn't begin with the nop 0f1f440000; give a function that does", who, op.At)
	case c.inModule(op.At), c.rewritten(op.At, 0), t.At+2<<20 < TextBase:
		return Faultf(p, "%s: %s is of a module, or others rewrite its first instruction; give another function", who,
			op.At)
	case slices.ContainsFunc(c.s.Probes, func(k Probe) bool { return k.Func == op.At || k.Symbol == op.At }):
		return Faultf(p, "%s: %s has a probe, and is text of user mode; give another function", who, op.At)
	case op.Process != 0, op.Recurses != 0, op.Leaves != 0, c.s.Any(func(o *Op) bool { return o.Ret != "" }):
		return Faultf(p, "%s: with at there is one process, and no return handler; leave the others out", who)
	}
	return nil
}

package rig

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/scenario"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
)

// unhandled decides what happens at a fault that no handler resolves. A run
// that reaches an undefined symbol is refused: nothing is mapped there, so it
// takes a page fault. So is a run without probes, in which only the scenario
// can be to blame. In any other run the kernel dies.
func (p *Plan) unhandled(x *smp.Ctx, regs *arch.Regs, vec uint8) {
	if vec == smpev.VecPF && p.catchMissing(x, regs) {
		return
	}
	if !p.twin {
		x.Oops()
		return
	}
	f := fault{Plan: p, x: x, regs: regs, vec: vec, at: regs.IP, place: p.Machine.Names().Symbol(regs.IP)}
	what := f.what()
	x.Refuse(f.place, what)
}

// catchMissing refuses a run whose page fault is due to an undefined symbol.
func (p *Plan) catchMissing(x *smp.Ctx, regs *arch.Regs) bool {
	fault, offset, place := x.Pages().Fault(), kernel.PerCPUOffset(p.arch, x.CPU()), p.Machine.Names().Symbol(regs.IP)
	if kernel.IsCurrent(p.arch, x.CPU(), fault) {
		x.Refuse(place, `reads the task that is current, and there is no task_struct: define where it is above elf(), `+
			`percpu("const_pcpu_hot", …) or, for other kernels than 6.6 to 6.14, percpu("pcpu_hot", …) or percpu("current_task", …)`)
		return true
	}
	if !p.twin && fault != regs.IP && p.blames(regs.IP, p.codeAt(regs.IP)) {
		return false
	}
	if name := p.missingAt(fault - offset); name != "" && fault != regs.IP {
		x.Refuse(place, fmt.Sprintf("reads or writes this CPU's %s, which nobody defines; define it above "+
			"elf(), percpu(%q, …)", name, name))
		return true
	}
	name := p.missingAt(fault)
	if name == "" {
		return false
	}
	does := "reads or writes"
	if regs.IP == fault {
		does = "somebody jumps to"
		if back, ok := p.calledFrom(x, regs); ok {
			place, does = p.Machine.Names().Symbol(back), "has called"
		}
	}
	x.Refuse(place, fmt.Sprintf("%s %s, which nobody defines; define it above elf(), stub(%q) or data(%q, …)", does,
		name, name, name))
	return true
}

// calledFrom returns the return address of the call just made: the address on the stack, if it
// is in text.
func (p *Plan) calledFrom(x *smp.Ctx, regs *arch.Regs) (arch.Addr, bool) {
	back, ok := p.arch.Caller(x.Memory(), regs)
	t := p.textAt(back)
	return back, ok && t != nil && back > t.At && back <= t.At+arch.Addr(len(t.Code))
}

// A fault is a fault in the scenario's own text that no handler resolves.
type fault struct {
	*Plan
	x     *smp.Ctx
	regs  *arch.Regs
	vec   uint8
	at    arch.Addr // the address that events report
	place string    // at, as text
}

// what describes the fault, and says what to do about it.
func (f *fault) what() string {
	if f.vec == smpev.VecBP { // the address after it is saved
		f.at -= f.arch.Past
	}
	t := f.textAt(f.at)
	if t == nil {
		return f.astray()
	}
	off := int(f.at - t.At)
	f.place = fmt.Sprintf("%s+%#x", t.Name, off)
	switch end := len(t.Code); {
	case off >= end && off < end+f.arch.MaxLen && f.cutOff(t) < end:
		last := f.cutOff(t)
		f.place = fmt.Sprintf("%s+%#x", t.Name, last)
		return fmt.Sprintf("% x: runs past the end of %s: that is no whole instruction; are bytes missing?",
			t.Code[last:], t.Name)
	case off == end:
		return fmt.Sprintf("runs past the end of %s; is a ret missing?", t.Name)
	case off > end:
		return fmt.Sprintf("somebody has come here, behind the end of %s, which has %d bytes; does a jump or "+
			"call lead too far?", t.Name, end)
	}
	if f.vec == smpev.VecPF && f.x.Pages().Fault() == f.at && f.moduleOf(t.Name) != "" { // else it stores there
		return f.unloaded(t.Name)
	}
	in, err := f.arch.Decode(t.Code[off:], f.at)
	if err != nil { // its bytes have changed
		return f.plainly()
	}
	does := in.String()
	switch f.vec {
	case smpev.VecBP:
		return does + ": a breakpoint of its own, which nobody handles: leave it out; register(k) puts one " +
			"where a kprobe is"
	case smpev.VecUD:
		return does + ": is undefined on this machine, as BUG()'s is, and no handler takes the trap: give the call " +
			"arguments with which it isn't reached"
	case smpev.VecDE:
		return does + ": divides by zero, or the quotient has too many bits: give the call other arguments"
	}
	return does + ": " + f.access(in)
}

// cutOff returns the offset of the first bytes that don't decode: an instruction that the
// function's end cuts off, or no instruction at all. If everything decodes, it returns the
// function's size.
func (p *Plan) cutOff(t *scenario.Text) (off int) {
	for off < len(t.Code) {
		in, err := p.arch.Decode(t.Code[off:], t.At+arch.Addr(off))
		if err != nil {
			break
		}
		off += in.Size()
	}
	return off
}

// unloaded describes an access to text or data of a module that isn't loaded.
func (f *fault) unloaded(name string) string {
	if back, ok := f.calledFrom(f.x, f.regs); ok && f.x.Pages().Fault() == f.at {
		f.place = f.Machine.Names().Symbol(back)
	}
	return fmt.Sprintf("%s is of module %q, which isn't loaded then: insmod() first", name, f.moduleOf(name))
}

// plainly names the vector of the fault, and nothing else.
func (f *fault) plainly() string { return fmt.Sprintf("vector %d: nobody handles it", f.vec) }

// astray describes a CPU that executes memory that isn't text.
func (f *fault) astray() string {
	if f.at != f.x.Pages().Fault() && f.arch.Valid(f.at) {
		return f.plainly()
	}
	to := fmt.Sprintf("%#x", uint64(f.at))
	remedy := "; what is to be run there is given as text(…), at = that address"
	switch _, _, ok := f.Machine.Names().SymbolAt(f.at); {
	case f.at == 0:
		to, remedy = "address 0", "; a pointer to a function that isn't set?"
	case ok:
		to, remedy = f.place+", which is no text", "; what is run is given as text(…), not as data(…)"
	}
	if was, ok := f.x.Memory().Load(f.arch.StackPointer(f.regs)-arch.Addr(f.arch.Pushed), f.arch.Word); ok &&
		f.arch.Pushed > 0 && arch.Addr(was) == f.at {
		return "a ret has come here: the stack doesn't hold the return address at its top; is a pop missing?"
	}
	if back, ok := f.calledFrom(f.x, f.regs); ok {
		f.place = f.Machine.Names().Symbol(back)
		return "has called " + to + remedy
	}
	f.place = to
	return "somebody jumps here, where no function is" + remedy
}

// access describes a failed memory access.
func (f *fault) access(in arch.Inst) string {
	a := f.x.Pages().Fault()
	where := fmt.Sprintf("nobody has memory at %#x", uint64(a))
	if f.vec == smpev.VecGP {
		where = "its address isn't one of 48 bits"
	}
	regs := f.pointers(in)
	if f.vec == smpev.VecGP && len(regs) == 0 {
		return "#GP: nobody handles it"
	}
	for i, p := range regs {
		v := f.regs.R[p]
		is := fmt.Sprintf(" is %#x", v)
		if v == uint64(f.arch.Addr(arch.Addr(sim.Mix(uint64(p))))) && p != f.arch.SP {
			is = " is what nobody has set"
		}
		where += [...]string{": ", ", "}[min(i, 1)] + "%" + f.arch.RegName(p) + is
	}
	const memory = `; memory is data("d", size = 64), and a pointer to it an argument, call(f, d)`
	name, off, _ := f.Machine.Names().SymbolAt(a)
	d := f.block(name)
	switch t, stack := f.textAt(a), f.x.Thread().StackTop(); {
	case f.vec != smpev.VecPF: // the address isn't known
	case in.PerTask():
		base := "fs"
		if f.arch.Word == 4 {
			base = "gs"
		}
		return fmt.Sprintf("nobody has memory at %%%s:%#x: %s is for user programs; compile it as the kernel "+
			"is, with -fno-stack-protector", base, uint64(a), base)
	case in.PerCPU():
		v := f.arch.Addr(a - kernel.PerCPUOffset(f.arch, f.x.CPU()))
		if in, _ := kernel.PerCPUPlaces(f.arch); v < in.From || v > in.To-1 {
			return fmt.Sprintf("no per-CPU variable is at %#x; they lie from %#x on: percpu(\"v\") says where, "+
				"or elf() links to it", uint64(v), uint64(in.From))
		}
		return fmt.Sprintf("no per-CPU variable is at %#x: define it, percpu(\"v\", at = %#x)", uint64(v), uint64(v))
	case t != nil && a < t.At+arch.Addr(len(t.Code)):
		return fmt.Sprintf("writes to %s+%#x, which is text: that is patched, by a probe or a label, and not stored to",
			t.Name, a-t.At)
	case d != nil && f.moduleOf(name) != "":
		return f.unloaded(name)
	case d != nil && d.PerCPU:
		return fmt.Sprintf("nothing is at %s+%#x itself: each CPU has a copy, which is found through gs", name, off)
	case d != nil && d.Away:
		return fmt.Sprintf("%s+%#x is away, and to wait for it is to sleep, which is forbidden here", name, off)
	case a >= stack && a < stack+smp.StackSize:
		return fmt.Sprintf("reads %#x bytes above its stack: a call has six arguments at most, all in registers",
			a-stack)
	}
	return where + memory
}

// pointers returns the registers that the accessed address is computed from.
func (f *fault) pointers(in arch.Inst) []arch.Reg {
	if regs := in.AddressRegs(); regs != nil {
		return regs
	}
	if _, ok := in.IPOperand(); ok {
		return nil
	}
	const near = 16 // push is at 8 below the register
	for _, p := range f.arch.Implied {
		d := uint64(f.x.Pages().Fault()) - f.regs.R[p]
		if f.vec == smpev.VecPF && d+near < 2*near || f.vec == smpev.VecGP && !f.arch.Valid(arch.Addr(f.regs.R[p])) {
			return []arch.Reg{p}
		}
	}
	return nil
}

// noEndAlone says why the scenario's programs don't end by themselves.
func (r *Rig) noEndAlone(run Run) error {
	if run.Outcome != smp.Exhausted {
		return errors.New(r.noEnd(run))
	}
	cpu, task, place := r.Machine.Inspect().Last()
	return &LongAlone{
		says: fmt.Sprintf("cpu%d %s: %s: goes on and on, and hasn't ended after %d steps; if it is a loop that "+
			"ends, and only long, ",
			cpu, task, place, run.Counts.Boundaries),
		scenario: r.longer("say", false), trace: r.longer("say", true),
	}
}

// refusal returns why the machine refused to go on, with the part of the scenario that caused
// it.
func (p *Plan) refusal() error {
	err := p.Machine.Refusal()
	if err == nil {
		return nil
	}
	_, task, _ := p.Machine.Inspect().Last()
	place := ""
	if says := strings.SplitN(err.Error(), ": ", 3); len(says) == 3 { // cpu0 caller: f+0x2: what is wrong
		place = says[1]
	}
	return scenario.Placed(p.partOf(task, place), err)
}

// stands returns the part of the scenario that the machine's last step was in.
func (p *Plan) stands() scenario.Part {
	_, task, place := p.Machine.Inspect().Last()
	return p.partOf(task, place)
}

// partOf returns the function that contains a place. If there is none, it returns the task; if
// there is no task either, the scenario as a whole.
func (p *Plan) partOf(task, place string) scenario.Part {
	name, _, _ := strings.Cut(place, "+")
	sc := p.Scenario
	if i := slices.IndexFunc(sc.Texts, func(t scenario.Text) bool { return t.Name == name }); i >= 0 {
		return scenario.PartOf(scenario.TheTexts, i)
	}
	if i := slices.IndexFunc(sc.Tasks, func(t scenario.Task) bool { return t.Name == task }); i >= 0 {
		return scenario.PartOf(scenario.TheTasks, i)
	}
	return scenario.PartOf(scenario.TheScenario, 0)
}

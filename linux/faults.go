package linux

import (
	"cmp"
	"slices"
	"strings"

	"kpsim/kprobes/kpev"
	"kpsim/linux/linuxev"
	"kpsim/linux/vmlinux"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// traps runs the kernel's own handlers of breakpoints and faults.
type traps struct {
	*env     `state:"boot"`
	owner    [64]uint64    // by CPU: the owner of the breakpoint that the CPU handles
	chained  [64]bool      // by CPU: the die chain is to be asked for the owner once the kernel's handler returns
	stepping [64][]balance // by CPU: the state from before the probes whose copies run in slots
}

// renew removes the steps that a run has left open.
func (t *traps) renew() {
	for i := range t.stepping {
		t.stepping[i] = t.stepping[i][:0]
	}
}

// breakpoint is the routine for #BP. It runs the kernel's own handler with the frame that is
// on the stack.
func (t *traps) breakpoint(x kapi.Context, regs *arch.Regs) uint64 {
	return t.trap(x, regs, t.k.symbols.breakpoint, t.k.port.cause)
}

// debug is breakpoint for a step.
func (t *traps) debug(x kapi.Context, regs *arch.Regs) uint64 {
	return t.trap(x, regs, t.k.symbols.step, t.k.port.frames.cause)
}

func (t *traps) trap(x kapi.Context, regs *arch.Regs, handler arch.Addr,
	causeOf func(x kapi.Context) (cause, owner uint64)) uint64 {
	outer := t.owner[x.CPU()]
	t.owner[x.CPU()] = 0
	frame := t.k.arch.StackPointer(x.Regs())
	was, from, status := t.weigh(x), regs.IP, t.status(x.CPU())
	claimed := uint64(0)
	if causeOf == nil {
		t.enter(x, handler, uint64(frame))
	} else {
		var cause uint64
		cause, claimed = causeOf(x)
		t.enter(x, handler, uint64(frame+t.k.port.frames.header), cause)
	}
	t.k.arch.Frame.Load(x.Memory(), frame, regs)
	if f := t.k.port.frames.left; f != nil {
		f(t, x, frame, regs)
	}
	t.stepped(x, from, regs.IP, was, status)
	owner := cmp.Or(t.owner[x.CPU()], claimed)
	t.owner[x.CPU()] = outer
	if t.chained[x.CPU()] { // Traps asks the other owners
		t.chained[x.CPU()], owner = false, 0
	}
	return owner
}

// warn reports a WARN, except the one about a user who registers a probe twice
// (warn_kprobe_rereg).
func (t *traps) warn(x kapi.Context, regs *arch.Regs, b vmlinux.Bug) {
	if t.e.users.again[x.Task()] {
		if name, _, _ := t.k.Symbol(regs.IP); registers(name) {
			return // the WARN is about the caller, not the kernel
		}
	}
	t.d.Guest.Why(x, "WARN at "+place(b))
	x.Emit(linuxev.Warn, uint64(regs.IP), uint64(b.Line), 0)
}

// registers reports whether the kernel, in this function, warns about a caller that registers
// a registered probe (warn_kprobe_rereg, which the compiler inlines).
func registers(name string) bool {
	switch strings.TrimSuffix(name, ".part.0") {
	case "register_kprobe", "register_kretprobe", "warn_kprobe_rereg":
		return true
	}
	return false
}

// fault handles faults of text. The ud2 of a BUG or WARN reports an error that the kernel
// itself has found.
func (t *traps) fault(x kapi.Context, regs *arch.Regs, trapnr int) uint64 {
	switch trapnr {
	case smpev.VecUD:
		b, ok := t.k.Image.Bug(uint64(regs.IP))
		if !ok {
			return 0
		}
		if b.Warn {
			t.warn(x, regs, b)
			regs.IP += 2
			return linuxev.OwnerBug
		}
		t.bug(x, "BUG at "+place(b))
		return linuxev.OwnerBug
	case smpev.VecPF:
		t.e.memory.stray(x, regs.IP)
	case smpev.VecGP:
	default:
		return 0
	}
	if owner := t.underProbe(x, regs, trapnr); owner != 0 {
		return owner
	}
	if t.fixup(regs, trapnr) {
		return smpev.OwnerFault
	}
	if trapnr == smpev.VecPF {
		t.e.memory.wild(x, regs.IP)
	}
	return 0
}

// underProbe passes a fault during a probe hit to the kernel's own code, as the handlers of
// #PF and #GP do first (kprobe_page_fault). If the copy of an instruction has faulted, that
// code goes back to the original, and the probe is no longer the current one. Since 5.14
// probes have no fault handlers, and it never reports the fault as handled.
func (t *traps) underProbe(x kapi.Context, regs *arch.Regs, trapnr int) uint64 {
	was, from := t.weigh(x), regs.IP
	if was.current == 0 {
		return 0
	}
	frame := t.k.arch.StackPointer(x.Regs())
	mended := t.enter(x, t.k.symbols.faultHandler, uint64(frame+t.k.port.frames.header), uint64(trapnr))
	t.k.arch.Frame.Load(x.Memory(), frame, regs)
	if open := &t.stepping[x.CPU()]; len(*open) > 0 && t.e.memory.inCode(from) && !t.e.memory.inCode(regs.IP) {
		before := (*open)[len(*open)-1]
		was.current, was.preemption = before.current, before.preemption
		*open = (*open)[:len(*open)-1]
	}
	t.even(x, t.k.symbols.faultHandler, was)
	if mended&0xffffffff != 0 {
		return kpev.OwnerKprobe
	}
	return 0
}

// How a row of __ex_table is followed (arch/x86/include/asm/extable_fixup_types.h).
const (
	exDefault = 1  // go on at the fixup
	exFault   = 2  // go on at the fixup, with the vector in %rax
	exUaccess = 3  // go on at the fixup, with the vector in %rax
	exImmReg  = 17 // go on at the fixup, with the row's number in the row's register
)

// fixup continues at the address in the kernel's own exception table. An instruction that may
// read unmapped memory, as in copy_from_kernel_nofault, has a row there. Only the kinds of
// rows that occur in the sets are implemented; the kernel dies of any other fault.
func (t *traps) fixup(regs *arch.Regs, trapnr int) bool {
	rows := t.k.extable()
	i, ok := slices.BinarySearchFunc(rows, uint64(regs.IP), func(r vmlinux.ExEntry, at uint64) int {
		return cmp.Compare(r.Addr, at)
	})
	if !ok {
		return false
	}
	if !t.k.port.fixed(t.k, regs, &rows[i], trapnr) {
		return false
	}
	regs.IP = arch.Addr(rows[i].Fixup)
	return true
}

// fixedX86 is port.fixed of x86.
func fixedX86(k *Kernel, regs *arch.Regs, r *vmlinux.ExEntry, trapnr int) bool {
	switch r.Data & 0xff {
	case exDefault, exUaccess:
	case exFault:
		regs.R[k.arch.Result] = uint64(trapnr)
	case exImmReg:
		regs.R[r.Data>>8&0xf] = k.truncated(uint64(int64(int16(r.Data >> 16))))
	default:
		return false
	}
	return true
}

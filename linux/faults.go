package linux

import (
	"cmp"
	"slices"

	"kpsim/kprobes/kpev"
	"kpsim/linux/linuxev"
	"kpsim/linux/vmlinux"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// fault handles faults of text. The ud2 of a BUG or WARN reports an error that the kernel
// itself has found.
func (e *Linux) fault(x kapi.Context, regs *arch.Regs, trapnr int) uint64 {
	switch trapnr {
	case smpev.VecUD:
		b, ok := e.k.Image.Bug(uint64(regs.IP))
		if !ok {
			return 0
		}
		if b.Warn {
			e.warn(x, regs, b)
			regs.IP += 2
			return linuxev.OwnerBug
		}
		e.bug(x, "BUG at "+place(b))
		return linuxev.OwnerBug
	case smpev.VecPF:
		e.stray(x, regs.IP)
	case smpev.VecGP:
	default:
		return 0
	}
	if owner := e.underProbe(x, regs, trapnr); owner != 0 {
		return owner
	}
	if e.fixup(regs, trapnr) {
		return smpev.OwnerFault
	}
	if trapnr == smpev.VecPF {
		e.wild(x, regs.IP)
	}
	return 0
}

// underProbe passes a fault during a probe hit to the kernel's own code, as the handlers of
// #PF and #GP do first (kprobe_page_fault). If the copy of an instruction has faulted, that
// code goes back to the original, and the probe is no longer the current one. Since 5.14
// probes have no fault handlers, and it never reports the fault as handled.
func (e *Linux) underProbe(x kapi.Context, regs *arch.Regs, trapnr int) uint64 {
	was, from := e.weigh(x), regs.IP
	if was.current == 0 {
		return 0
	}
	frame := e.k.arch.StackPointer(x.Regs())
	mended := e.enter(x, e.k.symbols.faultHandler, uint64(frame), uint64(trapnr))
	e.k.arch.Frame.Load(x.Memory(), frame, regs)
	if open := &e.stepping[x.CPU()]; len(*open) > 0 && e.inCode(from) && !e.inCode(regs.IP) {
		was.current = (*open)[len(*open)-1]
		*open = (*open)[:len(*open)-1]
	}
	e.even(x, e.k.symbols.faultHandler, was)
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
func (e *Linux) fixup(regs *arch.Regs, trapnr int) bool {
	rows := e.k.extable()
	i, ok := slices.BinarySearchFunc(rows, uint64(regs.IP), func(r vmlinux.ExEntry, at uint64) int {
		return cmp.Compare(r.Addr, at)
	})
	if !ok {
		return false
	}
	switch r := &rows[i]; r.Data & 0xff {
	case exDefault, exUaccess:
	case exFault:
		regs.R[e.k.arch.Result] = uint64(trapnr)
	case exImmReg:
		regs.R[r.Data>>8&0xf] = e.k.truncated(uint64(int64(int16(r.Data >> 16))))
	default:
		return false
	}
	regs.IP = arch.Addr(rows[i].Fixup)
	return true
}

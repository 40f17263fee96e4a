package linux

import (
	"encoding/binary"
	"fmt"

	"kpsim/linux/linuxev"
	"kpsim/linux/vmlinux"
	"kpsim/smp/arch"
	"kpsim/smp/arch/riscv64"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// The row of riscv64. A kernel isn't relocatable there, and is moved by the addresses in its data.
var portRISCV = port{places: &places64, away: moved, trap: "do_trap_break", slot: []string{"ainsn.api.insn"},
	extends: true, bare: true, why: 1, perTask: true, current: currentRISCV, flags: "flags", wanted: wantedRISCV,
	bootText: bootTextRISCV, thunk: thunkRISCV, redirect: redirectRISCV, calls: callsRISCV, entered: enteredRISCV,
	fixed: fixedRISCV, text: portText{via: riscv64.T1}}

// Instructions of thunks (vol. 1, "RV32I"): the frame holds the return address.
const (
	riscvPush   = 0xff010113 // addi sp,sp,-16
	riscvSave   = 0x00113423 // sd ra,8(sp)
	riscvLoad   = 0x00813083 // ld ra,8(sp)
	riscvPop    = 0x01010113 // addi sp,sp,16
	riscvAUIPC  = 0x17
	riscvOpcode = 0x7f
)

// currentRISCV is port.current.
func currentRISCV(_ *Kernel, r *arch.Regs, _ *arch.TaskState, task arch.Addr) {
	r.R[riscv64.TP] = uint64(task)
}

// thunkRISCV is port.thunk.
func thunkRISCV(_ *Kernel, at arch.Addr, targets [3]arch.Addr) (code []byte, ok bool) {
	add := func(words ...uint32) {
		for _, w := range words {
			code = binary.LittleEndian.AppendUint32(code, w)
		}
	}
	add(riscvPush, riscvSave)
	for _, target := range targets {
		p, ok := riscv64.Pair(riscv64.RA, riscv64.RA, at+arch.Addr(len(code)), target)
		if !ok {
			return nil, false
		}
		add(p[:]...)
	}
	add(riscvLoad, riscvPop, riscv64.Ret)
	return code, true
}

// enteredRISCV is port.entered: a call links t0.
func enteredRISCV(_ *env, x kapi.Context) arch.Addr {
	return arch.Addr(x.Regs().R[riscv64.T0]) - riscv64.PairLen
}

// redirectRISCV is port.redirect. It changes the pairs of the functions that run, and the jumps to functions of objects
// laid over the kernel.
func redirectRISCV(k *Kernel, to map[arch.Addr]arch.Addr) error {
	for _, s := range k.Image.Symbols() {
		if thunk, ok := to[k.replacement(arch.Addr(s.Addr))]; ok && !k.rewrite(arch.Addr(s.Addr), thunk) {
			return fmt.Errorf("%s: its jump to the new one is changed", s.Name)
		}
	}
	for i := range k.Closure.Inside {
		var err error
		k.Closure.Decode(&k.Closure.Inside[i], func(in arch.Inst) {
			target, ok := in.Target()
			thunk, watched := to[target]
			if !ok || !watched || in.Flow() != arch.FlowCall && in.Flow() != arch.FlowJump {
				return
			}
			if !k.rewrite(in.Next()-riscv64.PairLen, thunk) {
				name, off, _ := k.Symbol(in.At())
				err = fmt.Errorf("%s+%#x: a call that is no pair of instructions can't be watched", name, off)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// rewrite gives a pair of auipc and jalr another target. The registers stay.
func (k *Kernel) rewrite(at, target arch.Addr) bool {
	b := k.bytes(at, riscv64.PairLen)
	if b == nil || b[0]&riscvOpcode != riscvAUIPC {
		return false
	}
	first, second := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	p, ok := riscv64.Pair(arch.Reg(first>>7&31), arch.Reg(second>>7&31), at, target)
	if !ok || first>>7&31 != second>>15&31 {
		return false
	}
	binary.LittleEndian.PutUint32(b, p[0])
	binary.LittleEndian.PutUint32(b[4:], p[1])
	return true
}

// callsRISCV is port.calls.
func callsRISCV(k *Kernel, after uint64) (to arch.Addr, ok bool) {
	const n = riscv64.PairLen
	if !k.isCode(after) {
		return 0, false
	}
	b := k.Image.Bytes(after-n, n)
	if len(b) < n || b[0]&riscvOpcode != riscvAUIPC {
		return 0, false
	}
	first, second := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	p, _ := riscv64.Pair(riscv64.RA, riscv64.RA, 0, 0)
	if second&0xfffff != p[1]&0xfffff || first>>7&31 != uint32(riscv64.RA) {
		return 0, false
	}
	return arch.Addr(after - n + uint64(int64(int32(first&^0xfff))) + uint64(int64(int32(second)>>20))), true
}

// The kinds of rows of the exception table (arch/riscv/include/asm/asm-extable.h). The lower half of a
// row's data is the kind; the upper has the numbers of two registers.
const (
	riscvFixup   = 1 // go on at the fixup
	riscvUaccess = 3 // go on at the fixup, with -EFAULT in one register and zero in another
	riscvErr     = 16
	riscvZero    = 21
	minusFault   = ^uint64(14) + 1 // -EFAULT
	riscvRegs    = 31
)

// fixedRISCV is port.fixed.
func fixedRISCV(_ *Kernel, regs *arch.Regs, r *vmlinux.ExEntry, _ int) bool {
	switch r.Data & 0xffff {
	case riscvFixup:
		return true
	case riscvUaccess:
		regs.R[r.Data>>riscvErr&riscvRegs] = minusFault
		regs.R[r.Data>>riscvZero&riscvRegs] = 0
		regs.R[riscv64.Zero] = 0
		return true
	}
	return false
}

// stopMachine is stop_machine(function, data, cpus).
func stopMachine(e *Linux, x kapi.Context, a *args) uint64 {
	f, data := arch.Addr(a[0]), a[1]
	e.d.Guest.StopAll(x, func(x kapi.Context) { e.enter(x, f, data) })
	return 0
}

// The answers of report_bug (enum bug_trap_type).
const (
	trapNone = iota
	trapWarn
	trapBug
)

// reportBug is report_bug(addr, regs).
func reportBug(e *Linux, x kapi.Context, a *args) uint64 {
	b, ok := e.k.Image.Bug(a[0])
	if !ok {
		return trapNone
	}
	e.traps.owner[x.CPU()] = linuxev.OwnerBug
	if b.Warn {
		var regs arch.Regs
		e.loadRegs(x, a[1], &regs)
		e.traps.warn(x, &regs, b)
		return trapWarn
	}
	e.bug(x, "BUG at "+place(b))
	return trapBug
}

// fixupException is fixup_exception(regs).
func fixupException(e *Linux, x kapi.Context, a *args) uint64 {
	var regs arch.Regs
	e.loadRegs(x, a[0], &regs)
	if !e.traps.fixup(&regs, smpev.VecPF) {
		return 0
	}
	e.storeRegs(x, a[0], &regs)
	return 1
}

// wantedRISCV is port.wanted: preempt_schedule goes on as long as the flag is set. It loads the flags from where
// tp points to, and masks one bit (need_resched, include/linux/sched.h).
func wantedRISCV(k *Kernel) (w kapi.Wanted) {
	const loadTP, loadMask = 0x00023003, 0x000ff07f // ld rd,off(tp)
	const andi, andiMask = 0x00007013, 0x0000707f
	s, ok := k.Image.Symbol("preempt_schedule")
	if !ok {
		return w
	}
	load := false
	for code := k.Image.Bytes(s.Addr, s.Size); len(code) > 0; {
		in, err := riscv64.Decode(code, arch.Addr(s.Addr))
		if err != nil {
			return w
		}
		w := in.(*riscv64.Inst).Word()
		if n := uint64(w >> 20); load && w&andiMask == andi && n&(n-1) == 0 {
			return kapi.Wanted{Set: n}
		}
		load = w&loadMask == loadTP && int(w>>20) == k.fields.thread.flags.off
		code = code[in.Size():]
	}
	return w
}

// A row of the table of alternatives (struct alt_entry, arch/riscv/include/asm/alternative.h): the
// distances to the code and to what may take its place, each from itself; a vendor, 0 for the ISA; the
// length; the number of an extension.
const (
	riscvAlternative = 16
	riscvZbb         = 30 // RISCV_ISA_EXT_ZBB
)

// bootTextRISCV is port.bootText: it applies the alternatives of the extensions that are executed, as
// riscv_cpufeature_patch_func does. Of those that functions of the sets have, all are of Zbb.
func bootTextRISCV(k *Kernel) error {
	for _, s := range vmlinux.Named(k.Image, ".altinstructions", ".alternative") {
		for off := 0; off+riscvAlternative <= len(s.Data); off += riscvAlternative {
			if err := k.alternativeRISCV(s.Data[off:], arch.Addr(s.Addr)+arch.Addr(off)); err != nil {
				return fmt.Errorf("%s, row %d: %w", s.Name, off/riscvAlternative, err)
			}
		}
	}
	return nil
}

// alternativeRISCV applies a row of the table, which lies at an address.
func (k *Kernel) alternativeRISCV(row []byte, at arch.Addr) error {
	le := binary.LittleEndian
	n := int(le.Uint16(row[10:]))
	if le.Uint16(row[8:]) != 0 || le.Uint32(row[12:]) != riscvZbb {
		return nil
	}
	from, to := at+distance(row), at+4+distance(row[4:])
	old, alt := k.bytes(from, n), k.bytes(to, n)
	if n != riscv64.WordLen || old == nil || alt == nil {
		return fmt.Errorf("its code isn't in the kernel: the file is damaged")
	}
	in, err := k.arch.Decode(alt, to)
	if err != nil {
		return err
	}
	copy(old, alt)
	if target, ok := in.Target(); ok { // a jump keeps its target (riscv_alternative_fix_jal)
		w, ok := riscv64.Jal(riscv64.Zero, from, target)
		if !ok || in.Flow() != arch.FlowJump {
			return fmt.Errorf("%v: only jumps within 1 MiB are known there: the kernel is newer than this program", in)
		}
		le.PutUint32(old, w)
	}
	return nil
}

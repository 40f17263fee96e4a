package linux

import (
	"encoding/binary"
	"fmt"
	"slices"

	"kpsim/kprobes/kpev"
	"kpsim/linux/vmlinux"
	"kpsim/smp/arch"
	"kpsim/smp/arch/arm64"
	"kpsim/smp/kapi"
)

// The row of arm64. A kernel is moved to where branches of scenarios reach it. Its code has no addresses, so those in
// its data are moved.
var portARM = port{places: &places64, away: movedARM, trap: "el1_brk64",
	slot: []string{"ainsn.api.insn", "ainsn.xol_insn"}, perTask: true, current: currentARM,
	flags: "preempt_count", wanted: wantedARM,
	cause: causeARM, bootText: bootTextARM, thunk: thunkARM, missed: missedARM, redirect: redirectARM, calls: callsARM,
	entered: enteredARM, fixed: fixedARM}

// armAt is where a kernel lies: bl reaches 128 MiB, and the gates and the text of scenarios lie below.
const armAt = 0xffff_ffff_8400_0000

// movedARM is port.away.
func movedARM(k *Kernel) int64 { return int64(armAt - k.Image.Sections()[0].Addr) }

// currentARM is port.current: SP_EL0 is the task (get_current, arch/arm64/include/asm/current.h).
func currentARM(_ *Kernel, _ *arch.Regs, s *arch.TaskState, task arch.Addr) {
	s[arm64.TaskCurrent] = uint64(task)
}

// causeARM is port.cause: ESR_EL1, whose immediate says whose breakpoint it is (asm/brk-imm.h). Those of BUG and WARN
// are noted by report_bug.
func causeARM(x kapi.Context) (cause, owner uint64) {
	cause = x.Memory().(arch.Systemic).System().(*arm64.System).Register(arm64.ESREL1)
	switch cause {
	case arm64.Syndrome(arm64.BrkKprobe), arm64.Syndrome(arm64.BrkKprobeStep), arm64.Syndrome(arm64.BrkKretprobe):
		owner = kpev.OwnerKprobe
	}
	return cause, owner
}

// Instructions of thunks (ARM ARM C6.2): the frame is a record of the chain of frame pointers.
const (
	armPush = 0xa9bf7bfd // stp x29, x30, [sp, #-16]!
	armPop  = 0xa8c17bfd // ldp x29, x30, [sp], #16
)

// thunkARM is port.thunk. The first instruction of the function is executed here: redirectARM puts a branch in its
// place.
func thunkARM(k *Kernel, at arch.Addr, targets [3]arch.Addr) (code []byte, ok bool) {
	add := func(w uint32) { code = binary.LittleEndian.AppendUint32(code, w) }
	branch := func(f func(at, target arch.Addr) (arch.Code, bool), target arch.Addr) {
		c, reached := f(at+arch.Addr(len(code)), target)
		code, ok = append(code, c.Bytes()...), ok && reached
	}
	first := k.bytes(targets[1], arm64.Len)
	in, err := k.arch.Decode(first, targets[1])
	if err != nil || in.Flow() != arch.FlowNext {
		return nil, false
	}
	_, _, relative := in.IPRelative()
	ok = !relative
	const body = 6 * arm64.Len // from the thunk
	add(armPush)
	branch(arm64.Call, targets[0])
	branch(arm64.Call, at+body)
	branch(arm64.Call, targets[2])
	add(armPop)
	ret := arm64.Ret()
	code = append(code, ret.Bytes()...)
	code = append(code, first...)
	branch(arm64.Jump, targets[1]+arm64.Len)
	return code, ok
}

// redirectARM is port.redirect. Functions are watched at their entries, so calls through pointers are, too.
func redirectARM(k *Kernel, to map[arch.Addr]arch.Addr) error {
	for i := range watched {
		at := k.compiled(watched[i].name)
		if thunk, ok := to[at]; ok {
			if err := k.jump(at, thunk); err != nil {
				return err
			}
		}
	}
	return nil
}

// missedARM is port.missed: pre_handler_kretprobe counts in kretprobe.nmissed, which it loads nowhere else.
func missedARM(k *Kernel, at, gate arch.Addr) (code []byte, err error) {
	const load, loadMask = 0xb9400000, 0xffc00000 // ldr (immediate) of 32 bits, unsigned offset
	site, first := arch.Addr(0), uint32(0)
	if f := k.Closure.Function(uint64(k.symbols.retPre)); f != nil {
		k.Closure.Decode(f, func(in arch.Inst) {
			w := in.(*arm64.Inst).Word()
			if w&loadMask == load && int(w>>10&0xfff)*4 == k.fields.kretprobe.missed.off {
				site, first = in.At(), w
			}
		})
	}
	if site == 0 {
		return nil, fmt.Errorf("its pre_handler_kretprobe doesn't load nmissed: the kernel is newer than this program")
	}
	const push, pop = 0xa9bf07e0, 0xa8c107e0 // stp x0, x1, [sp, #-16]!; ldp x0, x1, [sp], #16
	probe := arm64.Mov(0, arch.Reg(first>>5&31))
	for _, w := range []uint32{armPush, push, uint32(arch.Word(probe.Bytes())), 0, pop, armPop, first, 0} {
		code = binary.LittleEndian.AppendUint32(code, w)
	}
	call, _ := k.arch.Call(at+3*arm64.Len, gate)
	copy(code[3*arm64.Len:], call.Bytes())
	back, _ := k.arch.Jump(at+arch.Addr(len(code)-arm64.Len), site+arm64.Len)
	copy(code[len(code)-arm64.Len:], back.Bytes())
	return code, k.jump(site, at)
}

// enteredARM is port.entered: a call links x30.
func enteredARM(_ *env, x kapi.Context) arch.Addr { return arch.Addr(x.Regs().R[arm64.LR]) - arm64.Len }

// callsARM is port.calls.
func callsARM(k *Kernel, after uint64) (to arch.Addr, ok bool) {
	if !k.isCode(after) {
		return 0, false
	}
	b := k.Image.Bytes(after-arm64.Len, arm64.Len)
	if !k.arch.IsCall.Match(arch.Word(b)) {
		return 0, false
	}
	in, err := k.arch.Decode(b, arch.Addr(after)-arm64.Len)
	if err != nil {
		return 0, false
	}
	return in.Target()
}

// The kinds of rows of the exception table (arch/arm64/include/asm/asm-extable.h). The lower half of a row's data is
// the kind; the upper has the numbers of two registers, of five bits each.
const (
	armUaccess = 2 // go on at the fixup, with -EFAULT in the first register and zero in the second
	armKaccess = 3 // likewise, of kernel memory
	armErr     = 16
	armZero    = 21
	armRegs    = 31
)

// fixedARM is port.fixed.
func fixedARM(_ *Kernel, regs *arch.Regs, r *vmlinux.ExEntry, _ int) bool {
	if kind := r.Data & 0xffff; kind != armUaccess && kind != armKaccess {
		return false
	}
	put := func(n uint32, v uint64) {
		if n != armRegs { // the zero register
			regs.R[n] = v
		}
	}
	put(uint32(r.Data>>armErr&armRegs), minusFault)
	put(uint32(r.Data>>armZero&armRegs), 0)
	return true
}

// armSpin takes a spinlock, behind the branch that has taken the place of queued_spin_lock_slowpath's first
// instruction: it waits until the word at x0 is 0, and makes it 1.
var armSpin = []uint32{
	0x52800022, // mov w2, #1
	0xd503203f, // yield
	0x2a1f03e1, // mov w1, wzr
	0x88e17c02, // casa w1, w2, [x0]
	0x35ffffa1, // cbnz w1, the yield
	0xd65f03c0, // ret
}

// spinSlowly is queued_spin_lock_slowpath(lock, value).
func spinSlowly(e *Linux, x kapi.Context, a *args) uint64 {
	return e.call(x, e.k.at("queued_spin_lock_slowpath")+arm64.Len, a[0])
}

// kickAll is kick_all_cpus_sync(): an IPI whose return synchronizes the context.
func kickAll(e *Linux, x kapi.Context, _ *args) uint64 {
	e.d.Sync.Core(x, e.poke.why())
	return 0
}

// wantedARM is port.wanted. The count has a second half, 0 where the CPU is wanted: so the whole is 0 where the task
// is to give it up (PREEMPT_NEED_RESCHED, arch/arm64/include/asm/preempt.h).
func wantedARM(*Kernel) kapi.Wanted { return kapi.Wanted{Clear: 1 << 32} }

// A row of the table of alternatives (struct alt_instr, arch/arm64/include/asm/alternative.h): the distances to the
// code and to what may take its place, each from itself; a capability, the lengths of both. With the highest bit of the
// capability the second is a function that makes the code.
const (
	armAlternative = 12
	armCallback    = 1 << 15
)

// armHas are the capabilities that the CPUs have, by their descriptions in arm64_features
// (arch/arm64/kernel/cpufeature.c): numbers differ between releases.
var armHas = []string{"LSE atomic instructions"}

// capabilities returns the numbers of armHas.
func (k *Kernel) capabilities() (list []uint16) {
	t := k.Image.Types()
	table, _ := k.Image.Symbol("arm64_features")
	size, _ := t.Size("arm64_cpu_capabilities")
	desc, _, ok1 := t.Off("arm64_cpu_capabilities", "desc")
	number, _, ok2 := t.Off("arm64_cpu_capabilities", "capability")
	if size == 0 || !ok1 || !ok2 {
		return nil
	}
	for row := k.Image.Bytes(table.Addr, table.Size); len(row) >= size; row = row[size:] {
		if text := binary.LittleEndian.Uint64(row[desc:]); slices.Contains(armHas, k.Image.Text(text)) {
			list = append(list, binary.LittleEndian.Uint16(row[number:]))
		}
	}
	return list
}

// bootTextARM is port.bootText: it applies the alternatives of what the CPUs have, as apply_alternatives does. Of those
// that functions of the sets have, all become nops.
func bootTextARM(k *Kernel) error {
	has := k.capabilities()
	if len(has) != len(armHas) {
		return fmt.Errorf("its table arm64_features has %d of the %d features that its CPUs have: the kernel is newer "+
			"than this program", len(has), len(armHas))
	}
	if at := k.at("queued_spin_lock_slowpath"); at != 0 {
		for i, w := range armSpin {
			binary.LittleEndian.PutUint32(k.bytes(at+arm64.Len*arch.Addr(i+1), arm64.Len), w)
		}
	}
	nops := k.at("alt_cb_patch_nops")
	for _, s := range vmlinux.Named(k.Image, ".altinstructions") {
		for off := 0; off+armAlternative <= len(s.Data); off += armAlternative {
			if err := k.alternativeARM(s.Data[off:], arch.Addr(s.Addr)+arch.Addr(off), has, nops); err != nil {
				return fmt.Errorf("%s, row %d: %w", s.Name, off/armAlternative, err)
			}
		}
	}
	return nil
}

// alternativeARM applies a row of the table, which lies at an address.
func (k *Kernel) alternativeARM(row []byte, at arch.Addr, has []uint16, nops arch.Addr) error {
	feature, n := binary.LittleEndian.Uint16(row[8:]), int(row[10])
	from, by := at+distance(row), at+4+distance(row[4:])
	if !slices.Contains(has, feature&^armCallback) || k.Closure.Function(uint64(from)) == nil {
		return nil
	}
	old := k.bytes(from, n)
	if old == nil {
		return fmt.Errorf("its code isn't in the kernel: the file is damaged")
	}
	if feature&armCallback == 0 || by != nops {
		return fmt.Errorf("only nops are known there: the kernel is newer than this program")
	}
	copy(old, k.arch.Nop(n))
	return nil
}

// distance reads a signed word.
func distance(b []byte) arch.Addr { return arch.Addr(int32(binary.LittleEndian.Uint32(b))) }

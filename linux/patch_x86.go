package linux

import (
	"encoding/binary"
	"fmt"

	"kpsim/linux/vmlinux"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// callSize is how many bytes a direct call or jump takes.
const callSize = 5

// The rows of x86. Of the registers that a callee may change a trampoline of ftrace keeps those that arguments come in,
// and the result's (save_mcount_regs, arch/x86/kernel/ftrace_64.S).
var (
	portX8664 = port{places: &places64, away: moved, trap: "exc_int3", slot: []string{"ainsn.insn"}, batches: true,
		traced: 1<<10 | 1<<11, bootText: bootTextX86, thunk: thunkX86, missed: missedX86, redirect: redirectX86,
		calls: callsX86, entered: enteredX86, fixed: fixedX86}
	portI386 = port{places: &places32, away: moved32, trap: "exc_int3", slot: []string{"ainsn.insn"}, batches: true,
		bootText: bootTextX86, thunk: thunkX86, missed: missedX86, redirect: redirectX86, calls: callsX86,
		entered: enteredX86, fixed: fixedX86}
)

// bootTextX86 is port.bootText: tracing is turned off, returns use no thunk, and no call through a pointer checks the
// type of what it calls (cfi=off): functions of scenarios, and of Go, have none.
func bootTextX86(k *Kernel) error {
	for _, a := range k.Image.Fentries() {
		if b := k.bytes(arch.Addr(a), 5); b != nil && b[0] == 0xe8 {
			copy(b, k.arch.BranchNop.Bytes())
		}
	}
	for _, a := range k.Image.Returns() {
		if b := k.bytes(arch.Addr(a), 5); b != nil && b[0] == 0xe9 {
			copy(b, k.arch.BranchRet.Bytes())
		}
	}
	for _, a := range vmlinux.Traps(k.Image) {
		skipTrap(k, arch.Addr(a))
	}
	return nil
}

// skipTrap turns a jump over a trap of CONFIG_CFI, which is taken if the types agree, into one that is always taken.
func skipTrap(k *Kernel, at arch.Addr) {
	const equal, always, ud2 = 0x74, 0xeb, 2
	if b := k.bytes(at-2, 4); b != nil && b[0] == equal && b[1] == ud2 {
		b[0] = always
	}
}

// thunkX86 is port.thunk.
func thunkX86(k *Kernel, at arch.Addr, targets [3]arch.Addr) (code []byte, ok bool) {
	for _, target := range targets {
		c, ok := k.arch.Call(at+arch.Addr(len(code)), target)
		if !ok {
			return nil, false
		}
		code = append(code, c.Bytes()...)
	}
	return append(code, 0xc3), true
}

// missedX86 is port.missed: pre_handler_kretprobe adds 1 to kretprobe.nmissed of the struct that a register points to.
func missedX86(k *Kernel, at, gate arch.Addr) (code []byte, err error) {
	const add, addMod = 0x83, 0x80 // add (immediate of 8 bits) to memory at a distance of 32 bits from a register
	var site arch.Addr
	var count []byte
	if f := k.Closure.Function(uint64(k.symbols.retPre)); f != nil {
		k.Closure.Decode(f, func(in arch.Inst) {
			b := in.Bytes()
			i := len(b) - 7
			if i >= 0 && b[i] == add && b[i+1]&^7 == addMod && b[i+1]&7 != 4 &&
				binary.LittleEndian.Uint32(b[i+2:]) == uint32(k.fields.kretprobe.missed.off) {
				site, count = in.At(), b
			}
		})
	}
	if site == 0 {
		return nil, fmt.Errorf("its pre_handler_kretprobe doesn't add to nmissed: the kernel is newer than this " +
			"program")
	}
	const push, pop = 0x50, 0x58
	wide := []byte{}
	if len(count) == 8 { // the register is one of those with a prefix
		wide = []byte{0x41}
	}
	first := byte(k.arch.Args[0])
	code = append(code, push+first)
	code = append(append(code, wide...), push+count[len(count)-6]&7, pop+first)
	call, _ := k.arch.Call(at+arch.Addr(len(code)), gate)
	code = append(append(code, call.Bytes()...), pop+first)
	code = append(code, count...)
	back, _ := k.arch.Jump(at+arch.Addr(len(code)), site+arch.Addr(len(count)))
	return append(code, back.Bytes()...), k.putBranch(site, at)
}

// enteredX86 is port.entered.
func enteredX86(e *env, x kapi.Context) arch.Addr { return e.caller(x) - callSize }

// redirectX86 is port.redirect.
func redirectX86(k *Kernel, to map[arch.Addr]arch.Addr) error {
	for _, s := range k.Image.Sections() {
		if s.Name == ".text" { // the kernel's .text, and an overlay's
			k.redirect(k.bytes(arch.Addr(s.Addr), int(s.Size)), arch.Addr(s.Addr), to)
		}
	}
	return nil
}

// redirect changes the targets of calls and jumps in text that lies at an address.
func (k *Kernel) redirect(text []byte, at arch.Addr, to map[arch.Addr]arch.Addr) {
	for i := 0; i+5 <= len(text); i++ {
		if text[i] != 0xe8 && text[i] != 0xe9 {
			continue
		}
		next := at + arch.Addr(i) + 5
		thunk, ok := to[k.arch.Addr(next+arch.Addr(int64(int32(binary.LittleEndian.Uint32(text[i+1:])))))]
		if !ok {
			continue
		}
		binary.LittleEndian.PutUint32(text[i+1:], uint32(int64(thunk)-int64(next)))
	}
}

// TrampolineMark follows the jump, or ret, of a static call's trampoline (ud1 %esp, %ecx). A
// kernel patches no trampoline without it (arch/x86/kernel/static_call.c). The loader of the
// text writes it.
var TrampolineMark = []byte{0x0f, 0xb9, 0xcc}

// endbr64 is the first instruction of functions in a kernel built with CONFIG_X86_KERNEL_IBT.
var endbr64 = []byte{0xf3, 0x0f, 0x1e, 0xfa}

// entry returns where the kernel places a probe requested at an address: after a function's
// endbr64 (arch_adjust_kprobe_addr).
func (e *env) entry(asked arch.Addr) (at arch.Addr, moved bool) {
	f, ok := e.d.Symbols.Lookup(asked)
	if !e.k.config.ibt || !ok || f.Addr != asked {
		return asked, false
	}
	for i, b := range endbr64 {
		if v, _ := e.d.Guest.Get(asked+arch.Addr(i), 1); byte(v) != b {
			return asked, false
		}
	}
	return asked + arch.Addr(len(endbr64)), true
}

// callsX86 is port.calls.
func callsX86(k *Kernel, after uint64) (to arch.Addr, ok bool) {
	if !k.isCode(after) {
		return 0, false
	}
	b := k.Image.Bytes(after-5, 5)
	if len(b) < 5 || b[0] != 0xe8 {
		return 0, false
	}
	return k.arch.Addr(arch.Addr(after) + arch.Addr(int64(int32(binary.LittleEndian.Uint32(b[1:]))))), true
}

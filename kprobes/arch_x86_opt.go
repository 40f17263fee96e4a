package kprobes

import (
	"bytes"
	"encoding/binary"

	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// jumpSize is the size of the jump that replaces the region's head.
const jumpSize = 5

const jumpOpcode = 0xe9

const (
	callSize  = 5
	maxDetour = 128 + maxRegion + jumpSize
)

// shape86 returns the detour of an aggr, without its address.
func shape86(o *Optimizer, ap *Aggr) detour {
	save, restore := o.row.x86.template(o.s.SaveSS)
	d := detour{region: ap.verdict.Region, copy: len(save) + o.row.x86.idLen() + callSize + len(restore)}
	d.size = d.copy + d.region + jumpSize
	return d
}

// prepare86 fills buf. It returns false if a target is out of a jump's reach.
func prepare86(o *Optimizer, buf []byte, d detour, ap *Aggr) bool {
	save, restore := o.row.x86.template(o.s.SaveSS)
	n := copy(buf, save)
	n = len(o.row.x86.putID(buf[:n], ap.id))
	call, ok := x86.CallRel32(d.addr+arch.Addr(n), o.e.Hits.callback)
	if !ok {
		return false
	}
	n += copy(buf[n:], call[:])
	n += copy(buf[n:], restore)
	if _, ok = o.e.text.looked.judge.Detour(buf[:n], &ap.verdict, d.addr+arch.Addr(n)); !ok {
		return false
	}
	n += d.region
	back, ok := x86.JumpRel32(d.addr+arch.Addr(n), ap.addr+arch.Addr(d.region))
	if !ok {
		return false
	}
	_, ok = x86.JumpRel32(ap.addr, d.addr)
	copy(buf[n:], back[:])
	return ok
}

// unoptimize86 writes the breakpoint and the original tail back over the jump. The
// engine handles a CPU that hits the breakpoint meanwhile: the aggr is still marked optimized,
// so the CPU goes to the detour's copy.
//
//	step 1: a breakpoint over the jump's first byte; sync
//	step 2: the original tail;                       sync
//
// Context: text_mutex held.
func unoptimize86(o *Optimizer, x kapi.Context, ap *Aggr) {
	image := o.e.slots.insn[:jumpSize]
	copy(image, ap.orig[:])
	copy(image[1:], o.do.Optimizer.CopiedInsn(ap))
	image[0] = x86.Int3
	if o.s.UnoptimizesByInt3() {
		o.d.Text.Poke(x, ap.addr, image[:1])
		o.d.Sync.Core(x, kpev.SyncUnopt1)

		o.d.Text.Poke(x, ap.addr+1, image[1:])
		o.d.Sync.Core(x, kpev.SyncUnopt2)
	} else {
		o.d.Patch.Patch(x, ap.addr, image, ap.detour.addr)
	}
}

// adjustSP corrects the stack pointer in an image with ss, which was saved after ss was pushed.
func adjustSP(regs *arch.Regs, word int) { regs.R[x86.RSP] += uint64(word) }

// An x86Row holds the differences between x86-64 and i386: the text of detours and trampolines, which depends on
// the calling convention and the register image.
type x86Row struct {
	word int

	// The two halves of a detour, around the instructions that pass the aggr and call the callback. save makes a
	// register image on the stack without its last word (ss), and passes its address to the callback; restore pops
	// the flags last. saveSS and restoreSS are those of 5.10 and later: a whole image, ss first, so the saved stack
	// pointer is one word too low until the callback corrects it.
	save, restore, saveSS, restoreSS []byte

	// The end of a trampoline, after its callback: restore all but the flags, restore those, and, if it has pushed
	// its own address, skip the saved stack pointer.
	pop, flags, skip []byte

	loadID []byte // begins the instruction that loads an aggr's number, which ends with that
	idSize int
	id     arch.Reg // in which a callback gets the aggr
	saved  arch.Reg // in which a detour's callback gets the image
	image  arch.Reg // in which a trampoline's callback does

	imageFrom []byte // the last instruction of save that a trampoline has instead

	spAt     arch.Addr // offset of the saved stack pointer in the image
	load     func(m arch.Memory, at arch.Addr, r *arch.Regs) (ok bool)
	putSaved func(m arch.Memory, at arch.Addr, r *arch.Regs) (ok bool)

	// jprobe_return and the end of a Handler's text: with trap frames that have no stack
	// pointer the breakpoint is met on the stack that it returns to.
	switchesStack bool
}

// amd64 is x86-64: rdi has the aggr, rsi points to the registers.
var amd64 = x86Row{
	word: 8,
	save: []byte{
		0x54, 0x9c, 0x48, 0x8d, 0x64, 0x24, 0xe8, // push %rsp; pushfq; lea -24(%rsp),%rsp: cs ip orig_ax
		0x57, 0x56, 0x52, 0x51, 0x50, // rdi rsi rdx rcx rax
		0x41, 0x50, 0x41, 0x51, 0x41, 0x52, 0x41, 0x53, // r8 r9 r10 r11
		0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57, // rbx rbp r12 r13 r14 r15
		0x48, 0x89, 0xe6, // mov %rsp,%rsi
	},
	imageFrom: []byte{0x48, 0x89, 0xe6},
	restore: []byte{ // the flags are moved up over the saved rsp
		0x48, 0x8b, 0x94, 0x24, 0x90, 0, 0, 0, // mov flags(%rsp),%rdx
		0x48, 0x89, 0x94, 0x24, 0x98, 0, 0, 0, // mov %rdx,sp(%rsp)
		0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, // r15 r14 r13 r12 rbp rbx
		0x41, 0x5b, 0x41, 0x5a, 0x41, 0x59, 0x41, 0x58, // r11 r10 r9 r8
		0x58, 0x59, 0x5a, 0x5e, 0x5f, // rax rcx rdx rsi rdi
		0x48, 0x8d, 0x64, 0x24, 0x20, // lea 32(%rsp),%rsp
		0x9d, // popfq
	},
	pop: []byte{
		0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b,
		0x41, 0x5b, 0x41, 0x5a, 0x41, 0x59, 0x41, 0x58,
		0x58, 0x59, 0x5a, 0x5e, 0x5f,
	},
	flags:  []byte{0x48, 0x8d, 0x64, 0x24, 0x18, 0x9d}, // lea 24(%rsp),%rsp; popfq
	skip:   []byte{0x48, 0x8d, 0x64, 0x24, 0x08},       // lea 8(%rsp),%rsp
	loadID: []byte{0x48, 0xbf}, idSize: 8,              // movabs $id,%rdi
	id: x86.RDI, saved: x86.RSI, image: x86.RSI,
	spAt: x86.PtSP, load: x86.LoadPtRegs, putSaved: x86.StorePtGeneral,
}

// i386 has -mregparm=3: eax has the aggr, edx points to the registers; in a trampoline eax does.
var i386 = x86Row{
	word: 4,
	save: []byte{
		0x54, 0x9c, 0x8d, 0x64, 0x24, 0xf4, // push %esp; pushf; lea -12(%esp),%esp: cs ip orig_ax
		0x0f, 0xa8, 0x0f, 0xa0, 0x06, 0x1e, // gs fs es ds
		0x50, 0x55, 0x57, 0x56, 0x52, 0x51, 0x53, // eax ebp edi esi edx ecx ebx
		0x89, 0xe2, // mov %esp,%edx
	},
	imageFrom: []byte{0x89, 0xe0}, // mov %esp,%eax
	restore: []byte{
		0x8b, 0x54, 0x24, 0x38, // mov flags(%esp),%edx
		0x89, 0x54, 0x24, 0x3c, // mov %edx,sp(%esp)
		0x5b, 0x59, 0x5a, 0x5e, 0x5f, 0x5d, 0x58, // ebx ecx edx esi edi ebp eax
		0x8d, 0x64, 0x24, 0x20, // lea 32(%esp),%esp: the segments are as they were
		0x9d, // popf
	},
	pop:    []byte{0x5b, 0x59, 0x5a, 0x5e, 0x5f, 0x5d, 0x58},
	flags:  []byte{0x8d, 0x64, 0x24, 0x1c, 0x9d}, // lea 28(%esp),%esp; popf
	skip:   []byte{0x8d, 0x64, 0x24, 0x04},       // lea 4(%esp),%esp
	loadID: []byte{0xb8}, idSize: 4,              // mov $id,%eax
	id: x86.RAX, saved: x86.RDX, image: x86.RAX,
	spAt: x86.PtSP32, load: x86.LoadPtRegs32, putSaved: x86.StorePtGeneral32,
	switchesStack: true,
}

// x86's rows. A probe is one byte, written under running CPUs, and CPUs are synchronized after that.
var (
	rowAMD64 = ofX86(&amd64)
	rowI386  = ofX86(&i386)
)

func ofX86(r *x86Row) row {
	return row{
		word: r.word, stepEnd: int3[:], bug: []byte{0x0f, 0x0b}, x86: r,
		breakpoint:  func([]byte) []byte { return int3[:] },
		written:     written86,
		emulates:    prepareEmulation,
		writesFlags: writesFlags,
		trampoline:  trampoline86,
		enter:       enter86,
		putSaved:    r.putSaved,
		resume:      (*Hits).resumeExecution,
		keeps:       stackCopy,
		opt: &optRow{shape: shape86, prepare: prepare86, unoptimize: unoptimize86, id: r.id, saved: r.saved,
			load: r.load, putSaved: r.putSaved, breaksInto: true, pushes: true},
	}
}

func init() {
	amd64.saveSS = append([]byte{0x6a, 0x18}, amd64.save...) // push $__KERNEL_DS
	amd64.restoreSS = append([]byte(nil), amd64.restore...)
	amd64.restoreSS[12] = 0xa0                       // mov %rdx,ss(%rsp)
	amd64.restoreSS[len(amd64.restoreSS)-2] = 0x28   // lea 40(%rsp),%rsp
	i386.saveSS = append([]byte{0x16}, i386.save...) // push %ss
	i386.restoreSS = append([]byte(nil), i386.restore...)
	i386.restoreSS[7] = 0x40                     // mov %edx,ss(%esp)
	i386.restoreSS[len(i386.restoreSS)-2] = 0x24 // lea 36(%esp),%esp
}

// template returns the halves of a detour, around its call.
func (r *x86Row) template(ss bool) (save, restore []byte) {
	if ss {
		return r.saveSS, r.restoreSS
	}
	return r.save, r.restore
}

// putID appends the instruction that loads the number of a detour's aggr.
func (r *x86Row) putID(buf []byte, id uint64) []byte {
	buf = append(buf, r.loadID...)
	if r.idSize == 4 {
		return binary.LittleEndian.AppendUint32(buf, uint32(id))
	}
	return binary.LittleEndian.AppendUint64(buf, id)
}

// idLen returns how many bytes putID appends.
func (r *x86Row) idLen() int { return len(r.loadID) + r.idSize }

// trampolineSave is save with the image's address where a trampoline's callback finds it.
func (r *x86Row) trampolineSave(buf []byte) []byte {
	return append(append(buf, r.save[:len(r.save)-len(r.imageFrom)]...), r.imageFrom...)
}

// written86 returns the index of the first byte of code, from off on, that a probe may have
// written: an int3 or a jump's opcode. It returns len(code) if there is none.
func written86(_ *arch.Arch, code []byte, off int) int {
	rest := code[off:]
	if i := bytes.IndexByte(rest, x86.Int3); i >= 0 {
		rest = rest[:i]
	}
	if i := bytes.IndexByte(rest, jumpOpcode); i >= 0 {
		rest = rest[:i]
	}
	return off + len(rest)
}

var int3 = [...]byte{x86.Int3}

// switchStack is xchg %ebx,%esp, and stackReg the first of its registers.
var switchStack = []byte{0x87, 0xdc}

const stackReg = x86.RBX

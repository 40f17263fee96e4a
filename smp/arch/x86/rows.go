package x86

import (
	"encoding/binary"
	"math"

	"kpsim/smp/arch"
)

// PatchUnit is how many aligned bytes a store to text changes at once: an aligned
// quadword is stored and fetched in one piece (SDM vol. 3, "Guaranteed Atomic
// Operations").
const PatchUnit = 8

// AMD64 is a processor in 64-bit mode, with the calling convention and the trap frame
// of a 64-bit kernel.
var AMD64 = row(Mode64, arch.Arch{
	Name: "x86-64", Word: 8, ELF: 62, Herd: "X86_64",
	Registers: arch.Registers{
		IPName: "rip",
		RegNames: []string{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12",
			"r13", "r14", "r15"},
		Args:  []arch.Reg{RDI, RSI, RDX, RCX, R8, R9},
		Saved: []arch.Reg{RBX, RBP, R12, R13, R14, R15},
	},
	Valid: canonical,
	Frame: frame64, UserFrame: frameUser64,
	BootSystem: bootSystem64,
})

// I386 is a processor in 32-bit protected mode with flat segments, with the calling
// convention (-mregparm=3) and the trap frame of a 32-bit kernel of 5.3 or later.
// I386Short has that of those before: no stack pointer is in it. I386Linux has the nop of
// such kernels since 5.13, which processors had before there was a long one
// (arch/x86/include/asm/nops.h).
var (
	I386      = i386(frame32)
	I386Short = i386(frame32Short)
	I386Linux = i386(frame32)
)

func init() {
	I386Linux.BranchNop = arch.CodeOf(0x3e, 0x8d, 0x74, 0x26, 0x00) // lea %ds:0(%esi,%eiz,1),%esi
	I386Linux.Labels[0].Nop = I386Linux.BranchNop
	I386Linux.Labels[1].Nop = arch.CodeOf(0x89, 0xf6) // mov %esi,%esi
}

func i386(f arch.Frame) *arch.Arch {
	return row(Mode32, arch.Arch{
		Name: "i386", Word: 4, ELF: 3, Herd: "X86_64",
		Registers: arch.Registers{
			IPName:   "eip",
			RegNames: []string{"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi"},
			Args:     []arch.Reg{RAX, RDX, RCX},
			Saved:    []arch.Reg{RBX, RBP, RSI, RDI},
		},
		Valid: func(a arch.Addr) bool { return a>>32 == 0 },
		Frame: f, UserFrame: frameUser32,
		BootSystem: bootSystem32,
	})
}

// row completes the description of a mode.
func row(m Mode, a arch.Arch) *arch.Arch {
	a.SP, a.Result, a.Used = RSP, RAX, 16
	a.Implied = []arch.Reg{RSP, RSI, RDI}
	a.FixedFlag, a.Cleared = F1, TrapClears
	a.FlagNames = []string{0: "CF", 2: "PF", 4: "AF", 6: "ZF", 7: "SF", 8: "TF", 9: "IF", 10: "DF", 11: "OF"}
	a.Pushed = a.Word

	a.MaxLen, a.FetchUnit = MaxLen, [...]int{PatchUnit, PatchUnit, 1}
	a.Decode = m.decode
	a.Nop = NopN
	a.Breakpoint, a.Past, a.Fill = []byte{Int3}, 1, Int3*0x0101010101010101
	a.Breaks = []arch.Pattern{{Mask: 0xff, Is: Int3}}
	a.ReturnSerialises, a.Align = true, 1

	a.Set, a.Put = m.set, m.put
	a.Pad = "endbr64"
	a.BranchLen, a.Reach = JumpLen, "2 GB"
	a.Jump = func(at, target arch.Addr) (arch.Code, bool) { return branch(OpJump, at, target) }
	a.Call = func(at, target arch.Addr) (arch.Code, bool) { return branch(opCall, at, target) }
	a.BranchNop = arch.CodeOf(Nop5[:]...)
	a.BranchRet = arch.CodeOf(opRet, Int3, Int3, Int3, Int3)
	a.IsJump, a.IsCall = arch.Pattern{Mask: 0xff, Is: OpJump}, arch.Pattern{Mask: 0xff, Is: opCall}
	a.Ret = []byte{opRet}
	a.Labels = []arch.LabelForm{
		{Nop: a.BranchNop, Jump: a.Jump, IsJump: a.IsJump, Reach: "2 GB", Hex: [...]string{"0f1f440000", "e9…"}},
		{Nop: arch.CodeOf(Nop2[:]...), Jump: short, IsJump: arch.Pattern{Mask: 0xff, Is: OpShort}, Reach: "127 bytes",
			Hex: [...]string{"6690", "eb…"}},
	}
	// The form is the same whatever way text is written.
	for _, stopped := range []bool{false, true} {
		a.Sites = append(a.Sites, arch.SiteForm{Compiled: JumpLen, Nop: arch.Always(a.BranchNop), Call: a.Call,
			Stopped: stopped})
	}
	a.BreakpointFirst = true
	return &a
}

const opRet = 0xC3

// branch is Jump or Call of Arch.
func branch(op byte, at, target arch.Addr) (arch.Code, bool) {
	b, ok := rel32(op, at, target)
	return arch.CodeOf(b[:]...), ok
}

// set is Set of Arch: movabs $v,%r64, or mov $v,%r32.
func (m Mode) set(r arch.Reg, v uint64) []byte {
	if m == Mode32 {
		return binary.LittleEndian.AppendUint32([]byte{0xb8 | byte(r&7)}, uint32(v))
	}
	return binary.LittleEndian.AppendUint64([]byte{0x48 | byte(r>>3), 0xb8 | byte(r&7)}, v)
}

// put is Put of Arch, eight bytes and then one by one: movabs $…,%rax; mov %rax,off(at) and movb $…,off(at).
func (m Mode) put(at arch.Reg, b []byte) (code []byte) {
	rexB, rm := byte(at>>3), 0x80|byte(at&7) // ModRM: disp32(at)
	off := uint32(0)
	for ; len(b) >= 8 && m == Mode64; b, off = b[8:], off+8 {
		code = append(code, m.set(RAX, binary.LittleEndian.Uint64(b))...)
		code = append(code, 0x48|rexB, 0x89, rm)
		code = binary.LittleEndian.AppendUint32(code, off)
	}
	for ; len(b) > 0; b, off = b[1:], off+1 {
		if m == Mode64 { // where it is inc
			code = append(code, 0x40|rexB)
		}
		code = append(code, 0xc6, rm)
		code = binary.LittleEndian.AppendUint32(code, off)
		code = append(code, b[0])
	}
	return code
}

// short is Jump of the shorter form of a jump label.
func short(at, target arch.Addr) (arch.Code, bool) {
	d := int64(target - at - ShortLen)
	return arch.CodeOf(OpShort, byte(d)), d == int64(int8(d))
}

// decode is Decode for Arch.
func (m Mode) decode(b []byte, at arch.Addr) (arch.Inst, error) {
	in, err := m.Decode(b, at)
	if err != nil {
		return nil, err
	}
	p := new(Inst)
	*p = in
	p.Inst = p
	return p, nil
}

// Operation implements arch.Inst.
func (in *Inst) Operation() *arch.Op { return &in.Op }

// At implements arch.Inst.
func (in *Inst) At() arch.Addr { return in.Addr }

// Size implements arch.Inst.
func (in *Inst) Size() int { return int(in.Len) }

// IsNop reports whether it is nop or the long nop (SDM vol. 2, NOP), whatever its
// prefixes.
func (in *Inst) IsNop() bool {
	op := in.Opcode()
	return op == 0x90 || op == 0x0f1f
}

// IPRelative implements arch.Inst.
func (in *Inst) IPRelative() (from, to int, ok bool) {
	pos, ok := in.RIPRelative()
	return pos, pos + 4, ok
}

// IPOperand implements arch.Inst.
func (in *Inst) IPOperand() (arch.Addr, bool) { return in.RIPOperand() }

// PerCPU implements arch.Inst: a 64-bit kernel keeps it at gs, one of 32 bits at fs.
func (in *Inst) PerCPU() bool {
	if in.mode == Mode32 {
		return in.Prefixes()&PrefixFS != 0
	}
	return in.Prefixes()&PrefixGS != 0
}

// PerTask implements arch.Inst: it is what user programs keep at the other one.
func (in *Inst) PerTask() bool { return in.Prefixes()&(PrefixFS|PrefixGS) != 0 && !in.PerCPU() }

var _ arch.Inst = (*Inst)(nil)

// What the engine writes.
const (
	Int3      = 0xCC // the breakpoint
	OpJump    = 0xE9 // jmp rel32
	opCall    = 0xE8 // call rel32
	JumpLen   = 5    // of jmp rel32 and call rel32
	OpShort   = 0xEB // jmp rel8
	ShortLen  = 2    // of jmp rel8
	maxNopLen = 9    // of the nops the SDM recommends
)

// nops are the recommended ones of 1 to 9 bytes (SDM vol. 2, NOP, table 4-12).
var nops = [maxNopLen + 1]string{
	1: "\x90",
	2: "\x66\x90",
	3: "\x0f\x1f\x00",
	4: "\x0f\x1f\x40\x00",
	5: "\x0f\x1f\x44\x00\x00",
	6: "\x66\x0f\x1f\x44\x00\x00",
	7: "\x0f\x1f\x80\x00\x00\x00\x00",
	8: "\x0f\x1f\x84\x00\x00\x00\x00\x00",
	9: "\x66\x0f\x1f\x84\x00\x00\x00\x00\x00",
}

// Nop5 is the nop that a jump replaces, Nop2 the one that a short jump does.
var (
	Nop5 = [JumpLen]byte{0x0f, 0x1f, 0x44, 0x00, 0x00}
	Nop2 = [ShortLen]byte{0x66, 0x90}
)

// NopN returns n bytes of nops, as few of them as it takes.
func NopN(n int) []byte {
	b := make([]byte, 0, max(n, 0))
	for n > 0 {
		k := min(n, maxNopLen)
		b = append(b, nops[k]...)
		n -= k
	}
	return b
}

// JumpRel32 encodes jmp target, to stand at address at; not ok if it is out of
// reach.
func JumpRel32(at, target arch.Addr) (b [JumpLen]byte, ok bool) { return rel32(OpJump, at, target) }

// CallRel32 encodes call target, to stand at address at; not ok if it is out of
// reach.
func CallRel32(at, target arch.Addr) (b [JumpLen]byte, ok bool) { return rel32(opCall, at, target) }

func rel32(op byte, at, target arch.Addr) (b [JumpLen]byte, ok bool) {
	d, ok := displacement(at+JumpLen, target)
	if !ok {
		return b, false
	}
	b[0] = op
	binary.LittleEndian.PutUint32(b[1:], d)
	return b, true
}

// displacement returns the 32 bits that lead from one address to another.
func displacement(from, to arch.Addr) (uint32, bool) {
	d := int64(to - from)
	return uint32(d), d >= math.MinInt32 && d <= math.MaxInt32
}

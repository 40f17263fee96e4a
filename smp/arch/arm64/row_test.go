package arm64_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	"kpsim/smp/arch/arm64"
)

// TestRow: the row agrees with the decoder about what it encodes, and with itself.
func TestRow(t *testing.T) {
	a := arm64.ARM64
	decode := func(b []byte, at arch.Addr) arch.Inst {
		in, err := a.Decode(b, at)
		require.NoError(t, err)
		require.Equal(t, at, in.At())
		require.Equal(t, at+4, in.Next())
		require.Equal(t, b, in.Bytes())
		require.Equal(t, in, in.(*arm64.Inst).Operation().Inst)
		require.Equal(t, binary.LittleEndian.Uint32(b), in.(*arm64.Inst).Word())
		require.False(t, in.(*arm64.Inst).Unsupported())
		return in
	}
	for _, c := range []struct {
		encode func(at, target arch.Addr) (arch.Code, bool)
		flow   arch.Flow
	}{{a.Jump, arch.FlowJump}, {a.Call, arch.FlowCall}} {
		for _, d := range []int64{0, 4, -4, 1<<27 - 4, -1 << 27} {
			target := textAt + arch.Addr(d)
			code, ok := c.encode(textAt, target)
			require.True(t, ok, d)
			in := decode(code.Bytes(), textAt)
			to, ok := in.Target()
			require.True(t, ok)
			require.Equal(t, target, to)
			require.Equal(t, c.flow, in.Flow())
		}
		for _, d := range []int64{1 << 27, -1<<27 - 4, 2, 1 << 40} {
			_, ok := c.encode(textAt, textAt+arch.Addr(d))
			require.False(t, ok, d)
		}
	}
	require.True(t, decode(a.BranchNop.Bytes(), textAt).IsNop())
	require.Equal(t, arch.FlowRet, decode(a.BranchRet.Bytes(), textAt).Flow())
	require.Equal(t, arch.FlowRet, decode(a.Ret, textAt).Flow())
	isb, brk := arm64.ISB(), arm64.Brk(arm64.BrkKprobeStep)
	require.Equal(t, "isb", decode(isb.Bytes(), textAt).String())
	require.Equal(t, "brk #0x6", decode(brk.Bytes(), textAt).String())
	require.Equal(t, arch.FlowBreakpoint, decode(a.Breakpoint, textAt).Flow())
	imm, ok := decode(a.Breakpoint, textAt).(*arm64.Inst).Breakpoint()
	require.True(t, ok)
	require.EqualValues(t, arm64.BrkKprobe, imm)
	for n := range 12 {
		require.Len(t, a.Nop(n), n)
	}
	require.Empty(t, a.Nop(-1))
	require.Equal(t, "nop", decode(a.Nop(12)[8:], textAt).String())
	require.Equal(t, "sp", a.RegName(a.SP))
	require.Equal(t, a.Result, a.Args[0])
	for i, r := range a.Args {
		require.EqualValues(t, i, r)
	}
	require.Len(t, a.RegNames, 32)
	require.Less(t, int(arm64.ZR), arch.MaxRegs)
	for _, r := range append(append([]arch.Reg{a.Result}, a.Args...), a.Saved...) {
		require.Less(t, int(r), len(a.RegNames))
	}
	for addr, valid := range map[arch.Addr]bool{0: true, 1<<48 - 1: true, 1 << 48: false, 0xffff << 48: true,
		0xfffe << 48: false, textAt: true} {
		require.Equal(t, valid, a.Valid(addr), "%#x", uint64(addr))
	}
}

// TestAsked: what is asked of instructions but executing them.
func TestAsked(t *testing.T) {
	for _, c := range []struct {
		word    uint32
		flow    arch.Flow
		regs    []arch.Reg
		operand arch.Addr // relative to the instruction, 0: none
		nop     bool
		drains  bool
	}{
		{word: 0xd503201f, nop: true},                         // nop
		{word: 0xd503245f, nop: true},                         // bti c
		{word: 0xd503233f, nop: true},                         // paciasp
		{word: 0xd503229f},                                    // csdb
		{word: 0x10000080, operand: textAt + 16},              // adr x0, 16
		{word: 0x90000080, operand: textAt + 0x10000},         // adrp x0, 16 pages
		{word: 0x58000080, operand: textAt + 16},              // ldr x0, 16
		{word: 0xf9400020, regs: []arch.Reg{1}},               // ldr x0, [x1]
		{word: 0xf8626820, regs: []arch.Reg{1, 2}},            // ldr x0, [x1, x2]
		{word: 0xa9bf7bfd, regs: []arch.Reg{arm64.SP}},        // stp x29, x30, [sp, #-16]!
		{word: 0xd50b7b21, regs: []arch.Reg{1}},               // dc cvau, x1
		{word: 0xf8208062, regs: []arch.Reg{3}, drains: true}, // swp x0, x2, [x3]
		{word: 0xc8007c22, regs: []arch.Reg{1}, drains: true}, // stxr w0, x2, [x1]
		{word: 0xc85f7c20, regs: []arch.Reg{1}},               // ldxr x0, [x1]
		{word: 0xd5033bbf, drains: true},                      // dmb ish
		{word: 0xd5033abf, drains: true},                      // dmb ishst
		{word: 0xd50339bf},                                    // dmb ishld
		{word: 0xd5033f9f, drains: true},                      // dsb sy
		{word: 0x54000040, flow: arch.FlowCond},               // b.eq
		{word: 0xb4000040, flow: arch.FlowCond},               // cbz
		{word: 0x36000040, flow: arch.FlowCond},               // tbz
		{word: 0xd61f0040, flow: arch.FlowIndirectJump},       // br x2
		{word: 0xd63f0040, flow: arch.FlowIndirectCall},       // blr x2
		{word: 0xd65f0bff, flow: arch.FlowRet},                // retaa
		{word: 0xd69f03e0, flow: arch.FlowTrapReturn},         // eret
		{word: 0xd503207f, flow: arch.FlowHalt},               // wfi
		{word: 0x00000000, flow: arch.FlowUndefined},          // udf
		{word: 0xd4000001, flow: arch.FlowOther},              // svc
	} {
		in, err := arm64.ARM64.Decode(binary.LittleEndian.AppendUint32(nil, c.word), textAt)
		require.NoError(t, err)
		require.Equal(t, c.flow, in.Flow(), in)
		require.Equal(t, c.regs, in.AddressRegs(), in)
		require.Equal(t, c.nop, in.IsNop(), in)
		require.Equal(t, c.drains, in.(*arm64.Inst).Drains, in)
		require.False(t, in.PerCPU() || in.PerTask())
		at, ok := in.IPOperand()
		require.Equal(t, c.operand != 0, ok, in)
		_, _, relative := in.IPRelative()
		require.Equal(t, ok, relative)
		if ok {
			require.Equal(t, c.operand, at, in)
		}
	}
}

// TestFrame: a frame is read as it was written, by bytes and by memory alike.
func TestFrame(t *testing.T) {
	for name, c := range map[string]struct {
		frame  arch.Frame
		mode   uint64
		fp, pc uint64
	}{
		"kernel": {arm64.ARM64.Frame, 5, 129, uint64(textAt)},
		"user":   {arm64.ARM64.UserFrame, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var r arch.Regs
			for i := range 32 {
				r.R[i] = uint64(100 + i)
			}
			r.IP = textAt
			r.Flags = arch.IRQ | arm64.FlagN | arm64.FlagD | arm64.FlagPAN
			m := newFlat()
			at := c.frame.At(uint64(stackAt), true)
			require.Equal(t, stackAt-0x150, at)
			require.True(t, c.frame.Store(m, at, &r))
			b := m.bytes[at-dataAt:][:c.frame.Size]
			other := make([]byte, c.frame.Size)
			c.frame.Put(other, &r)
			require.Equal(t, other, b)

			word := func(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
			require.EqualValues(t, 131, word(arm64.PtSP))
			require.EqualValues(t, textAt, word(arm64.PtPC))
			require.Equal(t, arm64.FlagN|arm64.FlagPAN|1<<9|c.mode, word(arm64.PtPState))
			require.Equal(t, c.fp, word(arm64.PtStackFrame))
			require.Equal(t, c.pc, word(arm64.PtStackFrame+8))

			var back arch.Regs
			require.True(t, c.frame.Load(m, at, &back))
			require.Equal(t, r, back)
			back = arch.Regs{}
			c.frame.Get(b, &back)
			require.Equal(t, r, back)
			require.False(t, c.frame.Load(m, dataAt-8, &back))
			require.False(t, c.frame.Store(m, dataAt+0xff8, &back))
		})
	}
}

// TestPState: flags and PSTATE are each other's inverse, but for the mode.
func TestPState(t *testing.T) {
	require.EqualValues(t, 0x3c5, arm64.PState(arm64.FlagD|arm64.FlagA|arm64.FlagF))
	require.EqualValues(t, 0x5, arm64.PState(arch.IRQ))
	require.EqualValues(t, 1<<21|5, arm64.PState(arch.IRQ|arch.Step))
	var kept []int
	for bit := range 64 {
		p := uint64(1) << bit
		switch got := arm64.PState(arm64.FlagsOf(p)); got {
		case p | 5:
			kept = append(kept, bit)
		default:
			require.EqualValues(t, 5, got, bit)
		}
	}
	require.Equal(t, []int{0, 2, 6, 7, 8, 9, 12, 20, 21, 22, 23, 24, 25, 28, 29, 30, 31}, kept)
}

// TestSystem: what a machine does with the state of a CPU.
func TestSystem(t *testing.T) {
	y := arm64.NewSystem(17)
	z := y.New()
	require.True(t, y.Same(z))
	require.Equal(t, y.Append(nil), z.Append(nil))
	z.SetClock(5)
	require.True(t, y.Same(z), "but for the clock")
	require.Equal(t, y.Append(nil), z.Append(nil))
	z.SetFault(textAt)
	require.False(t, y.Same(z))
	require.NotEqual(t, y.Append(nil), z.Append(nil))
	require.Equal(t, textAt, z.Fault())
	y.Copy(z)
	require.True(t, y.Same(z))
	require.False(t, y.Same(arm64.NewSystem(18)))
	require.False(t, y.ClockRead())

	var a, b arch.TaskState
	b[arm64.TaskTLS], b[arm64.TaskCurrent] = 9, 99
	y.SetRegister(arm64.TPIDREL0, 8)
	y.SetRegister(arm64.SPEL0, 88)
	y.Switch(&a, &b)
	require.Equal(t, arch.TaskState{8, 88}, a)
	require.EqualValues(t, 9, y.Register(arm64.TPIDREL0))
	require.EqualValues(t, 99, y.Register(arm64.SPEL0))
}

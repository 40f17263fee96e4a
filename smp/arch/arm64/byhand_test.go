package arm64_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	"kpsim/smp/arch/arm64"
)

// A handCase is an instruction that isn't compared with an emulator: what it does depends on the CPU, on
// what is above it, or on other CPUs. Registers that aren't given are zero, but x1, which is dataAt.
type handCase struct {
	text  string
	word  uint32
	regs  map[arch.Reg]uint64
	flags uint64 // beside arch.IRQ
	setup func(m *flat)

	out    arch.Outcome
	want   map[arch.Reg]uint64
	ip     arch.Addr // 0: the next instruction; for what hasn't completed, and brk, the instruction itself
	change uint64    // flags that change
	check  func(t *testing.T, m *flat)
}

const tag = 0x00ff_0000_0000_0000 // bits of a pointer where a signature lies

var handCases = []handCase{
	// system registers
	{text: "mrs x0, sp_el0", word: 0xd5384100, setup: register(arm64.SPEL0, 77), want: values{0: 77}},
	{text: "msr sp_el0, x2", word: 0xd5184102, regs: values{2: 78}, check: kept(arm64.SPEL0, 78)},
	{text: "mrs x0, tpidr_el1", word: 0xd538d080, setup: register(arm64.TPIDREL1, 79), want: values{0: 79}},
	{text: "msr tpidr_el0, x2", word: 0xd51bd042, regs: values{2: 80}, check: kept(arm64.TPIDREL0, 80)},
	{text: "mrs x0, mpidr_el1", word: 0xd53800a0, want: values{0: 1<<31 | 3}},
	{text: "mrs x0, mpidr_el1", word: 0xd53800a0, want: values{0: 1<<31 | 2<<8 | 5},
		setup: func(m *flat) { m.system = arm64.NewSystem(37) }},
	{text: "mrs x0, currentel", word: 0xd5384240, want: values{0: 4}},
	{text: "mrs x0, spsel", word: 0xd5384200, want: values{0: 1}},
	{text: "mrs x0, dczid_el0", word: 0xd53b00e0, want: values{0: 4}},
	{text: "mrs x0, s3_0_c0_c3_7", word: 0xd53803e0}, // not allocated
	{text: "mrs x0, cntvct_el0", word: 0xd53be040, setup: func(m *flat) { m.system.SetClock(12345) },
		want:  values{0: 12345},
		check: func(t *testing.T, m *flat) { require.True(t, m.system.ClockRead()) }},
	{text: "mrs x0, far_el1", word: 0xd5386000, setup: func(m *flat) { m.system.SetFault(dataAt) },
		want: values{0: uint64(dataAt)}},
	{text: "msr midr_el1, x2", word: 0xd5180002, out: arch.Undefined},
	{text: "msr sctlr_el1, x2", word: 0xd5181002, regs: values{2: 1 << 31}, out: arch.Unsupported},
	{text: "msr sctlr_el1, x2", word: 0xd5181002, regs: values{2: 0x1005}, check: kept(arm64.SCTLREL1, 0x1005)},
	{text: "msr mdscr_el1, x2", word: 0xd5100242, regs: values{2: 1}, out: arch.Unsupported},
	{text: "msr mdscr_el1, x2", word: 0xd5100242, regs: values{2: 1 << 13}, check: kept(arm64.MDSCREL1, 1<<13)},
	{text: "msr spsel, x2", word: 0xd5184202, out: arch.Unsupported},
	{text: "mrs x0, icc_pmr_el1", word: 0xd5384600, out: arch.Unsupported},
	{text: "mrs x0, cntv_ctl_el0", word: 0xd53be320, out: arch.Unsupported},

	// PSTATE
	{text: "mrs x0, daif", word: 0xd53b4220},
	{text: "mrs x0, daif", word: 0xd53b4220, flags: arm64.FlagD | arm64.FlagA | arm64.FlagF, want: values{0: 0x340}},
	{text: "msr daif, x2", word: 0xd51b4222, regs: values{2: 0x3c0}, out: arch.Interrupts,
		change: arch.IRQ | arm64.FlagD | arm64.FlagA | arm64.FlagF},
	{text: "msr daif, x2", word: 0xd51b4222, flags: arm64.FlagD, out: arch.Interrupts, change: arm64.FlagD},
	{text: "msr daifset, #0x2", word: 0xd50342df, out: arch.Interrupts, change: arch.IRQ},
	{text: "msr daifset, #0x3", word: 0xd50343df, out: arch.Interrupts, change: arch.IRQ | arm64.FlagF},
	{text: "msr daifset, #0xc", word: 0xd5034cdf, change: arm64.FlagD | arm64.FlagA},
	{text: "msr daifclr, #0x2", word: 0xd50342ff, out: arch.Interrupts},
	{text: "msr daifclr, #0xf", word: 0xd5034fff, flags: arm64.FlagD | arm64.FlagF, out: arch.Interrupts,
		change: arm64.FlagD | arm64.FlagF},
	{text: "msr pan, #0x1", word: 0xd500419f, change: arm64.FlagPAN},
	{text: "msr uao, #0x0", word: 0xd500407f, flags: arm64.FlagUAO, change: arm64.FlagUAO},
	{text: "msr ssbs, #0x1", word: 0xd503413f, change: arm64.FlagSSBS},
	{text: "mrs x0, nzcv", word: 0xd53b4200, flags: arm64.FlagN | arm64.FlagC | arm64.FlagPAN,
		want: values{0: 0xa000_0000}},

	// what a machine has to do something about
	{text: "brk #0x4", word: 0xd4200080, out: arch.Breakpoint},
	{text: "isb", word: 0xd5033fdf, out: arch.Serialized},
	{text: "wfi", word: 0xd503207f, out: arch.Halt},
	{text: "wfe", word: 0xd503205f, out: arch.Relaxed},
	{text: "yield", word: 0xd503203f, out: arch.Relaxed},
	{text: "sev", word: 0xd503209f},
	{text: "udf #0", word: 0, out: arch.Undefined},
	{text: "hlt #0x1", word: 0xd4400020, out: arch.Undefined},
	{text: "eret", word: 0xd69f03e0, out: arch.Unsupported},
	{text: "svc #0x0", word: 0xd4000001, out: arch.Unsupported},
	{text: "hvc #0x0", word: 0xd4000002, out: arch.Unsupported},
	{text: "smc #0x0", word: 0xd4000003, out: arch.Unsupported},
	{text: "eretaa", word: 0xd69f0bff, out: arch.Unsupported},
	{text: "tlbi vmalle1is", word: 0xd508831f, out: arch.Unsupported},
	{text: "sys #7, C9, C2, #0, x22", word: 0xd50f9216, out: arch.Unsupported},
	{text: "sys #7, C9, C2, #0", word: 0xd50f921f, out: arch.Unsupported},

	// caches
	{text: "ic ivau, x1", word: 0xd50b7521},
	{text: "dc cvau, x0", word: 0xd50b7b20, out: arch.PageFault},
	{text: "dc zva, x1", word: 0xd50b7421, regs: values{1: uint64(dataAt) + 0x7f}, setup: fill(0xff),
		check: func(t *testing.T, m *flat) {
			for i, b := range m.bytes[:0x100] {
				require.Equal(t, i < 0x40 || i >= 0x80, b == 0xff, "%#x", i)
			}
		}},
	{text: "dc zva, x0", word: 0xd50b7420, out: arch.PageFault},

	// no key is enabled
	{text: "paciasp", word: 0xd503233f, regs: values{30: 5}},
	{text: "pacia x0, x1", word: 0xdac10020, regs: values{0: tag | 3}},
	{text: "autdza x0", word: 0xdac13be0, regs: values{0: tag | 3}},
	{text: "xpaci x0", word: 0xdac143e0, regs: values{0: 3}},
	{text: "retaa", word: 0xd65f0bff, regs: values{30: uint64(textAt) + 64}, ip: textAt + 64},
	{text: "braa x2, x3", word: 0xd71f0843, regs: values{2: uint64(textAt) + 64}, ip: textAt + 64},
	{text: "blraaz x2", word: 0xd63f085f, regs: values{2: uint64(textAt) + 64}, ip: textAt + 64,
		want: values{30: uint64(textAt) + 4}},
	{text: "ldraa x0, [x1, #8]!", word: 0xf8201c20, setup: fill(0x11),
		want: values{0: 0x1111_1111_1111_1111, 1: uint64(dataAt) + 8}},
	{text: "pacga x0, x1, x2", word: 0x9ac23020, out: arch.Unsupported},

	// alignment, and all or nothing
	{text: "ldr x0, [x1]", word: 0xf9400020, regs: values{1: uint64(dataAt) + 3}, setup: fill(1),
		want: values{0: 0x0101_0101_0101_0101}},
	{text: "ldxr x0, [x1]", word: 0xc85f7c20, regs: values{1: uint64(dataAt) + 4}, out: arch.Protection},
	{text: "ldaxp w0, w2, [x1]", word: 0x887f8820, regs: values{1: uint64(dataAt) + 4}, out: arch.Protection},
	{text: "stlr w0, [x1]", word: 0x889ffc20, regs: values{1: uint64(dataAt) + 2}, out: arch.Protection},
	{text: "ldadd w0, w2, [x1]", word: 0xb8200022, regs: values{1: uint64(dataAt) + 2}, out: arch.Protection},
	{text: "casp x4, x5, x2, x3, [x1]", word: 0x48247c22, regs: values{1: uint64(dataAt) + 8}, out: arch.Protection},
	{text: "stp x0, x1, [x1]", word: 0xa9000420, regs: values{1: uint64(dataAt) + 0xff8}, setup: fill(0xff),
		out: arch.PageFault, check: func(t *testing.T, m *flat) { require.EqualValues(t, 0xff, m.bytes[0xff8]) }},
	{text: "ldp x0, x2, [x1], #16", word: 0xa8c10820, regs: values{1: uint64(dataAt) + 0xff8}, setup: fill(0xff),
		out: arch.PageFault},
	{text: "str x0, [x2, #8]!", word: 0xf8008c40, out: arch.PageFault},
	{text: "swp x0, x2, [x3]", word: 0xf8208062, out: arch.PageFault},

	// what others do to a reservation
	{text: "stxr w0, x2, [x1]", word: 0xc8007c22, out: arch.Relaxed, want: values{0: 1}},
	{text: "stxr w0, x2, [x1]", word: 0xc8007c22, regs: values{2: 9}, setup: reserve(8),
		check: func(t *testing.T, m *flat) { require.EqualValues(t, 9, m.bytes[0]) }},
	{text: "stxr w0, x2, [x1]", word: 0xc8007c22, setup: reserve(4), out: arch.Relaxed, want: values{0: 1}},
	{text: "stlxp w0, x2, x3, [x1]", word: 0xc8208c22, regs: values{3: 9}, setup: reserve(16),
		check: func(t *testing.T, m *flat) { require.EqualValues(t, 9, m.bytes[8]) }},
	{text: "clrex", word: 0xd5033f5f, setup: reserve(8),
		check: func(t *testing.T, m *flat) { require.False(t, m.Reserved(dataAt, 8)) }},

	// divisions that have no quotient
	{text: "sdiv x0, x1, x2", word: 0x9ac20c20, regs: values{1: 1 << 63, 2: ^uint64(0)}, want: values{0: 1 << 63}},
	{text: "sdiv w0, w1, w2", word: 0x1ac20c20, regs: values{1: 1 << 31, 2: ^uint64(0)}, want: values{0: 1 << 31}},
	{text: "sdiv x0, x1, x2", word: 0x9ac20c20, regs: values{0: 5}, want: values{0: 0}},

	// refused by class
	{text: ".inst 0x04e00020 // of scalable vectors (SVE)", word: 0x04e00020, out: arch.Unsupported},
	{text: ".inst 0xd9200820 // stg and the like, of memory tags", word: 0xd9200820, out: arch.Unsupported},
	{text: "fadd d0, d1, d0", word: 0x1e602820, out: arch.Unsupported},
}

type values map[arch.Reg]uint64

func register(place int, v uint64) func(*flat) {
	return func(m *flat) { m.system.SetRegister(place, v) }
}

func kept(place int, v uint64) func(*testing.T, *flat) {
	return func(t *testing.T, m *flat) { require.Equal(t, v, m.system.Register(place)) }
}

func fill(b byte) func(*flat) {
	return func(m *flat) {
		for i := range m.bytes {
			m.bytes[i] = b
		}
	}
}

func reserve(n int) func(*flat) { return func(m *flat) { m.Reserve(dataAt, n) } }

func (c *handCase) run(t *testing.T) {
	in, err := arm64.Decode(binary.LittleEndian.AppendUint32(nil, c.word), textAt)
	require.NoError(t, err)
	require.Equal(t, c.text, in.String())
	m := newFlat()
	if c.setup != nil {
		c.setup(m)
	}
	r := arch.Regs{IP: textAt, Flags: arch.IRQ | c.flags}
	r.R[1] = uint64(dataAt)
	for reg, v := range c.regs {
		r.R[reg] = v
	}
	want := r
	for reg, v := range c.want {
		want.R[reg] = v
	}
	want.Flags ^= c.change
	switch {
	case c.ip != 0:
		want.IP = c.ip
	case !c.out.Faulted() && c.out != arch.Breakpoint:
		want.IP += arm64.Len
	}
	require.Equal(t, c.out, in.Exec(&r, m))
	require.Equal(t, want, r)
	if c.check != nil {
		c.check(t, m)
	}
}

func TestByHand(t *testing.T) {
	for i := range handCases {
		t.Run(handCases[i].text, handCases[i].run)
	}
}

// TestRefused: what isn't decoded names the bytes and says why.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		word uint32
		err  error
		text string
	}{
		{0xf8408c21, arm64.ErrUnpredictable,
			"arm64: 21 8c 40 f8 (load or store, pre-indexed): unpredictable instruction"},
		{0xa9400400 &^ 0x400, arm64.ErrUnpredictable, ""}, // ldp x0, x0
		{0xc8017c21, arm64.ErrUnpredictable, ""},          // stxr w1, x1, [x1]
		{0x8b3f7400, arm64.ErrUnknown, ""},                // add x0, x0, xzr, uxtx #5
		{0x00010000, arm64.ErrUnknown, "arm64: 00 00 01 00: unknown instruction"},
		{0x0b408000, arm64.ErrUnknown, ""}, // lsr #32 of a word
	} {
		_, err := arm64.Decode(binary.LittleEndian.AppendUint32(nil, c.word), textAt)
		require.ErrorIs(t, err, c.err, "%08x", c.word)
		if c.text != "" {
			require.EqualError(t, err, c.text)
		}
	}
	_, err := arm64.Decode([]byte{0x1f, 0x20, 3}, textAt)
	require.ErrorIs(t, err, arm64.ErrTruncated)
	_, err = arm64.Decode([]byte{0x1f, 0x20, 3, 0xd5}, textAt+2)
	require.ErrorIs(t, err, arm64.ErrUnaligned)
}

// TestExecAllocates nothing, whatever the class.
func TestExecAllocates(t *testing.T) {
	for _, words := range [][]uint32{loop, {0xc85f7c20, 0xc8007c22, 0x48247c22, 0xf8208022, 0xf8bfc022, 0xd5384100,
		0xd53be040, 0xd51b4222, 0xd50342df, 0xd50b7421, 0x9ac14c00, 0xdac01000, 0x9bc27c20, 0xfa410820, 0xf8626820,
		0x9a820020, 0xd61f0040, 0xd5033f5f}} {
		for i, op := range decodeAll(t, words) {
			m := newFlat()
			var mem arch.Memory = m
			r := startRegs()
			r.R[1] = uint64(dataAt)
			var s arch.Regs
			require.Zero(t, testing.AllocsPerRun(20, func() {
				s = r
				op.Run(op, &s, mem)
			}), "%d: %v", i, op.Inst)
		}
	}
}

// TestRefusedBits: bits of system registers that change how instructions execute can't be set.
func TestRefusedBits(t *testing.T) {
	for _, c := range []struct {
		word  uint32 // msr, x2
		place int
		bits  map[int]bool
	}{
		{0xd5181002, arm64.SCTLREL1, map[int]bool{1: true, 13: true, 25: true, 27: true, 30: true, 31: true}},
		{0xd5100242, arm64.MDSCREL1, map[int]bool{0: true}},
	} {
		op := decodeAll(t, []uint32{c.word})[0]
		for bit := range 64 {
			m := newFlat()
			r := startRegs()
			r.R[2] = 1 << bit
			was := m.system.Register(c.place)
			want := arch.Next
			if c.bits[bit] {
				want = arch.Unsupported
			} else {
				was = r.R[2]
			}
			require.Equal(t, want, op.Run(op, &r, m), bit)
			require.Equal(t, was, m.system.Register(c.place))
		}
	}
}

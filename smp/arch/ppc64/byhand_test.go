package ppc64

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
)

const (
	textAt arch.Addr = 0x10000
	dataAt arch.Addr = 0x20000000
)

// flat is memory from dataAt, with the state of a CPU and its reservation.
type flat struct {
	bytes    [0x1000]byte
	system   *System
	at       arch.Addr // the reservation; n is 0 without one
	n        int
	readOnly bool
}

func newFlat() *flat { return &flat{system: NewSystem(3, 0x5000)} }

func (m *flat) of(a arch.Addr, size int) []byte {
	if a < dataAt || a-dataAt > arch.Addr(len(m.bytes)-size) {
		return nil
	}
	return m.bytes[a-dataAt:][:size]
}

func (m *flat) Load(a arch.Addr, size int) (v uint64, ok bool) {
	b := m.of(a, size)
	switch {
	case b == nil:
		return 0, false
	case size == 8:
		return binary.LittleEndian.Uint64(b), true
	}
	for i := range b {
		v |= uint64(b[i]) << (8 * i)
	}
	return v, true
}

func (m *flat) Store(a arch.Addr, size int, v uint64) bool {
	b := m.of(a, size)
	switch {
	case b == nil || m.readOnly:
		return false
	case size == 8:
		binary.LittleEndian.PutUint64(b, v)
		return true
	}
	for i := range b {
		b[i] = byte(v >> (8 * i))
	}
	return true
}

func (m *flat) System() arch.System { return m.system }

func (m *flat) Reserve(a arch.Addr, n int) { m.at, m.n = a, n }

func (m *flat) Reserved(a arch.Addr, n int) bool {
	ok := m.n == n && m.at == a && n != 0
	m.n = 0
	return ok
}

var (
	_ arch.Reserver = (*flat)(nil)
	_ arch.Systemic = (*flat)(nil)
)

type values map[arch.Reg]uint64

// A handCase is an instruction and what becomes of it. r4 has dataAt; the words of code are at textAt.
type handCase struct {
	text  string
	code  []uint32
	regs  values // before
	flags uint64 // before, beside arch.IRQ
	setup func(m *flat)
	out   arch.Outcome
	want  values // after, as far as they change
	ip    arch.Addr
	after uint64 // the flags, if they change
	check func(t *testing.T, m *flat)
}

func w(words ...uint32) []uint32 { return words }

const allXER = flagSO | flagOV | flagOV32

var handCases = []handCase{
	// overflow without a result
	{text: "divwo r3,r5,r6", code: w(0x7c6537d6), regs: values{3: 7, 5: 1}, want: values{3: 0},
		after: arch.IRQ | allXER},
	{text: "divdo r3,r5,r6", code: w(0x7c6537d2), regs: values{3: 7, 5: 1 << 63, 6: ^uint64(0)}, want: values{3: 0},
		after: arch.IRQ | allXER},
	{text: "divdeuo. r3,r5,r6", code: w(0x7c653713), regs: values{3: 7, 5: 6, 6: 6}, want: values{3: 0},
		after: arch.IRQ | allXER | (crEQ|crSO)<<60},
	{text: "divdeo r3,r5,r6", code: w(0x7c653752), regs: values{3: 7, 5: 1 << 62, 6: 1 << 62}, want: values{3: 0},
		after: arch.IRQ | allXER},
	{text: "divweo r3,r5,r6", code: w(0x7c653756), regs: values{3: 7, 5: 2, 6: 2}, want: values{3: 0},
		after: arch.IRQ | allXER},
	{text: "divwuo r3,r5,r6", code: w(0x7c653796), regs: values{3: 7, 5: 9, 6: 2}, flags: flagSO | flagOV | flagOV32,
		want: values{3: 4}, after: arch.IRQ | flagSO},
	{text: "modsd r3,r5,r6", code: w(0x7c653612), regs: values{3: 7, 5: 9}, want: values{3: 0}},
	{text: "modud r3,r5,r6", code: w(0x7c653212), regs: values{3: 7, 5: 9}, want: values{3: 0}},
	{text: "modsw r3,r5,r6", code: w(0x7c653616), regs: values{3: 7, 5: 1 << 31, 6: 0xffffffff}, want: values{3: 0}},
	{text: "moduw r3,r5,r6", code: w(0x7c653216), regs: values{3: 7, 5: 9}, want: values{3: 0}},

	// breakpoints
	{text: "trap", code: w(0x7fe00008), out: arch.Breakpoint},
	{text: "twui r0,0", code: w(0x0fe00000), out: arch.Breakpoint},
	{text: "tdnei r3,0", code: w(0x0b030000)},
	{text: "tdnei r3,0", code: w(0x0b030000), regs: values{3: 1}, out: arch.Breakpoint},

	// what asks of the machine
	{text: "isync", code: w(0x4c00012c), out: arch.Serialized},
	{text: "mr r1,r1", code: w(0x7c210b78), out: arch.Relaxed},
	{text: "mr r27,r27", code: w(0x7f7bdb78), out: arch.Relaxed},
	{text: "mr r31,r31", code: w(0x7ffffb78), out: arch.Relaxed},
	{text: "mr r2,r2", code: w(0x7c421378)},
	{text: "mr. r1,r1", code: w(0x7c210b79), after: arch.IRQ | crEQ<<60},
	{text: "wait", code: w(0x7c00003c), out: arch.Halt},
	{text: "pause_short", code: w(0x7c40003c), out: arch.Relaxed},
	{text: "waitrsv", code: w(0x7c20003c), out: arch.Relaxed},

	// MSR
	{text: "mfmsr r3", code: w(0x7c6000a6), want: values{3: msrFixed | msrEE | msrRI}},
	{text: "mfmsr r3", code: w(0x7c6000a6), flags: flagNoRI | msrVSX, want: values{3: msrFixed | msrEE | msrVSX}},
	{text: "mtmsrd r3,1", code: w(0x7c610164), out: arch.Interrupts, after: 1<<63 | flagNoRI, flags: 1 << 63},
	{text: "mtmsrd r3,1", code: w(0x7c610164), regs: values{3: msrEE | msrRI}, flags: flagNoRI, after: arch.IRQ},
	{text: "mtmsrd r3", code: w(0x7c600164), regs: values{3: msrFixed | msrEE | msrFP}, out: arch.Serialized,
		after: arch.IRQ | msrFP | flagNoRI},
	{text: "mtmsrd r3", code: w(0x7c600164), regs: values{3: msrFixed | msrSE | msrRI}, out: arch.Interrupts,
		after: arch.Step},
	{text: "mtmsrd r3", code: w(0x7c600164), regs: values{3: msrFixed &^ msrDR}, out: arch.Unsupported},
	{text: "mtmsrd r3", code: w(0x7c600164), regs: values{3: msrFixed | msrPR | msrEE}, out: arch.Unsupported},
	{text: "mtmsr r3", code: w(0x7c600124), regs: values{3: (msrFixed | msrEE | msrRI) & 0xffffffff},
		out: arch.Serialized},

	// special registers
	{text: "mflr r3", code: w(0x7c6802a6), regs: values{LR: 9}, want: values{3: 9}},
	{text: "mtctr r3", code: w(0x7c6903a6), regs: values{3: 9}, want: values{CTR: 9}},
	{text: "mfxer r3", code: w(0x7c6102a6), flags: flagCA, want: values{3: flagCA}},
	{text: "mtxer r3", code: w(0x7c6103a6), regs: values{3: ^uint64(0)}, after: arch.IRQ | flagsXER},
	{text: "mfsprg r3,1", code: w(0x7c7142a6), want: values{3: 0x5000}},
	{text: "mtsprg 0,r3", code: w(0x7c7043a6), regs: values{3: 9},
		check: func(t *testing.T, m *flat) { require.EqualValues(t, 9, m.system.SPRG[0]) }},
	{text: "mfdar r3", code: w(0x7c7302a6), setup: func(m *flat) { m.system.SetFault(9) }, want: values{3: 9}},
	{text: "mtsrr0 r3", code: w(0x7c7a03a6), regs: values{3: 9},
		check: func(t *testing.T, m *flat) { require.EqualValues(t, 8, m.system.SRR0) }},
	{text: "mfpvr r3", code: w(0x7c7f42a6), want: values{3: PVR}},
	{text: "mfpir r3", code: w(0x7c7ffaa6), want: values{3: 3}},
	{text: "mtspr 1023,r3", code: w(0x7c7ffba6), out: arch.Unsupported},
	{text: "mftb r3", code: w(0x7c6c42a6), setup: clock(1 << 33), want: values{3: 1 << 33}, check: clockRead},
	{text: "mftb r3", code: w(0x7c6c42e6), setup: clock(5), want: values{3: 5}, check: clockRead},
	{text: "mftbu r3", code: w(0x7c6d42a6), setup: clock(1 << 33), want: values{3: 2}, check: clockRead},
	{text: "mfdec r3", code: w(0x7c7602a6), setup: clock(5), want: values{3: ^uint64(4)}, check: clockRead},
	{text: "mtdec r3", code: w(0x7c7603a6), regs: values{3: 100}, setup: clock(5),
		check: func(t *testing.T, m *flat) {
			m.system.SetClock(65)
			require.EqualValues(t, 40, countdown(m.system))
		}},
	{text: "mtctrl r3", code: w(0x7c7823a6),
		check: func(t *testing.T, m *flat) { require.Zero(t, m.system.CTRL) }},
	{text: "mfspr r3,318", code: w(0x7c7e4aa6), out: arch.Unsupported},  // LPCR
	{text: "mtspr 1008,r3", code: w(0x7c70fba6), out: arch.Unsupported}, // HID0
	{text: "btar", code: w(0x4e800460), setup: func(m *flat) { m.system.TAR = 0x123 }, ip: 0x120},

	// memory: all or nothing, alignment
	{text: "ld r3,8(r4)", code: w(0xe8640008), setup: fill, want: values{3: 0x1111111111111111}},
	{text: "lwzu r3,2(r4)", code: w(0x84640002), setup: fill, want: values{3: 0x11111111, 4: uint64(dataAt) + 2}},
	{text: "lwzu r3,2(r4)", code: w(0x84640002), regs: values{4: 16}, out: arch.PageFault},
	{text: "stdu r1,-32(r1)", code: w(0xf821ffe1), regs: values{1: 16}, out: arch.PageFault},
	{text: "lwarx r3,0,r4", code: w(0x7c602028), regs: values{4: uint64(dataAt) + 2}, out: arch.Protection},
	{text: "lwarx r3,0,r4", code: w(0x7c602028), regs: values{4: 16}, out: arch.PageFault},
	{text: "lwarx r3,0,r4", code: w(0x7c602028), setup: fill, want: values{3: 0x11111111},
		check: func(t *testing.T, m *flat) { require.True(t, m.Reserved(dataAt, 4)) }},
	{text: "stwcx. r3,0,r4", code: w(0x7c60212d), regs: values{3: 9}, setup: reserve(4), after: arch.IRQ | crEQ<<60,
		check: func(t *testing.T, m *flat) { require.EqualValues(t, 9, m.bytes[0]) }},
	{text: "stwcx. r3,0,r4", code: w(0x7c60212d), flags: flagSO | crLT<<60, out: arch.Relaxed,
		after: arch.IRQ | flagSO | crSO<<60},
	{text: "stdcx. r3,0,r4", code: w(0x7c6021ad), setup: reserve(4), out: arch.Relaxed, flags: crEQ << 60,
		after: arch.IRQ},
	{text: "stdcx. r3,0,r4", code: w(0x7c6021ad), regs: values{4: uint64(dataAt) + 4}, out: arch.Protection},
	{text: "stwcx. r3,0,r4", code: w(0x7c60212d), setup: func(m *flat) { m.Reserve(dataAt, 4); m.readOnly = true },
		out: arch.PageFault},
	{text: "dcbz 0,r4", code: w(0x7c0027ec), regs: values{4: uint64(dataAt) + 0x9f}, setup: fill,
		check: func(t *testing.T, m *flat) {
			for i, b := range m.bytes[:0x200] {
				require.Equal(t, i < 0x80 || i >= 0x100, b == 0x11, "%#x", i)
			}
		}},
	{text: "dcbz 0,r4", code: w(0x7c0027ec), setup: func(m *flat) { m.readOnly = true }, out: arch.PageFault},
	{text: "icbi 0,r4", code: w(0x7c0027ac)},
	{text: "icbi 0,r5", code: w(0x7c002fac), out: arch.PageFault},
	{text: "dcbst 0,r5", code: w(0x7c00286c), out: arch.PageFault},
	{text: "dcbf 0,r5", code: w(0x7c0028ac), out: arch.PageFault},
	{text: "dcbt 0,r5,0", code: w(0x7c002a2c)},

	// prefixed
	{text: "pli r3,-1", code: w(0x0603ffff, 0x3860ffff), want: values{3: ^uint64(0)}},
	{text: "pla r3,8 # 0x10008", code: w(0x06100000, 0x38600008), want: values{3: uint64(textAt) + 8}},
	{text: "pstd r3,65540(r4)", code: w(0x04000001, 0xf4640004), out: arch.PageFault},
	{text: "pnop", code: w(0x07000000, 0)},

	// branches
	{text: "bcl 20,4*cr7+so,0x10004", code: w(0x429f0005), want: values{LR: uint64(textAt) + 4}},
	{text: "bctrl", code: w(0x4e800421), regs: values{CTR: 0x2003}, ip: 0x2000, want: values{LR: uint64(textAt) + 4}},
	{text: "blrl", code: w(0x4e800021), regs: values{LR: 0x2000}, ip: 0x2000, want: values{LR: uint64(textAt) + 4}},
	{text: "ba 0x100", code: w(0x48000102), ip: 0x100},

	// refused by name
	{text: "sc", code: w(0x44000002), out: arch.Unsupported},
	{text: "scv 0", code: w(0x44000001), out: arch.Unsupported},
	{text: "rfid", code: w(0x4c000024), out: arch.Unsupported},
	{text: "hrfid", code: w(0x4c000224), out: arch.Unsupported},
	{text: "lmw r30,0(r4)", code: w(0xbbc40000), out: arch.Unsupported},
	{text: "fadd f1,f2,f3", code: w(0xfc22182a), out: arch.Unsupported},
	{text: "vaddubm v1,v2,v3", code: w(0x10221800), out: arch.Unsupported},
	{text: "tlbsync", code: w(0x7c00046c), out: arch.Unsupported},
	{text: "lq r6,0(r4)", code: w(0xe0c40000), out: arch.Unsupported},
}

func clock(v uint64) func(m *flat) { return func(m *flat) { m.system.SetClock(v) } }

func clockRead(t *testing.T, m *flat) { require.True(t, m.system.ClockRead()) }

func fill(m *flat) {
	for i := range m.bytes {
		m.bytes[i] = 0x11
	}
}

func reserve(n int) func(m *flat) { return func(m *flat) { m.Reserve(dataAt, n) } }

func bytesOfWords(words []uint32) (b []byte) {
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// TestByHand: what qemu's user mode doesn't show.
func TestByHand(t *testing.T) {
	for _, c := range handCases {
		in, err := Decode(bytesOfWords(c.code), textAt)
		require.NoError(t, err, c.text)
		require.Equal(t, c.text, in.String())
		m := newFlat()
		if c.setup != nil {
			c.setup(m)
		}
		r := arch.Regs{IP: textAt, Flags: arch.IRQ | c.flags}
		r.R[4] = uint64(dataAt)
		for reg, v := range c.regs {
			r.R[reg] = v
		}
		want, before := r, m.bytes
		require.Equal(t, c.out, in.Exec(&r, m), c.text)
		if c.out == arch.Unsupported && !strings.HasPrefix(c.text, "mtmsr") {
			require.True(t, in.(*Inst).Unsupported(), c.text)
		}
		if !c.out.Faulted() && c.out != arch.Breakpoint {
			want.IP = in.Next()
			if c.ip != 0 {
				want.IP = c.ip
			}
		}
		for reg, v := range c.want {
			want.R[reg] = v
		}
		if c.after != 0 {
			want.Flags = c.after
		}
		require.Equal(t, want, r, c.text)
		if c.out.Faulted() {
			require.Equal(t, before, m.bytes, c.text)
		}
		if c.check != nil {
			c.check(t, m)
		}
	}
}

// What isn't an instruction is an error that names the bytes.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		b    []byte
		at   arch.Addr
		want error
		text string
	}{
		{nil, textAt, ErrTruncated, ""},
		{[]byte{0, 0, 0}, textAt, ErrTruncated, "00 00 00"},
		{bytesOfWords(w(0x06000000)), textAt, ErrTruncated, "00 00 00 06"},
		{bytesOfWords(w(0)), textAt, ErrUnknown, "00 00 00 00"},
		{bytesOfWords(w(0x60000000)), textAt + 2, ErrUnaligned, "60"},
		{bytesOfWords(w(0x06000000, 0x38600000)), textAt + 60, ErrCrosses, "06"},
		{bytesOfWords(w(0x06100000, 0x38640000)), textAt, ErrInvalid, "paddi"}, // R with a base
		{bytesOfWords(w(0x84600002)), textAt, ErrInvalid, "lwzu"},              // update of register 0
		{bytesOfWords(w(0x84840002)), textAt, ErrInvalid, "lwzu"},              // update of what is loaded
		{bytesOfWords(w(0x4e000420)), textAt, ErrInvalid, "bcctr"},             // it counts
		{bytesOfWords(w(0x7c718026)), textAt, ErrInvalid, "mfocrf"},            // two fields
		{bytesOfWords(w(0x7c6004ac)), textAt, ErrInvalid, "sync"},              // L is 3
	} {
		in, err := Decode(c.b, c.at)
		require.True(t, errors.Is(err, c.want), "% x: %v, %v", c.b, in, err)
		require.ErrorContains(t, err, c.text)
	}
}

// TestFacts: what is asked of an instruction, by its text.
func TestFacts(t *testing.T) {
	for _, c := range []struct {
		code   []uint32
		text   string
		flow   arch.Flow
		target arch.Addr
		is     string // n: nop, d: it drains, p: a pc-relative operand, c: of the CPU
		base   []arch.Reg
	}{
		{w(0x60000000), "nop", arch.FlowNext, 0, "n", nil},
		{w(0x07000000, 0), "pnop", arch.FlowNext, 0, "n", nil},
		{w(0x63ff0000), "ori r31,r31,0", arch.FlowNext, 0, "", nil},
		{w(0x4e800020), "blr", arch.FlowRet, 0, "", nil},
		{w(0x4d820020), "beqlr", arch.FlowOther, 0, "", nil},
		{w(0x4e800420), "bctr", arch.FlowIndirectJump, 0, "", nil},
		{w(0x4e800421), "bctrl", arch.FlowIndirectCall, 0, "", nil},
		{w(0x48000008), "b 0x10008", arch.FlowJump, 0x10008, "", nil},
		{w(0x4bfffffd), "bl 0xfffc", arch.FlowCall, 0xfffc, "", nil},
		{w(0x41820008), "beq 0x10008", arch.FlowCond, 0x10008, "", nil},
		{w(0x409e0008), "bne cr7,0x10008", arch.FlowCond, 0x10008, "", nil},
		{w(0x4200fffc), "bdnz 0xfffc", arch.FlowLoop, 0xfffc, "", nil},
		{w(0x41820009), "beql 0x10008", arch.FlowCall, 0x10008, "", nil},
		{w(0x429f0005), "bcl 20,4*cr7+so,0x10004", arch.FlowNext, 0, "", nil},
		{w(0x42800008), "bc 20,lt,0x10008", arch.FlowJump, 0x10008, "", nil},
		{w(0x7fe00008), "trap", arch.FlowBreakpoint, 0, "", nil},
		{w(0x0fe00000), "twui r0,0", arch.FlowBreakpoint, 0, "", nil},
		{w(0x0b030000), "tdnei r3,0", arch.FlowNext, 0, "", nil},
		{w(0x44000002), "sc", arch.FlowOther, 0, "", nil},
		{w(0x4c000024), "rfid", arch.FlowTrapReturn, 0, "", nil},
		{w(0x7c00003c), "wait", arch.FlowHalt, 0, "", nil},
		{w(0x7c0004ac), "hwsync", arch.FlowNext, 0, "d", nil},
		{w(0x7c2004ac), "lwsync", arch.FlowNext, 0, "d", nil},
		{w(0x7c4004ac), "ptesync", arch.FlowNext, 0, "d", nil},
		{w(0x7c0006ac), "eieio", arch.FlowNext, 0, "d", nil},
		{w(0x4c00012c), "isync", arch.FlowNext, 0, "", nil},
		{w(0x7c602028), "lwarx r3,0,r4", arch.FlowNext, 0, "d", []arch.Reg{4}},
		{w(0x7c6521ad), "stdcx. r3,r5,r4", arch.FlowNext, 0, "d", []arch.Reg{5, 4}},
		{w(0xe8640008), "ld r3,8(r4)", arch.FlowNext, 0, "", []arch.Reg{4}},
		{w(0xe8600008), "ld r3,8(0)", arch.FlowNext, 0, "", nil},
		{w(0xe86d0008), "ld r3,8(r13)", arch.FlowNext, 0, "c", []arch.Reg{13}},
		{w(0x7c0d202a), "ldx r0,r13,r4", arch.FlowNext, 0, "c", []arch.Reg{13, 4}},
		{w(0x386d0008), "addi r3,r13,8", arch.FlowNext, 0, "", nil},
		{w(0x7c0027ac), "icbi 0,r4", arch.FlowNext, 0, "", []arch.Reg{4}},
		{w(0x04100000, 0xe4600010), "pld r3,16 # 0x10010", arch.FlowNext, 0, "p", nil},
		{w(0x04000000, 0xe4640010), "pld r3,16(r4)", arch.FlowNext, 0, "", []arch.Reg{4}},
		{w(0x06100000, 0x38600008), "pla r3,8 # 0x10008", arch.FlowNext, 0, "p", nil},
	} {
		in, err := Decode(bytesOfWords(c.code), textAt)
		require.NoError(t, err, c.text)
		assert.Equal(t, c.text, in.String())
		assert.Equal(t, c.flow, in.Flow(), c.text)
		to, _ := in.Target()
		assert.Equal(t, c.target, to, c.text)
		is := ""
		for _, f := range []struct {
			is     bool
			letter string
		}{{in.IsNop(), "n"}, {in.Operation().Drains, "d"}, {in.PerCPU(), "c"}} {
			if f.is {
				is += f.letter
			}
		}
		if at, ok := in.IPOperand(); ok {
			is += "p"
			assert.True(t, strings.HasSuffix(c.text, fmt.Sprintf("# %#x", uint64(at))), c.text)
			from, to, ok := in.IPRelative()
			assert.Equal(t, []any{0, PrefixLen, true}, []any{from, to, ok})
		}
		assert.Equal(t, c.is, is, c.text)
		assert.Equal(t, c.base, in.AddressRegs(), c.text)
		assert.False(t, in.PerTask())
		assert.Equal(t, in.At()+arch.Addr(in.Size()), in.Next())
		assert.Same(t, in, in.Operation().Inst)
	}
}

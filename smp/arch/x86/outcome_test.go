package x86_test

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// step decodes code at textAt and executes its first instruction.
func step(t *testing.T, code string, s *arch.Regs, m arch.Memory) arch.Outcome {
	t.Helper()
	b, err := hex.DecodeString(code)
	require.NoError(t, err)
	s.IP = textAt
	in, err := x86.Decode(b, textAt)
	require.NoError(t, err)
	return execute(t, &in, s, m)
}

// execute executes an instruction, and insists on where IP stands if control just
// goes on.
func execute(t *testing.T, in *x86.Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	t.Helper()
	out := in.Exec(s, m)
	switch {
	case out.Faulted():
		require.Equal(t, in.Addr, s.IP, in)
	case in.Flow() != arch.FlowNext:
	case in.Opcode()&^0xf != 0xa0 || in.Prefixes()&(x86.PrefixRep|x86.PrefixRepne) == 0: // nothing repeated
		require.Equal(t, in.Next(), s.IP, in)
	}
	return out
}

func TestOutcomes(t *testing.T) {
	const behind = 0x100
	for _, c := range []struct {
		code string
		want arch.Outcome
		ip   arch.Addr // less textAt
	}{
		{"90", arch.Next, 1},
		{"f390", arch.Relaxed, 2}, // pause
		{"f30f1efa", arch.Next, 4},
		{"cc", arch.Breakpoint, 1},
		{"0f0b", arch.Undefined, 0},
		{"0fb9c0", arch.Undefined, 0},
		{"f08903", arch.Undefined, 0}, // lock mov
		{"f001c0", arch.Undefined, 0}, // lock add to a register
		{"f4", arch.Halt, 1},
		{"fa", arch.Interrupts, 1},
		{"fb", arch.Shadowed, 1},
		{"0fa2", arch.Serialized, 2},
		{"0f01e8", arch.Serialized, 3},
		{"0f58c1", arch.Unsupported, 0},       // addps
		{"c5f877", arch.Unsupported, 0},       // vzeroupper
		{"0f05", arch.Unsupported, 0},         // syscall
		{"ec", arch.Unsupported, 0},           // in: there are no ports
		{"66e900000000", arch.Unsupported, 0}, // vendors disagree
		{"66c3", arch.Unsupported, 0},         // so here
		{"8b0425000000f0", arch.PageFault, 0},
		{"f7f1", arch.DivideError, 0},
		{"e9fb000000", arch.Next, behind},
		{"65488d042500000000", arch.Next, 9}, // lea with gs: an address only
		{"87c0", arch.Next, 2},
		{"cd80", arch.SoftInt, 2},
		{"f1", arch.DebugTrap, 1},
		{"0faa", arch.Undefined, 0},     // rsm
		{"8ec8", arch.Undefined, 0},     // mov to cs
		{"0f20c8", arch.Undefined, 0},   // cr1
		{"440f23c0", arch.Undefined, 0}, // dr8
		{"0f01d0", arch.Undefined, 0},   // xgetbv without OSXSAVE
		{"0f33", arch.Protection, 0},    // rdpmc
		{"0f32", arch.Protection, 0},    // rdmsr 0
		{"0f30", arch.Protection, 0},
		{"0f22c0", arch.Protection, 0}, // paging off
		{"0f22e0", arch.Protection, 0}, // PAE off
		{"0f00d8", arch.Protection, 0}, // ltr of null
		{"0f013f", arch.Serialized, 3}, // invlpg
		{"0f09", arch.Serialized, 2},   // wbinvd
		{"0f00d0", arch.Serialized, 3}, // lldt of null
		{"f30f09", arch.Next, 3},       // wbnoinvd
		{"0f06", arch.Next, 2},         // clts
		{"0faee8", arch.Next, 3},       // lfence
		{"0fae3c2500800000", arch.Next, 8},
		{"0fae3c25000000f0", arch.PageFault, 0}, // clflush
		{"0f180c25000000f0", arch.Next, 8},      // prefetch
	} {
		code := c.code
		system = x86.NewSystem(0, 0x10, 0x18)
		s := arch.Regs{Flags: x86.F1}
		s.R[x86.RSP] = uint64(stackAt)
		before := s
		require.Equal(t, c.want, step(t, code, &s, make(flat, 0x10000)), code)
		require.Equal(t, textAt+c.ip, s.IP, code)
		require.Equal(t, c.ip == 0, c.want.Faulted(), code)
		if c.want.Faulted() {
			before.IP = textAt
			require.Equal(t, before, s, code)
		}
	}
}

func TestInterruptFlag(t *testing.T) {
	mem := make(flat, 0x10000)
	s := arch.Regs{Flags: x86.F1 | x86.CF}
	s.R[x86.RSP] = uint64(stackAt)
	require.Equal(t, arch.Shadowed, step(t, "fb", &s, mem))
	require.Equal(t, x86.F1|x86.CF|x86.IF, s.Flags)
	require.Equal(t, arch.Next, step(t, "fb", &s, mem)) // no second shadow
	require.Equal(t, arch.Next, step(t, "9c", &s, mem))
	require.EqualValues(t, stackAt-8, s.R[x86.RSP])
	require.Equal(t, arch.Interrupts, step(t, "fa", &s, mem))
	require.Equal(t, x86.F1|x86.CF, s.Flags)
	require.Equal(t, arch.Interrupts, step(t, "9d", &s, mem))
	require.Equal(t, x86.F1|x86.CF|x86.IF, s.Flags)
	require.EqualValues(t, stackAt, s.R[x86.RSP])

	// Bit 1 can't be cleared, RF and VM can't be set, TF can.
	mem.Store(stackAt, 8, 0x30000|x86.TF)
	require.Equal(t, arch.Interrupts, step(t, "9d", &s, mem))
	require.Equal(t, x86.F1|x86.TF, s.Flags)
	// A pop of 16 bits changes only the lower flags.
	s = arch.Regs{Flags: x86.F1 | 1<<18 | x86.CF}
	s.R[x86.RSP] = uint64(stackAt)
	mem.Store(stackAt, 8, 0xffff_0040)
	require.Equal(t, arch.Interrupts, step(t, "669d", &s, mem))
	require.Equal(t, x86.F1|1<<18|x86.ZF, s.Flags)
	require.EqualValues(t, stackAt+2, s.R[x86.RSP])
}

func TestIret(t *testing.T) {
	mem := make(flat, 0x10000)
	var s arch.Regs
	s.Flags = x86.F1
	s.R[x86.RSP] = uint64(stackAt)
	for i, v := range []uint64{0x1234, 0x10, x86.ZF | x86.IF, 0x8888, 0x18} {
		mem.Store(stackAt+arch.Addr(8*i), 8, v)
	}
	require.Equal(t, arch.TrapReturn, step(t, "48cf", &s, mem))
	require.EqualValues(t, 0x1234, s.IP)
	require.Equal(t, x86.F1|x86.ZF|x86.IF, s.Flags)
	require.EqualValues(t, 0x8888, s.R[x86.RSP])

	// A frame that ends beyond memory: nothing happens.
	s.R[x86.RSP] = 0x10000 - 32
	before := s
	before.IP = textAt
	require.Equal(t, arch.PageFault, step(t, "48cf", &s, mem))
	require.Equal(t, before, s)
}

func TestCpuid(t *testing.T) {
	var s arch.Regs
	require.Equal(t, arch.Serialized, step(t, "0fa2", &s, nil))
	var name []byte
	for _, r := range []arch.Reg{x86.RBX, x86.RDX, x86.RCX} {
		for i := range 4 {
			name = append(name, byte(s.R[r]>>(8*i)))
		}
	}
	require.Equal(t, "kpsim x86-64", string(name))
	s.R[x86.RAX], s.R[x86.RBX] = 1, 0
	require.Equal(t, arch.Serialized, step(t, "0fa2", &s, nil))
	require.Zero(t, s.R)
}

// TestRepeat: a repeated string instruction is one element a step, and a fault
// leaves it where it can go on.
func TestRepeat(t *testing.T) {
	mem := make(flat, 0x10000)
	copy(mem[dataAt:], "elements")
	s := arch.Regs{Flags: x86.F1}
	s.R[x86.RSI], s.R[x86.RDI], s.R[x86.RCX] = uint64(dataAt), 0x10000-5, 8
	for i := range uint64(5) {
		require.Equal(t, arch.Next, step(t, "f3a4", &s, mem))
		require.Equal(t, textAt, s.IP)
		require.Equal(t, 7-i, s.R[x86.RCX])
	}
	before := s
	require.Equal(t, arch.PageFault, step(t, "f3a4", &s, mem))
	require.Equal(t, before, s)
	require.Equal(t, "eleme", string(mem[0x10000-5:]))
	s.R[x86.RDI] = uint64(data2At)
	for range 3 {
		require.Equal(t, arch.Next, step(t, "f3a4", &s, mem))
	}
	require.Equal(t, textAt+2, s.IP)
	require.Equal(t, arch.Next, step(t, "f3a4", &s, mem)) // RCX 0: nothing
	require.EqualValues(t, data2At+3, s.R[x86.RDI])

	// The second operand of cmps, which is read first, is there; the first isn't.
	s.R[x86.RSI] = 0x10000
	before = s
	before.IP = textAt
	require.Equal(t, arch.PageFault, step(t, "a6", &s, mem))
	require.Equal(t, before, s)

	// Backwards.
	s.Flags |= x86.DF
	require.Equal(t, arch.Next, step(t, "48ab", &s, mem))
	require.EqualValues(t, data2At-5, s.R[x86.RDI])
}

// TestAddressing: r8 to r15, %rsp and %rbp, %r12 and %r13 as bases, which
// the encoding treats differently.
func TestAddressing(t *testing.T) {
	mem := make(flat, 0x10000)
	for i := range arch.Addr(0x1000) {
		mem.Store(dataAt+8*i%0x1000, 8, uint64(dataAt+8*i%0x1000))
	}
	for _, c := range []struct {
		code string
		want arch.Addr
		set  []arch.Reg
	}{
		{"488b00", dataAt, []arch.Reg{x86.RAX}},
		{"498b0424", dataAt, []arch.Reg{x86.R12}},
		{"488b0424", dataAt, []arch.Reg{x86.RSP}},
		{"498b4500", dataAt, []arch.Reg{x86.R13}},
		{"488b4508", dataAt + 8, []arch.Reg{x86.RBP}},
		{"4a8b04e0", dataAt + 8*8, []arch.Reg{x86.RAX, x86.R12}},
		{"4b8b44fe10", dataAt + 8*8 + 16, []arch.Reg{x86.R14, x86.R15}},
		{"4a8b04e5c0800000", dataAt + 0xc0 + 64, []arch.Reg{x86.RAX, x86.R12}},
		{"488b042508800000", dataAt + 8, nil},
		{"488b05f96f0000", dataAt, nil},
		{"48a14080000000000000", dataAt + 0x40, nil},
		{"67488b00", dataAt, []arch.Reg{x86.RAX}},
	} {
		s := arch.Regs{Flags: x86.F1}
		for i, r := range c.set {
			s.R[r] = uint64(dataAt)
			if i == 1 {
				s.R[r] = 8
			}
		}
		if c.code[:2] == "67" {
			s.R[x86.RAX] |= 1 << 40 // cut off
		}
		require.Equal(t, arch.Next, step(t, c.code, &s, mem), c.code)
		require.EqualValues(t, c.want, s.R[x86.RAX], c.code)
	}
}

// TestFaultsChangeNothing: a store that faults comes after everything else.
func TestFaultsChangeNothing(t *testing.T) {
	for _, code := range []string{"50", "6a05", "ff30", "8f00", "e800000000", "ff10", "ffd0", "9c", "0108", "48ff00",
		"f710", "f718",
		"d120", "d310", "0fa4080c", "0fab08", "8708", "0fc108", "0fb108", "0f9400", "aa", "a4", "48a34080000000000000",
		"8908", "c70001000000",
		"c8080002", "0fa0", "650108", "0fc70f", "480fc70f", "0f38f108", "8c18", "0f0108", "0f0120", "0f0008",
		"660f38f108"} {
		s := arch.Regs{Flags: x86.F1 | x86.CF}
		for i := range s.R[:x86.AMD64.Used] {
			s.R[i] = 0x1000 + 64*uint64(i)
		}
		before := s
		before.IP = textAt
		require.Equal(t, arch.PageFault, step(t, code, &s, halfMemory{}), code)
		require.Equal(t, before, s, code)
	}
}

// TestLoadFaults: a load that faults comes before anything else.
func TestLoadFaults(t *testing.T) {
	for mode, codes := range map[x86.Mode][]string{
		x86.Mode64: {"ff00", "fe08", "f618", "f710", "0308", "0108", "8b08", "8a08", "0fb608", "0fbe08", "0f4408",
			"0faf08",
			"6b0805", "f720", "f728", "f730", "f738",
			"d120", "d320", "0fa50a", "0fa308", "0fab08", "0fbc08", "f30fb808", "0fc108", "0fb108", "8708", "0fc708",
			"480fc708",
			"ff30", "8f00",
			"58", "665b", "9d", "0fa1", "c3", "ff10", "ff20", "ff18", "ff28", "cb", "cf", "48cf", "c9", "c8100000",
			"c8100003",
			"a4", "a6", "ac", "ae",
			"d7", "8e18", "0fb408", "0f0110", "0f0130", "0f0010", "0f0020", "0fae38", "0f38f008", "f20f38f008",
			"660f38f608",
			"f30f38f608", "c4e278f208", "c4e270f308", "c4e270f508", "c4e270f708", "c4e273f608", "c4e37bf00805",
			"658b08",
			"64ff30", "650fc708"},
		x86.Mode32: {"61", "1f", "6208", "6308", "c508", "cf", "c3", "66c3", "ff28", "2e0308", "60", "9a000000001000"},
	} {
		for _, code := range codes {
			b, err := hex.DecodeString(code)
			require.NoError(t, err)
			in, err := mode.Decode(b, textAt)
			require.NoError(t, err, code)
			system = x86.NewSystem(0, 0x10, 0x18)
			before, kept := arch.Regs{IP: textAt, Flags: x86.F1 | x86.CF}, system
			for i := range before.R[:x86.AMD64.Used] {
				before.R[i] = 0x1000 + 64*uint64(i)
			}
			s := before
			require.Equal(t, arch.PageFault, in.Exec(&s, noMemory{}), "%s: %v", code, &in)
			require.Equal(t, before, s, code)
			require.Equal(t, kept.Seg, system.Seg, code)
			require.Equal(t, kept.GDT, system.GDT, code)
		}
	}
}

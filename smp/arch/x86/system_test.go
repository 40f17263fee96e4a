package x86_test

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// sys runs one instruction on fresh registers and system state.
type sys struct {
	arch.Regs
	x86.System
	mem flat
}

func newSys() *sys {
	y := &sys{System: x86.NewSystem(3, 0x10, 0x18), mem: make(flat, 0x10000)}
	y.Flags = x86.F1
	y.R[x86.RSP] = uint64(stackAt)
	return y
}

func (y *sys) step(t *testing.T, code string) arch.Outcome {
	t.Helper()
	system = y.System
	out := step(t, code, &y.Regs, y.mem)
	y.System = system
	return out
}

func (y *sys) next(t *testing.T, code string) {
	t.Helper()
	require.Equal(t, arch.Next, y.step(t, code), code)
}

func TestSegmentBases(t *testing.T) {
	y := newSys()
	y.FSBase, y.GSBase = uint64(dataAt), uint64(data2At)
	y.mem.Store(dataAt+8, 8, 0x1111)
	y.mem.Store(data2At+8, 8, 0x2222)
	y.mem.Store(8, 8, 0x3333)
	y.next(t, "64488b042508000000") // mov %fs:8,%rax
	require.EqualValues(t, 0x1111, y.R[x86.RAX])
	y.next(t, "65488b042508000000")
	require.EqualValues(t, 0x2222, y.R[x86.RAX])
	y.next(t, "3e488b042508000000") // ds has no base
	require.EqualValues(t, 0x3333, y.R[x86.RAX])
	y.R[x86.RBX] = 1<<32 + 8
	y.next(t, "65678b03") // of 32 bits before the base is added
	require.EqualValues(t, 0x2222, y.R[x86.RAX])
	y.next(t, "65ff342508000000") // push: the stack has no override
	v, _ := y.mem.Load(stackAt-8, 8)
	require.EqualValues(t, 0x2222, v)
	y.next(t, "658f042510000000") // pop
	v, _ = y.mem.Load(data2At+16, 8)
	require.EqualValues(t, 0x2222, v)
	require.EqualValues(t, stackAt, y.R[x86.RSP])
	y.next(t, "65ff142508000000") // call
	require.EqualValues(t, 0x2222, y.IP)
	v, _ = y.mem.Load(stackAt-8, 8)
	require.EqualValues(t, textAt+8, v)

	y.R[x86.RSI], y.R[x86.RDI] = 8, 0x20
	y.next(t, "6548a5") // movs: the source only
	v, _ = y.mem.Load(0x20, 8)
	require.EqualValues(t, 0x2222, v)
	y.R[x86.RDI] = 0x20
	y.next(t, "6548af") // scas: no override at all
	y.R[x86.RSI], y.R[x86.RAX] = 8, 0
	y.next(t, "65ac") // lods
	require.EqualValues(t, 0x22, y.R[x86.RAX])
	y.R[x86.RBX], y.R[x86.RAX] = 8, 0
	y.next(t, "65d7") // xlat
	require.EqualValues(t, 0x22, y.R[x86.RAX])
	y.R[x86.RBX], y.R[x86.RAX] = 0xffff, 0
	y.next(t, "d7") // one byte, and no more are there
}

func TestBases(t *testing.T) {
	y := newSys()
	y.GSBase, y.KernelGSBase = 1, 2
	y.next(t, "0f01f8") // swapgs
	require.EqualValues(t, 2, y.GSBase)
	require.EqualValues(t, 1, y.KernelGSBase)
	y.R[x86.RAX] = 0xffff_8000_0000_1234
	y.next(t, "f3480faed0") // wrfsbase %rax
	require.Equal(t, y.R[x86.RAX], y.FSBase)
	y.next(t, "f30faed8") // wrgsbase %eax
	require.EqualValues(t, 0x1234, y.GSBase)
	y.next(t, "f3480faec1") // rdfsbase %rcx
	require.Equal(t, y.R[x86.RAX], y.R[x86.RCX])
	y.R[x86.RAX] = 1 << 47
	require.Equal(t, arch.Protection, y.step(t, "f3480faed0"))
	y.CR4 = 1 << 5
	require.Equal(t, arch.Undefined, y.step(t, "f3480faec1"))

	// The same through MSRs.
	for _, c := range []struct {
		msr  uint64
		what *uint64
	}{{0xc0000100, &y.FSBase}, {0xc0000101, &y.GSBase}, {0xc0000102, &y.KernelGSBase}} {
		y.R[x86.RCX], y.R[x86.RDX], y.R[x86.RAX] = c.msr, 0xffff_ffff, 0x8000_0000|c.msr
		require.Equal(t, arch.Serialized, y.step(t, "0f30"))
		require.Equal(t, 0xffff_ffff_8000_0000|c.msr, *c.what)
		y.R[x86.RDX], y.R[x86.RAX] = ^uint64(0), ^uint64(0)
		y.next(t, "0f32")
		require.EqualValues(t, 0xffff_ffff, y.R[x86.RDX])
		require.Equal(t, 0x8000_0000|c.msr, y.R[x86.RAX])
		y.R[x86.RDX] = 0x8000_0000
		require.Equal(t, arch.Protection, y.step(t, "0f30"))
	}
	y.R[x86.RCX] = 0x1b
	require.Equal(t, arch.Protection, y.step(t, "0f32"))
}

func TestClock(t *testing.T) {
	y := newSys()
	y.Clock = 5<<32 + 7
	y.R[x86.RAX], y.R[x86.RDX] = ^uint64(0), ^uint64(0)
	y.next(t, "0f31")
	require.EqualValues(t, 7, y.R[x86.RAX])
	require.EqualValues(t, 5, y.R[x86.RDX])
	y.R[x86.RCX], y.R[x86.RAX], y.R[x86.RDX] = 0x10, 100, 0
	require.Equal(t, arch.Serialized, y.step(t, "0f30"))
	y.Clock += 11
	y.R[x86.RCX] = ^uint64(0)
	y.next(t, "0f01f9") // rdtscp
	require.EqualValues(t, 111, y.R[x86.RAX])
	require.EqualValues(t, 3, y.R[x86.RCX])
	y.next(t, "f30fc7fb") // rdpid %rbx
	require.EqualValues(t, 3, y.R[x86.RBX])
	y.R[x86.RAX], y.Flags = ^uint64(0), x86.F1|arith
	y.next(t, "0fc7f0") // rdrand: none
	require.Zero(t, y.R[x86.RAX])
	require.Equal(t, x86.F1, y.Flags)
}

func TestControlRegisters(t *testing.T) {
	y := newSys()
	y.next(t, "0f20c0") // mov %cr0,%rax
	require.EqualValues(t, 0x80010033, y.R[x86.RAX])
	y.R[x86.RAX] |= 8
	require.Equal(t, arch.Serialized, y.step(t, "0f22c0"))
	require.EqualValues(t, 0x8001003b, y.CR0)
	y.next(t, "0f06") // clts
	require.EqualValues(t, 0x80010033, y.CR0)
	y.R[x86.RAX] = 0x80010033&^0x10 | 1<<6 // ET can't be cleared; a bit that there isn't
	require.Equal(t, arch.Serialized, y.step(t, "0f22c0"))
	require.EqualValues(t, 0x80010033, y.CR0)
	y.next(t, "0f01e3") // smsw %ebx
	require.EqualValues(t, 0x80010033, y.R[x86.RBX])
	y.R[x86.RBX] = 8
	y.next(t, "0f01f3")                       // lmsw: PE stays
	require.EqualValues(t, 0x80010039, y.CR0) // MP and EM follow
	y.R[x86.RAX] = 0x1234_5000
	require.Equal(t, arch.Serialized, y.step(t, "0f22d8"))
	y.R[x86.RAX] = 0
	y.next(t, "0f20d8")
	require.EqualValues(t, 0x1234_5000, y.R[x86.RAX])
	y.R[x86.RAX] = 9
	y.next(t, "440f22c0") // cr8 doesn't serialise
	require.EqualValues(t, 9, y.CR8)
	y.R[x86.RAX] = 16
	require.Equal(t, arch.Protection, y.step(t, "440f22c0"))
	y.R[x86.RAX] = 1 << 63
	require.Equal(t, arch.Protection, y.step(t, "0f22d8")) // reserved without PCIDs
	require.Equal(t, arch.Protection, y.step(t, "0f22c0"))
	require.Equal(t, arch.Protection, y.step(t, "0f22e0"))
	y.R[x86.RAX] = 0
	require.Equal(t, arch.Protection, y.step(t, "0f22c0"))
	y.CR4 |= 1 << 18 // OSXSAVE
	y.R[x86.RCX] = 0
	y.R[x86.RDX] = 5
	y.next(t, "0f01d0") // xgetbv
	require.EqualValues(t, 1, y.R[x86.RAX])
	require.Zero(t, y.R[x86.RDX])
	y.R[x86.RCX] = 1
	require.Equal(t, arch.Protection, y.step(t, "0f01d0"))

	y.next(t, "0f21f8") // mov %dr7,%rax
	require.EqualValues(t, 0x400, y.R[x86.RAX])
	y.next(t, "0f21e8") // dr5 is dr7
	require.EqualValues(t, 0x400, y.R[x86.RAX])
	for _, v := range []uint64{1, 0x80, 1 << 13} { // a breakpoint, or one on debug registers
		y.R[x86.RAX] = v
		require.Equal(t, arch.Unsupported, y.step(t, "0f23f8"))
	}
	y.R[x86.RAX] = 1
	require.Equal(t, arch.Serialized, y.step(t, "0f23f0"))
	require.EqualValues(t, 0xffff0ff1, y.DR[6])
	y.CR4 |= 8 // DE
	require.Equal(t, arch.Undefined, y.step(t, "0f21e8"))
}

func TestTables(t *testing.T) {
	y := newSys()
	y.R[x86.RBX] = uint64(dataAt)
	y.mem.Store(dataAt, 2, 0x7f)
	y.mem.Store(dataAt+2, 8, 0xffff_fe00_0000_1000)
	require.Equal(t, arch.Serialized, y.step(t, "0f0113")) // lgdt
	require.Equal(t, x86.Table{Base: 0xffff_fe00_0000_1000, Limit: 0x7f}, y.GDT)
	y.IDT = x86.Table{Base: 0x1122334455667788, Limit: 0xfff}
	y.next(t, "0f010b") // sidt
	v, _ := y.mem.Load(dataAt, 8)
	require.EqualValues(t, 0x3344_5566_7788_0fff, v)
	y.mem.Store(dataAt+8, 2, 0x7fff)
	require.Equal(t, arch.Protection, y.step(t, "0f011b")) // lidt, not canonical

	// A store that would reach beyond memory leaves nothing half done.
	y.R[x86.RBX] = 0x10000 - 8
	require.Equal(t, arch.PageFault, y.step(t, "0f010b"))
	v, _ = y.mem.Load(0x10000-8, 8)
	require.Zero(t, v)
	require.Equal(t, arch.PageFault, y.step(t, "0f0113"))
	y.LDT, y.R[x86.RAX] = 0x28, 0
	require.Equal(t, arch.Serialized, y.step(t, "0f00d0")) // lldt of null
	require.Zero(t, y.LDT)

	y.TR = 0x40
	y.next(t, "0f00c8") // str %eax
	require.EqualValues(t, 0x40, y.R[x86.RAX])
	y.R[x86.RAX] = 0x18
	y.next(t, "0f00e8") // verw of the stack's segment
	require.NotZero(t, y.Flags&x86.ZF)
	y.R[x86.RAX] = 0x10
	y.next(t, "0f00e8") // code can't be written
	require.Zero(t, y.Flags&x86.ZF)
	y.next(t, "0f00e0") // but read
	require.NotZero(t, y.Flags&x86.ZF)
	y.Seg[x86.DS], y.R[x86.RAX] = 0x7b, 0x7b
	y.Flags &^= x86.ZF
	y.next(t, "0f00e8") // nor is what ds holds unknown
	require.NotZero(t, y.Flags&x86.ZF)
	y.R[x86.RAX] = 3
	y.next(t, "0f00e8")
	require.Zero(t, y.Flags&x86.ZF)
	y.R[x86.RAX] = 0x33
	require.Equal(t, arch.Unsupported, y.step(t, "0f00e0"))
}

func TestEnterLeave(t *testing.T) {
	y := newSys()
	y.R[x86.RBP] = uint64(dataAt)
	y.mem.Store(dataAt-8, 8, 0xaa)
	y.mem.Store(dataAt-16, 8, 0xbb)
	y.next(t, "c8200003") // enter $32,$3
	require.EqualValues(t, stackAt-8, y.R[x86.RBP])
	require.EqualValues(t, stackAt-8-24-32, y.R[x86.RSP])
	for i, want := range []uint64{uint64(dataAt), 0xaa, 0xbb, uint64(stackAt - 8)} {
		v, _ := y.mem.Load(stackAt-8-arch.Addr(8*i), 8)
		require.Equal(t, want, v)
	}
	y.next(t, "c9")
	require.EqualValues(t, dataAt, y.R[x86.RBP])
	require.EqualValues(t, stackAt, y.R[x86.RSP])

	y.R[x86.RBP] = 4 // the copies would be of what isn't there
	require.Equal(t, arch.PageFault, y.step(t, "c8200003"))
	v, _ := y.mem.Load(stackAt-8, 8)
	require.EqualValues(t, dataAt, v, "nothing is stored")
	// the first word doesn't fit, the third, what is reserved, the first
	for _, sp := range []uint64{4, 16, 40, 0x10004} {
		y.R[x86.RBP], y.R[x86.RSP] = uint64(dataAt), sp
		require.Equal(t, arch.PageFault, y.step(t, "c8200003"))
		require.Equal(t, sp, y.R[x86.RSP])
		for at := arch.Addr(0); at < 40; at += 8 {
			v, _ = y.mem.Load(at, 8)
			require.Zero(t, v, "%#x", at)
		}
	}
	y.R[x86.RBP], y.R[x86.RSP] = 8, uint64(stackAt)
	y.next(t, "c8000002") // one word is copied, and the second isn't there
	for level, code := range []string{"c8100000", "c8100001"} {
		y.R[x86.RBP], y.R[x86.RSP] = 0x4321, uint64(stackAt)
		y.next(t, code)
		require.EqualValues(t, stackAt-8, y.R[x86.RBP])
		require.EqualValues(t, int(stackAt)-8-8*level-16, y.R[x86.RSP])
		v, _ = y.mem.Load(stackAt-8, 8)
		require.EqualValues(t, 0x4321, v)
	}
	v, _ = y.mem.Load(stackAt-16, 8)
	require.EqualValues(t, stackAt-8, v) // the frame's own address
}

func TestCmpxchgPair(t *testing.T) {
	y := newSys()
	y.R[x86.RDI] = uint64(dataAt)
	y.mem.Store(dataAt, 8, 1)
	y.mem.Store(dataAt+8, 8, 2)
	y.R[x86.RBX], y.R[x86.RCX] = 3, 4
	y.next(t, "f0480fc70f") // lock cmpxchg16b (%rdi)
	require.Zero(t, y.Flags&x86.ZF)
	require.EqualValues(t, 1, y.R[x86.RAX])
	require.EqualValues(t, 2, y.R[x86.RDX])
	y.next(t, "f0480fc70f")
	require.NotZero(t, y.Flags&x86.ZF)
	v, _ := y.mem.Load(dataAt, 8)
	require.EqualValues(t, 3, v)
	v, _ = y.mem.Load(dataAt+8, 8)
	require.EqualValues(t, 4, v)
	y.R[x86.RDI] += 8
	require.Equal(t, arch.Protection, y.step(t, "480fc70f"))
	y.GSBase = 8 // the sum must be aligned
	y.next(t, "65480fc70f")
	y.R[x86.RDI] += 8
	require.Equal(t, arch.Protection, y.step(t, "65480fc70f"))
	y.R[x86.RDI] -= 8
	y.mem.Store(dataAt+8, 8, 4)
	y.mem.Store(dataAt+8, 8, 0x9000_0002_8000_0001)
	y.R[x86.RAX], y.R[x86.RDX] = 0x8000_0001, 3
	y.next(t, "0fc70f")
	require.Zero(t, y.Flags&x86.ZF)
	require.EqualValues(t, 0x8000_0001, y.R[x86.RAX])
	require.EqualValues(t, 0x9000_0002, y.R[x86.RDX])
	y.R[x86.RAX] |= 1 << 40 // isn't looked at
	y.R[x86.RDX] |= 1 << 40
	y.R[x86.RBX], y.R[x86.RCX] = 1<<40|5, 6
	y.next(t, "0fc70f") // cmpxchg8b needs no alignment
	v, _ = y.mem.Load(dataAt+8, 8)
	require.EqualValues(t, 6<<32|5, v)
}

// TestSystemEdges: the rest of what system instructions check and keep.
func TestSystemEdges(t *testing.T) {
	y := newSys()
	y.R[x86.RAX] = 0x1234
	require.Equal(t, arch.Serialized, y.step(t, "0f22d0")) // cr2
	require.EqualValues(t, 0x1234, y.CR2)
	y.R[x86.RAX] = 0x200020 | 1<<17 // with PCIDs; and SMAP
	require.Equal(t, arch.Serialized, y.step(t, "0f22e0"))
	require.EqualValues(t, 0x220020, y.CR4)
	y.R[x86.RAX] = 1<<63 | 0x5001
	require.Equal(t, arch.Serialized, y.step(t, "0f22d8"))
	require.EqualValues(t, 0x5001, y.CR3) // bit 63 isn't kept
	y.R[x86.RAX] = 0x200020
	require.Equal(t, arch.Serialized, y.step(t, "0f22e0"))
	y.R[x86.RAX] |= 1 << 17
	require.Equal(t, arch.Protection, y.step(t, "0f22e0")) // PCIDs again, with one loaded
	y.R[x86.RAX] = 1<<32 | 0x80010033
	require.Equal(t, arch.Protection, y.step(t, "0f22c0"))
	y.R[x86.RAX] = 0x80010033 | 1<<29
	require.Equal(t, arch.Protection, y.step(t, "0f22c0")) // NW without CD
	y.R[x86.RAX] = 0x123456
	require.Equal(t, arch.Serialized, y.step(t, "0f23c0"))
	require.EqualValues(t, 0x123456, y.DR[0])
	y.R[x86.RAX] = 0x300 // exact breakpoints, none of them on
	require.Equal(t, arch.Serialized, y.step(t, "0f23f8"))
	require.EqualValues(t, 0x700, y.DR[7])
	y.R[x86.RAX] = 1 << 32
	require.Equal(t, arch.Protection, y.step(t, "0f23f8"))
	require.Equal(t, arch.Protection, y.step(t, "0f23f0"))
	y.R[x86.RAX] = 0x40
	require.Equal(t, arch.Unsupported, y.step(t, "0f00d8")) // ltr
	require.Equal(t, arch.Unsupported, y.step(t, "0f00d0")) // lldt

	y.R[x86.RCX], y.R[x86.RAX], y.R[x86.RDX] = 0xc0000103, 9, 0
	require.Equal(t, arch.Serialized, y.step(t, "0f30")) // TSC_AUX
	require.EqualValues(t, 9, y.TSCAux)
	y.R[x86.RAX] = 0
	y.next(t, "0f32")
	require.EqualValues(t, 9, y.R[x86.RAX])
	y.R[x86.RDX] = 1
	require.Equal(t, arch.Protection, y.step(t, "0f30"))
	y.R[x86.RCX], y.Clock, y.TSCOffset = 0x10, 1<<32, 5
	y.next(t, "0f32")
	require.EqualValues(t, 5, y.R[x86.RAX])
	require.EqualValues(t, 1, y.R[x86.RDX])

	// Returns to a stack or a code segment that isn't known.
	for i, v := range []uint64{0x1234, 0x10, 0, 0x8888, 0x2b} {
		y.mem.Store(stackAt+arch.Addr(8*i), 8, v)
	}
	require.Equal(t, arch.Unsupported, y.step(t, "48cf"))
	require.EqualValues(t, stackAt, y.R[x86.RSP])
	y.mem.Store(stackAt+8, 8, 0x33)
	require.Equal(t, arch.Unsupported, y.step(t, "48cf"))
	require.Equal(t, arch.Unsupported, y.step(t, "48cb"))
	y.mem.Store(stackAt+8, 8, 3)
	require.Equal(t, arch.Protection, y.step(t, "48cf"))
	require.Equal(t, arch.Protection, y.step(t, "48cb"))
	y.mem.Store(stackAt+4, 4, 0x10)
	y.mem.Store(stackAt+8, 4, 1<<17) // virtual-8086 mode
	require.Equal(t, arch.Unsupported, y.step32(t, "cf"))
	y.R[x86.RAX] = 0
	require.Equal(t, arch.Protection, y.step32(t, "8ed0")) // no null stack
	y.R[x86.RAX] = 0x80010032
	require.Equal(t, arch.Protection, y.step32(t, "0f22c0"))
	y.R[x86.RAX] = 0x10032 // real mode
	require.Equal(t, arch.Unsupported, y.step32(t, "0f22c0"))
}

// TestNotThere: forms that choose doesn't check, because Decode refuses them.
func TestNotThere(t *testing.T) {
	for _, code := range []string{"8cf0", "8ef0", "c4e27df208", "c4e37ff0c005", "c4e3f3f0c005", "c4e279f5c0", "8dc0",
		"0f0dc0"} {
		b, err := hex.DecodeString(code)
		require.NoError(t, err)
		_, err = x86.Decode(b, textAt)
		require.ErrorIs(t, err, x86.ErrUnknown, code)
	}
	for _, code := range []string{"0f01f8", "f30faec0"} {
		b, err := hex.DecodeString(code)
		require.NoError(t, err)
		_, err = x86.Mode32.Decode(b, textAt)
		require.ErrorIs(t, err, x86.ErrUnknown, code)
	}
}

package x86_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

func TestSelectors(t *testing.T) {
	y := newSys()
	y.R[x86.RAX] = ^uint64(0)
	y.next(t, "668cd0") // mov %ss,%ax
	require.EqualValues(t, ^uint64(0)&^0xffff|0x18, y.R[x86.RAX])
	y.next(t, "8cc8")
	require.EqualValues(t, 0x10, y.R[x86.RAX])
	y.R[x86.RAX] = 0x18
	y.next(t, "8ed8") // ds may have what ss has
	require.Equal(t, arch.Masked, y.step(t, "8ed0"))
	y.R[x86.RAX] = 0x2b
	require.Equal(t, arch.Unsupported, y.step(t, "8ed8"))
	y.R[x86.RAX], y.GSBase = 0, 1
	y.next(t, "8ee8") // a null selector takes the base away
	require.Zero(t, y.GSBase)
	y.FSBase = 1
	y.next(t, "8ee0")
	require.Zero(t, y.FSBase)
	require.Equal(t, arch.Masked, y.step(t, "8ed0"))
	y.R[x86.RAX] = 3
	require.Equal(t, arch.Protection, y.step(t, "8ed0"))
	y.Seg[x86.FS] = 7
	y.next(t, "0fa0")
	require.EqualValues(t, stackAt-8, y.R[x86.RSP])
	v, _ := y.mem.Load(stackAt-8, 8)
	require.EqualValues(t, 7, v)
	require.Equal(t, arch.Unsupported, y.step(t, "0fa9"))
	require.EqualValues(t, stackAt-8, y.R[x86.RSP])
	y.next(t, "660fa0")
	y.mem.Store(stackAt-10, 2, 0x18)
	y.next(t, "660fa1") // pop %fs, of 16 bits
	require.EqualValues(t, 0x18, y.Seg[x86.FS])
	require.EqualValues(t, stackAt-8, y.R[x86.RSP])
}

func TestFar(t *testing.T) {
	y := newSys()
	y.R[x86.RBX] = uint64(dataAt)
	y.mem.Store(dataAt, 4, 0x1234)
	y.mem.Store(dataAt+4, 2, 0x10)
	y.next(t, "ff2b") // ljmp
	require.EqualValues(t, 0x1234, y.IP)
	y.next(t, "ff1b") // lcall
	require.EqualValues(t, 0x1234, y.IP)
	require.EqualValues(t, stackAt-8, y.R[x86.RSP])
	v, _ := y.mem.Load(stackAt-8, 8)
	require.EqualValues(t, 0x10<<32|textAt+2, v)
	y.next(t, "ca0800") // lret $8
	require.EqualValues(t, textAt+2, y.IP)
	require.EqualValues(t, stackAt+8, y.R[x86.RSP])
	y.mem.Store(dataAt+4, 2, 0)
	require.Equal(t, arch.Protection, y.step(t, "ff2b"))
	y.mem.Store(dataAt+4, 2, 0x33)
	require.Equal(t, arch.Unsupported, y.step(t, "ff2b"))

	// Both words or none.
	y.mem.Store(dataAt+4, 2, 0x10)
	for _, sp := range []uint64{0x10000 + 4, 4} {
		y.R[x86.RSP] = sp
		require.Equal(t, arch.PageFault, y.step(t, "ff1b"))
		require.Equal(t, sp, y.R[x86.RSP])
	}
	v, _ = y.mem.Load(0, 4)
	require.Zero(t, v)
	y.R[x86.RSP] = 0x10000 - 4
	require.Equal(t, arch.PageFault, y.step(t, "cb"))
	y.R[x86.RSP] = 8 // room for two
	y.next(t, "ff1b")
}

// TestFlagsInSystem: what pushf shows, and what popf and iret take.
func TestFlagsInSystem(t *testing.T) {
	const (
		iopl, nt, rf, vm, ac, vif, vip, id = 3 << 12, 1 << 14, 1 << 16, 1 << 17, 1 << 18, 1 << 19, 1 << 20, 1 << 21
		anyone                             = arith | x86.TF | x86.IF | x86.DF | iopl | nt | ac | id
	)
	y := newSys()
	y.Flags |= rf | vm | ac | vif
	y.next(t, "9c")
	v, _ := y.mem.Load(stackAt-8, 8)
	require.EqualValues(t, x86.F1|ac|vif, v)
	y.mem.Store(stackAt-8, 8, ^uint64(0))
	require.Equal(t, arch.Interrupts, y.step(t, "9d"))
	require.EqualValues(t, x86.F1|anyone|vm|vif, y.Flags) // VM and VIF stay, RF ends
	y.R[x86.RSP] -= 8
	y.mem.Store(stackAt-8, 8, 0)
	require.Equal(t, arch.Interrupts, y.step(t, "669d"))
	require.EqualValues(t, x86.F1|ac|id|vm|vif, y.Flags)

	for i, v := range []uint64{0x1234, 0x10, 0xffff_ffff, 0x8888, 0x18} {
		y.mem.Store(stackAt+arch.Addr(8*i), 8, v)
	}
	y.R[x86.RSP], y.Flags = uint64(stackAt), x86.F1
	require.Equal(t, arch.TrapReturn, y.step(t, "48cf"))
	require.EqualValues(t, x86.F1|anyone|vif|vip, y.Flags) // RF isn't kept, VM isn't of this mode
}

// TestIretSizes: five words of the operand size.
func TestIretSizes(t *testing.T) {
	for _, c := range []struct {
		code string
		size int
	}{{"48cf", 8}, {"cf", 4}, {"66cf", 2}} {
		y := newSys()
		for i, v := range []uint64{0x1234, 0x10, x86.ZF, 0x8888, 0x18} {
			y.mem.Store(stackAt+arch.Addr(c.size*i), c.size, v)
		}
		require.Equal(t, arch.TrapReturn, y.step(t, c.code))
		require.EqualValues(t, 0x1234, y.IP)
		require.EqualValues(t, 0x8888, y.R[x86.RSP])
		require.Equal(t, x86.F1|x86.ZF, y.Flags)
		y.Flags |= 1 << 14 // NT
		require.Equal(t, arch.Protection, y.step(t, c.code))
	}
}

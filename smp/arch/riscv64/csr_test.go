package riscv64_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	rv "kpsim/smp/arch/riscv64"
)

// Bits of sstatus.
const (
	sie, spie, spp, sum, fs, sd, uxl = 1 << 1, 1 << 5, 1 << 8, 1 << 18, 3 << 13, 1 << 63, 2 << 32
)

// TestStatus: sstatus shows the flags, and a write to it changes them. Only an instruction that writes
// SIE says that interrupts may have changed.
func TestStatus(t *testing.T) {
	m := newFlat()
	r := arch.Regs{Flags: arch.IRQ}
	read := func() uint64 {
		done(t, arch.Next, csr(csrrs, a5, 0x100, zero), &r, m)
		return r.R[a5]
	}
	require.EqualValues(t, uxl|spie|sie, read())

	done(t, arch.Interrupts, csr(csrrci, a0, 0x100, 2), &r, m) // local_irq_save
	assert.EqualValues(t, uxl|spie|sie, r.R[a0])
	assert.Zero(t, r.Flags&arch.IRQ)
	assert.EqualValues(t, uxl|spie, read())
	r.R[a0] &= sie
	done(t, arch.Interrupts, csr(csrrs, zero, 0x100, a0), &r, m) // local_irq_restore
	assert.NotZero(t, r.Flags&arch.IRQ)

	r.R[a1] = sum
	done(t, arch.Next, csr(csrrs, zero, 0x100, a1), &r, m) // __enable_user_access
	assert.EqualValues(t, uxl|spie|sie|sum, read())
	assert.NotZero(t, r.Flags&arch.IRQ)
	done(t, arch.Next, csr(csrrc, zero, 0x100, a1), &r, m)
	assert.EqualValues(t, arch.IRQ, r.Flags)

	r.R[31] = sum // any register may be the source
	done(t, arch.Next, csr(csrrs, 30, 0x100, 31), &r, m)
	assert.EqualValues(t, uxl|spie|sie, r.R[30])
	assert.EqualValues(t, uxl|spie|sie|sum, read())
	done(t, arch.Next, csr(csrrc, 30, 0x100, 31), &r, m)
	done(t, arch.Interrupts, csr(csrrw, 30, 0x100, 31), &r, m)
	assert.EqualValues(t, uxl|sum, read())
	done(t, arch.Interrupts, csr(csrrw, zero, 0x100, 30), &r, m)
	assert.EqualValues(t, arch.IRQ, r.Flags)

	r.R[a2] = fs | spp
	done(t, arch.Interrupts, csr(csrrw, a3, 0x100, a2), &r, m)
	assert.EqualValues(t, uxl|spie|sie, r.R[a3])
	assert.EqualValues(t, uint64(uxl|fs|spp|sd), read(), "what follows from FS")
	done(t, arch.Next, csr(csrrsi, zero, 0x100, 0), &r, m)
	r.R[a2] = ^uint64(0)
	done(t, arch.Interrupts, csr(csrrw, a2, 0x100, a2), &r, m) // rd is the source
	assert.EqualValues(t, uint64(uxl|fs|spp|sd), r.R[a2])
	assert.EqualValues(t, uint64(0x80000002000c6722), read(), "what can be written")
	assert.Zero(t, r.Flags&arch.Step)
}

// TestCSRs: which bits of each can be written.
func TestCSRs(t *testing.T) {
	for number, want := range map[uint32]uint64{
		0x104: 0x2222, 0x105: ^uint64(2), 0x106: 0xffffffff, 0x140: ^uint64(0), 0x141: ^uint64(1), 0x142: ^uint64(0),
		0x143: ^uint64(0), 0x144: 2, 0x180: 0, // satp: the mode doesn't exist
	} {
		m := newFlat()
		r := arch.Regs{}
		r.R[a0] = ^uint64(0)
		done(t, arch.Next, csr(csrrw, a1, number, a0), &r, m)
		done(t, arch.Next, csr(csrrs, a2, number, zero), &r, m)
		assert.Equal(t, want, r.R[a2], "%#x", number)
		done(t, arch.Next, csr(csrrci, zero, number, 3), &r, m)
		done(t, arch.Next, csr(csrrs, a2, number, zero), &r, m)
		assert.Equal(t, want&^3, r.R[a2], "%#x", number)
	}
	m := newFlat()
	r := arch.Regs{}
	r.R[a0] = 9<<60 | 5
	done(t, arch.Next, csr(csrrw, zero, 0x180, a0), &r, m)
	done(t, arch.Next, csr(csrrs, a2, 0x180, zero), &r, m)
	assert.Equal(t, r.R[a0], r.R[a2])
}

// TestCounters: they show the clock, and the state says that it was read.
func TestCounters(t *testing.T) {
	for _, number := range []uint32{0xc00, 0xc01, 0xc02} {
		m := newFlat()
		m.system.SetClock(1234)
		r := arch.Regs{}
		require.False(t, m.system.ClockRead())
		fails(t, arch.Undefined, csr(csrrw, a0, number, a1), &r, m)
		fails(t, arch.Undefined, csr(csrrsi, a0, number, 1), &r, m)
		require.False(t, m.system.ClockRead())
		done(t, arch.Next, csr(csrrs, a0, number, zero), &r, m)
		require.EqualValues(t, 1234, r.R[a0])
		require.True(t, m.system.ClockRead())
	}
	for _, number := range []uint32{0x300, 0xf14, 0x7c0 | 0x300} { // of machine mode
		fails(t, arch.Undefined, csr(csrrs, a0, number, zero), &arch.Regs{}, newFlat())
	}
	for _, number := range []uint32{0x001, 0x10a, 0x14d, 0x600, 0xc03} { // others
		fails(t, arch.Unsupported, csr(csrrs, a0, number, zero), &arch.Regs{}, newFlat())
	}
}

// TestSystem: copies are equal and independent, but for the clock.
func TestSystem(t *testing.T) {
	y := rv.NewSystem(3)
	require.EqualValues(t, 3, y.Hart)
	y.Scratch = 7
	z := y.New()
	require.True(t, y.Same(z))
	require.Equal(t, y.Append(nil), z.Append([]uint64{})[:])
	z.SetClock(99)
	require.True(t, y.Same(z))
	z.SetFault(0x1234)
	require.False(t, y.Same(z))
	require.NotEqual(t, y.Append(nil), z.Append(nil))
	require.EqualValues(t, 0x1234, z.Fault())
	require.Zero(t, y.Fault())
	y.Copy(z)
	require.True(t, y.Same(z))
	var prev, next arch.TaskState
	y.Switch(&prev, &next)
	require.True(t, y.Same(z))
}

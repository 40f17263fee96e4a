package riscv64_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	rv "kpsim/smp/arch/riscv64"
)

// A branch of the row goes where it says, from both ends of its reach, and saves where to return.
func TestBranches(t *testing.T) {
	const at = 1 << 40
	for _, d := range []int64{0, 8, 2, -2, 0x7fe, 0x800, -0x800, 0x123456, math.MaxInt32 - 2049, math.MinInt32 - 2048} {
		target := arch.Addr(at + d)
		for _, c := range []struct {
			encode func(at, target arch.Addr) (arch.Code, bool)
			link   arch.Reg
		}{{rv.RV64.Jump, 0}, {rv.RV64.Call, rv.T0}} {
			code, ok := c.encode(at, target)
			require.True(t, ok, d)
			require.Len(t, code.Bytes(), rv.RV64.BranchLen)
			r := arch.Regs{IP: at}
			for off := 0; off < rv.PairLen; off += rv.WordLen {
				in, err := rv.Decode(code.Bytes()[off:], r.IP)
				require.NoError(t, err)
				require.Equal(t, arch.Next, in.Exec(&r, nil))
			}
			require.Equal(t, target, r.IP, d)
			if c.link != 0 {
				require.EqualValues(t, at+8, r.R[c.link])
			}
		}
	}
	for _, d := range []int64{math.MaxInt32 - 2047, math.MinInt32 - 2050, 1 << 40, 3} {
		_, ok := rv.RV64.Jump(at, arch.Addr(at+d))
		require.False(t, ok, d)
	}
	for d, reach := range map[int64]bool{1<<20 - 2: true, -1 << 20: true, 1 << 20: false, -1<<20 - 2: false, 5: false} {
		code, ok := rv.RV64.Labels[0].Jump(at, arch.Addr(at+d))
		require.Equal(t, reach, ok, d)
		if ok {
			in, err := rv.Decode(code.Bytes(), at)
			require.NoError(t, err)
			to, _ := in.Target()
			require.Equal(t, arch.Addr(at+d), to)
			require.Equal(t, arch.FlowJump, in.Flow())
		}
	}
}

// The row agrees with the decoder about what it encodes.
func TestRow(t *testing.T) {
	a := rv.RV64
	for _, n := range []int{0, 2, 4, 6, 8, 10} {
		b := a.Nop(n)
		require.Len(t, b, n)
		for off, count := 0, 0; off < n; count++ {
			in, err := a.Decode(b[off:], textAt)
			require.NoError(t, err)
			require.True(t, in.IsNop())
			require.Less(t, count, n/4+1)
			off += in.Size()
		}
	}
	require.Panics(t, func() { a.Nop(3) })
	require.Equal(t, a.Nop(8), a.BranchNop.Bytes())
	require.Equal(t, a.Nop(4), a.Labels[0].Nop.Bytes())
	ok, jump := a.Labels[0].Holds(a.Nop(4))
	require.True(t, ok && !jump)
	for flow, b := range map[arch.Flow][]byte{
		arch.FlowBreakpoint: a.Breakpoint, arch.FlowRet: a.Ret,
	} {
		in := decode(t, b)
		require.Equal(t, flow, in.Flow())
		require.Equal(t, len(b), in.Size())
		require.False(t, in.IsNop())
	}
	require.Equal(t, arch.FlowRet, decode(t, a.BranchRet.Bytes()).Flow())
	require.Equal(t, arch.FlowBreakpoint, decode(t, a.BranchRet.Bytes()[4:]).Flow())
	half := rv.Half(rv.CRet)
	require.Equal(t, arch.FlowRet, decode(t, half.Bytes()).Flow())
	require.Equal(t, "sp", a.RegName(a.SP))
	require.Equal(t, "a0", a.RegName(a.Result))
	for _, r := range append(append([]arch.Reg{}, a.Args...), a.Saved...) {
		require.NotEqual(t, a.SP, r)
		require.Contains(t, "as", a.RegName(r)[:1])
	}
	require.True(t, a.Valid(0xffffffff80000000))
	require.False(t, a.Valid(0x0001000000000000))
}

// A register image is the same by either way, there and back, and has the words of struct pt_regs.
func TestFrame(t *testing.T) {
	const sum = 1 << 18 << 32
	for name, c := range map[string]struct {
		f   arch.Frame
		spp uint64
	}{"kernel": {rv.RV64.Frame, 1 << 8}, "user": {rv.RV64.UserFrame, 0}} {
		for _, flags := range []uint64{0, arch.IRQ, arch.IRQ | sum, sum} {
			want := arch.Regs{IP: 0x100, Flags: flags}
			for i := 1; i < 32; i++ {
				want.R[i] = uint64(i + 1)
			}
			at := c.f.At(uint64(dataAt)+400, true)
			require.Equal(t, dataAt+400-288, at)
			m := newFlat()
			require.True(t, c.f.Store(m, at, &want))
			b := make([]byte, c.f.Size)
			c.f.Put(b, &want)
			require.Equal(t, m.b[112:400], b, name)

			var loaded, got arch.Regs
			require.True(t, c.f.Load(m, at, &loaded))
			c.f.Get(b, &got)
			require.Equal(t, want, loaded)
			require.Equal(t, want, got)

			status := binary.LittleEndian.Uint64(b[rv.PtStatus:])
			assert.Equal(t, c.spp, status&(1<<8))
			assert.Zero(t, status&2, "interrupts are off in a handler")
			assert.Equal(t, flags&arch.IRQ != 0, status&(1<<5) != 0)
			assert.Equal(t, flags&sum != 0, status&(1<<18) != 0)
			assert.EqualValues(t, 0x100, binary.LittleEndian.Uint64(b[rv.PtEPC:]))
			assert.EqualValues(t, 3, binary.LittleEndian.Uint64(b[8*2:]), "sp")
		}
	}
	m := newFlat()
	require.False(t, rv.RV64.Frame.Store(m, dataAt-8, &arch.Regs{}))
	require.False(t, rv.RV64.Frame.Load(m, dataAt+500, &arch.Regs{}))
}

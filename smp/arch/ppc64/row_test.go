package ppc64

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/archtest"
	"kpsim/smp/arch"
)

// A branch of the row goes where it says, from both ends of its reach, and saves where to return.
func TestBranches(t *testing.T) {
	const at = 1 << 40
	for d, reach := range map[int64]bool{0: true, 4: true, -4: true, 1<<25 - 4: true, -1 << 25: true, 1 << 25: false,
		-1<<25 - 4: false, 2: false, 1 << 50: false} {
		target := arch.Addr(at + d)
		for _, c := range []struct {
			encode func(at, target arch.Addr) (arch.Code, bool)
			is     arch.Pattern
			link   uint64
		}{{PPC64.Jump, PPC64.IsJump, 0}, {PPC64.Call, PPC64.IsCall, at + 4}} {
			code, ok := c.encode(at, target)
			require.Equal(t, reach, ok, d)
			if !ok {
				continue
			}
			require.Len(t, code.Bytes(), PPC64.BranchLen)
			require.True(t, c.is.Match(arch.Word(code.Bytes())))
			in, err := Decode(code.Bytes(), at)
			require.NoError(t, err)
			r := arch.Regs{IP: at}
			require.Equal(t, arch.Next, in.Exec(&r, nil))
			require.Equal(t, target, r.IP, d)
			require.Equal(t, c.link, r.R[LR])
		}
	}
}

// The row agrees with the decoder about what it encodes.
func TestRow(t *testing.T) {
	a := PPC64
	for _, n := range []int{0, 4, 8, 20} {
		b := a.Nop(n)
		require.Len(t, b, n)
		for ; len(b) > 0; b = b[4:] {
			in, err := a.Decode(b, textAt)
			require.NoError(t, err)
			require.True(t, in.IsNop())
		}
	}
	require.Panics(t, func() { a.Nop(3) })
	require.Equal(t, a.Nop(4), a.BranchNop.Bytes())
	require.Equal(t, a.Ret, a.BranchRet.Bytes())
	flow := func(b []byte) arch.Flow {
		in, err := a.Decode(b, textAt)
		require.NoError(t, err)
		return in.Flow()
	}
	require.Equal(t, arch.FlowRet, flow(a.Ret))
	require.Equal(t, arch.FlowBreakpoint, flow(a.Breakpoint))
	require.Equal(t, []string{"r1", "r3", "lr"}, []string{a.RegName(a.SP), a.RegName(a.Result), a.RegName(a.Link)})
	require.Len(t, a.RegNames, arch.MaxRegs)
	require.True(t, a.Valid(0xc000000000000000) && a.Valid(0xffffffff80000000))
	var fill []byte
	for i := range arch.Addr(8) {
		fill = append(fill, a.Filled(textAt+i))
	}
	require.Equal(t, append(a.Breakpoint, a.Breakpoint...), fill)
	y := a.BootSystem(2, 0x5000).(*System)
	require.EqualValues(t, 2, y.CPU)
	require.EqualValues(t, 0x5000, y.SPRG[SPRGPaca])
}

// What the row takes for a breakpoint is a trap without a condition.
func TestBreaks(t *testing.T) {
	d := draw{archtest.Draw(1)}
	breaks := 0
	for _, p := range []pattern{x(4), x(68), ds(3, 0).free(3), ds(2, 0).free(3)} {
		for range 1000 {
			v := word(d.Next())&^p.mask | p.value
			if d.Below(2) == 0 {
				v |= fieldT
			}
			in := decodeWords(0, v, textAt)
			require.NotNil(t, in, "%08x", v)
			is := in.Flow() == arch.FlowBreakpoint
			require.Equal(t, is, PPC64.IsBreakpoint(uint64(v)|d.Next()<<32), "%v", in)
			r := arch.Regs{IP: textAt}
			r.R[in.a] = d.Value()
			if out := in.Exec(&r, nil); is {
				require.Equal(t, arch.Breakpoint, out)
				require.Equal(t, textAt, r.IP)
				breaks++
			}
		}
	}
	require.Greater(t, breaks, 1000)
}

// imager is memory that has bytes at hand.
type imager struct{ *flat }

func (m imager) Image(a arch.Addr, n int, _ bool) []byte { return m.of(a, n) }

// A frame is the same by all ways, there and back, and has the words of struct pt_regs.
func TestFrame(t *testing.T) {
	for name, c := range map[string]struct {
		f       arch.Frame
		pr      uint64
		skipped arch.Addr
	}{"kernel": {PPC64.Frame, 0, 288}, "user": {PPC64.UserFrame, msrPR, 0}} {
		for _, flags := range []uint64{0, arch.IRQ, arch.IRQ | flagNoRI | msrVEC, arch.Step,
			flagCA | flagSO | 0x12345678<<32} {
			want := arch.Regs{IP: 0x100, Flags: flags}
			for i := range want.R {
				want.R[i] = uint64(i + 1)
			}
			at := c.f.At(uint64(dataAt)+0x800, true)
			require.Equal(t, dataAt+0x800-432-c.skipped, at)
			m := newFlat()
			require.True(t, c.f.Store(m, at, &want))
			b := make([]byte, c.f.Size)
			c.f.Put(b, &want)
			require.Equal(t, m.of(at, c.f.Size), b, name)
			quick := imager{flat: newFlat()}
			require.True(t, c.f.Store(quick, at, &want))
			require.Equal(t, m.bytes, quick.bytes)
			var fetched arch.Regs
			require.True(t, c.f.Load(quick, at, &fetched))
			require.Equal(t, want, fetched)

			var loaded, got arch.Regs
			require.True(t, c.f.Load(m, at, &loaded))
			c.f.Get(b, &got)
			require.Equal(t, want, loaded)
			require.Equal(t, want, got)

			v := func(off int) uint64 { return binary.LittleEndian.Uint64(b[off:]) }
			assert.EqualValues(t, 2, v(0), "back chain")
			assert.EqualValues(t, 2, v(PtGPR+8), "r1")
			assert.EqualValues(t, 0x100, v(PtNIP))
			assert.Equal(t, MSR(flags)|c.pr, v(PtMSR))
			assert.EqualValues(t, 34, v(PtCTR))
			assert.EqualValues(t, 33, v(PtLink))
			assert.Equal(t, flags&flagsXER, v(PtXER))
			assert.Equal(t, flags>>32, v(PtCCR))
			assert.Equal(t, flags&arch.IRQ == 0, v(PtSoft) == 1)
		}
	}
	m := newFlat()
	require.False(t, PPC64.Frame.Store(m, dataAt-8, &arch.Regs{}))
	require.False(t, PPC64.Frame.Load(m, dataAt+0xf00, &arch.Regs{}))
	require.EqualValues(t, 432, FrameSize)
}

// TestSystem: a copy is equal, whatever the clock, and each register that is kept is part of the state.
func TestSystem(t *testing.T) {
	for i := range sprs {
		s := &sprs[i]
		if s.write == nil || s.number == sprXER {
			continue
		}
		y := NewSystem(0, 0)
		m := &flat{system: y}
		z := y.New().(*System)
		z.SetClock(7)
		require.True(t, y.Same(z))
		s.write(&arch.Regs{}, m, ^uint64(1))
		require.False(t, y.Same(z), s.name)
		require.NotEqual(t, y.Append(nil), z.Append(nil), s.name)
		z.Copy(y)
		require.True(t, y.Same(z))
		require.Equal(t, y.Append(nil), z.Append(nil))
	}
	y := NewSystem(0, 0)
	y.TAR, y.DSCR = 1, 2
	var prev arch.TaskState
	y.Switch(&prev, &arch.TaskState{TaskTAR: 3, TaskDSCR: 4})
	require.Equal(t, arch.TaskState{1, 2}, prev)
	require.Equal(t, [2]uint64{3, 4}, [2]uint64{y.TAR, y.DSCR})
	y.SetFault(9)
	require.EqualValues(t, 9, y.Fault())
}

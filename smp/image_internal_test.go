package smp

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/traces"
)

// A register image in one piece is the same, and goes at a reset, as one word by word.
func TestImageAtOnce(t *testing.T) {
	m, err := New(Config{Arch: x86.AMD64, CPUs: 1}, new(traces.Log))
	require.NoError(t, err)
	defer m.Close()
	m.Memory().Map(DataBase, make([]byte, 2*pageSize), PermRead|PermWrite)
	m.Freeze()
	r := arch.Regs{IP: 1, Flags: 2}
	for i := range r.R[:x86.AMD64.Used] {
		r.R[i] = uint64(100 + i)
	}
	byWord := struct{ arch.Memory }{&m.mem} // has no Image
	read := func(a arch.Addr) []byte {
		b := make([]byte, x86.PtRegsSize)
		m.mem.peek(a, b, PermRead)
		return b
	}
	for _, at := range []arch.Addr{DataBase + 0x40, DataBase + pageSize - 0x50} { // in a page, and across two
		m.Reset(nil)
		require.True(t, x86.StorePtGeneral(byWord, at, &r))
		want := read(at)
		m.Reset(nil)
		require.True(t, x86.StorePtGeneral(&m.mem, at, &r))
		require.Equal(t, want, read(at))
		var a, b arch.Regs
		require.True(t, x86.LoadPtRegs(byWord, at, &a))
		require.True(t, x86.LoadPtRegs(&m.mem, at, &b))
		require.Equal(t, a, b)
		m.Reset(nil)
		require.Equal(t, make([]byte, x86.PtRegsSize), read(at))
	}
}

package x86_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// patchy is memory of which addresses repeat each KiB: the first half can be
// stored to, then comes what can only be loaded, then nothing.
type patchy struct {
	b [1024]byte
	y x86.System
}

func (m *patchy) can(a arch.Addr, size int, limit arch.Addr) bool {
	return a%1024 < limit && (a+arch.Addr(size-1))%1024 < limit
}

func (m *patchy) Load(a arch.Addr, size int) (v uint64, ok bool) {
	if !m.can(a, size, 768) {
		return 0, false
	}
	for i := size - 1; i >= 0; i-- {
		v = v<<8 | uint64(m.b[(a+arch.Addr(i))%1024])
	}
	return v, true
}

func (m *patchy) Store(a arch.Addr, size int, v uint64) bool {
	if !m.can(a, size, 512) {
		return false
	}
	for i := range size {
		m.b[(a+arch.Addr(i))%1024] = byte(v >> (8 * i))
	}
	return true
}

func (m *patchy) System() arch.System { return &m.y }

// state is what of System can be compared.
func (m *patchy) state() []any {
	y := &m.y
	return []any{y.FSBase, y.GSBase, y.KernelGSBase, y.CR0, y.CR2, y.CR3, y.CR4, y.CR8, y.XCR0, y.DR, y.Seg, y.GDT,
		y.IDT,
		y.LDT, y.TR,
		y.TSCOffset, y.TSCAux}
}

// TestPromise: what an outcome owes. After a fault registers, memory and system
// state are what they were; in 32-bit mode the upper halves stay empty, and
// control within 4 GiB.
func TestPromise(t *testing.T) {
	value := rapid.OneOf(rapid.Uint64(),
		rapid.SampledFrom([]uint64{0, 1, 0x10, 0x18, 250, 500, 508, 514, 700, 766, 1000, 1020, ^uint64(0)}))
	rapid.Check(t, func(t *rapid.T) {
		mode := rapid.SampledFrom([]x86.Mode{x86.Mode64, x86.Mode32}).Draw(t, "mode")
		in, err := mode.Decode(likely(t), textAt)
		if err != nil {
			return
		}
		m := &patchy{y: x86.NewSystem(1, 0x10, 0x18)}
		m.y.FSBase, m.y.GSBase = value.Draw(t, "fs"), value.Draw(t, "gs")
		seed := value.Draw(t, "memory")
		for i := range m.b {
			seed = seed*6364136223846793005 + 1442695040888963407
			m.b[i] = byte(seed >> 56)
		}
		s := arch.Regs{IP: textAt, Flags: rapid.Uint64().Draw(t, "flags")&0x44ed5 | x86.F1}
		for i := range s.R[:x86.AMD64.Used] {
			s.R[i] = value.Draw(t, "r")
			if mode == x86.Mode32 {
				s.R[i] &= 0xffff_ffff
			}
		}
		before, memory, state := s, m.b, m.state()
		out := in.Exec(&s, m)
		if out.Faulted() {
			require.Equal(t, before, s, "%v: %v", &in, out)
			require.Equal(t, memory, m.b, "%v: %v", &in, out)
			require.Equal(t, state, m.state(), "%v: %v", &in, out)
			return
		}
		require.NotZero(t, s.Flags&x86.F1, "%v", &in)
		if mode == x86.Mode32 {
			require.Zero(t, s.IP>>32, "%v", &in)
			for i := range s.R[:x86.AMD64.Used] {
				require.Zero(t, s.R[i]>>32, "%v: register %d", &in, i)
			}
		}
	})
}

// TestEnterHole: the third word of four has no place, what is reserved has.
func TestEnterHole(t *testing.T) {
	m := new(patchy)
	s := arch.Regs{Flags: x86.F1}
	s.R[x86.RSP], s.R[x86.RBP] = 1024+16, 1024+100
	before := s
	before.IP = textAt
	require.Equal(t, arch.PageFault, step(t, "c8580203", &s, m)) // enter $600,$3
	require.Equal(t, before, s)
	require.Zero(t, m.b)
}

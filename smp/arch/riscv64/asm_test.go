package riscv64_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	rv "kpsim/smp/arch/riscv64"
)

// Instructions for tests by hand, in the assembler's order of operands.
const (
	zero, sp, tp       = 0, 2, 4
	a0, a1, a2, a3, a5 = 10, 11, 12, 13, 15
)

func r3(base, rd, rs1, rs2 uint32) uint32 { return base | rd<<7 | rs1<<15 | rs2<<20 }

// The instructions with their registers zero.
const (
	csrrw, csrrs, csrrc = 0x1073, 0x2073, 0x3073
	csrrsi, csrrci      = 0x6073, 0x7073
	lrW, lrD, scW, scD  = 0x1000202f, 0x1000302f, 0x1800202f, 0x1800302f
	amoaddW, amoswapD   = 0x0000202f, 0x0800302f
)

func csr(base, rd, number, source uint32) uint32 { return base | rd<<7 | source<<15 | number<<20 }

// step executes one instruction at textAt.
func step(t *testing.T, w uint32, r *arch.Regs, m arch.Memory) arch.Outcome {
	t.Helper()
	r.IP = textAt
	return decode(t, wordBytes(w)).Exec(r, m)
}

// done is step of an instruction that completes with an outcome.
func done(t *testing.T, want arch.Outcome, w uint32, r *arch.Regs, m arch.Memory) {
	t.Helper()
	require.Equal(t, want, step(t, w, r, m), "%v", decode(t, wordBytes(w)))
	require.Equal(t, textAt+4, r.IP)
	require.Zero(t, r.R[0])
}

// fails is step of an instruction that changes nothing.
func fails(t *testing.T, want arch.Outcome, w uint32, r *arch.Regs, m *flat) {
	t.Helper()
	r.IP = textAt
	was, b := *r, string(m.b)
	require.Equal(t, want, step(t, w, r, m), "%v", decode(t, wordBytes(w)))
	require.Equal(t, was, *r)
	require.Equal(t, b, string(m.b))
}

var _ arch.Reserver = (*flat)(nil)
var _ arch.Systemic = (*flat)(nil)
var _ arch.System = (*rv.System)(nil)

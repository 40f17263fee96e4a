package linux

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux/vmlinux"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/riscv64"
	"kpsim/smp/kapi"
)

// The kernel's own code reads memory that may be gone, and goes on by its own exception
// table.
func TestFixup(t *testing.T) {
	for _, series := range []string{"6.1", "6.12"} {
		k, err := Open(kerneltest.Path(t, series))
		require.NoError(t, err)
		e := bootExam(t, k, "", []code{{name: "f", at: 0xffffffffc0000000, bytes: []byte{0x90, 0xc3}}}, 100_000)
		var there, gone uint64
		e.body = func(x kapi.Context) {
			at := uint64(e.k.symbols.table)
			f := e.k.at("copy_from_kernel_nofault")
			there = e.call(x, f, at, at, 8)
			gone = e.call(x, f, at, 0xffff_8880_7000_0ff8, 16)
		}
		require.Equal(t, smp.Passed, e.m.Run(), "%v %s", e.m.Refusal(), e.m.Died())
		require.NoError(t, e.wrongBoot)
		require.Zero(t, there)
		require.Equal(t, int32(-14), int32(gone), "EFAULT")
	}
}

// A fixup of riscv64 puts -EFAULT into one register and zero into another, which the row of the table names.
// zero stays zero, and a row of another kind isn't taken.
func TestFixedRISCV(t *testing.T) {
	const a0, a1 = 10, 11
	for _, c := range []struct {
		name   string
		data   int32
		fixed  bool
		a0, a1 uint64
	}{
		{"fixup", riscvFixup, true, 1, 1},
		{"uaccess", riscvUaccess | a0<<riscvErr | a1<<riscvZero, true, ^uint64(13), 0},
		{"uaccess, nothing is zeroed", riscvUaccess | a1<<riscvErr, true, 1, ^uint64(13)},
		{"uaccess, no error", riscvUaccess | a0<<riscvZero, true, 0, 1},
		{"bpf", 2, false, 1, 1},
		{"load_unaligned_zeropad", 4, false, 1, 1},
	} {
		regs := arch.Regs{}
		regs.R[a0], regs.R[a1] = 1, 1
		require.Equal(t, c.fixed, fixedRISCV(nil, &regs, &vmlinux.ExEntry{Data: c.data}, 0), c.name)
		require.Equal(t, []uint64{c.a0, c.a1}, []uint64{regs.R[a0], regs.R[a1]}, c.name)
		require.Zero(t, regs.R[riscv64.Zero], c.name)
	}
}

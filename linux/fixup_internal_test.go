package linux

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/smp"
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

package rig_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/rig"
	"kpsim/sched"
	"kpsim/smp"
)

//go:generate riscv64-linux-gnu-gcc -O2 -march=rv64imac -mabi=lp64 -mcmodel=medany -fno-pic -c ../../scenario/testdata/elsewhere.c -o ../../scenario/testdata/elsewhere_riscv64.o
//go:generate aarch64-linux-gnu-gcc -O2 -fno-pic -mgeneral-regs-only -fno-asynchronous-unwind-tables -c ../../scenario/testdata/elsewhere.c -o ../../scenario/testdata/elsewhere_arm64.o

// Objects of other processors run, with functions that the language makes, data, and a compiled patcher. The scenario
// prints as one that runs alike.
func TestElsewhere(t *testing.T) {
	for _, c := range []struct{ arch, f, nop, two string }{
		{"riscv64", "00000013 4505 8082", "0x00000013", "0x00150513"}, // nop; li a0,1; ret. addi a0,a0,1
		{"arm64", "d503201f 52800020 d65f03c0", "0xd503201f", "0x11000400"},
	} {
		t.Run(c.arch, func(t *testing.T) {
			src := fmt.Sprintf(`machine(cpus = 2, arch = %q, preempt = "full")
stub("helper", returns = 0x1234567890abcd00)
f = text("f", %q, at = 0xffffffff81100000)
w = alias("w", f)
o = elf("../../scenario/testdata/elsewhere_%s.o")
fill = stub("fill", fill = (1, "0102030405060708 0a0b"), returns = 7)
d = data("d", size = 16)
task("a", cpu = 0, ops = [
    call(o.sum, 3, returns = 6),
    call(o.uses, 3, returns = 0x1234567890abcd06),
    call(fill, d, returns = 7),
    expect(d, "0102030405060708 0a0b"),
    call(o.patch, w, %s),
    sync_core(),
    call(o.patch, w, %s),
])
task("b", cpu = 1, ops = [call(o.sum, 4, returns = 10), call(f, returns = 1, changed = True)])
timer(cpu = 0)
never()
`, c.arch, c.f, c.arch, c.two, c.nop)
			sc, err := lang.Load("elsewhere.star", []byte(src), os.ReadFile)
			require.NoError(t, err)
			again, err := lang.Load("again.star", []byte(lang.Print(sc)), nil)
			require.NoError(t, err)
			r, err := rig.New(sc, "")
			require.NoError(t, err)
			defer r.Close()
			s, err := rig.New(again, "")
			require.NoError(t, err)
			defer s.Close()
			random := sched.NewRandom(sched.Params{Length: 300, Mean: 6})
			for i := range uint64(100) {
				random.Begin(i)
				run := r.Run(random)
				require.Equal(t, smp.Passed, run.Outcome, "run %d: %+v", i, run)
				random.Begin(i)
				require.Equal(t, run.Digest, s.Run(random).Digest, "run %d", i)
			}
		})
	}
}

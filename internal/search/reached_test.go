package search_test

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux"
	"kpsim/linux/closure"
	"kpsim/linux/mutate"
	"kpsim/smp"
	"kpsim/smp/arch"
)

var reached = flag.String("reached", "", "the kernel of which is listed what no scenario executes, 6.1 for example")

// The library executes most of a kernel's engine: with -reached, the mutants are listed whose
// instructions no schedule of any scenario came to, by function and line.
func TestReached(t *testing.T) {
	if *reached == "" {
		t.Skip("takes a minute; -reached 6.1 lists what no scenario executes of it")
	}
	k, err := linux.Open(kerneltest.Path(t, *reached))
	require.NoError(t, err)
	linux.Give(k)
	probes, err := closure.Of(k.Image, "kprobes")
	require.NoError(t, err)
	list := mutate.All(probes)
	executed := make([]bool, len(list))
	for _, name := range library.Names() {
		sc, err := library.Load(name)
		require.NoError(t, err)
		if !sc.OfKernel() {
			continue
		}
		of := *sc
		if onlinux.Set(&of, k) != nil {
			continue // it asks for what no kernel has any more
		}
		first := 0
		executes(&of, func(m *smp.Memory) {
			for i := range list {
				if !executed[i] && m.Executed(arch.Addr(list[i].Addr)) {
					executed[i] = true
					first++
				}
			}
		})
		if first > 0 {
			t.Logf("%s comes to %d that none before it comes to", name, first)
		}
	}
	n := 0
	for i := range list {
		if executed[i] {
			n++
			continue
		}
		t.Logf("not executed: %s: %s", list[i].Name, list[i].Says)
	}
	t.Logf("%d of %d mutants are in instructions that the library executes", n, len(list))
	require.Greater(t, n, len(list)/2)
}

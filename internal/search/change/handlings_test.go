package change_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/search/change"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux"
)

// A kernel handles instructions as itself, and as the rules say; a later one of arm64 simulates nop, and no longer
// takes a plain load for an exclusive one.
func TestHandlings(t *testing.T) {
	ask := func(before, after *linux.Kernel) (says []string, asked int) {
		list, asked, err := change.Handlings(before, after, 1, new(atomic.Bool))
		require.NoError(t, err)
		for i := range list {
			_, kind, _ := strings.Cut(list[i].Says, ": ")
			kind, _, _ = strings.Cut(kind, " (")
			says = append(says, kind)
		}
		return says, asked
	}
	open := func(processor, series string) *linux.Kernel {
		k, err := linux.Open(kerneltest.PathOn(t, processor, series))
		require.NoError(t, err)
		linux.Give(k)
		return k
	}
	k := open("riscv64", "6.12")
	says, asked := ask(k, k)
	require.Empty(t, says)
	require.Greater(t, asked, 2000)

	k = open("arm64", "6.12")
	says, asked = ask(k, open("arm64", "7.2"))
	require.Greater(t, asked, 8000)
	require.ElementsMatch(t, []string{
		"it is executed by simulate_nop, before: a copy is stepped",
		"it is executed by simulate_nop, before: register_kprobe answers 22",
		"register_kprobe answers 22, before: a copy is stepped", // behind a plain store, which ends nothing any more
	}, says)
}

package linux_test

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/kept"
	"kpsim/internal/scenario/library"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux"
	"kpsim/sched"
	"kpsim/smp"
)

// A kernel whose types lack a struct of kprobes runs the other sets, and probes are refused by name.
func TestSetsAlone(t *testing.T) {
	path := kerneltest.Path(t, "6.12")
	_, err := linux.Open(path) // keeps it unpacked
	require.NoError(t, err)
	packed, err := os.ReadFile(path)
	require.NoError(t, err)
	unpacked := kept.Kind{Name: "unpacked", Most: 8, Size: 1 << 30}
	whole := unpacked.Get(kept.Key(sha256.Sum256(packed)))
	if whole == nil {
		t.Skip("the kernel isn't kept unpacked here: set HOME or XDG_CACHE_HOME")
	}
	was, is := []byte("\x00kretprobe_instance\x00"), []byte("\x00kretprobe_instancX\x00") // in the table of types
	require.Equal(t, 1, bytes.Count(whole, was))
	file := filepath.Join(t.TempDir(), "vmlinux")
	require.NoError(t, os.WriteFile(file, bytes.Replace(whole, was, is, 1), 0o600))

	k, err := linux.Open(file)
	require.NoError(t, err)
	linux.Give(k)
	require.Equal(t, "its types have no struct kretprobe_instance's data", k.Lacks("kprobes"))
	for _, name := range []string{"jump-label-flip", "static-call-shared", "livepatch-stacked"} {
		require.Empty(t, k.Lacks("jumplabel")+k.Lacks("staticcall")+k.Lacks("ftrace"))
		sc, err := library.Load(name)
		require.NoError(t, err)
		run := rigOf(t, k, sc).Run(new(sched.Default))
		require.Equal(t, smp.Passed, run.Outcome, "%s: %s", name, run.Finding.Message)
		require.Positive(t, run.Counts.Points)
	}
	sc, err := library.Load("safe-full")
	require.NoError(t, err)
	require.ErrorContains(t, onlinux.Set(sc, k), `probe "k": kprobes of the kernel can't be run: its types have no struct`)
}

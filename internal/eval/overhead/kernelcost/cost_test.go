package kernelcost_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/eval/overhead/kernelcost"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/thorough"
	"kpsim/linux"
)

var update = flag.Bool("update-counts", false, "rewrite the counts of the kernels that are at hand")

// i386 is the series of the kernel for i386.
const i386 = "i386"

func opened(t *testing.T, series string) *linux.Kernel {
	path := ""
	if series == i386 {
		path = kerneltest.I386(t)
	} else {
		path = kerneltest.Path(t, series)
	}
	k, err := linux.Open(path)
	require.NoError(t, err)
	return k
}

// by returns the hits by their kinds.
func by(t *testing.T, list []kernelcost.Hit) map[string]kernelcost.Hit {
	all := make(map[string]kernelcost.Hit)
	for _, h := range list {
		require.True(t, h.Counted, "%s: %s", h.Kind, h.Why)
		all[h.Kind] = h
	}
	return all
}

// What a kernel's own code executes follows its design, and is the same each time. Debian's
// kernels are built with CONFIG_PREEMPTION: they boost nothing.
func TestOf(t *testing.T) {
	for _, series := range []string{"6.1", "6.12", i386} {
		t.Run(series, func(t *testing.T) {
			if series == i386 {
				thorough.Only(t, "several seconds; its counts are those that were recorded")
			}
			k := opened(t, series)
			list, err := kernelcost.Count(k, "")
			require.NoError(t, err)
			again, err := kernelcost.Count(k, "")
			require.NoError(t, err)
			require.Equal(t, list, again)

			h := by(t, list)
			for _, of := range []string{"", "r"} {
				full, jump := h[strings.Replace("k"+of, "kr", "r", 1)], h[of+"o"]
				require.Less(t, jump.Instructions, full.Instructions)
				require.Less(t, jump.Lines, full.Lines)
				require.Less(t, jump.Cycles, full.Cycles/2)
				require.Zero(t, jump.Exceptions)
				require.Equal(t, 2, full.Exceptions, "one at the probe, and one after the copied instruction")
				require.Positive(t, full.Parts[kernelcost.Step])
				require.Zero(t, jump.Parts[kernelcost.Step])
				require.Equal(t, full.Instructions, h[of+"b"].Instructions)
				require.Contains(t, h[of+"b"].Why, "CONFIG_PREEMPTION")
			}
			require.Zero(t, h["k"].Parts[kernelcost.Return])
			require.Positive(t, h["r"].Parts[kernelcost.Return])
			require.Equal(t, h["r"].Parts[kernelcost.Return], h["ro"].Parts[kernelcost.Return],
				"what follows a return doesn't depend on how the entry is probed")
			require.GreaterOrEqual(t, h["r"].Mispredicted, h["k"].Mispredicted+2,
				"the return to the trampoline, and that from it")
			require.Equal(t, 2, h["kk"].Handlers)
			require.Greater(t, h["kk"].Instructions, h["k"].Instructions)
			require.Greater(t, h["kr"].Instructions, h["r"].Instructions)
			require.Less(t, h["f"].Instructions, h["k"].Instructions)
			require.Greater(t, h["register"].Instructions, 1000)
			require.Greater(t, h["register r"].Instructions, h["register"].Instructions)
			require.Positive(t, h["optimize"].Instructions)
			for _, c := range list {
				sum := 0
				for _, n := range c.Parts {
					sum += n
				}
				require.Equal(t, c.Instructions, sum, c.Kind)
				require.Equal(t, c.Lines, c.Text+c.Data+c.Stack, c.Kind)
				require.Positive(t, c.Cycles, c.Kind)
			}
		})
	}
}

// The counts of a kernel are those that were recorded of its release.
func TestRecorded(t *testing.T) {
	for _, series := range []string{"6.1", "6.12", i386} {
		t.Run(series, func(t *testing.T) {
			k := opened(t, series)
			list, err := kernelcost.Count(k, "")
			require.NoError(t, err)
			var b strings.Builder
			fmt.Fprintf(&b, "# kind: instructions; lines of text, data, stack; exceptions; services; locked; returns "+
				"mispredicted\n")
			for _, h := range list {
				fmt.Fprintf(&b, "%s: %d; %d %d %d; %d; %d; %d; %d\n",
					h.Kind, h.Instructions, h.Text, h.Data, h.Stack, h.Exceptions, h.Services, h.Locked, h.Mispredicted)
			}
			path := filepath.Join("testdata", k.Image.Release+".txt")
			if *update {
				require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o644))
			}
			want, err := os.ReadFile(path)
			if os.IsNotExist(err) {
				t.Skipf("nothing was recorded of %s", k.Image.Release)
			}
			require.NoError(t, err)
			require.Equal(t, string(want), b.String())
		})
	}
}

// A change of what the kernel executes shows in the hits that it is part of, and in no
// other. What it breaks is said, and counted all the same, up to a kernel that dies.
func TestMutant(t *testing.T) {
	k := opened(t, "6.1")
	list, err := kernelcost.Count(k, "")
	require.NoError(t, err)
	was := by(t, list)
	list, err = kernelcost.Count(k, "skip-call:optimized_callback:opt_pre_handler:1")
	require.NoError(t, err)
	h := by(t, list)
	for _, same := range []string{"k", "r", "kk", "f", "register", "unregister"} {
		require.Equal(t, was[same].MachineCode, h[same].MachineCode, same)
		require.Empty(t, h[same].Why, same)
	}
	require.Less(t, h["o"].Instructions, was["o"].Instructions)
	require.Less(t, h["o"].Cycles, was["o"].Cycles)
	require.NotEmpty(t, h["o"].Why)

	list, err = kernelcost.Count(k, "skip-call:pre_handler_kretprobe:rethook_try_get:1")
	require.NoError(t, err)
	for _, h := range list {
		if h.Kind == "r" {
			require.False(t, h.Counted)
			require.Contains(t, h.Why, "dies")
		}
	}
	_, err = kernelcost.Count(k, "skip-call:nothing:there:1")
	require.Error(t, err)
}

// Work that is added to a function shows in the hits that call it, and in no other: objects
// as they are compiled cost what the kernel does, but for what the compiler does otherwise.
func TestObjects(t *testing.T) {
	base := opened(t, "6.1")
	path := kerneltest.Path(t, "6.1")
	source, err := os.ReadFile(filepath.Join(filepath.Dir(path), "source", "kernel", "kprobes.c"))
	if err != nil {
		t.Skipf("no source at hand: run scripts/fetch-kernel-source %s", base.Image.Release)
	}
	compiled := func(text string) map[string]kernelcost.Hit {
		dir := t.TempDir()
		edited := filepath.Join(dir, "kernel", "kprobes.c")
		require.NoError(t, os.Mkdir(filepath.Dir(edited), 0o755))
		require.NoError(t, os.WriteFile(edited, []byte(text), 0o644))
		c := exec.Command("../../../../scripts/kernel-objects",
			"-d", filepath.Dir(filepath.Dir(path)), "-o", filepath.Join(dir, "out"), base.Image.Release, edited)
		out, err := c.Output()
		if err != nil {
			t.Skipf("kernel-objects: %v: no compiler is at hand", err)
		}
		k, err := linux.Open(path, strings.Fields(string(out))...)
		require.NoError(t, err)
		list, err := kernelcost.Count(k, "")
		require.NoError(t, err)
		return by(t, list)
	}
	const lookup = "\thead = "
	before, after, ok := strings.Cut(string(source), "*get_kprobe(void *addr)")
	require.True(t, ok)
	list, err := kernelcost.Count(base, "")
	require.NoError(t, err)
	is, same := by(t, list), compiled(string(source))
	for _, kind := range kernelcost.Kinds() {
		require.InDelta(t, is[kind].Instructions, same[kind].Instructions, 2, kind)
	}
	slower := compiled(before + "*get_kprobe(void *addr)" +
		strings.Replace(after, lookup, "\tfor (int i = 0; i < 8; i++)\n\t\tbarrier();\n"+lookup, 1))
	for kind, lookups := range map[string]int{"k": 2, "r": 2, "kk": 2, "f": 1, "o": 0, "ro": 0} {
		more := slower[kind].Instructions - same[kind].Instructions
		require.GreaterOrEqual(t, more, 16*lookups, kind)
		require.LessOrEqual(t, more, 20*lookups, kind)
	}
	require.Greater(t, slower["k"].Cycles, same["k"].Cycles)
}

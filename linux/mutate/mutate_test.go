package mutate

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux/closure"
	"kpsim/linux/vmlinux"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

func of(t *testing.T, series string) *closure.Closure {
	t.Helper()
	open := func() *vmlinux.Image { return kerneltest.Open(t, series) }
	switch series {
	case "arm64", "ppc64le":
		open = func() *vmlinux.Image { return kerneltest.OpenOn(t, series, "6.12") }
	case "i386":
		open = func() *vmlinux.Image {
			im, err := vmlinux.Open(kerneltest.I386(t))
			require.NoError(t, err)
			return im
		}
	}
	c, err := closure.Of(open(), "kprobes")
	require.NoError(t, err)
	return c
}

// Each mutant of the kernels at hand replaces one instruction by whole ones.
func TestAll(t *testing.T) {
	for _, series := range []string{"6.1", "6.12", "i386", "arm64", "ppc64le"} {
		t.Run(series, func(t *testing.T) {
			c := of(t, series)
			all := All(c)
			assert.Greater(t, len(all), 1900)
			kinds, names := map[string]int{}, map[string]bool{}
			for _, m := range all {
				kind, _, _ := strings.Cut(m.Name, ":")
				kinds[kind]++
				require.False(t, names[m.Name], m.Name)
				names[m.Name] = true
				require.Equal(t, c.Image.Bytes(m.Addr, uint64(len(m.Old))), m.Old, m.Name)
				require.Len(t, m.New, len(m.Old), m.Name)
				require.NotEqual(t, m.Old, m.New, m.Name)
				in, err := c.Image.Decode(m.Old, m.Addr)
				require.NoError(t, err)
				require.Len(t, m.Old, int(in.Size()), m.Name)
				for b := m.New; len(b) > 0; {
					in, err := c.Image.Decode(b, m.Addr)
					require.NoError(t, err, m.Name)
					b = b[in.Size():]
				}
				f := c.Function(m.Addr)
				require.NotNil(t, f)
				assert.Contains(t, m.Says, f.Name)
			}
			t.Log(kinds)
			for _, kind := range []string{"skip-call", "invert", "always", "never", "drop-store", "drop-locked",
				"off-by-one"} {
				assert.Greater(t, kinds[kind], 5, kind)
			}
		})
	}
}

// A conditional jump inverted, or taken always, keeps its target.
func TestTargets(t *testing.T) {
	for _, m := range All(of(t, "6.1")) {
		kind, _, _ := strings.Cut(m.Name, ":")
		if kind != "invert" && kind != "always" {
			continue
		}
		was, err := x86.Decode(m.Old, arch.Addr(m.Addr))
		require.NoError(t, err)
		b, at := m.New, arch.Addr(m.Addr)
		if b[0] == nop {
			b, at = b[1:], at+1
		}
		is, err := x86.Decode(b, at)
		require.NoError(t, err)
		from, _ := was.Target()
		to, _ := is.Target()
		require.Equal(t, from, to, m.Name)
	}
}

func TestNamed(t *testing.T) {
	c := of(t, "6.1")
	m, err := Named(c, "skip-call:kprobe_optimizer:synchronize_rcu_tasks:1")
	require.NoError(t, err)
	assert.Equal(t, x86.Nop5[:], m.New)
	assert.Contains(t, m.Says, "skip the call to synchronize_rcu_tasks at kprobe_optimizer+0x")
	_, err = Named(c, "skip-call:kprobe_optimizer:synchronize_rcu_task:1")
	require.ErrorContains(t, err, "synchronize_rcu_tasks:1")
	_, err = Named(c, "invert:register_kprobe+0x3")
	require.ErrorContains(t, err, "invert:register_kprobe+0x")
	_, err = Named(c, "nothing")
	require.ErrorContains(t, err, "skip-call:FUNCTION:CALLEE:1")
}

// A seed draws the same mutants, each once.
func TestDraw(t *testing.T) {
	c := of(t, "6.1")
	a, b := Draw(c, 7, 100), Draw(c, 7, 100)
	require.Equal(t, a, b)
	require.NotEqual(t, a, Draw(c, 8, 100))
	names := map[string]bool{}
	for _, m := range a {
		names[m.Name] = true
	}
	require.Len(t, names, 100)
	require.Len(t, Draw(c, 1, 1<<20), len(All(c)))
}

// With DWARF a mutant says its line.
func TestLines(t *testing.T) {
	im, err := vmlinux.Open(kerneltest.Debug(t, "6.1"))
	require.NoError(t, err)
	c, err := closure.Of(im, "kprobes")
	require.NoError(t, err)
	m, err := Named(c, "skip-call:kprobe_optimizer:synchronize_rcu_tasks:1")
	require.NoError(t, err)
	assert.Regexp(t, `^skip the call to synchronize_rcu_tasks at kprobe_optimizer\+0x[0-9a-f]+, kernel/kprobes.c:\d+`,
		m.Says)
}

// A kernel made up has code of a few returns: no mutants, and no harm.
func TestFake(t *testing.T) {
	path := t.TempDir() + "/vmlinux"
	require.NoError(t, os.WriteFile(path, kerneltest.Fake{Names: []string{"register_kprobe"}}.ELF(), 0o644))
	im, err := vmlinux.Open(path)
	require.NoError(t, err)
	c, err := closure.Of(im, "kprobes")
	require.NoError(t, err)
	require.Empty(t, All(c))
}

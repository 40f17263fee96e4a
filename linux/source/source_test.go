package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux"
	"kpsim/smp/arch"
)

// returnOf is where a call of one function returns to in another one.
func returnOf(t *testing.T, s *Source, caller, callee string) uint64 {
	t.Helper()
	f, ok := s.k.Image.Symbol(caller)
	require.True(t, ok, caller)
	for end := f.Addr; end <= f.Addr+f.Size; end += uint64(s.k.Arch().Align) {
		if to, direct := s.called(end); direct && s.function(to) == callee {
			return end
		}
	}
	t.Fatalf("%s doesn't call %s", caller, callee)
	return 0
}

// A chain is found on a stack among other words: old return addresses, data, and those of
// functions that none of them has called.
func TestChain(t *testing.T) {
	for processor, series := range map[string]string{"amd64": "6.1", "arm64": "6.12", "riscv64": "6.12",
		"powerpc64le": "6.12"} {
		t.Run(processor, func(t *testing.T) {
			path := kerneltest.PathOn(t, processor, series)
			k, err := linux.Open(path)
			require.NoError(t, err)
			s := Of(k, "")
			stale := returnOf(t, s, "enable_kprobe", "mutex_lock")
			inner, outer := returnOf(t, s, "register_kprobe", "mutex_lock"),
				returnOf(t, s, "register_kprobes", "register_kprobe")
			const gate = 1
			stack := []uint64{stale, 7, outer - 1, stale, outer, 0, gate, stale}
			load := func(a arch.Addr) (uint64, bool) {
				if i := int(a-0x1000) / 8; i < len(stack) {
					return stack[i], true
				}
				return 0, false
			}
			until := func(v uint64) bool { return v == gate }
			assert.Equal(t, []arch.Addr{arch.Addr(inner), arch.Addr(outer)},
				s.Chain(arch.Addr(inner), 0x1000, load, until))
			assert.Empty(t, s.Chain(7, 0x1000, load, until))
		})
	}
}

// A return address has a function, and a line where the kernel has lines.
func TestLineOfReturn(t *testing.T) {
	k, err := linux.Open(kerneltest.Path(t, "6.1"))
	require.NoError(t, err)
	s := Of(k, "")
	inner := returnOf(t, s, "register_kprobe", "mutex_lock")
	names := s.Functions(arch.Addr(inner) - 1)
	assert.Equal(t, "register_kprobe", names[0])
	assert.Empty(t, s.Line(0))
	if line := s.Line(arch.Addr(inner) - 1); s.lines == nil {
		assert.Empty(t, line)
		t.Log("no vmlinux with lines at hand: run scripts/fetch-kernel --dbg")
	} else {
		assert.True(t, strings.HasPrefix(line, "kernel/kprobes.c:"), line)
	}
}

func TestText(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "kernel"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kernel", "kprobes.c"), []byte("one\n\ttwo();\n"), 0o644))
	s := &Source{dir: filepath.Join(dir, "kernel"), files: make(map[string][]string)}
	for _, c := range []struct {
		file string
		line int
		want string
	}{{"kprobes.c", 2, "two();"}, {"kprobes.c", 1, "one"}, {"kprobes.c", 9, ""}, {"kprobes.c", 0, ""},
		{"other.c", 1, ""}, {"../kernel/kprobes.c", 1, ""}} {
		assert.Equal(t, c.want, s.Text(c.file, c.line), "%s:%d", c.file, c.line)
	}
}

// Without a folder the text is that beside the object that was laid over the kernel, unless
// it was edited since; of nothing else.
func TestBeside(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, age time.Duration) string {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		when := time.Now().Add(-age)
		require.NoError(t, os.Chtimes(path, when, when))
		return path
	}
	write("kernel/kprobes.c", "a\nb();\nc\n"+strings.Repeat("x", 500)+"\n", time.Hour)
	write("kernel/edited.c", "a\n", 0)
	write("kernel/other.c", "a\n", time.Hour)
	objects := []string{write("kernel/kprobes.o", "", time.Minute), write("kernel/edited.o", "", time.Minute)}
	s := &Source{k: &linux.Kernel{Objects: objects}, files: make(map[string][]string)}
	assert.Equal(t, "b();", s.Text("kernel/kprobes.c", 2))
	assert.Empty(t, s.Text("kernel/edited.c", 1), "newer than its object")
	assert.Empty(t, s.Text("kernel/other.c", 1), "it has no object")
	assert.Empty(t, s.Text("probes.c", 1), "the end of a name is none")
	assert.Empty(t, s.Text("../kernel/kprobes.c", 1))

	from, text := s.Around("kernel/kprobes.c", 2, 1)
	assert.Equal(t, 1, from)
	assert.Equal(t, []string{"a", "b();", "c"}, text)
	from, text = s.Around("kernel/kprobes.c", 4, 1)
	assert.Equal(t, 3, from)
	assert.Len(t, []rune(text[1]), aroundMost)
	_, text = s.Around("kernel/kprobes.c", 99, 1)
	assert.Empty(t, text)
}

package vmlinux_test

import (
	"encoding/binary"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/thorough"
	"kpsim/linux/vmlinux"
)

// Every kernel at hand opens, and has what the engine runs on.
func TestOpenKernels(t *testing.T) {
	for _, path := range kerneltest.All(t) {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			im, err := vmlinux.Open(path)
			require.NoError(t, err)
			require.Equal(t, filepath.Base(filepath.Dir(path)), im.Release)
			require.Contains(t, im.Banner, "Linux version "+im.Release)
			require.Len(t, im.BuildID, 20)
			require.NotZero(t, im.Digest)
			require.Greater(t, len(im.Symbols()), 50_000)
			require.Greater(t, len(im.Returns()), 10_000)
			require.Greater(t, len(im.Fentries()), 10_000)
			require.Greater(t, len(im.Extable()), 100)
			for _, name := range []string{"register_kprobe", "unregister_kprobe", "arch_prepare_kprobe"} {
				s, ok := im.Symbol(name)
				require.True(t, ok && s.Func, name)
				in, ok := im.Lookup(s.Addr + s.Size - 1)
				require.True(t, ok)
				require.Equal(t, name, in.Name)
				require.NotEmpty(t, im.Bytes(s.Addr, s.Size))
				_, fentry := slices.BinarySearch(im.Fentries(), s.Addr)
				_, after := slices.BinarySearch(im.Fentries(), s.Addr+4)
				require.True(t, fentry || after, name)
			}
			kprobe := 128
			if strings.HasPrefix(im.Release, "5.10.") {
				kprobe = 136 // with fault_handler
			}
			for name, size := range map[string]int{"kprobe": kprobe, "kprobe_opcode_t": 1, "list_head": 16} {
				got, ok := im.Types().Size(name)
				require.True(t, ok, name)
				require.Equal(t, size, got, name)
			}
		})
	}
}

// A call in a function of the kernel and a pointer in its data lead, after a
// move, to where the symbols are then.
func TestMoveKernels(t *testing.T) {
	const delta = 0x10000000
	for _, path := range kerneltest.All(t) {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			im, err := vmlinux.Open(path)
			require.NoError(t, err)
			before, _ := im.Symbol("register_kprobe")
			perCPU, _ := im.Symbol("current_kprobe")
			require.Error(t, im.Move(4096))
			require.NoError(t, im.Move(delta))
			require.Error(t, im.Move(delta))

			after, ok := im.Lookup(before.Addr + delta)
			require.True(t, ok)
			require.Equal(t, "register_kprobe", after.Name)
			if perCPU.Addr > before.Addr { // from 6.15 on data of CPUs lies among the rest; before it is linked at 0
				perCPU.Addr += delta
			}
			same, _ := im.Symbol("current_kprobe")
			require.Equal(t, perCPU, same)

			// A mutex's list is empty: it points to itself.
			mutex, ok := im.Symbol("kprobe_mutex")
			require.True(t, ok)
			typ, at, ok := "mutex", 0, false
			if at, _, ok = im.Types().Off(typ, "wait_list"); !ok { // PREEMPT_RT: a tree; take the text list
				mutex, _ = im.Symbol("modules")
				at = 0
			}
			b := im.Bytes(mutex.Addr+uint64(at), 8)
			require.NotNil(t, b)
			require.Equal(t, mutex.Addr+uint64(at), binary.LittleEndian.Uint64(b))
		})
	}
}

// Nearly all relocations are found in a kernel without any: all in
// patching code. Those missed elsewhere are physical addresses and packed words.
func TestRecovered(t *testing.T) {
	for _, series := range thorough.Of([]string{"6.12"}, []string{"6.1", "6.12"}) {
		t.Run(series, func(t *testing.T) {
			im := kerneltest.Open(t, series)
			real, got := im.Relocs(), im.Recovered()
			for _, c := range []struct {
				kind             string
				missed, invented int // at most
			}{{"32", 21, 3}, {"-32", 1, 0}, {"64", 31, 0}} {
				missed, invented := without(im, real[c.kind], got[c.kind]), without(im, got[c.kind], real[c.kind])
				t.Log(c.kind, len(real[c.kind]), "missed", len(missed), "invented", len(invented))
				require.LessOrEqual(t, len(missed), c.missed)
				require.LessOrEqual(t, len(invented), c.invented)
				for _, name := range append(missed, invented...) {
					require.NotRegexp(t, "kprobe|text_poke|rethook|objpool|jump_label|static_call|ftrace|insn", name)
				}
			}
		})
	}
}

// without returns the names of what is in a and not in b, both sorted, but for
// words that are zero: table rows of weak functions that were overridden.
func without(im *vmlinux.Image, a, b []uint64) []string {
	var all []string
	for _, at := range a {
		if _, ok := slices.BinarySearch(b, at); ok || slices.Equal(im.Bytes(at, 8), make([]byte, 8)) {
			continue
		}
		s, _ := im.Lookup(at)
		all = append(all, s.Name)
	}
	return all
}

func TestTypesOf61(t *testing.T) {
	types := kerneltest.Open(t, "6.1").Types()
	for _, c := range []struct {
		name, path string
		off, size  int
	}{
		{"kprobe", "hlist", 0, 16},
		{"kprobe", "addr", 40, 8},
		{"kprobe", "ainsn.insn", 88, 8},
		{"kprobe", "flags", 120, 4},
		{"optimized_kprobe", "kp.addr", 40, 8},
	} {
		off, size, ok := types.Off(c.name, c.path)
		require.True(t, ok, c.path)
		require.Equal(t, c.off, off, c.path)
		require.Equal(t, c.size, size, c.path)
	}
	for off, want := range map[int]string{0: "hlist.next", 47: "addr", 80: "opcode", 88: "ainsn.insn", 120: "flags"} {
		got, ok := types.Member("kprobe", off)
		require.True(t, ok)
		require.Equal(t, want, got)
	}
	off, bit, width, ok := types.Bits("kprobe", "ainsn.boostable")
	require.Equal(t, []int{96, 0, 1}, []int{off, bit, width})
	require.True(t, ok)
	_, _, ok = types.Off("kprobe", "no_such")
	require.False(t, ok)
	_, ok = types.Size("no_such")
	require.False(t, ok)
}

// The WARNs of register_kprobe's part of kernel/kprobes.c.
func TestBugOf61(t *testing.T) {
	im := kerneltest.Open(t, "6.1")
	s, _ := im.Symbol("register_kprobe")
	var got []vmlinux.Bug
	for at := s.Addr; at < s.Addr+s.Size; at++ {
		if b, ok := im.Bug(at); ok {
			require.Equal(t, []byte{0x0f, 0x0b}, im.Bytes(at, 2))
			got = append(got, b)
		}
	}
	require.NotEmpty(t, got)
	for _, b := range got {
		require.Equal(t, "kernel/kprobes.c", b.File)
		require.True(t, b.Warn)
		require.Greater(t, b.Line, 100)
	}
}

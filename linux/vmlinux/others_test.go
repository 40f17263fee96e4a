package vmlinux_test

import (
	"encoding/binary"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux/vmlinux"
	"kpsim/smp/arch"
)

// Kernels for other processors than x86 open, and have what the engine runs on. All their functions are decoded, but
// for data among them.
func TestOthers(t *testing.T) {
	// Power has jump tables between its instructions; 7.2 knows instructions that the executors don't, for strings,
	// shadow stacks and vectors.
	for _, c := range []struct {
		processor, series string
		kprobe            int // the size of struct kprobe in bytes
		data              int // how many places of text may be data, which isn't decoded
	}{
		{"riscv64", "6.12", 120, 8}, {"riscv64", "7.2", 120, 60}, {"arm64", "6.12", 128, 2}, {"arm64", "7.2", 120, 160},
		{"ppc64le", "6.12", 112, 17_000}, {"ppc64le", "7.2", 112, 17_000},
	} {
		t.Run(c.processor+" "+c.series, func(t *testing.T) {
			im := kerneltest.OpenOn(t, c.processor, c.series)
			require.Equal(t, filepath.Base(filepath.Dir(im.Path)), im.Release)
			require.Contains(t, im.Banner, "Linux version "+im.Release)
			require.Equal(t, c.processor, im.Processor().String())
			require.Len(t, im.BuildID, 20)
			require.Equal(t, "BTF", im.Types().From)
			size, _ := im.Types().Size("kprobe")
			require.Equal(t, c.kprobe, size)
			require.Greater(t, len(im.Symbols()), 50_000)
			require.Greater(t, len(im.Fentries()), 10_000)
			require.Greater(t, len(im.Extable()), 100)
			for _, x := range im.Extable() {
				s, ok := im.Lookup(x.Addr)
				require.True(t, ok && s.Func, "%#x", x.Addr)
			}
			for _, name := range []string{"register_kprobe", "arch_prepare_kprobe"} {
				s, ok := im.Symbol(name)
				require.True(t, ok && s.Func, name)
				in, ok := im.Lookup(s.Addr + s.Size - 1)
				require.True(t, ok)
				require.Equal(t, name, in.Name)
			}
			bug, ok := firstBug(im)
			require.True(t, ok)
			require.Equal(t, "kernel/kprobes.c", bug.File)
			decoded, data := decodeText(im)
			names := slices.Compact(slices.Sorted(slices.Values(data)))
			t.Logf("%d instructions; %d places aren't decoded, in %d functions, as %v", decoded, len(data), len(names),
				names[:min(len(names), 12)])
			require.Greater(t, decoded, 1_000_000)
			require.LessOrEqual(t, len(data), c.data)
		})
	}
}

// firstBug returns the row of the first BUG or WARN of register_kprobe.
func firstBug(im *vmlinux.Image) (vmlinux.Bug, bool) {
	s, _ := im.Symbol("register_kprobe")
	for at := s.Addr; at < s.Addr+s.Size; at += 2 {
		if b, ok := im.Bug(at); ok {
			return b, true
		}
	}
	return vmlinux.Bug{}, false
}

// decodeText decodes .text. It counts the instructions, and returns the functions at places that hold none but
// aren't zeros.
func decodeText(im *vmlinux.Image) (decoded int, data []string) {
	s, step := im.Section(".text"), im.Processor().Linux().Align
	for at := 0; at+step <= len(s.Data); {
		in, err := im.Decode(s.Data[at:], s.Addr+uint64(at))
		if err != nil {
			if arch.Word(s.Data[at:at+step]) != 0 {
				f, _ := im.Lookup(s.Addr + uint64(at))
				data = append(data, f.Name)
			}
			at += step
			continue
		}
		decoded++
		at += in.Size()
	}
	return decoded, data
}

// Kernels for riscv64 and arm64 are moved by the addresses in their data, those for ppc64le by their relocations.
func TestMoveOthers(t *testing.T) {
	for _, processor := range []string{"riscv64", "arm64", "ppc64le"} {
		t.Run(processor, func(t *testing.T) {
			im, err := vmlinux.Open(kerneltest.PathOn(t, processor, "6.12"))
			require.NoError(t, err)
			before, _ := im.Symbol("kprobe_mutex")
			list, _, _ := im.Types().Off("mutex", "wait_list")
			require.NoError(t, im.Move(kerneltest.FakeDelta))
			after, _ := im.Symbol("kprobe_mutex")
			require.Equal(t, before.Addr+kerneltest.FakeDelta, after.Addr)
			at := after.Addr + uint64(list)
			require.Equal(t, at, arch.Word(im.Bytes(at, 8)), "an empty list points to itself")
		})
	}
}

// A flat image made up is read in each form that such come in.
func TestFlat(t *testing.T) {
	for _, processor := range []string{"riscv64", "arm64"} {
		for _, tables := range []string{"6.1", "6.4", "7.0"} {
			f := kerneltest.Fake{Flat: processor, Tables: tables}
			kernel := f.FlatImage()
			for _, b := range [][]byte{kernel, kerneltest.Gzipped(kernel), kerneltest.ZBoot(kernel, "gzip"),
				kerneltest.ZBoot(kernel, "zstd")} {
				im, err := vmlinux.Read(b)
				require.NoError(t, err)
				require.Equal(t, "6.1.0-1-fake", im.Release)
				require.Equal(t, processor, im.Processor().String())
				s, ok := im.Symbol("fn_399")
				require.True(t, ok && s.Func)
				require.Equal(t, f.Addr(399), s.Addr)
				s, _ = im.Symbol("fn_500")
				require.False(t, s.Func)
				require.Equal(t, []vmlinux.ExEntry{{Addr: f.Addr(2), Fixup: f.Addr(3), Data: 1}}, im.Extable()[:1])
				require.NoError(t, im.Move(kerneltest.FakeDelta))
				at := f.Addr(kerneltest.FlatPointer) + kerneltest.FakeDelta
				require.Equal(t, f.Addr(1)+kerneltest.FakeDelta, arch.Word(im.Bytes(at, 8)))
				require.Equal(t, f.Addr(3)+kerneltest.FakeDelta, im.Extable()[0].Fixup)
			}
			_, err := vmlinux.Read(kernel[:len(kernel)-2000])
			require.Error(t, err)
			small := slices.Clone(kernel) // a header that says less memory than the file has
			binary.LittleEndian.PutUint64(small[16:], uint64(len(kernel)-1))
			_, err = vmlinux.Read(small)
			require.ErrorContains(t, err, "image header")
			cut := kerneltest.ZBoot(kernel, "zstd")
			_, err = vmlinux.Read(cut[:len(cut)-100])
			require.ErrorContains(t, err, "ends after the end of the file")
		}
	}
}

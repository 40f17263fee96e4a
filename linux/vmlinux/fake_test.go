package vmlinux_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux/vmlinux"
)

// packers are the ways that kernels are compressed in, but for bzip2, which isn't written here.
var packers = []string{"gzip", "xz", "zstd", "lz4", "lzma"}

// A kernel made up is read in each form that kernels come in.
func TestFake(t *testing.T) {
	for _, f := range []kerneltest.Fake{{}, {Tables: "6.4"}, {Tables: "7.0"}, {NoRelocs: true}, {Bits32: true},
		{Bits32: true, Tables: "6.4"}, {Bits32: true, Tables: "7.0"}} {
		kernel := f.ELF()
		files := [][]byte{kernel}
		for _, how := range packers {
			files = append(files, kerneltest.Vmlinuz(kernel, how))
		}
		for _, b := range files {
			im, err := vmlinux.Read(b)
			require.NoError(t, err)
			require.Equal(t, "6.1.0-1-fake", im.Release)
			s, ok := im.Symbol("fn_599")
			require.True(t, ok && s.Func)
			require.Equal(t, f.Addr(599), s.Addr)
			require.EqualValues(t, 16, s.Size)

			require.Equal(t, []uint64{f.Addr(0), f.Addr(1)}, im.Returns())
			require.Equal(t, []vmlinux.ExEntry{{Addr: f.Addr(2), Fixup: f.Addr(3), Data: 1}}, im.Extable())
			bug, ok := im.Bug(f.Addr(0) + 4)
			require.True(t, ok)
			require.Equal(t, vmlinux.Bug{File: "fake.c", Line: 42, Warn: true, Flags: 1}, bug)
			_, ok = im.Bug(f.Addr(1))
			require.False(t, ok)
			require.Nil(t, im.Line(f.Addr(0)))

			require.NoError(t, im.Move(kerneltest.FakeDelta))
			in, ok := im.Lookup(f.Addr(7) + kerneltest.FakeDelta + 3)
			require.True(t, ok)
			require.Equal(t, "fn_7", in.Name)
			pointer := binary.LittleEndian.Uint64(im.Section(".data").Data)
			if f.Bits32 {
				pointer &= 0xffffffff
			}
			require.Equal(t, f.Addr(1)+kerneltest.FakeDelta, pointer)
			require.Equal(t, f.Addr(1)+kerneltest.FakeDelta, im.Returns()[1])
			bug, _ = im.Bug(f.Addr(0) + 4 + kerneltest.FakeDelta)
			require.Equal(t, 42, bug.Line)
		}
	}
}

// A vmlinux as the linker leaves it has more symbols, sizes, and relocations of which
// some move: absolute ones, and those from code to per-CPU data the other way.
func TestLinked(t *testing.T) {
	const delta = kerneltest.FakeDelta
	f := kerneltest.Fake{Linked: true}
	im, err := vmlinux.Read(f.ELF())
	require.NoError(t, err)
	s, _ := im.Symbol("fn_0")
	require.EqualValues(t, 9, s.Size)
	user := f.Addr(kerneltest.FakeUser) + 4
	distance := int32(binary.LittleEndian.Uint32(im.Bytes(user, 4)))

	require.NoError(t, im.Move(delta))
	for name, want := range map[string]uint64{"fn_0": f.Addr(0) + delta, "this_cpu": kerneltest.FakePerCPU,
		"absolute": 5} {
		s, ok := im.Symbol(name)
		require.True(t, ok, name)
		require.Equal(t, want, s.Addr, name)
	}
	pointer, _ := im.Symbol("pointer")
	data := im.Section(".data")
	require.Equal(t, data.Addr, pointer.Addr)
	require.Equal(t, f.Addr(1)+delta, binary.LittleEndian.Uint64(data.Data))
	require.EqualValues(t, kerneltest.FakePerCPU, binary.LittleEndian.Uint64(data.Data[8:]))
	require.Equal(t, uint32((f.Addr(2)+delta)&0xffffffff), binary.LittleEndian.Uint32(data.Data[16:]))
	require.Zero(t, binary.LittleEndian.Uint64(data.Data[24:]))
	require.Equal(t, distance-delta, int32(binary.LittleEndian.Uint32(im.Bytes(user+delta, 4))))
	in, ok := im.Lookup(pointer.Addr)
	require.True(t, ok)
	require.Equal(t, "fn_599", in.Name, "kallsyms doesn't have pointer, so the kernel wouldn't find it")
}

// A layer's lines come before the kernel's, wherever those are from.
func TestLayerLines(t *testing.T) {
	im, err := vmlinux.Read(kerneltest.Fake{}.ELF())
	require.NoError(t, err)
	const at = kerneltest.FakeText + 0x1000000
	frame := []vmlinux.Frame{{Func: "new", File: "new.c", Line: 7}}
	require.NoError(t, im.Lay(&vmlinux.Layer{
		Sections: []vmlinux.Section{{Name: ".text.new", Addr: at, Size: 16, Data: make([]byte, 16), Exec: true}},
		Line: func(addr uint64) []vmlinux.Frame {
			if addr == at {
				return frame
			}
			return nil
		},
	}))
	require.Equal(t, frame, im.Line(at))
	require.Equal(t, frame, im.LineIn(nil, at))
	require.Empty(t, im.Line(at+1))
}

func TestFakeTypes(t *testing.T) {
	im, err := vmlinux.Read(kerneltest.Fake{}.ELF())
	require.NoError(t, err)
	for path, want := range map[string][3]int{"addr": {0, 0, 64}, "flags": {8, 0, 32}, "gone": {8, 0, 1},
		"lists": {16, 0, 256}} {
		off, bit, width, ok := im.Types().Bits("kprobe", path)
		require.True(t, ok, path)
		require.Equal(t, want, [3]int{off, bit, width}, path)
	}
	for off, want := range map[int]string{3: "addr", 8: "flags", 16: "lists[0].next", 47: "lists[1].prev"} {
		got, ok := im.Types().Member("kprobe", off)
		require.True(t, ok)
		require.Equal(t, want, got)
	}
	for _, path := range []string{"", "no", "addr.next", "flags.x", "gone"} {
		_, _, ok := im.Types().Off("kprobe", path)
		require.False(t, ok, path)
	}
	for _, off := range []int{-1, 12, 48} {
		got, ok := im.Types().Member("kprobe", off)
		require.False(t, ok, got)
	}
	require.Equal(t, "BTF", im.Types().From)
	n, ok := im.Types().Size("kprobe_opcode_t")
	require.True(t, ok)
	require.Equal(t, 4, n)
}

// Names come out of the kallsyms tables as they went in, whatever their lengths.
func TestNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.StringMatching(`[a-z_][a-zA-Z0-9_.]{1,300}`), 0, 50).Draw(t, "names")
		f := kerneltest.Fake{Names: names, Tables: rapid.SampledFrom([]string{"6.1", "6.4", "7.0"}).Draw(t, "tables")}
		im, err := vmlinux.Read(f.ELF())
		require.NoError(t, err)
		for i, name := range names {
			s, ok := im.Lookup(f.Addr(i) + 15)
			require.True(t, ok)
			require.Equal(t, vmlinux.Symbol{Name: name, Addr: f.Addr(i), Size: 16, Func: true},
				vmlinux.Symbol{Name: s.Name, Addr: s.Addr, Size: s.Size, Func: s.Func})
		}
	})
}

// What isn't a kernel is one line that names the file and says what to give.
func TestOpenErrors(t *testing.T) {
	kernel := kerneltest.Fake{}.ELF()
	packed := kerneltest.Vmlinuz(kernel, "gzip")
	with := func(b []byte, off int, s string) []byte {
		b = append([]byte(nil), b...)
		copy(b[off:], s)
		return b
	}
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"empty":     {nil, "has 0 bytes"},
		"text":      {[]byte(strings.Repeat("hello\n", 200)), "neither an ELF file nor a vmlinuz"},
		"xz alone":  {append([]byte("\xfd7zXZ\x00"), make([]byte, 2000)...), "is packed with xz alone"},
		"half":      {kernel[:len(kernel)/2], "section headers"},
		"cut":       {packed[:len(packed)-100], "ends after the end of the file"},
		"old":       {with(packed, 0x206, "\x00\x02"), "protocol 2.00"},
		"lzma":      {with(packed, 1536, "\x5d\x00\x00"), "lzma payload"},
		"lzo":       {with(packed, 1536, "\x89LZO"), "lzo"},
		"unknown":   {with(packed, 1536, "????"), "isn't known here"},
		"damaged":   {with(packed, 1600, "????????"), "gzip payload"},
		"claims":    {with(packed, len(packed)-4, "\x00\x00\x00\x1f"), "claims to be 496 MiB"},
		"object":    {with(kernel, 16, "\x01"), "no linked kernel"},
		"processor": {with(kernel, 18, "\x16"), "another processor"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			require.NoError(t, os.WriteFile(path, c.b, 0o666))
			_, err := vmlinux.Open(path)
			require.ErrorContains(t, err, c.want)
			require.True(t, strings.HasPrefix(err.Error(), path+": "), err)
			require.NotContains(t, err.Error(), "\n")
		})
	}
	_, err := vmlinux.Open(filepath.Join(t.TempDir(), "none"))
	require.ErrorContains(t, err, "no such file")
	_, err = vmlinux.Open(t.TempDir())
	require.ErrorContains(t, err, "is no file with a kernel")
}

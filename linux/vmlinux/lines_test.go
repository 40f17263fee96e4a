package vmlinux_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux/vmlinux"
)

// A program of two functions, one inlined into the other, linked like a kernel.
const source = `struct probe { int flags; unsigned on : 1; unsigned char code[16]; } probe;

static inline __attribute__((always_inline)) int armed(struct probe *p)
{
	return p->on && p->flags;
}

int hit(int n)
{
	if (armed(&probe))
		return n;
	return probe.code[n & 15];
}
`

// compiled returns the sections of DWARF of source, and where hit is.
func compiled(t testing.TB, flags ...string) (vmlinux.DebugSections, elf.Symbol) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc here: install it")
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "probe.c"), []byte(source), 0o666))
	args := append([]string{"-O2", "-ffreestanding", "-nostdlib", "-static", "-fno-pie", "-no-pie", "-mcmodel=kernel",
		"-Wl,-Ttext=0xffffffff81000000,-e,hit", "-o", "probe", "probe.c"}, flags...)
	cmd := exec.Command("gcc", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	f, err := elf.Open(filepath.Join(dir, "probe"))
	require.NoError(t, err)
	defer f.Close()
	data := func(name string) []byte {
		s := f.Section(name)
		if s == nil {
			return nil
		}
		b, err := s.Data()
		require.NoError(t, err)
		return b
	}
	s := vmlinux.DebugSections{
		Abbrev: data(".debug_abbrev"), Aranges: data(".debug_aranges"), Line: data(".debug_line"),
		LineStr: data(".debug_line_str"),
		Str:     data(".debug_str"), Ranges: data(".debug_ranges"), Rnglists: data(".debug_rnglists"),
	}
	info := data(".debug_info")
	s.Info, s.InfoSize = bytes.NewReader(info), uint64(len(info))
	symbols, err := f.Symbols()
	require.NoError(t, err)
	for _, sym := range symbols {
		if sym.Name == "hit" {
			return s, sym
		}
	}
	t.Fatal("no function hit")
	return s, elf.Symbol{}
}

// The lines of a function and of what is inlined in it, of DWARF 4 and 5, with and
// without the table of addresses, and with one of another unit alone, as clang's has assembly alone.
func TestCompiledLines(t *testing.T) {
	for _, flags := range [][]string{{"-gdwarf-5"}, {"-gdwarf-4"}} {
		s, hit := compiled(t, flags...)
		other := slices.Clone(s.Aranges)
		binary.LittleEndian.PutUint32(other[6:], uint32(s.InfoSize))
		binary.LittleEndian.PutUint64(other[16:], 0xffffffff82000000)
		for _, aranges := range [][]byte{s.Aranges, nil, other} {
			s.Aranges = aranges
			l, err := vmlinux.NewLines(s)
			require.NoError(t, err)
			inlined := false
			for at := hit.Value; at < hit.Value+hit.Size; at++ {
				frames := l.At(at)
				require.NotEmpty(t, frames)
				require.Equal(t, "hit", frames[len(frames)-1].Func)
				if len(frames) == 2 {
					inlined = true
					require.Equal(t, vmlinux.Frame{Func: "armed", File: "probe.c", Line: 5}, frames[0])
					require.Equal(t, vmlinux.Frame{Func: "hit", File: "probe.c", Line: 10}, frames[1])
				}
			}
			require.True(t, inlined)
			require.Empty(t, l.At(hit.Value+hit.Size+4096))
		}
	}
}

// Damaged DWARF has no lines, or wrong ones; nothing worse.
func FuzzLines(f *testing.F) {
	for _, version := range []string{"-gdwarf-5", "-gdwarf-4"} {
		s, _ := compiled(f, version)
		info := make([]byte, s.InfoSize)
		_, err := s.Info.ReadAt(info, 0)
		require.NoError(f, err)
		f.Add(info, s.Abbrev, s.Aranges, s.Line, s.LineStr, s.Str, s.Ranges, s.Rnglists)
	}
	f.Fuzz(func(t *testing.T, info, abbrev, aranges, line, lineStr, str, ranges, rnglists []byte) {
		for _, aranges := range [][]byte{aranges, nil} {
			l, err := vmlinux.NewLines(vmlinux.DebugSections{
				Info: bytes.NewReader(info), InfoSize: uint64(len(info)),
				Abbrev: abbrev, Aranges: aranges, Line: line, LineStr: lineStr, Str: str, Ranges: ranges,
				Rnglists: rnglists,
			})
			if err != nil {
				continue
			}
			for at := uint64(0xffffffff81000000); at < 0xffffffff81000040; at++ {
				l.At(at)
			}
			types := vmlinux.TypesOf(l)
			types.Size("probe")
			types.Member("probe", 5)
		}
	})
}

// Types are found in DWARF alone.
func TestCompiledTypes(t *testing.T) {
	for _, version := range []string{"-gdwarf-5", "-gdwarf-4"} {
		s, _ := compiled(t, version)
		l, err := vmlinux.NewLines(s)
		require.NoError(t, err)
		types := vmlinux.TypesOf(l)
		n, ok := types.Size("probe")
		require.True(t, ok)
		require.Equal(t, 24, n)
		off, bit, width, ok := types.Bits("probe", "on")
		require.Equal(t, []any{4, 0, 1, true}, []any{off, bit, width, ok})
		_, ok = types.Size("prob")
		require.False(t, ok)
	}
}

// A vmlinux on disk without BTF has the types and the lines of its DWARF, which are read after it was opened.
func TestDwarfOnDisk(t *testing.T) {
	s, hit := compiled(t, "-gdwarf-5")
	info := make([]byte, s.InfoSize)
	_, err := s.Info.ReadAt(info, 0)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "vmlinux")
	require.NoError(t, os.WriteFile(path, kerneltest.Fake{Linked: true, DWARF: map[string][]byte{
		".debug_info": info, ".debug_abbrev": s.Abbrev, ".debug_aranges": s.Aranges, ".debug_line": s.Line,
		".debug_line_str": s.LineStr, ".debug_str": s.Str, ".debug_rnglists": s.Rnglists,
	}}.ELF(), 0o666))
	im, err := vmlinux.Open(path)
	require.NoError(t, err)
	require.Equal(t, "DWARF", im.Types().From)
	n, ok := im.Types().Size("probe")
	require.True(t, ok)
	require.Equal(t, 24, n)
	frames := im.Line(hit.Value)
	require.NotEmpty(t, frames)
	require.Equal(t, "probe.c", frames[0].File)
}

package x86_test

import (
	"debug/elf"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// TestObjdump: in the executable sections of every object file below the folder
// that KPSIM_MODULES names (kernel modules, but any ELF file for x86 will do),
// each instruction that objdump lists is as long here.
func TestObjdump(t *testing.T) {
	needObjdump(t)
	folder := os.Getenv("KPSIM_MODULES")
	if folder == "" {
		t.Skip("SKIP: KPSIM_MODULES doesn't name a folder of kernel modules: no module's instruction boundaries were " +
			"compared")
	}
	var files []string
	require.NoError(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && isELF(path) {
			files = append(files, path)
		}
		return err
	}))
	for _, name := range []string{"ext4.ko", "xfs.ko", "btrfs.ko", "kvm.ko"} {
		if !slices.ContainsFunc(files, func(f string) bool { return filepath.Base(f) == name }) {
			t.Logf("SKIP: %s isn't in %s", name, folder)
		}
	}
	total := 0
	for _, file := range files {
		name, _ := filepath.Rel(folder, file)
		n := 0
		t.Run(name, func(t *testing.T) {
			n = compareFile(t, file)
			require.NotZero(t, n)
		})
		total += n
	}
	t.Logf("%d instructions of %d files", total, len(files))
	require.NotZero(t, total)
}

func isELF(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return (f.Machine == elf.EM_X86_64 || f.Machine == elf.EM_386) &&
		slices.ContainsFunc(f.Sections, func(s *elf.Section) bool {
			return s.Flags&elf.SHF_EXECINSTR != 0 && s.Size > 0
		})
}

// A listedSection is an executable section, and where objdump is in it.
type listedSection struct {
	addr uint64
	code []byte
	at   uint64 // of the instruction listed last
	text string
	some bool
}

// compareFile returns the number of instructions compared.
func compareFile(t *testing.T, file string) (n int) {
	f, err := elf.Open(file)
	require.NoError(t, err)
	defer f.Close()
	mode := x86.Mode64
	if f.Machine == elf.EM_386 {
		mode = x86.Mode32
	}
	sections := map[string]*listedSection{}
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 && s.Type == elf.SHT_PROGBITS {
			code, err := s.Data()
			require.NoError(t, err)
			sections[s.Name] = &listedSection{addr: s.Addr, code: code}
		}
	}
	var now *listedSection
	wrong := 0
	finish := func(end uint64) {
		if now == nil || !now.some {
			return
		}
		n++
		code := now.code[now.at-now.addr:]
		want := int(end - now.at)
		if got := sameLength(mode, code, arch.Addr(now.at), want, now.text); got != want {
			if wrong++; wrong <= 20 {
				t.Errorf("%#x: % x: objdump has %d bytes, %s; here %d", now.at, code[:min(len(code), 15)], want,
					now.text, got)
			}
		}
	}
	objdump(t, func(at uint64, text string) {
		if now == nil {
			return
		}
		finish(at)
		now.at, now.text, now.some = at, text, true
	}, func(section string) {
		if now != nil {
			finish(now.addr + uint64(len(now.code)))
		}
		now = sections[section]
	}, "-d", file)
	if now != nil {
		finish(now.addr + uint64(len(now.code)))
	}
	return n
}

// younger are the opcodes of instructions that came after binutils 2.40: lkgs;
// fred's and others of 0f 01; urdmsr. Debian's 6.12 kernel has the first.
var younger = map[int]bool{0x0f00: true, 0x0f01: true, 0x0f38f8: true}

// sameLength returns the length of the instruction, or 0. What objdump can't
// read shouldn't be read here either: then it is as long as objdump wants it.
// fwait and the x87 instruction after it, which objdump joins, are two here.
func sameLength(mode x86.Mode, code []byte, at arch.Addr, want int, text string) int {
	in, err := mode.Decode(code, at)
	n := int(in.Len)
	switch {
	case bad(text) && (err != nil || younger[in.Opcode()]):
		return want
	case err == nil && code[n-1] == 0x9b && n < want: // fwait
		if in, err = mode.Decode(code[n:], at); err == nil {
			n += int(in.Len)
		}
	}
	return n
}

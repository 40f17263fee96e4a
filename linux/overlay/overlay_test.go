package overlay_test

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/linux/overlay"
	"kpsim/linux/vmlinux"
)

const base = 0xffffffffa0000000

// compile compiles C as the kernel's make does, as far as it matters here.
func compile(t *testing.T, name, source string, flags ...string) string {
	t.Helper()
	return gcc(t, name, source, append([]string{"-mcmodel=kernel"}, flags...)...)
}

func gcc(t *testing.T, name, source string, flags ...string) string {
	t.Helper()
	cc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc here: install gcc to run what links objects")
	}
	c := filepath.Join(t.TempDir(), name+".c")
	require.NoError(t, os.WriteFile(c, []byte(source), 0o644))
	o := c[:len(c)-1] + "o"
	args := append([]string{"-c", "-O2", "-fno-pic", "-fno-pie", "-mno-sse", "-fcf-protection=none",
		"-fno-asynchronous-unwind-tables", "-fno-common", "-o", o, c}, flags...)
	out, err := exec.Command(cc, args...).CombinedOutput()
	require.NoError(t, err, string(out))
	return o
}

// link links over no kernel at all.
func link(t *testing.T, files ...string) *overlay.Overlay {
	t.Helper()
	v, err := overlay.Link(&vmlinux.Image{Path: "vmlinux"}, base, files...)
	require.NoError(t, err)
	return v
}

func symbol(t *testing.T, v *overlay.Overlay, name string) vmlinux.Symbol {
	t.Helper()
	for _, s := range v.Symbols {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no symbol %s", name)
	return vmlinux.Symbol{}
}

// bytesAt returns what the overlay has at an address.
func bytesAt(t *testing.T, v *overlay.Overlay, at, n uint64) []byte {
	t.Helper()
	for _, list := range [][]vmlinux.Section{v.Sections, v.PerCPU} {
		for _, s := range list {
			if at-s.Addr < s.Size {
				return s.Data[at-s.Addr : at-s.Addr+n]
			}
		}
	}
	t.Fatalf("nothing at %#x", at)
	return nil
}

// A function of one object calls one of another, and data points to both.
func TestTwoObjects(t *testing.T) {
	a := compile(t, "a", `
int twice(int);
static int last;
int (*hook)(int) = twice;
int call(int x) { last = twice(x); return last; }
int *where = &last;`)
	b := compile(t, "b", `
__attribute__((weak)) int call(int x) { return 0; }
int twice(int x) { return 2 * x; }`)
	for _, files := range [][]string{{a, b}, {b, a}} {
		v := link(t, files...)
		twice := symbol(t, v, "twice")
		require.True(t, twice.Func && twice.Global)
		require.Equal(t, twice.Addr, binary.LittleEndian.Uint64(bytesAt(t, v, symbol(t, v, "hook").Addr, 8)))
		require.Equal(t, symbol(t, v, "last").Addr,
			binary.LittleEndian.Uint64(bytesAt(t, v, symbol(t, v, "where").Addr, 8)))
		require.False(t, symbol(t, v, "last").Global)
		calls := 0 // of the weak one, which lost, there is no symbol
		for _, s := range v.Symbols {
			if s.Name == "call" {
				calls++
				require.False(t, s.Weak)
			}
		}
		require.Equal(t, 1, calls)
		code := bytesAt(t, v, symbol(t, v, "call").Addr, symbol(t, v, "call").Size)
		require.True(t, calledIn(code, symbol(t, v, "call").Addr, twice.Addr), "% x", code)
		require.Empty(t, v.Moved)
	}
	require.NotEqual(t, link(t, b).Digest, link(t, a, b).Digest)
	require.Equal(t, link(t, a, b).Sections, link(t, a, b).Sections)
	require.Equal(t, link(t, a, b).Symbols, link(t, a, b).Symbols)
}

// calledIn says whether code at an address calls or jumps to another.
func calledIn(code []byte, at, to uint64) bool {
	for i := 0; i+5 <= len(code); i++ {
		d := uint64(int64(int32(binary.LittleEndian.Uint32(code[i+1:]))))
		if (code[i] == 0xe8 || code[i] == 0xe9) && at+uint64(i)+5+d == to {
			return true
		}
	}
	return false
}

// thunks are what a vmlinux defines.
func thunks(t *testing.T) string {
	return compile(t, "thunks", `
void __fentry__(void) {}
void __x86_return_thunk(void) {}
void __x86_indirect_thunk_rax(void) {}`)
}

// Sites are known by what they refer to; tables keep their names; initcalls have levels.
func TestTables(t *testing.T) {
	o := compile(t, "a", `
__asm__(".text; f: call __fentry__; jmp __x86_return_thunk; call __x86_indirect_thunk_rax; ud2\n"
".section .rodata\n .byte 1\n"
".section .rodata.str1.1,\"aMS\",@progbits,1\n 7: .asciz \"a/b.c\"\n"
".section __bug_table,\"aw\"\n 1: .long f+15-., 7b-.; .word 77, 1\n"
".section __ex_table,\"a\"\n .long f-., f+5-., 3\n"
".section .kcfi_traps,\"ao\",@progbits,.text\n .long f+15-.\n"
".section .data..percpu,\"aw\"\n .globl mine\n mine: .quad 5\n"
".section .initcall6.init,\"a\"\n .long late-.\n"
".section .initcallearly.init,\"a\"\n .long soon-.\n .text\n");
void soon(void) {}
void late(void) {}`)
	v := link(t, o, thunks(t))
	f := symbol(t, v, "f").Addr
	require.Equal(t, []uint64{f}, v.Fentries)
	require.Equal(t, []uint64{f + 5}, v.Returns)
	require.Equal(t, []uint64{f + 10}, v.Retpolines)
	require.Equal(t, []uint64{f + 15}, v.Traps)
	require.Equal(t, []string{"soon", "late"}, v.Initcalls)
	for _, s := range v.Sections {
		if s.Name == "__ex_table" {
			require.Equal(t, f-s.Addr, uint64(int64(int32(binary.LittleEndian.Uint32(s.Data)))))
		}
	}
	b, ok := v.Bug(f + 15)
	require.True(t, ok)
	require.Equal(t, vmlinux.Bug{File: "a/b.c", Line: 77, Warn: true, Flags: 1}, b)
	require.Equal(t, uint64(0), symbol(t, v, "mine").Addr)
	require.Equal(t, []byte{5, 0, 0, 0, 0, 0, 0, 0}, v.PerCPU[0].Data)
}

// A variable that code reaches by a global offset table has a slot there.
func TestOffsetTable(t *testing.T) {
	v := link(t, compile(t, "a", `int x = 3; __asm__(".text; f: mov x@GOTPCREL(%rip), %rax; ret");`))
	f := symbol(t, v, "f").Addr
	slot := f + 7 + uint64(int64(int32(binary.LittleEndian.Uint32(bytesAt(t, v, f+3, 4)))))
	require.Equal(t, symbol(t, v, "x").Addr, binary.LittleEndian.Uint64(bytesAt(t, v, slot, 8)))
}

// What isn't an object of the kernel is refused with one line that says what to do.
func TestRefusals(t *testing.T) {
	good := compile(t, "a", "int x = 1; int f(void) { return x; }")
	for _, c := range []struct{ name, source, flag, says string }{
		{"undefined", "int g(void); int f(void) { return g(); }", "",
			"refers to g, which vmlinux () doesn't have: give the object that defines it"},
		{"module", "int init_module(void) { return 0; }", "", "was compiled as a module"},
		{"thread", "__thread int x; int f(void) { return x; }", "", "is thread-local"},
		{"common", "int x; int f(void) { return x; }", "-fcommon", "compile it with -fno-common"},
		{"twice", "int f(void) { return 2; }", "", "give each file of the kernel once"},
		{"processor", "int f(void) { return 2; }", "-m32",
			"is for another processor than the kernel: compile it for x86-64"},
		{"reach", "long f(void) { return *(int *)4; } __asm__(\".byte f\");", "", "out of reach of R_X86_64_8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			flags := []string{}
			if c.flag != "" {
				flags = append(flags, c.flag)
			}
			o := gcc(t, "b", c.source, flags...)
			files := []string{o}
			if c.name == "twice" {
				files = []string{good, o}
			}
			_, err := overlay.Link(&vmlinux.Image{Path: "vmlinux"}, base, files...)
			require.ErrorContains(t, err, c.says)
			require.Regexp(t, `^\S+\.o: [^\n]+: [^\n]+$`, err.Error())
		})
	}
	_, err := overlay.Link(&vmlinux.Image{}, base, "/dev/null")
	require.ErrorContains(t, err, "/dev/null: isn't a file")
	_, err = overlay.Link(&vmlinux.Image{}, base)
	require.ErrorContains(t, err, "give 1 to 64")
	_, err = overlay.Link(&vmlinux.Image{}, base+1, good)
	require.ErrorContains(t, err, "is no multiple of 4096")
	_, err = overlay.Link(&vmlinux.Image{}, ^uint64(0)&^4095, good)
	require.ErrorContains(t, err, "leaves no room")
	text := filepath.Join(t.TempDir(), "kprobes.c")
	require.NoError(t, os.WriteFile(text, []byte("int x;"), 0o644))
	_, err = overlay.Link(&vmlinux.Image{}, base, text)
	require.ErrorContains(t, err, "is no ELF file")
}

package overlay_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux/overlay"
	"kpsim/linux/vmlinux"
)

const base32 = 0xc2200000

// compile32 compiles C for i386 as the kernel's make does.
func compile32(t *testing.T, name, source string, flags ...string) string {
	t.Helper()
	return gcc(t, name, source, append([]string{"-m32", "-mregparm=3", "-ffreestanding"}, flags...)...)
}

// fake32 is a kernel for i386 without code, whose per-CPU data has 64 bytes, and 1984 free
// behind them.
func fake32(t testing.TB) *vmlinux.Image {
	t.Helper()
	path := filepath.Join(t.TempDir(), "vmlinux")
	require.NoError(t, os.WriteFile(path, kerneltest.Fake{Bits32: true}.ELF(), 0o644))
	im, err := vmlinux.Open(path)
	require.NoError(t, err)
	return im
}

func link32(t *testing.T, im *vmlinux.Image, files ...string) *overlay.Overlay {
	t.Helper()
	v, err := overlay.Link(im, base32, files...)
	require.NoError(t, err)
	return v
}

func word(t *testing.T, v *overlay.Overlay, at uint64) uint64 {
	t.Helper()
	return uint64(binary.LittleEndian.Uint32(bytesAt(t, v, at, 4)))
}

// Objects of i386 have their addends in the holes: of calls, of addresses in code and in data,
// and of what is known as a part of its section only.
func TestTwoObjects386(t *testing.T) {
	im := fake32(t)
	a := compile32(t, "a", `
int twice(int);
void fn_7(void);
static int pad[5], last;
int (*hook)(int) = twice;
void (*old)(void) = fn_7;
static int two(int x) { return x + 2; }
int (*const mine[])(int) = {twice, two};
int *where = &last;
int call(int x) { last = twice(x); pad[3] = last; return last; }
int *fourth(void) { return &pad[4]; }`)
	b := compile32(t, "b", "int twice(int x) { return 2 * x; }")
	for _, files := range [][]string{{a, b}, {b, a}} {
		v := link32(t, im, files...)
		twice, last := symbol(t, v, "twice"), symbol(t, v, "last")
		require.Equal(t, twice.Addr, word(t, v, symbol(t, v, "hook").Addr))
		require.Equal(t, twice.Addr, word(t, v, symbol(t, v, "mine").Addr))
		require.Equal(t, symbol(t, v, "two").Addr, word(t, v, symbol(t, v, "mine").Addr+4))
		require.Equal(t, last.Addr, word(t, v, symbol(t, v, "where").Addr))
		seventh, ok := im.Symbol("fn_7")
		require.True(t, ok)
		require.Equal(t, seventh.Addr, word(t, v, symbol(t, v, "old").Addr))
		call := symbol(t, v, "call")
		require.True(t, calledIn32(bytesAt(t, v, call.Addr, call.Size), call.Addr, twice.Addr))
		require.Equal(t, []byte{0xb8}, bytesAt(t, v, symbol(t, v, "fourth").Addr, 1)) // mov $pad+16,%eax
		require.Equal(t, symbol(t, v, "pad").Addr+16, word(t, v, symbol(t, v, "fourth").Addr+1))
	}
}

func calledIn32(code []byte, at, to uint64) bool {
	for i := 0; i+5 <= len(code); i++ {
		if (code[i] == 0xe8 || code[i] == 0xe9) &&
			uint32(at)+uint32(i)+5+binary.LittleEndian.Uint32(code[i+1:]) == uint32(to) {
			return true
		}
	}
	return false
}

// A function that both have gets a jump, from below the new one; tables have rows of words, and
// those of BUG addresses.
func TestTables386(t *testing.T) {
	im := fake32(t)
	v := link32(t, im, compile32(t, "a", `
__asm__(".text; f: call __fentry__; nop; call __x86_indirect_thunk_eax; ud2\n"
".section .rodata.str1.1,\"aMS\",@progbits,1\n 7: .asciz \"a/b.c\"\n"
".section __mcount_loc,\"a\"\n .long f\n"
".section __bug_table,\"aw\"\n 1: .long f+11, 7b; .word 77, 1\n"
".section __ex_table,\"a\"\n .long f-., f+5-., 3\n"
".section .data..percpu,\"aw\"\n .globl mine\n mine: .long 5\n"
".section .initcall6.init,\"a\"\n .long late-.\n"
".section .initcallearly.init,\"a\"\n .long soon-.\n .text\n");
extern int mine;
static __attribute__((used)) void soon(void) {}
void late(void) {}
int get(void) { int v; __asm__("movl %%fs:%1, %0" : "=r"(v) : "m"(mine)); return v; }
void fn_9(void) { late(); }`), compile32(t, "thunks", "void __fentry__(void) {}\nvoid __x86_indirect_thunk_eax(void) {}"))
	f := symbol(t, v, "f").Addr
	require.Equal(t, []uint64{f}, v.Fentries)
	require.Equal(t, []uint64{f + 6}, v.Retpolines)
	require.Equal(t, []string{"soon", "late"}, v.Initcalls)
	b, ok := v.Bug(f + 11)
	require.True(t, ok)
	require.Equal(t, vmlinux.Bug{File: "a/b.c", Line: 77, Warn: true, Flags: 1}, b)

	area := im.Section(".data..percpu")
	mine := symbol(t, v, "mine").Addr
	require.Equal(t, area.Addr+64, mine, "behind the kernel's, on a line of its own")
	get := symbol(t, v, "get")
	require.Contains(t, string(bytesAt(t, v, get.Addr, get.Size)),
		string(binary.LittleEndian.AppendUint32(nil, uint32(mine))))

	was, _ := im.Symbol("fn_9")
	is := symbol(t, v, "fn_9")
	require.Equal(t, []overlay.Move{{Name: "fn_9", From: was.Addr, To: is.Addr, Site: was.Addr, Target: is.Addr}},
		v.Moved)
	require.NoError(t, v.Lay(im))
	require.Contains(t, im.Extable(), vmlinux.ExEntry{Addr: f, Fixup: f + 5, Data: 3})
	require.True(t, calledIn32(im.Bytes(was.Addr, 5), was.Addr, is.Addr))
	require.EqualValues(t, 5, binary.LittleEndian.Uint32(im.Bytes(mine, 4)))
	row, ok := im.Bug(f + 11)
	require.True(t, ok)
	require.Equal(t, b, row)
}

// What is for the other processor, is compiled otherwise or has no room is refused.
func TestRefusals386(t *testing.T) {
	for _, c := range []struct{ name, source, says string }{
		{"pic", "extern int x; int f(void) { return x; }",
			"refers to _GLOBAL_OFFSET_TABLE_: relocation R_386_GOTPC isn't one of kernel code: compile it with the kernel's make"},
		{"byte", "int f(void) { return 1; } __asm__(\".byte f\");", "relocation R_386_8 isn't one of kernel code"},
		{"percpu", "__attribute__((section(\".data..percpu\"))) char many[4096]; char *f(void) { return many; }",
			"4096 bytes of per-CPU data are too many: 1984 are free behind those of "},
		{"undefined", "int g(void); int f(void) { return g(); }", "refers to g, which "},
		{"processor", "int f(void) { return 2; }", "is for another processor than the kernel: compile it for i386"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var o string
			switch c.name {
			case "processor":
				o = compile(t, "b", c.source)
			case "pic":
				o = compile32(t, "b", c.source, "-fpic")
			default:
				o = compile32(t, "b", c.source)
			}
			_, err := overlay.Link(fake32(t), base32, o)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "\n")
		})
	}
	_, err := overlay.Link(fake32(t), 0xfff00000, compile32(t, "a", "int f(void) { return 1; }"))
	require.ErrorContains(t, err, "leaves no room")
}

// A variable of a kernel for i386 that grew is refused for its users' sake; the unedited objects
// fit the kernel that they were compiled for.
func TestKernel386(t *testing.T) {
	im, err := vmlinux.Open(kerneltest.I386(t))
	require.NoError(t, err)
	o := compile32(t, "grown", `
struct { char *name; void *addr; } kretprobe_blacklist[12] = {{"__switch_to"}};
void *user(void) { return kretprobe_blacklist[3].addr; }`)
	_, err = overlay.Link(im, base32, o)
	require.ErrorContains(t, err, "kretprobe_blacklist has 96 bytes, and ")
	require.Regexp(t, "register_kretprobe.* use it: give the objects of the files that define these too", err.Error())

	files := objects(t, im, engine...)
	v, err := overlay.Link(im, base32, files...)
	require.NoError(t, err)
	moved := movesByName(t, im, v)
	for _, name := range []string{"register_kprobe", "kprobe_int3_handler", "text_poke_bp", "rethook_try_get",
		"kprobe_optimizer", "arch_prepare_optimized_kprobe", "arch_rethook_fixup_return"} {
		require.Contains(t, moved, name)
	}
	require.Equal(t, []string{"init_kprobes", "init_optprobes", "debugfs_kprobe_init"}, v.Initcalls)
	require.Greater(t, len(v.Fentries), 100)
	require.Greater(t, len(v.Retpolines), 5)
	_, own := find(v.Symbols, "current_kprobe")
	require.False(t, own)
	instance, own := find(v.Symbols, "kprobe_instance")
	require.True(t, own)
	area := im.Section(".data..percpu")
	require.GreaterOrEqual(t, instance.Addr, area.Addr+area.Size)

	require.NoError(t, v.Lay(im))
	is, ok := im.Symbol("register_kprobe")
	require.True(t, ok)
	require.GreaterOrEqual(t, is.Addr, uint64(base32))
	frames := im.Line(is.Addr + 20)
	require.NotEmpty(t, frames)
	require.Equal(t, "register_kprobe", frames[len(frames)-1].Func)
	require.Equal(t, "kernel/kprobes.c", frames[len(frames)-1].File)
	bugs := 0
	for at := is.Addr; at < is.Addr+8192; at++ {
		if b, ok := im.Bug(at); ok {
			bugs++
			require.Equal(t, []byte{0x0f, 0x0b}, im.Bytes(at, 2))
			require.Regexp(t, `\.[ch]$`, b.File)
		}
	}
	require.Positive(t, bugs)
}

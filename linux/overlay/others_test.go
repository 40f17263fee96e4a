package overlay_test

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux/overlay"
	"kpsim/linux/vmlinux"
	"kpsim/smp/arch"
)

// An other is a processor whose objects a cross compiler makes.
type other struct{ name, tools, asm string }

// others have in asm what the C below has no relocations of.
var others = []other{
	{"riscv64", "riscv64-linux-gnu-", `
__asm__(".text; .globl edges; edges: beq a0, a1, edges; .option norvc\n"
"j far; .option rvc; c.j edges; c.beqz a0, edges\n"
".option pic; lla a0, here; la a1, number; .option nopic; lui a2, %hi(low)\n"
"addi a2, a2, %lo(low); sw a0, %lo(low)(a2)\n"
"sb a0, 1f, a1; 1: tail far; .align 3; aligned: nop; c.nop; .align 2; four: ret; .set low, 0x12345678\n"
".data; .byte 7, 200; .half four-aligned; .byte four-aligned; .dword far-edges\n"
"0: .reloc 0b-12, R_RISCV_SET6, low; .reloc 0b-11, R_RISCV_SUB6, four\n.text\n");`},
	{"arm64", "aarch64-linux-gnu-", `
__asm__(".text; .globl edges; edges: cbz x0, far; tbnz x0, #3, edges; adr x1, here; ldr x2, here; b far; bl far\n"
"adrp x0, :got:number; ldr x0, [x0, :got_lo12:number]; ldr q0, [x0, :lo12:wide]; ldrh w0, [x0, :lo12:half]\n"
"movz x3, #:abs_g3:here; movk x3, #:abs_g2_nc:here; movk x3, #:abs_g1_nc:here; movk x3, #:abs_g0_nc:here\n"
"ret; .section .text.b,\"ax\"; ret; .text\n"
".data; .balign 16; wide: .quad 0, 0; half: .hword 1; .long here-., far-.; .quad here-., far; .text\n");`},
}

// source has functions and data that refer to each other in the compilers' ways.
const source = `
static int here[4] = {1, 2, 3, 4};
int number = 5;
long table[2] = {(long)here, (long)&number};
const char *const words[] = {"one", "two"};
__attribute__((noinline)) int far(int n) { return n + number; }
int sums(int n)
{
	for (int i = 0; i < n; i++)
		here[i & 3] += far(i) ^ *words[i & 1];
	return here[n & 3];
}
`

// compile compiles C for a processor as a kernel's make does, as far as it matters here.
func (o *other) compile(t *testing.T, text string) string {
	t.Helper()
	cc, err := exec.LookPath(o.tools + "gcc")
	if err != nil {
		t.Skipf("no %sgcc here: install it to run what links objects of %s", o.tools, o.name)
	}
	c := filepath.Join(t.TempDir(), "a.c")
	require.NoError(t, os.WriteFile(c, []byte(text), 0o644))
	out := strings.TrimSuffix(c, "c") + "o"
	args := []string{"-c", "-g", "-O2", "-fno-pic", "-fno-asynchronous-unwind-tables", "-fno-common",
		"-fno-section-anchors", "-fno-toplevel-reorder", "-o", out, c}
	if o.name == "riscv64" {
		args = append(args, "-mcmodel=medany")
	}
	b, err := exec.Command(cc, args...).CombinedOutput()
	require.NoError(t, err, string(b))
	return out
}

// fake is a flat kernel without code.
func (o *other) fake(t *testing.T) *vmlinux.Image {
	t.Helper()
	path := filepath.Join(t.TempDir(), "vmlinuz")
	require.NoError(t, os.WriteFile(path, kerneltest.Fake{Flat: o.name}.FlatImage(), 0o644))
	im, err := vmlinux.Open(path)
	require.NoError(t, err)
	return im
}

// room returns an address behind a kernel.
func room(im *vmlinux.Image) (at uint64) {
	for _, s := range im.Sections() {
		at = max(at, s.Addr+s.Size)
	}
	return (at + 0xfffff) &^ 0xfffff
}

// What is linked is, byte by byte, what the processor's own linker makes of the object at the same addresses.
func TestAsLinked(t *testing.T) {
	for _, o := range others {
		t.Run(o.name, func(t *testing.T) {
			file := o.compile(t, source+o.asm)
			im := o.fake(t)
			v, err := overlay.Link(im, room(im), file)
			require.NoError(t, err)
			linked := filepath.Join(t.TempDir(), "linked")
			args := []string{"--no-relax", "-e", "edges", "-o", linked, file}
			reserved := map[string]uint64{".got": 8} // for a dynamic linker
			for _, s := range v.Sections {
				args = append(args, fmt.Sprintf("--section-start=%s=%#x", s.Name, s.Addr-reserved[s.Name]))
			}
			script := "SECTIONS { .text : { *(.text .text.*) } .got : { *(.got) *(.got.plt) } " +
				".data : { *(.data .data.* .sdata .sdata.*) } .rodata : { *(.rodata .rodata.* .srodata .srodata.*) }"
			ld := filepath.Join(t.TempDir(), "ld.script")
			require.NoError(t, os.WriteFile(ld, []byte(script+" }"), 0o644))
			b, err := exec.Command(o.tools+"ld", append([]string{"-T", ld}, args...)...).CombinedOutput()
			require.NoError(t, err, string(b))
			f, err := elf.Open(linked)
			require.NoError(t, err)
			defer f.Close()
			n := 0
			for _, s := range v.Sections {
				want := f.Section(s.Name)
				require.NotNil(t, want, s.Name)
				require.Equal(t, want.Addr+reserved[s.Name], s.Addr, s.Name)
				data, err := want.Data()
				require.NoError(t, err)
				data = data[reserved[s.Name]:]
				data = data[:min(len(data), len(s.Data))] // the linker's own slots come behind
				require.Equal(t, fmt.Sprintf("%x", data), fmt.Sprintf("%x", s.Data), s.Name)
				n += len(data)
			}
			require.Greater(t, n, 200)
		})
	}
}

// The unedited objects fit the kernel that they were compiled for, all of them and each alone. Their WARNs are known by
// file and line, and their per-CPU data lies behind the kernel's.
func TestOthersUnedited(t *testing.T) {
	for _, c := range []struct {
		processor string
		moved     []string
	}{
		{"riscv64", []string{"register_kprobe", "kprobe_breakpoint_handler", "patch_text", "rethook_try_get",
			"simulate_jal"}},
		{"arm64", []string{"register_kprobe", "arch_prepare_kprobe", "aarch64_insn_patch_text", "simulate_cbz_cbnz"}},
	} {
		t.Run(c.processor, func(t *testing.T) {
			im, err := vmlinux.Open(kerneltest.PathOn(t, c.processor, "6.12"))
			require.NoError(t, err)
			files := kerneltest.ObjectsOf(t, im.Path)
			for _, file := range files {
				_, err := overlay.Link(im, room(im), file)
				require.NoError(t, err)
			}
			v, err := overlay.Link(im, room(im), files...)
			require.NoError(t, err)
			byName := movesByName(t, im, v)
			for _, name := range c.moved {
				require.Contains(t, byName, name)
			}
			require.Equal(t, []string{"init_kprobes", "debugfs_kprobe_init"}, v.Initcalls)
			bugs, text := 0, v.Sections[0]
			for off := range text.Data {
				if b, ok := v.Bug(text.Addr + uint64(off)); ok {
					bugs++
					in, err := im.Decode(text.Data[off:], text.Addr+uint64(off))
					require.NoError(t, err)
					require.Equal(t, arch.FlowBreakpoint, in.Flow())
					require.Positive(t, b.Line)
					require.Regexp(t, `\.[ch]$`, b.File)
				}
			}
			require.Greater(t, bugs, 10)
			area := im.Section(".data..percpu")
			end := area.Addr + area.Size
			instance, own := find(v.Symbols, "kprobe_instance")
			require.True(t, own && instance.Addr >= end)
			_, own = find(v.Symbols, "current_kprobe")
			require.False(t, own)

			o := &others[slices.IndexFunc(others, func(o other) bool { return o.name == c.processor })]
			_, err = overlay.Link(im, room(im), o.compile(t, "char kprobe_insn_slots[4096] = {1};"))
			require.ErrorContains(t, err, "kprobe_insn_slots has 4096 bytes, and ")
			require.Regexp(t, "where .*kernel_text_address.* use it", err.Error())

			was, _ := im.Symbol("register_kprobe")
			rows := len(im.Extable())
			require.NoError(t, v.Lay(im))
			is, _ := im.Symbol("register_kprobe")
			to, ok := im.Layer().Replacement(was.Addr)
			require.True(t, ok && to == is.Addr && to != was.Addr)
			s, ok := im.Lookup(is.Addr + 8)
			require.True(t, ok && s.Name == "register_kprobe")
			require.GreaterOrEqual(t, len(im.Extable()), rows)
			frames := im.Line(is.Addr + 40)
			require.NotEmpty(t, frames)
			require.Equal(t, "kernel/kprobes.c", frames[len(frames)-1].File)
			require.NotNil(t, im.Section(".data..percpu").Data[instance.Addr-area.Addr:])
			_, ok = im.Bug(text.Addr)
			require.False(t, ok)
		})
	}
}

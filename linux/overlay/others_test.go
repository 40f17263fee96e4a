package overlay_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
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
	"kpsim/smp/arch/target"
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
	{"ppc64le", "powerpc64le-linux-gnu-", `
__asm__(".machine power10; .text; .globl edges; edges: bc 12, 2, edges; bl far; nop; b far\n"
"addis 3, 2, number@got@ha; ld 3, number@got@l(3); lis 4, here@highest; ori 4, 4, here@higher\n"
"lis 4, here@ha; addi 4, 4, here@l; ld 4, table@l(4); addis 4, 2, here@toc@ha; ld 5, table@toc@l(4)\n"
"addis 11, 12, .TOC.-edges@ha; addi 11, 11, .TOC.-edges@l; .balign 64; pla 3, here; pld 4, table@pcrel\n"
"blr; .section .text.b,\"ax\"; blr; .text\n"
".data; .long here-., far-.; .quad here-., far, .TOC.@tocbase, far@localentry; .text\n");`},
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

// fakePPC is what a kernel for ppc64le must have to be opened: a release, a symbol and a TOC.
const fakePPC = `
.abiversion 2
.section .rodata,"a"; .asciz "Linux version 6.12.0-fake"
.text; .globl start; .type start, @function
start: addis 2, 12, .TOC.-start@ha; addi 2, 2, .TOC.-start@l; .localentry start, .-start; blr; .size start, .-start
`

// fake is a kernel without code: a flat one, but for ppc64le, whose kernels are ELF files.
func (o *other) fake(t *testing.T) *vmlinux.Image {
	t.Helper()
	path := filepath.Join(t.TempDir(), "vmlinuz")
	if o.name == "ppc64le" {
		require.NoError(t, os.WriteFile(path+".s", []byte(fakePPC), 0o644))
		b, err := exec.Command(o.tools+"gcc", "-nostdlib", "-static", "-no-pie", "-Wl,-e,start",
			"-Wl,-Ttext=0xffffffff84008000",
			"-Wl,--section-start=.rodata=0xffffffff84010000", "-o", path, path+".s").CombinedOutput()
		require.NoError(t, err, string(b))
		im, err := vmlinux.Open(path)
		require.NoError(t, err)
		return im
	}
	require.NoError(t, os.WriteFile(path, kerneltest.Fake{Flat: o.name}.FlatImage(), 0o644))
	im, err := vmlinux.Open(path)
	require.NoError(t, err)
	return im
}

// room returns an address behind a kernel, or below it where branches don't reach so far.
func room(im *vmlinux.Image) (at uint64) {
	if im.Processor() == target.PPC64LE {
		return im.Section(".text").Addr&^0xffff - 0xa0000
	}
	for _, s := range im.Sections() {
		at = max(at, s.Addr+s.Size)
	}
	return (at + 0xfffff) &^ 0xfffff
}

// constantTOC returns the bytes of a section as GNU ld edits them for ppc64le where the TOC lies in the last 2 GiB:
// what makes the TOC from the function's address makes it from a constant.
func constantTOC(s vmlinux.Section, toc uint64) []byte {
	le, b := binary.LittleEndian, bytes.Clone(s.Data)
	for off := 0; off+8 <= len(b) && toc != 0; off += 4 {
		high, low := le.Uint32(b[off:]), le.Uint32(b[off+4:])
		at := s.Addr + uint64(off) + uint64(int64(int16(high)))<<16 + uint64(int64(int16(low)))
		if high>>16 == 0x3c4c && low>>16 == 0x3842 && at == toc { // addis r2,r12; addi r2,r2
			le.PutUint32(b[off:], 0x3c400000|uint32(toc+0x8000)>>16)
			le.PutUint32(b[off+4:], 0x38420000|uint32(toc)&0xffff)
		}
	}
	return b
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
			toc, _ := im.Symbol(".TOC.")
			for _, s := range v.Sections {
				args = append(args, fmt.Sprintf("--section-start=%s=%#x", s.Name, s.Addr-reserved[s.Name]))
			}
			script := "SECTIONS { .text : { *(.text .text.*) } .got : { *(.got) *(.got.plt) } " +
				".data : { *(.data .data.* .sdata .sdata.* .toc) } " +
				".rodata : { *(.rodata .rodata.* .srodata .srodata.*) }"
			if o.name == "ppc64le" {
				args[0] = "--no-toc-optimize"
				script += fmt.Sprintf(" .TOC. = %#x;", toc.Addr)
			}
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
				require.Equal(t, fmt.Sprintf("%x", data), fmt.Sprintf("%x", constantTOC(s, toc.Addr)), s.Name)
				n += len(data)
			}
			require.Greater(t, n, 200)
		})
	}
}

// initcallsOfMost are the initcalls of kernel/kprobes.c without optimization.
var initcallsOfMost = []string{"init_kprobes", "debugfs_kprobe_init"}

// The unedited objects fit the kernel that they were compiled for, all of them and each alone. Their WARNs are known by
// file and line, and their per-CPU data lies behind the kernel's.
func TestOthersUnedited(t *testing.T) {
	for _, c := range []struct {
		processor string
		moved     []string
		initcalls []string
	}{
		{"riscv64", []string{"register_kprobe", "kprobe_breakpoint_handler", "patch_text", "rethook_try_get",
			"simulate_jal"}, initcallsOfMost},
		{"arm64", []string{"register_kprobe", "arch_prepare_kprobe", "aarch64_insn_patch_text", "simulate_cbz_cbnz"},
			initcallsOfMost},
		{"ppc64le", []string{"register_kprobe", "kprobe_handler", "arch_optimize_kprobes", "patch_instruction",
			"emulate_step", "rethook_try_get"}, []string{"jump_label_init_module", "init_kprobes", "init_optprobes",
			"debugfs_kprobe_init"}},
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
			require.Equal(t, c.initcalls, v.Initcalls)
			bugs, text := 0, v.Sections[0]
			for off := range text.Data {
				if b, ok := v.Bug(text.Addr + uint64(off)); ok {
					bugs++
					in, err := im.Decode(text.Data[off:], text.Addr+uint64(off))
					require.NoError(t, err)
					if in.Flow() != arch.FlowBreakpoint { // one that traps on a condition
						require.Regexp(t, "^t[dw]", in.String())
					}
					require.Positive(t, b.Line)
					require.Regexp(t, `\.[ch]$`, b.File)
				}
			}
			require.Greater(t, bugs, 10)
			area := *im.Section(".data..percpu") // a copy: laying moves sections
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
			rows, kernelText := len(im.Extable()), im.Section(".text").Addr
			require.NoError(t, v.Lay(im))
			require.Equal(t, kernelText, im.Section(".text").Addr, "the kernel's own come first")
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

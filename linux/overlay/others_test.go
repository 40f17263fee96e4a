package overlay_test

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux/overlay"
	"kpsim/linux/vmlinux"
)

// An other is a processor whose objects a cross compiler makes.
type other struct{ name, tools, asm string }

// others have in asm what the C below has no relocations of.
var others = []other{
	{"riscv64", "riscv64-linux-gnu-", `
__asm__(".text; .globl edges; edges: beq a0, a1, edges; .option norvc; j far; .option rvc; c.j edges; c.beqz a0, edges\n"
".option pic; lla a0, here; la a1, number; .option nopic; lui a2, %hi(low); addi a2, a2, %lo(low); sw a0, %lo(low)(a2)\n"
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
	args := []string{"-c", "-g", "-O2", "-fno-pic", "-fno-asynchronous-unwind-tables", "-fno-common", "-fno-section-anchors",
		"-fno-toplevel-reorder", "-o", out, c}
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

package ppc64

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/archtest"
	"kpsim/smp/arch"
)

// A program is a CPU's own: reservations are kept.
type program struct {
	*archtest.Program
	flat    *flat // the reservation and the special registers
	decoded map[arch.Addr]*arch.Op
}

func (p *program) System() arch.System              { return p.flat.System() }
func (p *program) Reserve(a arch.Addr, n int)       { p.flat.Reserve(a, n) }
func (p *program) Reserved(a arch.Addr, n int) bool { return p.flat.Reserved(a, n) }

func load(t *testing.T, name string) *program {
	return &program{archtest.Load(t, name), newFlat(), make(map[arch.Addr]*arch.Op)}
}

const programEnd = 0x10 // what functions return to

// call calls a function at its global entry, which makes r2 of r12. It returns how many instructions it
// has executed, too.
func (p *program) call(name string, args ...uint64) (result uint64, n int, err error) {
	r := arch.Regs{IP: p.Symbols[name], Flags: arch.IRQ}
	r.R[SP], r.R[LR], r.R[12] = archtest.Stack, programEnd, uint64(r.IP)
	copy(r.R[3:], args)
	for ; r.IP != programEnd; n++ {
		op := p.decoded[r.IP]
		if op == nil {
			in, err := Decode(p.At(r.IP, WordLen), r.IP)
			if err != nil {
				return 0, n, err
			}
			op = in.Operation()
			p.decoded[r.IP] = op
		}
		switch o := op.Run(op, &r, p); o {
		case arch.Next, arch.Relaxed, arch.Serialized:
		default:
			return 0, n, fmt.Errorf("%#x: %v: %v", uint64(op.Addr), op.Inst, o)
		}
		if n > 1e6 {
			return 0, n, fmt.Errorf("%#x: no end", uint64(r.IP))
		}
	}
	if r.R[SP] != archtest.Stack {
		err = fmt.Errorf("r1 is %#x", r.R[SP])
	}
	return r.R[3], n, err
}

// TestCompiled runs what a compiler made of functions.c of package arm64, for two versions of the
// manual, and compares what the functions return with what they did there under qemu. qemu-ppc64le
// prints the same. To make the files:
//
//	C="powerpc64le-linux-gnu-gcc -O2 -static -nostdlib -ffreestanding -mno-altivec -mno-vsx -msoft-float \
//	  -fno-stack-protector -fno-asynchronous-unwind-tables -fno-tree-loop-distribute-patterns -fno-pie \
//	  -no-pie -Wl,--build-id=none -Wl,-Ttext=0x400000 -Wl,-z,max-page-size=4096"
//	$C -mcpu=power8 -o functions-power8.elf ../../arm64/testdata/functions.c -lgcc
//	$C -mcpu=power9 -o functions-power9.elf ../../arm64/testdata/functions.c -lgcc
func TestCompiled(t *testing.T) {
	text, err := os.ReadFile("../arm64/testdata/functions.txt")
	require.NoError(t, err)
	for _, name := range []string{"functions-power8.elf", "functions-power9.elf"} {
		t.Run(name, func(t *testing.T) {
			p := load(t, "testdata/"+name)
			total := 0
			for line := range strings.Lines(string(text)) {
				var f string
				var a, b, c, want uint64
				_, err := fmt.Sscanf(line, "%s %x %x %x %x", &f, &a, &b, &c, &want)
				require.NoError(t, err, line)
				got, n, err := p.call(f, a, b, c)
				require.NoError(t, err, line)
				require.Equal(t, want, got, line)
				total += n
			}
			t.Log(total, "instructions,", len(p.decoded), "of them different")
		})
	}
}

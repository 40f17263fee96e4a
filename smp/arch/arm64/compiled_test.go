package arm64_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/archtest"
	"kpsim/smp/arch"
	"kpsim/smp/arch/arm64"
)

// A program is a CPU's own: reservations are kept.
type program struct {
	*archtest.Program
	flat    *flat // the reservation and the system registers
	decoded map[arch.Addr]*arch.Op
}

func (p *program) System() arch.System              { return p.flat.System() }
func (p *program) Reserve(a arch.Addr, n int)       { p.flat.Reserve(a, n) }
func (p *program) Reserved(a arch.Addr, n int) bool { return p.flat.Reserved(a, n) }

func load(t *testing.T, name string) *program {
	return &program{archtest.Load(t, name), newFlat(), make(map[arch.Addr]*arch.Op)}
}

const programEnd = 0x10 // what functions return to

// call calls a function, and returns how many instructions it has executed, too.
func (p *program) call(name string, args ...uint64) (result uint64, n int, err error) {
	r := arch.Regs{IP: p.Symbols[name], Flags: arch.IRQ}
	r.R[arm64.SP], r.R[arm64.LR] = archtest.Stack, programEnd
	copy(r.R[:], args)
	for ; r.IP != programEnd; n++ {
		op := p.decoded[r.IP]
		if op == nil {
			in, err := arm64.Decode(p.At(r.IP, arm64.Len), r.IP)
			if err != nil {
				return 0, n, err
			}
			op = in.Operation()
			p.decoded[r.IP] = op
		}
		switch o := op.Run(op, &r, p); o {
		case arch.Next, arch.Relaxed:
		default:
			return 0, n, fmt.Errorf("%#x: %v: %v", uint64(op.Addr), op.Inst, o)
		}
		if n > 1e6 {
			return 0, n, fmt.Errorf("%#x: no end", uint64(r.IP))
		}
	}
	if r.R[arm64.SP] != archtest.Stack {
		err = fmt.Errorf("sp is %#x", r.R[arm64.SP])
	}
	return r.R[0], n, err
}

// TestCompiled runs what a compiler made of testdata/functions.c, once with reservations and once with
// atomic instructions and pointer authentication, and compares what the functions return with what they did under
// qemu.
func TestCompiled(t *testing.T) {
	text, err := os.ReadFile("testdata/functions.txt")
	require.NoError(t, err)
	for _, name := range []string{"functions.elf", "functions-lse.elf"} {
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

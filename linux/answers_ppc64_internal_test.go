package linux

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/thorough"
	"kpsim/linux/vmlinux"
	"kpsim/smp/arch"
	"kpsim/smp/arch/ppc64"
)

// answersPPC are what analyse_instr of a kernel for ppc64le makes of instructions, a line for each:
//
//	38630001 registers
//	80630000 accesses
//	7c631e14 unknown
//	0600000038630005 registers
//
// Registers: it returns 1, so that the instruction is emulated by the saved registers alone. Accesses: emulate_step
// goes on by the kind of operation, to memory, to caches or to MSR. Unknown: emulate_step does nothing, and a copy is
// stepped. All general registers are 0. Drawn ones of each primary opcode, all extended ones of 19 and 31, and those of
// two words.
const answersPPC = "testdata/ppc64le-6.12.txt.gz"

// askedPPC lists the instructions; one of two words has its prefix in the upper half.
func askedPPC() (list []uint64) {
	r := rand.New(rand.NewPCG(3, 4))
	for op := range uint32(64) {
		for range 200 {
			if op != 1 {
				list = append(list, uint64(r.Uint32()>>6|op<<26))
			}
		}
	}
	for xo := range uint32(1024) {
		for range 8 {
			list = append(list, uint64(r.Uint32()&0x03fff801|31<<26|xo<<1), uint64(r.Uint32()&0x03fff801|19<<26|xo<<1))
		}
	}
	for kind := range uint32(4) {
		for op := range uint32(64) {
			for range 8 {
				prefix := 1<<26 | kind<<24 | r.Uint32()&0x13ffff
				list = append(list, uint64(prefix)<<32|uint64(r.Uint32()>>6|op<<26))
			}
		}
	}
	return list
}

// TestAnswersPPC asks the kernel's own analyse_instr, executed by itself, and compares with what is recorded.
func TestAnswersPPC(t *testing.T) {
	list := askedPPC()
	k := &analysis{im: kerneltest.OpenOn(t, "ppc64le", "6.12"), written: make(map[arch.Addr]byte)}
	f, ok := k.im.Symbol("analyse_instr")
	require.True(t, ok)
	var text bytes.Buffer
	want := readPPC(t)
	step := thorough.Of(16, 1)
	for i, w := range list {
		if !*UpdateAnswers && i%step != 0 {
			continue
		}
		got := k.ask(t, arch.Addr(f.Addr), w)
		if fmt.Fprintf(&text, "%08x %s\n", w, got); !*UpdateAnswers {
			require.Equal(t, want[w], got, "%08x", w)
		}
	}
	if *UpdateAnswers {
		var packed bytes.Buffer
		z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		z.Write(text.Bytes())
		require.NoError(t, z.Close())
		require.NoError(t, os.WriteFile(answersPPC, packed.Bytes(), 0o644))
	}
}

func readPPC(t *testing.T) map[uint64]string {
	if *UpdateAnswers {
		return nil
	}
	packed, err := os.ReadFile(answersPPC)
	require.NoError(t, err)
	z, err := gzip.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	rows := make(map[uint64]string)
	for {
		var w uint64
		var answer string
		if n, _ := fmt.Fscanf(z, "%x %s\n", &w, &answer); n != 2 {
			return rows
		}
		rows[w] = answer
	}
}

// An analysis executes a function of a kernel's image, alone. It is the memory: what the image has, and what was
// written, elsewhere zeros.
type analysis struct {
	im      *vmlinux.Image
	written map[arch.Addr]byte
}

// Load implements arch.Memory.
func (k *analysis) Load(at arch.Addr, size int) (v uint64, ok bool) {
	image := k.im.Bytes(uint64(at), uint64(size))
	for i := range size {
		b, is := k.written[at+arch.Addr(i)]
		if !is && i < len(image) {
			b = image[i]
		}
		v |= uint64(b) << (8 * i)
	}
	return v, true
}

// Store implements arch.Memory.
func (k *analysis) Store(at arch.Addr, size int, v uint64) bool {
	for i := range size {
		k.written[at+arch.Addr(i)] = byte(v >> (8 * i))
	}
	return true
}

// Kinds of operations in struct instruction_op (enum instruction_type, asm/sstep.h), whose first word has them in its
// lower bits.
const (
	firstAccess, lastAccess = 1, 12 // LOAD to STCX
	opCacheop               = 16
	opMFMSR                 = 20
	opMask                  = 31
)

// ask calls analyse_instr(op, regs, instruction).
func (k *analysis) ask(t *testing.T, f arch.Addr, w uint64) string {
	const op, saved, stack, back = 0x1000, 0x2000, 0x9000, 0x100
	clear(k.written)
	const msr = 0x8000000000001033 // MSR_KERNEL
	k.Store(saved+ppc64.PtMSR-ppc64.HeaderSize, 8, msr)
	k.Store(saved+ppc64.PtNIP-ppc64.HeaderSize, 8, 0xc000000000010000)
	if w>>32 != 0 {
		w = w>>32 | w<<32 // the prefix is the lower half of ppc_inst_t
	}
	regs := arch.Regs{IP: f}
	regs.R[ppc64.SP], regs.R[ppc64.LR], regs.R[12] = stack, back, uint64(f)
	regs.R[3], regs.R[4], regs.R[5] = op, saved, w
	regs.R[ppc64.Paca] = 0x20000
	for n := 0; regs.IP != back; n++ {
		var code [8]byte
		v, _ := k.Load(regs.IP, 8)
		binary.LittleEndian.PutUint64(code[:], v)
		in, err := ppc64.Decode(code[:], regs.IP)
		require.NoError(t, err)
		out := in.Exec(&regs, k)
		if darn := uint32(v)&0xfc0007fe == 0x7c0005e6; out == arch.Unsupported && darn { // any number is right
			regs.IP, out = in.Next(), arch.Next
		}
		require.Equal(t, arch.Next, out, "%v at %#x, for %08x", in, uint64(regs.IP), w)
		require.Less(t, n, 10_000)
	}
	kind, _ := k.Load(op, 4)
	switch kind &= opMask; {
	case int32(regs.R[3]) == 1:
		return "registers"
	case int32(regs.R[3]) < 0:
		return "refused"
	case kind >= firstAccess && kind <= lastAccess, kind == opCacheop, kind == opMFMSR:
		return "accesses"
	}
	return "unknown"
}

package arm64_test

import (
	"encoding/binary"
	"testing"

	"kpsim/smp/arch"
	"kpsim/smp/arch/arm64"
)

const (
	textAt  arch.Addr = 0xffff_8000_0008_0000
	dataAt  arch.Addr = 0xffff_8000_1000_0000
	stackAt arch.Addr = dataAt + 0x800
)

// flat is memory of a few KiB from dataAt on. It is a CPU's own, so a reservation is never broken.
type flat struct {
	bytes  []byte
	system *arm64.System
	at     arch.Addr
	n      int
}

func newFlat() *flat { return &flat{bytes: make([]byte, 0x1000), system: arm64.NewSystem(3)} }

func (f *flat) System() arch.System { return f.system }

func (f *flat) Reserve(a arch.Addr, n int) { f.at, f.n = a, n }

func (f *flat) Reserved(a arch.Addr, n int) bool {
	ok := f.at == a && f.n == n && n != 0
	f.n = 0
	return ok
}

func (f *flat) Load(a arch.Addr, size int) (v uint64, ok bool) {
	if a < dataAt || a+arch.Addr(size) > dataAt+arch.Addr(len(f.bytes)) {
		return 0, false
	}
	b := f.bytes[a-dataAt:]
	switch size {
	case 1:
		return uint64(b[0]), true
	case 2:
		return uint64(binary.LittleEndian.Uint16(b)), true
	case 4:
		return uint64(binary.LittleEndian.Uint32(b)), true
	}
	return binary.LittleEndian.Uint64(b), true
}

func (f *flat) Store(a arch.Addr, size int, v uint64) (ok bool) {
	if a < dataAt || a+arch.Addr(size) > dataAt+arch.Addr(len(f.bytes)) {
		return false
	}
	b := f.bytes[a-dataAt:]
	switch size {
	case 1:
		b[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(v))
	default:
		binary.LittleEndian.PutUint64(b, v)
	}
	return true
}

// loop is twelve instructions of the commonest kinds, and the callee's two.
var loop = []uint32{
	0xaa0003e1, // mov x1, x0
	0x8b010042, // add x2, x2, x1
	0x52800003, // mov w3, #0
	0x91000463, // add x3, x3, #1
	0xf9000082, // str x2, [x4]
	0xf9400485, // ldr x5, [x4, #8]
	0xa9bf07e0, // stp x0, x1, [sp, #-16]!
	0x94000005, // bl the callee
	0xa8c107e0, // ldp x0, x1, [sp], #16
	0xeb06005f, // cmp x2, x6
	0x54fffec1, // b.ne the beginning
	0xd503201f, // nop
	0x12003c47, // and w7, w2, #0xffff
	0xd65f03c0, // ret
}

func decodeAll(tb testing.TB, words []uint32) (list []*arch.Op) {
	tb.Helper()
	for i, w := range words {
		in, err := arm64.Decode(binary.LittleEndian.AppendUint32(nil, w), textAt+arch.Addr(4*i))
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, in.Operation())
	}
	return list
}

func startRegs() (r arch.Regs) {
	r = arch.Regs{IP: textAt, Flags: arch.IRQ}
	r.R[arm64.SP], r.R[4], r.R[0], r.R[6] = uint64(stackAt), uint64(dataAt), 2, 1
	return r
}

func BenchmarkExec(b *testing.B) {
	ops := decodeAll(b, loop)
	var mem arch.Memory = newFlat()
	r := startRegs()
	b.ReportAllocs()
	for b.Loop() {
		for range 1200 {
			op := ops[(r.IP-textAt)/4]
			if out := op.Run(op, &r, mem); out != arch.Next {
				b.Fatal(out)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1200, "ns/instr")
}

func BenchmarkDecode(b *testing.B) {
	code := binary.LittleEndian.AppendUint32(nil, loop[6])
	b.ReportAllocs()
	for b.Loop() {
		if _, err := arm64.Decode(code, textAt); err != nil {
			b.Fatal(err)
		}
	}
}

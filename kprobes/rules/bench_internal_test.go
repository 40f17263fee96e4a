package rules

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// benchFunctions are the recorded functions of 6.12.
func benchFunctions(b testing.TB) (fs []*Function) {
	for _, r := range readRows(b, "testdata/k612", "hand_bytes") {
		f := &Function{Name: r[0], Addr: address(b, r[1]), Size: number(b, r[2]), Code: bytesOf(b, r[3])}
		declare(f, "k612")
		fs = append(fs, f)
	}
	return fs
}

// judgeAll gives the verdict on every instruction, and returns how many there were.
func judgeAll(j *Judge, k *Kernel, fs []*Function) (n int) {
	for _, f := range fs {
		j.Load(k, f)
		for at := 0; at < f.Size; {
			v := j.At(at)
			n++
			at += max(v.Len, 1)
		}
	}
	return n
}

// BenchmarkJudge: whole functions are judged; ns/insn is the time of one
// instruction, of its decoding and of its verdict.
func BenchmarkJudge(b *testing.B) {
	fs := benchFunctions(b)
	var j Judge
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n += judgeAll(&j, &K612, fs)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/insn")
}

// BenchmarkDecode: the decoder alone, over the opcode sweep.
func BenchmarkDecode(b *testing.B) {
	var ws []window
	for _, r := range readRows(b, "testdata/k612", "op_bytes") {
		var w window
		copy(w[:maxLen], bytesOf(b, r[3]))
		ws = append(ws, w)
	}
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		in := decode(opcodes612(), &ws[n%len(ws)])
		n += max(1, int(in.length)/maxLen)
	}
}

// TestJudgeAllocatesNothing: once it has seen the largest function.
func TestJudgeAllocatesNothing(t *testing.T) {
	fs := benchFunctions(t)
	var j Judge
	judgeAll(&j, &K612, fs)
	var slot [2 * slotSize]byte
	require.Zero(t, testing.AllocsPerRun(10, func() {
		judgeAll(&j, &K612, fs)
		j.Load(&K612, fs[0])
		v := j.At(0)
		if _, ok := j.Slot(slot[:0], &v, fs[0].Addr+0x1000); !ok {
			panic("out of reach")
		}
	}))
}

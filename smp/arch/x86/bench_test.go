package x86_test

import (
	"debug/elf"
	"testing"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// loop is twelve instructions of the commonest kinds, and the callee's two.
//
//	0: mov %rax,%rbx; add %rbx,%rcx; xor %edx,%edx; inc %rdx
//	b: mov %rcx,(%rdi); mov 8(%rdi),%rsi; push %rbx; call 1d; pop %rbx
//	19: cmp %rbp,%rcx; jne 0
//	1e: ret
var loop = []byte{
	0x48, 0x89, 0xc3, 0x48, 0x01, 0xd9, 0x31, 0xd2, 0x48, 0xff, 0xc2,
	0x48, 0x89, 0x0f, 0x48, 0x8b, 0x77, 0x08, 0x53, 0xe8, 0x06, 0, 0, 0, 0x5b,
	0x48, 0x39, 0xe9, 0x75, 0xe2,
	0xc3,
}

func decodeAll(b *testing.B, code []byte, at arch.Addr) []x86.Inst {
	table := make([]x86.Inst, len(code))
	for i := 0; i < len(code); {
		in, err := x86.Decode(code[i:], at+arch.Addr(i))
		if err != nil {
			b.Fatal(err)
		}
		table[i] = in
		i += int(in.Len)
	}
	return table
}

func BenchmarkExec(b *testing.B) {
	table := decodeAll(b, loop, textAt)
	var mem arch.Memory = make(flat, 0x10000)
	s := arch.Regs{IP: textAt, Flags: x86.F1}
	s.R[x86.RSP], s.R[x86.RDI], s.R[x86.RAX], s.R[x86.RBP] = uint64(stackAt), uint64(dataAt), 2, 1
	b.ReportAllocs()
	for b.Loop() {
		for range 1200 {
			if out := table[s.IP-textAt].Exec(&s, mem); out != arch.Next {
				b.Fatal(out)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1200, "ns/instr")
}

// BenchmarkExecOne is one instruction of a kind over and over.
func BenchmarkExecOne(b *testing.B) {
	for _, c := range []struct {
		name string
		code []byte
	}{
		{"mov-reg-reg", []byte{0x48, 0x89, 0xc3}},
		{"mov-reg-imm", []byte{0xb8, 1, 0, 0, 0}},
		{"add-reg-reg", []byte{0x48, 0x01, 0xd9}},
		{"add-reg-mem", []byte{0x48, 0x03, 0x0f}},
		{"add-mem-reg", []byte{0x48, 0x01, 0x0f}},
		{"add-byte-reg-reg", []byte{0x00, 0xe1}},
		{"cmp-mem-imm", []byte{0x48, 0x83, 0x3f, 0x01}},
		{"test-reg-reg", []byte{0x85, 0xc0}},
		{"inc-reg", []byte{0xff, 0xc0}},
		{"lea", []byte{0x48, 0x8d, 0x44, 0x88, 0x04}},
		{"load", []byte{0x48, 0x8b, 0x77, 0x08}},
		{"store", []byte{0x48, 0x89, 0x77, 0x08}},
		{"jcc", []byte{0x75, 0x00}},
		{"shl-imm", []byte{0x48, 0xc1, 0xe0, 0x03}},
		{"imul-reg-reg", []byte{0x48, 0x0f, 0xaf, 0xc3}},
		{"movzx-byte-mem", []byte{0x0f, 0xb6, 0x07}},
		{"cmov", []byte{0x0f, 0x44, 0xc3}},
		{"nop5", x86.Nop5[:]},
	} {
		b.Run(c.name, func(b *testing.B) {
			in := decodeAll(b, c.code, textAt)[0]
			var mem arch.Memory = make(flat, 0x10000)
			s := arch.Regs{IP: textAt, Flags: x86.F1}
			s.R[x86.RDI] = uint64(dataAt)
			for b.Loop() {
				in.Exec(&s, mem)
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := x86.Decode(loop[14:], textAt); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecodeText decodes what a compiler wrote, instruction by instruction.
func BenchmarkDecodeText(b *testing.B) {
	f, err := elf.Open("testdata/leaf.o")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	text, err := f.Section(".text").Data()
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		for off := 0; off < len(text); n++ {
			in, err := x86.Decode(text[off:], textAt+arch.Addr(off))
			if err != nil {
				b.Fatal(err)
			}
			off += int(in.Len)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Minsn/s")
}

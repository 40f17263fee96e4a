package x86test_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/arch/x86/x86asm"

	"kpsim/internal/litmus/x86test"
)

// test makes a test of one thread.
func test(language, init, code string) string {
	return language + " one\n{ " + init + " }\nP0;\n" + strings.ReplaceAll(code, "\n", ";\n") + ";\nexists (true)\n"
}

// assembled has instructions of the first dialect, the same in the other if there is one, and
// what the machine code is by an independent decoder, in GNU's syntax.
var assembled = []struct{ att, intel, want string }{
	{"movl $1,(x)", "MOV [x],$1", "movl $0x1,0x10000000"},
	{"movl $-1,(y)", "MOV [y],$-1", "movl $-0x1,0x10000200"},
	{"movl (x),%eax", "MOV EAX,[x]", "mov 0x10000000,%eax"},
	{"movl (y),%ebx", "MOV EBX,[y]", "mov 0x10000200,%ebx"},
	{"mov (x),%r9d", "MOV R9D,[x]", "mov 0x10000000,%r9d"},
	{"movl %ecx,(x)", "MOV [x],ECX", "mov %ecx,0x10000000"},
	{"movq %rbx,(x)", "", "mov %rbx,0x10000000"},
	{"movq (x),%r8", "", "mov 0x10000000,%r8"},
	{"movq $5,(x)", "", "movq $0x5,0x10000000"},
	{"movq $0x123456789,%rdx", "", "mov $0x123456789,%rdx"},
	{"movq $0x123456789,%r10", "", "mov $0x123456789,%r10"},
	{"movw $7,(x)", "MOVW [x],$7", "movw $0x7,0x10000000"},
	{"movb $7,(x)", "MOVB [x],$7", "movb $0x7,0x10000000"},
	{"movb %sil,(x)", "", "mov %sil,0x10000000"},
	{"movb (x),%dil", "", "mov 0x10000000,%dil"},
	{"movb %bl,(x)", "", "mov %bl,0x10000000"},
	{"movl $2,%eax", "MOV EAX,$2", "mov $0x2,%eax"},
	{"movl %eax,%ebx", "MOV EBX,EAX", "mov %eax,%ebx"},
	{"movl (%rax),%ebx", "", "mov (%rax),%ebx"},
	{"movl 8(%rax),%ebx", "", "mov 0x8(%rax),%ebx"},
	{"movl -8(%r13),%ebx", "", "mov 0xfffffff8(%r13),%ebx"},
	{"movl (%r12),%ebx", "", "mov (%r12,%riz),%ebx"},
	{"movq 0(%rax,%rbx,8),%rcx", "", "mov (%rax,%rbx,8),%rcx"},
	{"movl $1,(%rbp,%r14,4)", "", "movl $0x1,(%rbp,%r14,4)"},
	{"movl $1,(x,%rbx,4)", "", "movl $0x1,0x10000000(,%rbx,4)"},
	{"movl $1,(x+4)", "MOV [x+4],$1", "movl $0x1,0x10000004"},
	{"movl (%ecx),%eax", "MOV EAX,[ECX]", "mov (%ecx),%eax"},
	{"addl $1,(x)", "ADD [x],$1", "addl $0x1,0x10000000"},
	{"addl $1000,(x)", "ADD [x],$1000", "addl $0x3e8,0x10000000"},
	{"addl (x),%eax", "ADD EAX,[x]", "add 0x10000000,%eax"},
	{"subl %eax,(x)", "SUB [x],EAX", "sub %eax,0x10000000"},
	{"xorl %eax,%eax", "XOR EAX,EAX", "xor %eax,%eax"},
	{"orl $0,(x)", "OR [x],$0", "orl $0x0,0x10000000"},
	{"andb $3,%dil", "", "and $0x3,%dil"},
	{"addw $300,(x)", "", "addw $0x12c,0x10000000"},
	{"addq $-2,%r15", "", "add $-0x2,%r15"},
	{"cmp $1,%eax", "CMP EAX,$1", "cmp $0x1,%eax"},
	{"testl %eax,%eax", "TEST EAX,EAX", "test %eax,%eax"},
	{"testl $4,(x)", "TEST [x],$4", "testl $0x4,0x10000000"},
	{"shl 2,%eax", "SHL EAX,$2", "shl $0x2,%eax"},
	{"incl (x)", "INC [x]", "incl 0x10000000"},
	{"decq (x)", "", "decq 0x10000000"},
	{"lock incl (x)", "LOCK INC [x]", "lock incl 0x10000000"},
	{"lock addl $1,(x)", "LOCK ADD [x],$1", "lock addl $0x1,0x10000000"},
	{"xchgl (y),%eax", "XCHG [y],EAX", "xchg %eax,0x10000200"},
	{"xchgl %eax,(y)", "XCHG EAX,[y]", "xchg %eax,0x10000200"},
	{"lock xaddl %eax,(x)", "LOCK XADD [x],EAX", "lock xadd %eax,0x10000000"},
	{"lock cmpxchgl %ebx,(x)", "LOCK CMPXCHG [x],EBX", "lock cmpxchg %ebx,0x10000000"},
	{"lock cmpxchgl (x),%ebx", "", "lock cmpxchg %ebx,0x10000000"},
	{"cmovc (x),%ebx", "CMOVC EBX,[x]", "cmovb 0x10000000,%ebx"},
	{"setnb %al", "SETNB AL", "setae %al"},
	{"setnb (x)", "SETNB [x]", "setae 0x10000000"},
	{"mfence", "MFENCE", "mfence"}, {"lfence", "LFENCE", "lfence"}, {"sfence", "SFENCE", "sfence"},
	{"nop", "", "nop"}, {"endbr64", "", "nop"}, {"ret", "", "retq"},
	{"L: jmp L", "L: JMP L", "jmpq .-0x5"}, {"L: jne L", "L: JNE L", "jne .-0x6"},
}

// TestAssemble: what is assembled is, by an independent decoder, what the test says.
func TestAssemble(t *testing.T) {
	for _, c := range assembled {
		for language, code := range map[string]string{"X86_64": c.att, "X86": c.intel} {
			if code == "" {
				continue
			}
			p, err := x86test.Parse("t", test(language, "x=0; y=0", code))
			require.NoError(t, err, code)
			got, err := p.Assemble(0)
			require.NoError(t, err)
			raw := got.Bytes
			prefix := ""
			if raw[0] == 0xf0 {
				prefix = "lock "
				raw = raw[1:]
			}
			in, err := x86asm.Decode(raw, 64)
			require.NoError(t, err, "%s: % x", code, got.Bytes)
			require.Equal(t, got.Starts[1], in.Len+len(prefix)/5, code)
			text := strings.TrimPrefix(x86asm.GNUSyntax(in, 0, nil), "lock ")
			require.Equal(t, c.want, prefix+text, "%s: % x", code, got.Bytes)
		}
	}
}

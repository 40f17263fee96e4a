/* Writes semantics.txt: what the processor it runs on makes of each instruction
   below. Usage: semantics ROWS. A row:
     bytes undefined rax rbx rcx rdx flags = rax rbx rcx rdx flags
   all hex; undefined: the flags the SDM leaves undefined; "DE" for a divide error. */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define C 1
#define P 4
#define A 0x10
#define Z 0x40
#define S 0x80
#define O 0x800
#define ARITH (C | P | A | Z | S | O)

struct state { uint64_t rax, rbx, rcx, rdx, flags; };
struct one { const uint8_t *start, *end; uint64_t undefined; const char *text; };
extern const struct one table[], table_end[];
void run(struct state *, const void *);

__asm__(
	".text\nrun: push %rbx; push %rbp; push %r12; mov %rdi,%rbp; mov %rsi,%r12\n"
	"mov 0(%rbp),%rax; mov 8(%rbp),%rbx; mov 16(%rbp),%rcx; mov 24(%rbp),%rdx\n"
	"push 32(%rbp); popfq; call *%r12; pushfq; pop 32(%rbp)\n"
	"mov %rax,0(%rbp); mov %rbx,8(%rbp); mov %rcx,16(%rbp); mov %rdx,24(%rbp)\n"
	"cld; pop %r12; pop %rbp; pop %rbx; ret\n"
	".section .rodata.cases,\"a\"\n.globl table\ntable:\n.text\n");

#define STR2(x) #x
#define STR(x) STR2(x)
#define I(text, undefined) __asm__( \
	"1: " text "\n2: ret\n.pushsection .rodata.str,\"aMS\",@progbits,1\n3: .asciz \"" text "\"\n.popsection\n" \
	".pushsection .rodata.cases,\"a\"\n.quad 1b, 2b, " STR(undefined) ", 3b\n.popsection\n");

#define SIZES(op, u) I(op " %cl,%al", u) I(op " %bh,%ah", u) I(op " %cx,%ax", u) I(op " %ecx,%eax", u) I(op " %rcx,%rax", u) \
	I(op " $0x7f,%bl", u) I(op " $0x1234,%ax", u) I(op " $0x80000001,%edx", u) I(op " $-1,%rdx", u)
#define ONE(op, u) I(op " %al", u) I(op " %bh", u) I(op " %ax", u) I(op " %ebx", u) I(op " %rbx", u)
#define SH(op, u1, u, u8) I(op " %al", u1) I(op " %ax", u1) I(op " %ebx", u1) I(op " %rbx", u1) \
	I(op " $3,%al", u) I(op " $9,%ah", u8) I(op " $15,%ax", u) I(op " $17,%ax", u8) I(op " $31,%ebx", u) I(op " $33,%ebx", u1) \
	I(op " $63,%rbx", u) I(op " $0,%ebx", 0) I(op " %cl,%bl", u8) I(op " %cl,%bx", u8) I(op " %cl,%ebx", u) I(op " %cl,%rbx", u)
#define CC(cc) I("set" cc " %bl", 0) I("cmov" cc " %ecx,%edx", 0) I("cmov" cc " %rcx,%rax", 0) I("j" cc " 4f; not %rax; 4: nop", 0)

SIZES("add", 0) SIZES("or", A) SIZES("adc", 0) SIZES("sbb", 0) SIZES("and", A) SIZES("sub", 0) SIZES("xor", A) SIZES("cmp", 0)
SIZES("test", A)
SIZES("xadd %al,%bl; add", 0)
ONE("inc", 0) ONE("dec", 0) ONE("neg", 0) ONE("not", 0)
ONE("mul", P|A|Z|S) ONE("imul", P|A|Z|S)
I("div %bl", ARITH) I("div %bx", ARITH) I("div %ebx", ARITH) I("div %rbx", ARITH)
I("idiv %bl", ARITH) I("idiv %bx", ARITH) I("idiv %ebx", ARITH) I("idiv %rbx", ARITH)
I("xor %edx,%edx; div %rcx", ARITH) I("cqo; idiv %rcx", ARITH) I("cdq; idiv %ecx", ARITH) I("cwd; idiv %cx", ARITH)
I("imul %cx,%ax", P|A|Z|S) I("imul %ecx,%eax", P|A|Z|S) I("imul %rcx,%rax", P|A|Z|S)
I("imul $-3,%bx,%ax", P|A|Z|S) I("imul $0x12345,%ebx,%eax", P|A|Z|S) I("imul $-0x12345,%rbx,%rcx", P|A|Z|S)
SH("shl", A, A|O, A|O|C) SH("shr", A, A|O, A|O|C) SH("sar", A, A|O, A|O) SH("rol", 0, O, O) SH("ror", 0, O, O)
SH("rcl", 0, O, O) SH("rcr", 0, O, O)
I("shld $1,%rcx,%rax", A) I("shld $40,%rcx,%rax", A|O) I("shld $5,%ecx,%eax", A|O) I("shld $5,%cx,%ax", A|O) I("shld %cl,%rbx,%rax", A|O)
I("shrd $1,%ecx,%eax", A) I("shrd $40,%rcx,%rax", A|O) I("shrd $5,%ecx,%eax", A|O) I("shrd $16,%cx,%ax", A|O) I("shrd %cl,%ebx,%eax", A|O)
CC("o") CC("no") CC("b") CC("ae") CC("e") CC("ne") CC("be") CC("a") CC("s") CC("ns") CC("p") CC("np") CC("l") CC("ge") CC("le") CC("g")
I("xchg %ah,%bl", 0) I("xchg %ax,%cx", 0) I("xchg %eax,%ecx", 0) I("xchg %rbx,%rcx", 0) I("bswap %eax", 0) I("bswap %rbx", 0)
I("xadd %ah,%bl", 0) I("xadd %ecx,%edx", 0) I("xadd %rax,%rax", 0)
I("cmpxchg %cl,%bl", 0) I("cmpxchg %rcx,%rbx", 0) I("mov %rbx,%rax; cmpxchg %rcx,%rbx", 0) I("mov %ebx,%eax; cmpxchg %ecx,%ebx", 0)
I("movzbl %ah,%ebx", 0) I("movzbw %cl,%ax", 0) I("movzwl %cx,%eax", 0) I("movzbq %dl,%rax", 0)
I("movsbl %ah,%ebx", 0) I("movsbw %cl,%ax", 0) I("movswl %cx,%eax", 0) I("movslq %edx,%rax", 0) I("movswq %cx,%rbx", 0) I("movsbq %cl,%rbx", 0)
I("lea 4(%rax,%rcx,8),%rbx", 0) I("lea -1(%rcx,%rcx,2),%ebx", 0) I("lea 0x1234(,%rdx,4),%cx", 0) I("lea 1(%eax,%ecx,2),%rdx", 0)
I("movabs $0x123456789abcdef0,%rcx", 0) I("mov $0x80000000,%eax", 0) I("movq $-5,%rax", 0) I("mov $0x77,%bh", 0)
I("cbw", 0) I("cwde", 0) I("cdqe", 0) I("cwd", 0) I("cdq", 0) I("cqo", 0)
I("bt %cx,%ax", O|S|A|P) I("bt %ecx,%eax", O|S|A|P) I("bts %rcx,%rax", O|S|A|P) I("btr $37,%rax", O|S|A|P) I("btc $37,%eax", O|S|A|P) I("btc %ecx,%ebx", O|S|A|P)
I("bsf %rax,%rbx", C|O|S|A|P) I("bsr %rax,%rbx", C|O|S|A|P) I("bsf %cx,%bx", C|O|S|A|P) I("bsr %ecx,%ebx", C|O|S|A|P)
I("tzcnt %rax,%rbx", O|S|A|P) I("tzcnt %cx,%bx", O|S|A|P) I("tzcnt %ecx,%ebx", O|S|A|P)
I("lzcnt %rax,%rbx", O|S|A|P) I("lzcnt %cx,%bx", O|S|A|P) I("lzcnt %ecx,%ebx", O|S|A|P)
I("popcnt %rax,%rbx", 0) I("popcnt %cx,%bx", 0)
I("clc", 0) I("stc", 0) I("cmc", 0) I("lahf", 0) I("sahf", 0) I("cld", 0)
I("nop", 0) I("xchg %ax,%ax", 0) I("nopl 8(%rax,%rax,1)", 0) I("pause", 0) I("lfence", 0) I("endbr64", 0) I("mfence", 0)
I("push %rax; pop %rbx", 0) I("push $-7; pop %rbx", 0) I("push $0x12345678; pop %rcx", 0) I("push %cx; pop %ax", 0) I("push %rsp; pop %rax; sub %rsp,%rax", 0)
I("pushfq; pop %rax", 0) I("pushfq; orq $0xcd5,(%rsp); popfq", 0) I("pushfq; andq $~0xcd5,(%rsp); popfq", 0)
I("push %rbp; mov %rsp,%rbp; lea -64(%rsp),%rsp; mov %rax,-8(%rbp); mov -8(%rbp),%ecx; leave", 0)
I("push %rax; addl $5,(%rsp); pop %rcx", 0) I("push %rax; sbbb %cl,1(%rsp); pop %rcx", 0) I("push %rax; btsq $70,(%rsp); pop %rcx", O|S|A|P)
I("push %rax; push %rbx; mov $70,%edx; btc %rdx,(%rsp); pop %rbx; pop %rax", O|S|A|P) I("push %rax; push %rbx; mov $-3,%edx; bts %edx,8(%rsp); pop %rbx; pop %rax", O|S|A|P)
I("push %rax; cmpq $0,(%rsp); pop %rcx", 0) I("push %rax; notw 2(%rsp); pop %rcx", 0) I("push %rax; lock xadd %ecx,(%rsp); pop %rdx", 0)
I("push %rax; xchg %cx,4(%rsp); pop %rdx", 0) I("push %rax; lock cmpxchg %rbx,(%rsp); pop %rdx", 0) I("push %rax; lock incl (%rsp); pop %rdx", 0)
I("push %rax; shll $7,(%rsp); pop %rdx", A|O) I("push %rax; rclw 2(%rsp); pop %rdx", 0) I("push %rax; imul (%rsp),%ecx; pop %rdx", P|A|Z|S) I("push %rax; mulw 2(%rsp); pop %rbx", P|A|Z|S)
I("push %rax; push %rbx; pop (%rsp); pop %rcx", 0) I("push %rax; push (%rsp); pop %rcx; pop %rdx", 0) I("push %rax; sete (%rsp); pop %rcx", 0) I("push %rax; movsbl 3(%rsp),%ecx; pop %rdx", 0)
I("call 5f; 5: pop %rax; lea 5b(%rip),%rbx; sub %rbx,%rax; neg %rbx; xor %ebx,%ebx", 0)
I("lea 6f(%rip),%rax; jmp *%rax; not %rcx; 6: xor %eax,%eax", A) I("lea 7f(%rip),%rax; call *%rax; jmp 8f; 7: not %rcx; ret; 8: xor %eax,%eax", A)
I("and $7,%ecx; inc %ecx; xor %eax,%eax; 9: add %rcx,%rax; loop 9b", 0) I("and $7,%ecx; inc %ecx; 9: cmp $4,%ecx; loopne 9b", 0)
I("and $1,%ecx; jrcxz 9f; not %rbx; 9: nop", A) I("push %rsi; push %rdi; push %rax; push %rbx; mov %rsp,%rsi; lea 8(%rsp),%rdi; mov $8,%ecx; rep movsb; pop %rbx; pop %rax; pop %rdi; pop %rsi", 0)
I("push %rdi; push %rax; push %rbx; mov %rsp,%rdi; mov $3,%ecx; rep stosl; pop %rbx; pop %rax; pop %rdi", 0)
I("push %rdi; push %rbx; mov %rsp,%rdi; mov $8,%ecx; repne scasb; pop %rbx; pop %rdi", 0)
I("push %rsi; push %rdi; push %rax; push %rbx; mov %rsp,%rsi; lea 8(%rsp),%rdi; mov $8,%ecx; repe cmpsb; pop %rbx; pop %rax; pop %rdi; pop %rsi", 0)
I("push %rsi; push %rbx; mov %rsp,%rsi; lodsw; sub %rsp,%rsi; mov %rsi,%rcx; pop %rbx; pop %rsi", 0)
__asm__(".section .rodata.cases,\"a\"\n.globl table_end\ntable_end:\n.text\n");

static uint64_t seed = 88172645463325252ul;
static uint64_t rnd(void) { seed ^= seed << 13; seed ^= seed >> 7; return seed ^= seed << 17; }

static uint64_t value(void)
{
	static const uint64_t edges[] = { 0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff,
		0x7ffffffffffffffful, 0x8000000000000000ul, ~0ul, 0x8080808080808080ul, 0x7f7f7f7f7f7f7f7ful, 0x1000000000ul };
	switch (rnd() % 4) {
	case 0: return rnd();
	case 1: return rnd() >> rnd() % 64;
	default: return edges[rnd() % (sizeof edges / sizeof *edges)];
	}
}

static sigjmp_buf out;
static void de(int sig) { (void)sig; siglongjmp(out, 1); }

static void print(const struct state *s) { printf(" %lx %lx %lx %lx %lx", s->rax, s->rbx, s->rcx, s->rdx, s->flags & 0xcd5); }

int main(int argc, char **argv)
{
	int rows = argc > 1 ? atoi(argv[1]) : 6;
	signal(SIGFPE, de);
	for (const struct one *c = table; c < table_end; c++) {
		printf("# %s\n", c->text);
		for (int i = 0; i < rows; i++) {
			struct state s = { value(), value(), value(), value(), 0x202 | (rnd() & ARITH) };
			for (const uint8_t *p = c->start; p < c->end; p++) printf("%02x", *p);
			printf(" %lx", c->undefined);
			print(&s);
			printf(" =");
			if (sigsetjmp(out, 1) == 0) {
				run(&s, c->start);
				print(&s);
			} else {
				printf(" DE");
			}
			putchar('\n');
		}
	}
}

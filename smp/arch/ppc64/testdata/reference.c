// Runs cases that it reads, each a short piece of code with registers and memory, and writes what
// becomes of them. See reference_test.go, which has the layout of both. Every case ends with a
// signal, and the handler sets up the next one: a signal's context has all registers. There is no
// C library.
typedef unsigned long u64;
typedef unsigned int u32;

enum { slot = 256, at = 128, window = 256, dataSize = 0x10000 };
static char *const code = (char *)0x50000000, *const data = (char *)0x60000000;

struct in {
	u32 code[8];
	u64 gpr[32], lr, ctr, xer, cr;
	char memory[window];
};

struct out {
	u64 signal, gpr[32], lr, ctr, xer, cr, nip;
	char memory[window];
};

// Places in the registers of a signal's context, and where the pointer to them is (asm/ptrace.h,
// asm/ucontext.h).
enum { NIP = 32, CTR = 35, LINK = 36, XER = 37, CCR = 38, REGS = 224 };

// System calls, and what they take.
enum { EXIT = 1, READ = 3, WRITE = 4, MMAP = 90, RT_SIGACTION = 173, SIGALTSTACK = 185 };
enum { PRIVATE_ANONYMOUS_FIXED = 0x32, SIGINFO_ONSTACK_NODEFER = 0x48000004 };

static struct in *in;
static struct out *out;
static long n, i = -1;

static long call(long number, long a, long b, long c, long d, long e, long f)
{
	register long r0 asm("r0") = number, r3 asm("r3") = a, r4 asm("r4") = b, r5 asm("r5") = c, r6 asm("r6") = d,
		      r7 asm("r7") = e, r8 asm("r8") = f;
	asm volatile("sc"
		     : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5), "+r"(r6), "+r"(r7), "+r"(r8)
		     :
		     : "r9", "r10", "r11", "r12", "cr0", "ctr", "memory");
	return r3;
}

static void copy(void *to, const void *from, long size)
{
	for (long k = 0; k < size; k++)
		((volatile char *)to)[k] = ((const char *)from)[k];
}

static void transfer(int number, int fd, char *b, long size)
{
	while (size > 0) {
		long k = call(number, fd, (long)b, size, 0, 0, 0);
		if (k <= 0)
			call(EXIT, 2, 0, 0, 0, 0, 0);
		b += k;
		size -= k;
	}
}

static void *map(void *where, long size)
{
	return (void *)call(MMAP, (long)where, size, 7, PRIVATE_ANONYMOUS_FIXED, -1, 0);
}

static void handle(int signal, void *info, char *context)
{
	u64 *g = *(u64 **)(context + REGS);
	char *memory = data + dataSize - window;
	if (i >= 0) {
		struct out *o = &out[i];
		o->signal = signal;
		copy(o->gpr, g, sizeof o->gpr);
		o->lr = g[LINK];
		o->ctr = g[CTR];
		o->xer = g[XER];
		o->cr = g[CCR];
		o->nip = g[NIP];
		copy(o->memory, memory, window);
	}
	if (++i == n) {
		transfer(WRITE, 1, (char *)out, n * sizeof *out);
		call(EXIT, 0, 0, 0, 0, 0, 0);
	}
	copy(g, in[i].gpr, sizeof in[i].gpr);
	g[LINK] = in[i].lr;
	g[CTR] = in[i].ctr;
	g[XER] = in[i].xer;
	g[CCR] = in[i].cr;
	g[NIP] = (u64)code + i * slot + at;
	copy(memory, in[i].memory, window);
}

void run(void)
{
	static char stack[1 << 16] __attribute__((aligned(16)));
	static struct { char *base; int flags; u64 size; } alt = { stack, 0, sizeof stack };
	static struct { void *handler; u64 flags, restorer, mask; } act = { handle, SIGINFO_ONSTACK_NODEFER };
	transfer(READ, 0, (char *)&n, sizeof n);
	in = map((void *)0x70000000, n * sizeof *in);
	out = map((void *)0x78000000, n * sizeof *out);
	transfer(READ, 0, (char *)in, n * sizeof *in);
	map(code, n * slot);
	map(data, dataSize);
	for (long k = 0; k < n * slot / 4; k++)
		((volatile u32 *)code)[k] = 0x7fe00008;
	for (long k = 0; k < n; k++)
		copy(code + k * slot + at, in[k].code, sizeof in[k].code);

	call(SIGALTSTACK, (long)&alt, 0, 0, 0, 0, 0);
	int signals[] = { 5, 11, 7, 4 };
	for (int k = 0; k < 4; k++)
		call(RT_SIGACTION, signals[k], (long)&act, 0, 8, 0, 0);
	asm volatile("trap");
}

asm(".globl _start\n_start:\n\taddis 2,12,.TOC.-_start@ha\n\taddi 2,2,.TOC.-_start@l\n\tbl run\n\tnop");

// Runs cases that it reads, each a short piece of code with registers and memory, and writes what
// becomes of them. See reference_test.go, which has the layout of both. Every case ends with a
// signal, and the handler sets up the next one: a signal's context has all registers.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { slot = 256, at = 128, window = 256 };
static char *const code = (char *)0x50000000, *const data = (char *)0x60000000;
enum { dataSize = 0x10000 };

struct in {
	uint32_t code[8];
	uint64_t regs[31], sp, nzcv;
	char memory[window];
};

struct out {
	uint64_t signal, regs[31], sp, pc, nzcv;
	char memory[window];
};

static struct in *in;
static struct out *out;
static long n, i = -1;

static void transfer(int fd, char *b, long size, int write_)
{
	while (size > 0) {
		long k = write_ ? write(fd, b, size) : read(fd, b, size);
		if (k <= 0)
			_exit(2);
		b += k;
		size -= k;
	}
}

static void handle(int signal, siginfo_t *info, void *context)
{
	mcontext_t *c = &((ucontext_t *)context)->uc_mcontext;
	char *memory = data + dataSize - window;
	if (i >= 0) {
		struct out *o = &out[i];
		o->signal = signal;
		memcpy(o->regs, c->regs, sizeof o->regs);
		o->sp = c->sp;
		o->pc = c->pc;
		o->nzcv = c->pstate & 0xf0000000;
		memcpy(o->memory, memory, window);
	}
	if (++i == n) {
		transfer(1, (char *)out, n * sizeof *out, 1);
		_exit(0);
	}
	memcpy(c->regs, in[i].regs, sizeof in[i].regs);
	c->sp = in[i].sp;
	c->pstate = (c->pstate & ~0xf0000c00UL) | in[i].nzcv;
	c->pc = (uint64_t)code + i * slot + at;
	memcpy(memory, in[i].memory, window);
}

int main(void)
{
	static char stack[1 << 16];
	stack_t alt = { .ss_sp = stack, .ss_size = sizeof stack };
	struct sigaction act = { .sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
	transfer(0, (char *)&n, sizeof n, 0);
	in = malloc(n * sizeof *in);
	out = calloc(n, sizeof *out);
	transfer(0, (char *)in, n * sizeof *in, 0);

	mmap(code, n * slot, 7, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	mmap(data, dataSize, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	for (long k = 0; k < n * slot / 4; k++)
		((uint32_t *)code)[k] = 0xd4200000;
	for (long k = 0; k < n; k++)
		memcpy(code + k * slot + at, in[k].code, sizeof in[k].code);
	__builtin___clear_cache(code, code + n * slot);

	sigaltstack(&alt, 0);
	int signals[] = { SIGTRAP, SIGSEGV, SIGBUS, SIGILL };
	for (int k = 0; k < 4; k++)
		sigaction(signals[k], &act, 0);
	asm volatile("brk #0");
}

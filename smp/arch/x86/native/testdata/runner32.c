/* Runs 32-bit code for record_linux_amd64_test.go, which builds it with gcc -m32.
   Usage: runner32 FILE. The file holds what both see: 3 pages of text, data,
   stack, low, and struct area. A byte on stdin asks for a run; one on stdout says
   that it is done. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE 0x1000
#define AREA 0x51001000 /* offsets below: of struct area */

struct area {
	uint32_t in[8], in_flags, entry;        /* 0x00, 0x20, 0x24 */
	uint32_t out[8], flags, ip;             /* 0x28, 0x48, 0x4c */
	int32_t trap;                           /* 0x50 */
	uint32_t cr2, leave, ip_at;
};
#define area ((volatile struct area *)AREA)

void run(void), leave(void), faulted(void);
uint32_t host_esp, host_fs, host_gs;

__asm__(
	".text\n"
	"run: push %ebx; push %esi; push %edi; push %ebp; mov %esp,host_esp\n"
	"mov %fs,host_fs; mov %gs,host_gs; mov $7,%eax; mov %eax,%fs; mov $15,%eax; mov %eax,%gs\n"
	"pushl 0x51001020; popfl\n"
	"mov 0x51001000,%eax; mov 0x51001004,%ecx; mov 0x51001008,%edx; mov 0x5100100c,%ebx\n"
	"mov 0x51001010,%esp; mov 0x51001014,%ebp; mov 0x51001018,%esi; mov 0x5100101c,%edi\n"
	"jmp *0x51001024\n"
	"leave: mov %esp,0x51001038; mov $0x5100104c,%esp; pushfl\n" /* to 0x48, flags */
	"mov %eax,0x51001028; mov %ecx,0x5100102c; mov %edx,0x51001030; mov %ebx,0x51001034\n"
	"mov %ebp,0x5100103c; mov %esi,0x51001040; mov %edi,0x51001044\n"
	"faulted: cld; mov host_fs,%fs; mov host_gs,%gs; mov host_esp,%esp; pop %ebp; pop %edi; pop %esi; pop %ebx; ret\n");

static void handler(int sig, siginfo_t *info, void *context)
{
	static const int order[8] = { REG_EAX, REG_ECX, REG_EDX, REG_EBX, REG_ESP, REG_EBP, REG_ESI, REG_EDI };
	ucontext_t *u = context;
	greg_t *g = u->uc_mcontext.gregs;

	for (int i = 0; i < 8; i++)
		area->out[i] = g[order[i]];
	area->flags = g[REG_EFL];
	area->ip = g[REG_EIP];
	area->trap = g[REG_TRAPNO];
	area->cr2 = u->uc_mcontext.cr2;
	g[REG_EIP] = (greg_t)(uintptr_t)faulted;
	g[REG_EFL] = 0x202;
}

int main(int argc, char **argv)
{
	static const struct { uintptr_t at; int pages; } parts[] = {
		{ 0x50000000, 3 }, { 0x52000000, 1 }, { 0x52100000, 1 }, { 0xc000, 1 }, { AREA, 1 },
	};
	static const int signals[] = { SIGFPE, SIGSEGV, SIGILL, SIGBUS, SIGTRAP };
	static char stack[1 << 16];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof stack };
	struct sigaction act = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	int fd = argc == 2 ? open(argv[1], O_RDWR) : -1, off = 0;
	char c = 0;

	for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
		int prot = PROT_READ | PROT_WRITE | (i == 0 ? PROT_EXEC : 0);
		if (mmap((void *)parts[i].at, parts[i].pages * PAGE, prot, MAP_SHARED | MAP_FIXED, fd, off) == MAP_FAILED)
			return 2;
		off += parts[i].pages * PAGE;
	}
	for (unsigned i = 0; i < 2; i++) { /* fs and gs: as in guest_test.go */
		uint32_t desc[] = { i, i ? 0x8000 : 0x4000, 0xfffff, 0x51 }; /* struct user_desc: 32 bits, a limit in pages, usable */

		if (syscall(123, 0x11, desc, sizeof desc)) /* modify_ldt */
			return 4;
	}
	sigaltstack(&alternate, NULL);
	for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
		sigaction(signals[i], &act, NULL);
	area->leave = (uintptr_t)leave;
	area->ip_at = (uintptr_t)&area->ip;
	do {
		if (write(1, &c, 1) != 1)
			return 3;
		if (read(0, &c, 1) != 1)
			return 0;
		area->trap = -1;
		area->ip = 0;
		run();
	} while (1);
}

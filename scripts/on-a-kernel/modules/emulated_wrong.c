// SPDX-License-Identifier: GPL-2.0
/* Probes on a loop and on a ret with an operand, which the breakpoint's handler emulates. */
#include "on_a_kernel.h"

/* emulated_loop(n): what it counts until rcx, which begins with n, is 0: n. */
asm(".pushsection .text\n.balign 64\n.globl emulated_loop\n.type emulated_loop,@function\nemulated_loop:\n"
    "	movslq %edi, %rcx\n	xor %eax, %eax\n"
    "1:	inc %eax\n.globl emulated_loop_at\nemulated_loop_at:	loop 1b\n	ret\n	int3\n"
    ".size emulated_loop, . - emulated_loop\n.popsection\n");
extern int emulated_loop(int);
extern char emulated_loop_at[];

/* emulated_ret(): how many bytes of the argument its callee, which takes it off the stack, has left: 0. */
asm(".pushsection .text\n.balign 64\n.type emulated_ret_callee,@function\nemulated_ret_callee:\n	nop\n"
    ".globl emulated_ret_at\nemulated_ret_at:	.byte 0xc2, 8, 0\n	int3\n"
    ".size emulated_ret_callee, . - emulated_ret_callee\n"
    ".balign 64\n.globl emulated_ret\n.type emulated_ret,@function\nemulated_ret:\n"
    "	push %rbp\n	mov %rsp, %rbp\n	push %rdi\n	call emulated_ret_callee\n"
    "	mov %rbp, %rax\n	sub %rsp, %rax\n	leave\n	ret\n	int3\n"
    ".size emulated_ret, . - emulated_ret\n.popsection\n");
extern int emulated_ret(int);
extern char emulated_ret_at[];

static int hits;

static int count(struct kprobe *p, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static struct kprobe loop_probe = { .addr = (void *)emulated_loop_at, .pre_handler = count };
static struct kprobe ret_probe = { .addr = (void *)emulated_ret_at, .pre_handler = count };

static void calls(const char *when)
{
	int n, of[4];

	hits = 0;
	for (n = 0; n < 4; n++)
		of[n] = emulated_loop(n + 1);
	say("%s: loops from 1, 2, 3, 4 are run %d, %d, %d, %d times, %d hits", when, of[0], of[1], of[2], of[3], hits);
	hits = 0;
	n = emulated_ret(1);
	say("%s: ret $8 leaves %d bytes of the stack, %d hits", when, n, hits);
}

static void step(const char *word)
{
	calls(word);
}
HAS_STEPS;

static int __init emulated_wrong_init(void)
{
	int a, b;

	calls("without a probe");
	a = register_kprobe(&loop_probe);
	b = register_kprobe(&ret_probe);
	say("register_kprobe = %d, %d", a, b);
	calls("with one");
	unregister_kprobe(&loop_probe);
	unregister_kprobe(&ret_probe);
	calls("without it again");
	return 0;
}
module_init(emulated_wrong_init);

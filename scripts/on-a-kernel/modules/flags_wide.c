// SPDX-License-Identifier: GPL-2.0
/* Probes on a pushfw and a popfw, which the breakpoint's handler emulates. */
#include "on_a_kernel.h"

static bool returns; /* to its caller, by what the two have left of the stack */
module_param(returns, bool, 0);

/*
 * NAME(): what FIRST and SECOND, of which the latter is at NAME_at, have left on the
 * stack, in bytes. Above it is a 0, since a popfw that takes too much takes its flags
 * from there.
 */
#define MOVES(name, first, second)                                             \
	asm(".pushsection .text\n.balign 64\n.globl " #name                    \
	    "\n.type " #name ",@function\n" #name ":\n"                        \
	    "	push %rbp\n	mov %rsp, %rbp\n	push $0\n" first "\n"  \
	    ".globl " #name "_at\n" #name "_at:	" second "\n"                  \
	    "	lea -8(%rbp), %rax\n	sub %rsp, %rax\n	leave\n	ret\n	int3\n" \
	    ".size " #name ", . - " #name "\n.popsection\n");                  \
	extern long name(void);                                                \
	extern char name##_at[]

MOVES(flags_wide_push, "", "pushfw");
MOVES(flags_wide_pop, "pushfw", "popfw");
MOVES(flags_wide_pushq, "", "pushfq");
MOVES(flags_wide_popq, "pushfq", "popfq");

/* Saves 16 bits of the flags, restores them, and returns 7. */
asm(".pushsection .text\n.balign 64\n.globl flags_wide_f\n.type flags_wide_f,@function\nflags_wide_f:\n"
    "	mov $7, %eax\n.globl flags_wide_f_at\nflags_wide_f_at:	pushfw\n	popfw\n	ret\n	int3\n"
    ".size flags_wide_f, . - flags_wide_f\n.popsection\n");
extern int flags_wide_f(void);
extern char flags_wide_f_at[];

static int hits;

static int count(struct kprobe *p, struct pt_regs *regs)
{
	hits++;
	return 0;
}

/* So that no jump is in the way. */
static void after(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static struct kprobe probes[] = {
	{ .addr = (void *)flags_wide_push_at, .pre_handler = count, .post_handler = after },
	{ .addr = (void *)flags_wide_pop_at, .pre_handler = count, .post_handler = after },
	{ .addr = (void *)flags_wide_pushq_at, .pre_handler = count, .post_handler = after },
	{ .addr = (void *)flags_wide_popq_at, .pre_handler = count, .post_handler = after },
};
static struct kprobe on_f = { .addr = (void *)flags_wide_f_at, .pre_handler = count, .post_handler = after };

static void calls(const char *when)
{
	long push, pop;

	hits = 0;
	push = flags_wide_push();
	pop = flags_wide_pop();
	say("%s: pushfw takes %ld bytes of the stack, popfw after it leaves %ld, %d hits", when, push, pop, hits);
	hits = 0;
	push = flags_wide_pushq();
	pop = flags_wide_popq();
	say("%s: pushfq takes %ld bytes of the stack, popfq after it leaves %ld, %d hits", when, push, pop, hits);
}

static void step(const char *word)
{
	calls(word);
}
HAS_STEPS;

static int __init flags_wide_init(void)
{
	int i, err = 0;

	calls("without a probe");
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		err = err ?: register_kprobe(&probes[i]);
	say("register_kprobe = %d", err);
	if (err)
		return err;
	calls("with one");
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		unregister_kprobe(&probes[i]);
	calls("without it again");
	if (!returns)
		return 0;
	say("a function with both returned %d", flags_wide_f());
	say("register_kprobe on its pushfw = %d", register_kprobe(&on_f));
	say("it returned %d", flags_wide_f());
	return 0;
}
module_init(flags_wide_init);

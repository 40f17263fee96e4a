// SPDX-License-Identifier: GPL-2.0
/* A probe with a post_handler where another ftrace_ops already changes the instruction pointer. */
#include "on_a_kernel.h"

#include <linux/ftrace.h>

FENTRY_FUNCTION int arm_unreported_f(int x)
{
	barrier();
	return x;
}

static int pre, post;

static int on_a(struct kprobe *p, struct pt_regs *regs)
{
	pre++;
	return 0;
}

static void after_a(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	post++;
}

static struct kprobe a;

/* The other ops: it could change where the function goes, and does nothing. */
static void notrace nothing(unsigned long ip, unsigned long parent, struct ftrace_ops *op, struct ftrace_regs *fregs)
{
}

static struct ftrace_ops other = {
	.func = nothing,
	.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY,
};

static void probe(const char *when)
{
	int i, err;

	a = (struct kprobe){ .symbol_name = "arm_unreported_f", .pre_handler = on_a, .post_handler = after_a };
	err = register_kprobe(&a);
	pre = post = 0;
	for (i = 0; i < 5; i++)
		arm_unreported_f(i);
	say("%s: register_kprobe %d, 5 calls: pre %d, post %d", when, err, pre, post);
}

static void step(const char *word)
{
	unregister_kprobe(&a);
	if (strcmp(word, "alone"))
		return;
	say("unregister_ftrace_function: %d", unregister_ftrace_function(&other));
	probe("without it");
}
HAS_STEPS;

static int __init arm_unreported_init(void)
{
	static char name[] = "arm_unreported_f";
	int err_filter = ftrace_set_filter(&other, name, strlen(name), 0);
	int err = register_ftrace_function(&other);

	say("the other ops: ftrace_set_filter %d, register_ftrace_function %d", err_filter, err);
	probe("with the other ops");
	return 0;
}
module_init(arm_unreported_init);

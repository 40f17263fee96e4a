// SPDX-License-Identifier: GPL-2.0
/* Two probes at a fentry site, B with a post_handler; B is unregistered, then A. */
#include "on_a_kernel.h"

#include <linux/slab.h>

FENTRY_FUNCTION int ftrace_by_post_f(int x)
{
	barrier();
	return x;
}

FENTRY_FUNCTION int ftrace_by_post_g(int x)
{
	barrier();
	return x + 1;
}

static int pre_a, pre_b, post_b, pre_c, post_c;

static int on_a(struct kprobe *p, struct pt_regs *regs)
{
	pre_a++;
	return 0;
}

static int on_b(struct kprobe *p, struct pt_regs *regs)
{
	pre_b++;
	return 0;
}

static void after_b(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	post_b++;
}

static int on_c(struct kprobe *p, struct pt_regs *regs)
{
	pre_c++;
	return 0;
}

static void after_c(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	post_c++;
}

static struct kprobe *a;
static struct kprobe b = { .symbol_name = "ftrace_by_post_f", .pre_handler = on_b, .post_handler = after_b };
static struct kprobe c = { .symbol_name = "ftrace_by_post_g", .pre_handler = on_c, .post_handler = after_c };

static void calls(const char *who)
{
	int i;

	pre_a = pre_b = post_b = 0;
	for (i = 0; i < 5; i++)
		ftrace_by_post_f(i);
	say("%s: 5 calls: A's pre %d, B's pre %d, B's post %d", who, pre_a, pre_b, post_b);
}

static void step(const char *word)
{
	kfree(a);
	a = kmalloc(sizeof(*a), GFP_KERNEL);
	memset(a, 0x5a, sizeof(*a));
	say("A's memory is freed, and used for something else; one call");
	ftrace_by_post_f(1);
	say("the call has returned");
}
HAS_STEPS;

static int __init ftrace_by_post_init(void)
{
	int i, err_a, err_b, err_c;

	a = kzalloc(sizeof(*a), GFP_KERNEL);
	if (!a)
		return -ENOMEM;
	a->symbol_name = "ftrace_by_post_f";
	a->pre_handler = on_a;
	err_a = register_kprobe(a);
	err_b = register_kprobe(&b);
	say("register_kprobe: A %d, B %d", err_a, err_b);
	calls("both");

	unregister_kprobe(&b);
	unregister_kprobe(a);
	calls("neither");

	err_c = register_kprobe(&c);
	for (i = 0; i < 5; i++)
		ftrace_by_post_g(i);
	say("C, with a post_handler, elsewhere: register_kprobe %d, 5 calls: pre %d, post %d", err_c, pre_c, post_c);
	unregister_kprobe(&c);
	return 0;
}
module_init(ftrace_by_post_init);

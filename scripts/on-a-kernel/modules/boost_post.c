// SPDX-License-Identifier: GPL-2.0
/* A and B, with a post_handler, where only a breakpoint fits, in both orders. */
#include "on_a_kernel.h"

BREAKPOINT_ONLY(boost_post_f);

static int pre_b, post_b;

static int on_a(struct kprobe *p, struct pt_regs *regs)
{
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

static void in_order(bool b_first)
{
	struct kprobe a = { .symbol_name = "boost_post_f", .pre_handler = on_a };
	struct kprobe b = { .symbol_name = "boost_post_f", .pre_handler = on_b, .post_handler = after_b };
	int i, err = register_kprobe(b_first ? &b : &a);

	err = err ?: register_kprobe(b_first ? &a : &b);
	pre_b = post_b = 0;
	for (i = 0; i < 10; i++)
		boost_post_f(i);
	if (err)
		say("register_kprobe = %d", err);
	say("%s first: 10 calls: B's pre %d, B's post %d", b_first ? "B" : "A", pre_b, post_b);
	unregister_kprobe(&a);
	unregister_kprobe(&b);
	msleep(500);
}

static void step(const char *word)
{
}

static int __init boost_post_init(void)
{
	say("CONFIG_PREEMPTION: %d", IS_ENABLED(CONFIG_PREEMPTION));
	in_order(false);
	in_order(true);
	return 0;
}
module_init(boost_post_init);

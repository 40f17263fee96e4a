// SPDX-License-Identifier: GPL-2.0
/* A probe whose jump is taken away by force while it waits to be freed is registered again. */
#include "on_a_kernel.h"

JUMPABLE_WITH_INSIDE(rescued_warned);

static int hits;

static int count(struct kprobe *p, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static void handled_after(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static struct kprobe a, inside, again; /* again is where a is */

static void step(const char *word)
{
	int i;

	hits = 0;
	for (i = 0; i < 10; i++)
		rescued_warned(i);
	say("%s: first byte %02x, hits of 10 calls: %d", word, first_byte(rescued_warned), hits);
}
HAS_STEPS;

static int __init rescued_warned_init(void)
{
	unsigned long from;
	int round, first, second;

	for (round = 0; round < 20; round++) {
		a = (struct kprobe){ .symbol_name = "rescued_warned", .pre_handler = count };
		again = a;
		inside = (struct kprobe){ .symbol_name = "rescued_warned", .offset = INSIDE, .post_handler = handled_after };
		first = register_kprobe(&a);
		if (first || !NOW_JUMP(rescued_warned)) {
			say("round %d: register_kprobe = %d, no jump", round, first);
			return 0;
		}
		from = jiffies;
		unregister_kprobe(&a);
		first = register_kprobe(&inside);
		unregister_kprobe(&inside);
		second = register_kprobe(&again);
		say("round %d: register_kprobe(inside) = %d, again = %d, after %lu jiffies", round, first, second, jiffies - from);
		if (second)
			continue;
		if (!wait_for_byte(rescued_warned, 0xe9, 2000))
			return 0;
		unregister_kprobe(&again);
		msleep(500);
	}
	return 0;
}

static void __exit rescued_warned_exit(void)
{
	unregister_kprobe(&again);
}
module_init(rescued_warned_init);
module_exit(rescued_warned_exit);

// SPDX-License-Identifier: GPL-2.0
/* One probe where a jump fits, and the means to keep kprobe_mutex busy. */
#define KEEPS_MUTEX
#include "on_a_kernel.h"

JUMPABLE(disarm_lost_f);

static int hits;
module_param(hits, int, 0444); /* of the last calls */

static int count(struct kprobe *p, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static struct kprobe probe = { .symbol_name = "disarm_lost_f", .pre_handler = count };

static void calls(const char *when)
{
	int i;

	hits = 0;
	for (i = 0; i < 10; i++)
		disarm_lost_f(i);
	say("%s: first byte %02x, 10 calls, %d hits", when, first_byte(disarm_lost_f), hits);
}

static void step(const char *word)
{
	if (!strcmp(word, "jumps"))
		say("jump: %d", NOW_JUMP(disarm_lost_f));
	else if (!strcmp(word, "keep"))
		say("kprobe_mutex is kept: %d", keep_mutex(1500));
	else if (!strcmp(word, "done"))
		done_with_mutex();
	else if (!strcmp(word, "unregister"))
		unregister_kprobe(&probe);
	else
		calls(word + strlen("calls "));
}
HAS_STEPS;

static int __init disarm_lost_init(void)
{
	int err = register_kprobe(&probe);

	say("registered: %d, jump: %d", err, NOW_JUMP(disarm_lost_f));
	return err;
}

static void __exit disarm_lost_exit(void)
{
	unregister_kprobe(&probe);
}
module_init(disarm_lost_init);
module_exit(disarm_lost_exit);

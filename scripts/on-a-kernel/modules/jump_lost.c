// SPDX-License-Identifier: GPL-2.0
/* A probe where a jump fits is disabled, and enabled before its jump is taken away. */
#include "on_a_kernel.h"

JUMPABLE(jump_lost);

static int hits;

static int count(struct kprobe *p, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static struct kprobe probe = { .symbol_name = "jump_lost", .pre_handler = count };

static void calls(const char *when)
{
	int i;

	hits = 0;
	for (i = 0; i < 10; i++)
		jump_lost(i);
	say("%s: first byte %02x, hits of 10 calls: %d", when, first_byte(jump_lost), hits);
}

static void step(const char *word)
{
	int off, on;

	if (!strcmp(word, "again")) {
		off = disable_kprobe(&probe);
		on = enable_kprobe(&probe);
		say("disable_kprobe: %d, enable_kprobe: %d", off, on);
	}
	calls(word);
}
HAS_STEPS;

static int __init jump_lost_init(void)
{
	return register_kprobe(&probe);
}

static void __exit jump_lost_exit(void)
{
	unregister_kprobe(&probe);
}
module_init(jump_lost_init);
module_exit(jump_lost_exit);

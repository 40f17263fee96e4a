// SPDX-License-Identifier: GPL-2.0
/* A probe loses its jump to one inside its region, which is unregistered then. */
#include "on_a_kernel.h"

JUMPABLE_WITH_INSIDE(blocked_lost);

static int handled(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

static void handled_after(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

/* With a post_handler, it has no jump of its own, so it is disarmed at once. */
static struct kprobe outer = { .symbol_name = "blocked_lost", .pre_handler = handled };
static struct kprobe inside = { .symbol_name = "blocked_lost", .offset = INSIDE, .post_handler = handled_after };

static void step(const char *word)
{
	int off, on;

	if (!strcmp(word, "block")) {
		on = register_kprobe(&inside);
		say("register_kprobe(inside) = %d: first byte %02x", on, first_byte(blocked_lost));
		unregister_kprobe(&inside);
		say("unregister_kprobe(inside)");
		return;
	}
	if (!strcmp(word, "again")) {
		off = disable_kprobe(&outer);
		on = enable_kprobe(&outer);
		say("disable_kprobe(outer) = %d, enable_kprobe(outer) = %d", off, on);
		return;
	}
	say("%s: first byte %02x", word, first_byte(blocked_lost));
}
HAS_STEPS;

static int __init blocked_lost_init(void)
{
	int err = register_kprobe(&outer);

	say("register_kprobe(outer) = %d, jump: %d", err, NOW_JUMP(blocked_lost));
	return err;
}

static void __exit blocked_lost_exit(void)
{
	unregister_kprobe(&outer);
}
module_init(blocked_lost_init);
module_exit(blocked_lost_exit);

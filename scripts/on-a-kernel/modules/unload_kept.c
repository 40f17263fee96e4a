// SPDX-License-Identifier: GPL-2.0
/* A module with a probe in a function of its own, which it unregisters when it goes. */
#include "on_a_kernel.h"

static int wait; /* so many milliseconds after unregister_kprobe */
module_param(wait, int, 0);

JUMPABLE(unload_kept);

static int handled(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

static struct kprobe probe = { .symbol_name = "unload_kept", .pre_handler = handled };
static int err;

static void step(const char *word)
{
}
HAS_STEPS;

static int __init unload_kept_init(void)
{
	err = register_kprobe(&probe);
	say("register_kprobe at %px = %d, jump: %d", unload_kept, err, err ? 0 : NOW_JUMP(unload_kept));
	return 0;
}

static void __exit unload_kept_exit(void)
{
	unsigned long from = jiffies;

	if (err)
		return;
	unregister_kprobe(&probe);
	say("unregister_kprobe took %lu jiffies", jiffies - from);
	msleep(wait);
}
module_init(unload_kept_init);
module_exit(unload_kept_exit);

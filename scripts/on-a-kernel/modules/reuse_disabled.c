// SPDX-License-Identifier: GPL-2.0
/* A is a jump; it is unregistered, B registered disabled at the same place, and unregistered. */
#include "on_a_kernel.h"

#define SITES 8
JUMPABLES(reuse_disabled_f, 8);

static bool again; /* only register a probe at each site */
module_param(again, bool, 0);

static int handled(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

static struct kprobe a[SITES], b[SITES];
static int kept = -1; /* the site that kept its jump */

/* Returns whether the jump is there two seconds later. */
static bool one_after_the_other(int i, u32 flags)
{
	unsigned long from;
	int err;

	a[i] = (struct kprobe){ .addr = (void *)reuse_disabled_f[i], .pre_handler = handled };
	b[i] = (struct kprobe){ .addr = (void *)reuse_disabled_f[i], .pre_handler = handled, .flags = flags };
	err = register_kprobe(&a[i]);
	say("site %d: register_kprobe(A) = %d, jump: %d", i, err, NOW_JUMP(reuse_disabled_f[i]));
	from = jiffies;
	unregister_kprobe(&a[i]);
	err = register_kprobe(&b[i]);
	say("site %d: unregister_kprobe(A), register_kprobe(B%s) = %d, after %lu jiffies", i,
	    flags ? ", disabled" : "", err, jiffies - from);
	unregister_kprobe(&b[i]);
	msleep(2000);
	say("site %d: 2 s after both were unregistered: first byte %02x", i, first_byte(reuse_disabled_f[i]));
	return first_byte(reuse_disabled_f[i]) == 0xe9;
}

static void step(const char *word)
{
	say("after 0 and 1 to enabled: first byte %02x", kept < 0 ? 0 : first_byte(reuse_disabled_f[kept]));
}
HAS_STEPS;

static int __init reuse_disabled_init(void)
{
	int i;

	if (!again)
		one_after_the_other(SITES - 1, 0);
	for (i = 0; i < SITES - 1 && kept < 0; i++) {
		if (again) {
			a[i] = (struct kprobe){ .addr = (void *)reuse_disabled_f[i], .pre_handler = handled };
			say("loaded again: register_kprobe at %px = %d", a[i].addr, register_kprobe(&a[i]));
		} else if (one_after_the_other(i, KPROBE_FLAG_DISABLED)) {
			kept = i;
			say("site %d is at %px", i, reuse_disabled_f[i]);
		}
	}
	return 0;
}

static void __exit reuse_disabled_exit(void)
{
}
module_init(reuse_disabled_init);
module_exit(reuse_disabled_exit);

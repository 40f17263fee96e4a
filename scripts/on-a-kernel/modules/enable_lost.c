// SPDX-License-Identifier: GPL-2.0
/* Three probes, registered disabled: where a jump fits, where none does, at a fentry site. */
#include "on_a_kernel.h"

JUMPABLE(enable_lost_jump);
BREAKPOINT_ONLY(enable_lost_breakpoint);

FENTRY_FUNCTION int enable_lost_fentry(int x)
{
	barrier();
	return x;
}

static int hits[3];
static int count(struct kprobe *p, struct pt_regs *regs);

static struct kprobe probes[3] = {
	{ .symbol_name = "enable_lost_jump", .pre_handler = count, .flags = KPROBE_FLAG_DISABLED },
	{ .symbol_name = "enable_lost_breakpoint", .pre_handler = count, .flags = KPROBE_FLAG_DISABLED },
	{ .symbol_name = "enable_lost_fentry", .pre_handler = count, .flags = KPROBE_FLAG_DISABLED },
};

static int count(struct kprobe *p, struct pt_regs *regs)
{
	hits[p - probes]++;
	return 0;
}

static void enable(void)
{
	int err[3], i;

	for (i = 0; i < 3; i++)
		err[i] = enable_kprobe(&probes[i]);
	say("enable_kprobe: jump %d, breakpoint %d, fentry %d", err[0], err[1], err[2]);
}

static void calls(void)
{
	int i;

	memset(hits, 0, sizeof(hits));
	for (i = 0; i < 10; i++) {
		enable_lost_jump(i);
		enable_lost_breakpoint(i);
		enable_lost_fentry(i);
	}
	say("hits of 10 calls: jump %d, breakpoint %d, fentry %d", hits[0], hits[1], hits[2]);
	say("marked disabled: jump %d, breakpoint %d, fentry %d; first bytes %02x, %02x", !!kprobe_disabled(&probes[0]),
	    !!kprobe_disabled(&probes[1]), !!kprobe_disabled(&probes[2]), first_byte(enable_lost_jump),
	    first_byte(enable_lost_breakpoint));
}

static void step(const char *word)
{
	int i;

	if (!strcmp(word, "enable")) {
		enable();
	} else if (!strcmp(word, "calls")) {
		calls();
	} else {
		say("disabled and enabled again");
		for (i = 0; i < 3; i++)
			disable_kprobe(&probes[i]);
		enable();
	}
}
HAS_STEPS;

static int __init enable_lost_init(void)
{
	int i, err = 0;

	for (i = 0; i < 3 && !err; i++)
		err = register_kprobe(&probes[i]);
	say("registered disabled: %d", err);
	return err;
}

static void __exit enable_lost_exit(void)
{
	int i;

	for (i = 0; i < 3; i++)
		unregister_kprobe(&probes[i]);
}
module_init(enable_lost_init);
module_exit(enable_lost_exit);

// SPDX-License-Identifier: GPL-2.0
/*
 * One task keeps its CPU until another one has turned a jump label. A probe is
 * registered, and its optimizer waits for the first task, with text_mutex held, which
 * the second one needs.
 */
#include "on_a_kernel.h"

#include <linux/completion.h>
#include <linux/jump_label.h>

static bool polite; /* the task that waits lets others run, without sleeping */
module_param(polite, bool, 0);
static bool without; /* no probe */
module_param(without, bool, 0);

JUMPABLE(stall_lock_f);

DEFINE_STATIC_KEY_FALSE(stall_lock_key);

/* There is a jump label in it. */
static noinline int labelled(void)
{
	return static_branch_unlikely(&stall_lock_key) ? 1 : 0;
}

static bool started, flipped, give_up;
static unsigned long took, from; /* jiffies */
static DECLARE_COMPLETION(held);

static int handled(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

static struct kprobe probe = { .symbol_name = "stall_lock_f", .pre_handler = handled };

static int holder(void *unused)
{
	WRITE_ONCE(started, true);
	while (!READ_ONCE(flipped) && !READ_ONCE(give_up)) {
		if (polite)
			cond_resched();
		cpu_relax();
	}
	complete(&held);
	return 0;
}

static int flipper(void *unused)
{
	from = jiffies;
	static_branch_enable(&stall_lock_key);
	took = jiffies - from;
	WRITE_ONCE(flipped, true);
	return 0;
}

static struct task_struct *start(int (*body)(void *), const char *name, int cpu)
{
	struct task_struct *t = kthread_create(body, NULL, "%s", name);

	kthread_bind(t, cpu);
	wake_up_process(t);
	return t;
}

static void step(const char *word)
{
}

static int __init stall_lock_init(void)
{
	int err = 0, s;

	set_cpus_allowed_ptr(current, cpumask_of(0));
	start(holder, "holder", 1);
	while (!READ_ONCE(started))
		msleep(1);
	if (!without)
		err = register_kprobe(&probe);
	say("the holder runs; register_kprobe = %d; label %d", err, labelled());
	msleep(200); /* the optimizer's delay is over */
	start(flipper, "flipper", 0);
	for (s = 0; s < 60 && !READ_ONCE(flipped); s++)
		msleep(1000);
	say("%d s later: label %d, first byte %02x, the flipper has %s", s, labelled(), first_byte(stall_lock_f),
	    flipped ? "returned" : "not returned");
	WRITE_ONCE(give_up, true);
	wait_for_completion(&held);
	for (s = 0; s < 60 && !READ_ONCE(flipped); s++)
		msleep(1000);
	msleep(1000);
	say("the holder is gone: the flipper's call took %u ms; label %d, first byte %02x", jiffies_to_msecs(took),
	    labelled(), first_byte(stall_lock_f));
	return 0;
}
module_init(stall_lock_init);

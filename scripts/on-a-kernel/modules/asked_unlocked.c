// SPDX-License-Identifier: GPL-2.0
/* Two tasks give the same struct kprobe to register_kprobe at the same time. */
#include "on_a_kernel.h"

#include <linux/completion.h>

#define SITES 64
#define ATTEMPTS 2000 /* in 100 seconds at most */
JUMPABLES(asked_unlocked_f, 64);

static int handled(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

static struct kprobe probes[SITES];
static atomic_t there;
static int attempt, answer[2];
static struct completion done[2];

static int task(void *number)
{
	long n = (long)number;
	int late = n == (attempt & 1) ? attempt % 50 * 20 : 0;

	atomic_inc(&there);
	while (atomic_read(&there) < 2)
		cpu_relax();
	while (late-- > 0)
		cpu_relax();
	answer[n] = register_kprobe(&probes[attempt % SITES]);
	complete(&done[n]);
	return 0;
}

/* Returns whether both were told 0. */
static bool try_once(void)
{
	struct kprobe *p = &probes[attempt % SITES];
	struct task_struct *t;
	long n;

	*p = (struct kprobe){ .addr = (void *)asked_unlocked_f[attempt % SITES], .pre_handler = handled };
	atomic_set(&there, 0);
	for (n = 0; n < 2; n++) {
		init_completion(&done[n]);
		t = kthread_create(task, (void *)n, "asked%ld", n);
		kthread_bind(t, n);
		wake_up_process(t);
	}
	wait_for_completion(&done[0]);
	wait_for_completion(&done[1]);
	if (!answer[0] && !answer[1])
		return true;
	unregister_kprobe(p);
	return false;
}

static void step(const char *word)
{
}

static int __init asked_unlocked_init(void)
{
	unsigned long end = jiffies + 100 * HZ;
	int right = 0;

	say("starts");
	for (attempt = 0; attempt < ATTEMPTS && time_before(jiffies, end); attempt++) {
		if (try_once()) {
			say("attempt %d: both tasks were told 0; the probe's list is %s", attempt,
			    probes[attempt % SITES].list.next == &probes[attempt % SITES].list ? "a loop" : "whole");
			return 0;
		}
		if (++right == 1 || right % 500 == 0)
			say("%d attempts: one task was told 0, the other %d", right, answer[0] + answer[1]);
	}
	say("%d attempts, and never were both told 0", right);
	return 0;
}
module_init(asked_unlocked_init);

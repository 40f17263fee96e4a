// SPDX-License-Identifier: GPL-2.0
/* A is a jump. B, with a post_handler, joins while a CPU stands at the detour's first instruction. */
#include "on_a_kernel.h"

#include <linux/completion.h>
#include <linux/hw_breakpoint.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/perf_event.h>

JUMPABLE(detour_post_f);

static atomic_t pre_b, post_b;

static int on_a(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

static int on_b(struct kprobe *p, struct pt_regs *regs)
{
	atomic_inc(&pre_b);
	return 0;
}

static void after_b(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	atomic_inc(&post_b);
}

static struct kprobe a = { .symbol_name = "detour_post_f", .pre_handler = on_a };
static struct kprobe b = { .symbol_name = "detour_post_f", .pre_handler = on_b, .post_handler = after_b };

static bool met, held, released;

/* In a softirq: keeps the CPU, interrupts on, ten seconds at most. */
static void hold(struct tasklet_struct *unused)
{
	unsigned long end = jiffies + 10 * HZ;

	WRITE_ONCE(held, true);
	while (!READ_ONCE(released) && time_before(jiffies, end))
		cpu_relax();
}
static DECLARE_TASKLET(holding, hold);

static void to_softirq(struct irq_work *unused)
{
	tasklet_schedule(&holding);
}
static DEFINE_IRQ_WORK(leave, to_softirq);

static void at_detour(struct perf_event *e, struct perf_sample_data *data, struct pt_regs *regs)
{
	if (met)
		return;
	met = true;
	irq_work_queue(&leave);
}

/* Interrupts are off here, and RCU waits: unregister_kprobe goes as far as it can in the meantime. */
static void at_copy(struct perf_event *e, struct perf_sample_data *data, struct pt_regs *regs)
{
	if (met)
		return;
	met = true;
	WRITE_ONCE(held, true);
	mdelay(500);
}

static DECLARE_COMPLETION(called);

static int call(void *unused)
{
	detour_post_f(3);
	complete(&called);
	return 0;
}

static struct perf_event *break_at(unsigned long address, perf_overflow_handler_t handler)
{
	struct perf_event_attr attr;

	hw_breakpoint_init(&attr);
	attr.bp_addr = address;
	attr.bp_len = sizeof(long);
	attr.bp_type = HW_BREAKPOINT_X;
	return perf_event_create_kernel_counter(&attr, 1, NULL, handler, NULL);
}

/* Has CPU 1 call the function, and returns when it is held. */
static bool call_and_wait(void)
{
	struct task_struct *t = kthread_create(call, NULL, "calls");
	int ms;

	atomic_set(&pre_b, 0);
	atomic_set(&post_b, 0);
	met = held = released = false;
	reinit_completion(&called);
	kthread_bind(t, 1);
	wake_up_process(t);
	for (ms = 0; !READ_ONCE(held) && ms < 5000; ms++)
		mdelay(1);
	return held;
}

static void report(const char *which)
{
	say("%s: B's pre %d, B's post %d", which, atomic_read(&pre_b), atomic_read(&post_b));
}

static int joins(void)
{
	unsigned long detour = (unsigned long)detour_post_f + 5 + *(s32 *)((char *)detour_post_f + 1);
	struct perf_event *e = break_at(detour, at_detour);

	if (IS_ERR(e))
		return PTR_ERR(e);
	if (call_and_wait())
		say("held in the detour");
	say("B is registered: %d", register_kprobe(&b));
	WRITE_ONCE(released, true);
	wait_for_completion(&called);
	report("the call that was held");
	perf_event_release_kernel(e);
	atomic_set(&pre_b, 0);
	atomic_set(&post_b, 0);
	detour_post_f(4);
	report("the next call");
	return 0;
}

static int leaves(void)
{
	struct perf_event *e = break_at((unsigned long)b.ainsn.insn, at_copy);

	if (IS_ERR(e))
		return PTR_ERR(e);
	if (call_and_wait())
		say("held in the single-stepped copy");
	unregister_kprobe(&b);
	wait_for_completion(&called);
	report("the call that was in flight as B was unregistered");
	perf_event_release_kernel(e);
	return 0;
}

static void step(const char *word)
{
}

static int __init detour_post_init(void)
{
	int err = register_kprobe(&a);

	set_cpus_allowed_ptr(current, cpumask_of(0));
	say("registered: %d, jump: %d", err, NOW_JUMP(detour_post_f));
	if (!err)
		err = joins();
	if (!err)
		err = leaves();
	return err;
}
module_init(detour_post_init);

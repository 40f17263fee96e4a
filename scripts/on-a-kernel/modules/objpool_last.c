// SPDX-License-Identifier: GPL-2.0
/*
 * A return probe's instance is given back on CPU 1, and an interruption in which
 * in_nmi() is true calls the same function some times.
 */
#include "on_a_kernel.h"

#include <linux/completion.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <linux/random.h>
#include <linux/rethook.h>
#include <asm/apic.h>
#include <asm/nmi.h>

static int calls; /* of the handler */
module_param(calls, int, 0);
static int more; /* so many more than a CPU has instances, unless calls is given */
module_param(more, int, 0);
static bool leak; /* unregister after the interruption, and see whether the pool is freed */
module_param(leak, bool, 0);
static bool undirected; /* NMIs, at any time */
module_param(undirected, bool, 0);

static bool armed, stuck, stop;
static unsigned long returned, nmis;
static int instances; /* that a CPU has */
static DECLARE_COMPLETION(finished);

/* Calls itself n - 1 times. */
FENTRY_FUNCTION int objpool_last_f(int n)
{
	int below = n > 1 ? objpool_last_f(n - 1) : 0;

	barrier();
	return below + 1;
}

static int on_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return 0;
}

static struct kretprobe probe = { .kp.symbol_name = "objpool_last_f", .handler = on_return };

static void call_some(void)
{
	int i;

	for (i = 0; i < calls; i++)
		objpool_last_f(1);
}

/* An NMI: calls, or, when CPU 1 is stuck, says where. */
static int on_nmi(unsigned int type, struct pt_regs *regs)
{
	if (raw_smp_processor_id() != 1)
		return NMI_DONE;
	nmis++;
	if (!READ_ONCE(stuck)) {
		call_some();
		return NMI_HANDLED;
	}
	say("CPU 1 is at %pS, interrupts %s", (void *)regs->ip, regs->flags & X86_EFLAGS_IF ? "on" : "off");
	WRITE_ONCE(stuck, false);
	return NMI_HANDLED;
}

static void send_nmi(void)
{
	apic->send_IPI_mask(cpumask_of(1), NMI_VECTOR);
}

/* Says where CPU 1 is, and ends the machine: with a CPU that is lost it can't be turned off. */
static void give_up(void)
{
	WRITE_ONCE(stuck, true);
	send_nmi();
	mdelay(1000);
	panic("on-a-kernel: the end");
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
static void show(const char *when)
{
	struct objpool_head *pool = &probe.rh->pool;
	struct objpool_slot *slot = pool->cpu_slots[1];
	u32 free = slot->last - slot->head, i, j;
	bool twice = false;

	for (i = 0; i < free && free <= pool->capacity; i++)
		for (j = 0; j < i; j++)
			twice |= slot->entries[(slot->head + i) & slot->mask] == slot->entries[(slot->head + j) & slot->mask];
	say("%s: head %u, last %u, tail %u, free: %d of %d%s%s", when, slot->head, slot->last, slot->tail, (int)free,
	    instances, slot->last != slot->tail ? "; last is behind tail" : "", twice ? "; an instance is there twice" : "");
}

static void on_tail(struct perf_event *e, struct perf_sample_data *data, struct pt_regs *regs)
{
	if (!READ_ONCE(armed))
		return;
	WRITE_ONCE(armed, false);
	say("interrupted in a push, at %pS, in_nmi %d", (void *)regs->ip, !!in_nmi());
	call_some();
}

static int directed(void *unused)
{
	int i;

	for (i = 0; i < 1000; i++)
		objpool_last_f(1);
	show("before");
	WRITE_ONCE(armed, true);
	objpool_last_f(1);
	show("after it");
	if (leak) {
		complete(&finished);
		return 0;
	}
	objpool_last_f(1);
	show("after the next call");
	say("a call that is %d deep", instances + 1);
	objpool_last_f(instances + 1);
	show("at the end");
	complete(&finished);
	return 0;
}

static int freed; /* pools */

static int on_free(struct kprobe *p, struct pt_regs *regs)
{
	freed++;
	return 0;
}

static struct kprobe free_probe = { .symbol_name = "rethook_fini_pool", .pre_handler = on_free };

/* Unregisters the probe, and registers it anew and unregisters it, as the control. */
static void unregister_both(void)
{
	int err = register_kprobe(&free_probe);

	unregister_kretprobe(&probe);
	msleep(5000);
	say("unregistered after the interruption: %d of 1 pool was freed", freed);
	freed = 0;
	probe = (struct kretprobe){ .kp.symbol_name = "objpool_last_f", .handler = on_return };
	err = err ?: register_kretprobe(&probe);
	objpool_last_f(1);
	unregister_kretprobe(&probe);
	msleep(5000);
	say("unregistered without one: %d of 1 pool was freed, %d", freed, err);
}

static int run_directed(void)
{
	struct perf_event_attr attr;
	struct perf_event *e;
	struct task_struct *t;

	hw_breakpoint_init(&attr);
	attr.bp_addr = (unsigned long)&probe.rh->pool.cpu_slots[1]->tail;
	attr.bp_len = HW_BREAKPOINT_LEN_4;
	attr.bp_type = HW_BREAKPOINT_W;
	e = perf_event_create_kernel_counter(&attr, 1, NULL, on_tail, NULL);
	if (IS_ERR(e))
		return PTR_ERR(e);
	t = kthread_create(directed, NULL, "calls");
	kthread_bind(t, 1);
	wake_up_process(t);
	if (!wait_for_completion_timeout(&finished, 20 * HZ)) {
		say("the next call has not returned in 20 s");
		show("20 s later");
		give_up();
	}
	perf_event_release_kernel(e);
	if (leak)
		unregister_both();
	return 0;
}
#else
static void show(const char *when)
{
}

static int run_directed(void)
{
	say("this kernel has no objpool");
	return -EOPNOTSUPP;
}
#endif

static int again_and_again(void *unused)
{
	while (!READ_ONCE(stop)) {
		objpool_last_f(2);
		WRITE_ONCE(returned, returned + 1);
		if (!(returned & 255))
			cond_resched();
	}
	complete(&finished);
	return 0;
}

static int run_undirected(void)
{
	struct task_struct *t = kthread_create(again_and_again, NULL, "calls");
	unsigned long before;
	int round, i, same = 0;

	kthread_bind(t, 1);
	wake_up_process(t);
	say("NMIs begin");
	for (round = 0; round < 200 && same < 4; round++) {
		before = READ_ONCE(returned);
		for (i = 0; i < 100; i++) {
			send_nmi();
			udelay(100 + get_random_u32() % 400);
		}
		same = before == READ_ONCE(returned) ? same + 1 : 0;
		if (round % 20 == 0)
			say("%lu NMIs, %lu calls have returned", nmis, before);
	}
	if (same) {
		show("at the end");
		say("no call has returned for %d times 100 NMIs; %lu NMIs in all, %lu calls returned", same, nmis, returned);
		give_up();
	}
	say("%lu NMIs, %lu calls, and all is well", nmis, returned);
	WRITE_ONCE(stop, true);
	wait_for_completion(&finished);
	return 0;
}

static void step(const char *word)
{
}

static int __init objpool_last_init(void)
{
	int err = register_kretprobe(&probe);

	if (!err)
		err = register_nmi_handler(NMI_LOCAL, on_nmi, 0, "objpool_last");
	if (err)
		return err;
	instances = probe.maxactive / num_possible_cpus();
	calls = calls ?: instances + more;
	say("registered, %d instances a CPU; calls of the handler: %d", instances, calls);
	set_cpus_allowed_ptr(current, cpumask_of(0));
	return undirected ? run_undirected() : run_directed();
}
module_init(objpool_last_init);

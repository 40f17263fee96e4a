// SPDX-License-Identifier: GPL-2.0
/*
 * A call goes through the clients of ftrace one by one, and is held before it asks the
 * filter of the one that serves probes with a post_handler. The last of these probes, at
 * another function, is disabled meanwhile.
 */
#include "on_a_kernel.h"

#include <linux/completion.h>
#include <linux/ftrace.h>
#include <linux/hw_breakpoint.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/perf_event.h>

static bool another; /* probe with a post_handler stays, so that the filter isn't empty */
module_param(another, bool, 0);

FENTRY_FUNCTION int filter_emptied_f(int n)
{
	barrier();
	return n + 1;
}

FENTRY_FUNCTION int filter_emptied_g(int n)
{
	barrier();
	return n + 2;
}

FENTRY_FUNCTION int filter_emptied_h(int n)
{
	barrier();
	return n + 3;
}

static int hits;

static int on_f(struct kprobe *p, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static int handled(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

static void after(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static struct kprobe f = { .symbol_name = "filter_emptied_f", .pre_handler = on_f };
static struct kprobe g = { .symbol_name = "filter_emptied_g", .pre_handler = handled, .post_handler = after };
static struct kprobe h = { .symbol_name = "filter_emptied_h", .pre_handler = handled, .post_handler = after };

/* One more client at f: with only one at a function its calls ask no filter. */
static void traced(unsigned long ip, unsigned long parent, struct ftrace_ops *ops, struct ftrace_regs *regs)
{
}

static struct ftrace_ops client = { .func = traced, .flags = FTRACE_OPS_FL_SAVE_REGS };

/* The address of what isn't exported. */
static void *find(const char *symbol)
{
	unsigned long (*lookup)(const char *name);
	struct kprobe p = { .symbol_name = "kallsyms_lookup_name" };

	if (register_kprobe(&p))
		return NULL;
	lookup = (void *)p.addr;
	unregister_kprobe(&p);
	return (void *)lookup(symbol);
}

static bool armed, held, released;
static unsigned long interrupted; /* where */
static DECLARE_COMPLETION(called);

/* In a softirq: keeps the CPU, interrupts on, for 60 s at most. */
static void hold(struct tasklet_struct *unused)
{
	unsigned long end = jiffies + 60 * HZ;

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

static void on_flags(struct perf_event *e, struct perf_sample_data *data, struct pt_regs *regs)
{
	if (!READ_ONCE(armed))
		return;
	WRITE_ONCE(armed, false);
	interrupted = regs->ip;
	irq_work_queue(&leave);
}

static int caller(void *unused)
{
	WRITE_ONCE(armed, true);
	filter_emptied_f(1);
	WRITE_ONCE(armed, false);
	complete(&called);
	return 0;
}

static int prepare(void)
{
	int err = ftrace_set_filter_ip(&client, (unsigned long)f.addr, 0, 0);

	return err ?: register_ftrace_function(&client);
}

static void step(const char *word)
{
}

static int __init filter_emptied_init(void)
{
	struct ftrace_ops *posts = find("kprobe_ipmodify_ops");
	struct perf_event_attr attr;
	struct task_struct *t;
	struct perf_event *e;
	int err, i;

	set_cpus_allowed_ptr(current, cpumask_of(0));
	err = register_kprobe(&f);
	err = err ?: prepare();
	if (another)
		err = err ?: register_kprobe(&h);
	err = err ?: register_kprobe(&g);
	if (err || !posts) {
		say("can't prepare: %d", err);
		return -EINVAL;
	}
	for (i = 0; i < 10; i++)
		filter_emptied_f(i);
	say("10 calls before: %d hits", hits);

	hw_breakpoint_init(&attr);
	attr.bp_addr = (unsigned long)&posts->flags;
	attr.bp_len = HW_BREAKPOINT_LEN_8;
	attr.bp_type = HW_BREAKPOINT_RW;
	e = perf_event_create_kernel_counter(&attr, 1, NULL, on_flags, NULL);
	if (IS_ERR(e))
		return PTR_ERR(e);
	hits = 0;
	t = kthread_create(caller, NULL, "caller");
	kthread_bind(t, 1);
	wake_up_process(t);
	for (i = 0; i < 5000 && !READ_ONCE(held); i++)
		mdelay(1);
	say("the call is held: %d, at %pS", held, (void *)interrupted);
	err = disable_kprobe(&g);
	say("disable_kprobe(g) = %d; hits so far: %d", err, hits);
	WRITE_ONCE(released, true);
	wait_for_completion(&called);
	say("the call that was held: %d hits", hits);
	perf_event_release_kernel(e);
	hits = 0;
	for (i = 0; i < 10; i++)
		filter_emptied_f(i);
	say("10 calls after: %d hits", hits);
	return 0;
}
module_init(filter_emptied_init);

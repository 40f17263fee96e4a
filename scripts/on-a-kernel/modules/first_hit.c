// SPDX-License-Identifier: GPL-2.0
/* A CPU's first hit of all is interrupted when its probe has become the current one; the handler comes upon another probe. */
#include "on_a_kernel.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>

static bool later; /* not the first hit: one has gone before */
module_param(later, bool, 0);

BREAKPOINT_ONLY(first_hit);
BREAKPOINT_ONLY(first_hit_inside);

static bool armed;

static int handled(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

static struct kprobe outer = { .symbol_name = "first_hit", .pre_handler = handled };
static struct kprobe inner = { .symbol_name = "first_hit_inside", .pre_handler = handled };

static void on_current(struct perf_event *e, struct perf_sample_data *data, struct pt_regs *regs)
{
	if (!READ_ONCE(armed))
		return;
	WRITE_ONCE(armed, false);
	say("interrupted at %pS, in_nmi %d", (void *)regs->ip, !!in_nmi());
	first_hit_inside(1);
	say("the call in the interruption returned");
}

static int calls(void *unused)
{
	if (later)
		first_hit(1);
	WRITE_ONCE(armed, true);
	first_hit(1);
	say("the call returned; missed inside: %lu", inner.nmissed);
	return 0;
}

/* kallsyms_lookup_name isn't exported; a probe there has its address. */
static unsigned long look_up(const char *name)
{
	struct kprobe k = { .symbol_name = "kallsyms_lookup_name" };
	unsigned long (*f)(const char *);

	if (register_kprobe(&k))
		return 0;
	f = (void *)k.addr;
	unregister_kprobe(&k);
	return f(name);
}

static void step(const char *word)
{
}
HAS_STEPS;

static int __init first_hit_init(void)
{
	unsigned long at = look_up("current_kprobe");
	struct perf_event_attr attr;
	struct perf_event *e;
	struct task_struct *t;
	int err = register_kprobe(&outer) ?: register_kprobe(&inner);

	if (err || !at)
		return err ?: -ENOENT;
	hw_breakpoint_init(&attr);
	attr.bp_addr = (unsigned long)per_cpu_ptr((void __percpu *)at, 1);
	attr.bp_len = HW_BREAKPOINT_LEN_8;
	attr.bp_type = HW_BREAKPOINT_W;
	e = perf_event_create_kernel_counter(&attr, 1, NULL, on_current, NULL);
	if (IS_ERR(e))
		return PTR_ERR(e);
	say("registered; %s", later ? "one hit goes before" : "no probe was hit on CPU 1 yet");
	t = kthread_create(calls, NULL, "calls");
	kthread_bind(t, 1);
	wake_up_process(t);
	msleep(2000);
	return 0;
}
module_init(first_hit_init);

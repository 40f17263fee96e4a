// SPDX-License-Identifier: GPL-2.0
/*
 * A task came through a probe's jump, and is in its detour. The jump is taken away by
 * force: by a probe that is registered inside it (`inside`), by one with a
 * post_handler that joins (`post`), or by 0 in kprobes/enabled (`off`). Then the jump's
 * own probe is unregistered.
 *
 * The task is in a long instruction of the detour's copy. The pages of
 * detours are prepared as in cancel_rcu.c, which says how, so that the probe's own
 * is given back with it.
 *
 * With `callback` it is in optimized_callback, which has just read the probe's flags,
 * and another task with a higher priority takes its CPU.
 */
#include "on_a_kernel.h"

#include <linux/completion.h>
#include <linux/hw_breakpoint.h>
#include <linux/irq_work.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/umh.h>
#include <linux/vmalloc.h>

static bool callback; /* where the task is; otherwise it is in the copy */
module_param(callback, bool, 0);
static char *by = "nothing"; /* that takes the jump away; nothing leaves it to the optimizer */
module_param(by, charp, 0);
static unsigned long megabytes = 1024;
module_param(megabytes, ulong, 0);

#define SITES 48
JUMPABLES(forced_freed_site, 48);

/* Fills rcx bytes at rdi, and returns where it ended. */
asm(".pushsection .text\n.balign 64\n.globl forced_freed_long\n.type forced_freed_long,@function\nforced_freed_long:\n"
    "	rep stosb\n	mov %rdi, %rax\n	ret\n	int3\n	nop\n	nop\n"
    ".size forced_freed_long, . - forced_freed_long\n.popsection\n");
extern unsigned long forced_freed_long(void *to, long, long, unsigned long count);

JUMPABLE_WITH_INSIDE(forced_freed_short);

static struct kprobe sites[SITES];
static void *buffer;
static bool hit;
static unsigned long calls, wrong;

static int handled(struct kprobe *p, struct pt_regs *regs)
{
	WRITE_ONCE(hit, true);
	return 0;
}

static void after(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static struct kprobe outer = { .pre_handler = handled };
static struct kprobe inside = { .offset = INSIDE, .pre_handler = handled };
static struct kprobe joins = { .pre_handler = handled, .post_handler = after };

static char *detour(const char *function)
{
	return (char *)function + 5 + *(s32 *)(function + 1);
}

static int use(int i)
{
	sites[i] = (struct kprobe){ .addr = (void *)forced_freed_site[i], .pre_handler = handled };
	return register_kprobe(&sites[i]);
}

/* Leaves a second page of detours with nothing on it that is in use, one short of a collection. */
static int prepare(void)
{
	char *first, *second;
	int i, per_page;

	if (use(0) || use(1) || !NOW_JUMP(forced_freed_site[0]) || !NOW_JUMP(forced_freed_site[1]))
		return -EINVAL;
	first = detour(forced_freed_site[0]);
	second = detour(forced_freed_site[1]);
	per_page = PAGE_SIZE / (max(first, second) - min(first, second));
	if (per_page + 1 > SITES)
		return -EINVAL;
	for (i = 2; i < per_page + 1; i++)
		if (use(i) || !NOW_JUMP(forced_freed_site[i]))
			return -EINVAL;
	for (i = 1; i < per_page + 1; i++)
		unregister_kprobe(&sites[i]);
	msleep(1000);
	say("%d detours fit a page; %d were given back", per_page, per_page);
	return 0;
}

/* One page, mapped again and again: much to fill, and little memory. */
static void *long_buffer(void)
{
	unsigned long i, n = megabytes << 20 >> PAGE_SHIFT;
	struct page **pages = kvmalloc_array(n, sizeof(*pages), GFP_KERNEL);
	struct page *page = alloc_page(GFP_KERNEL);

	if (!pages || !page)
		return NULL;
	for (i = 0; i < n; i++)
		pages[i] = page;
	return vmap(pages, n, VM_MAP, PAGE_KERNEL);
}

/* ---- callback: what has the task lose its CPU where it is */

static bool armed, released;
static unsigned long interrupted; /* where */
static struct task_struct *other;

/* The task with the higher priority: keeps the CPU until it is told to go. */
static int keep_cpu_1(void *unused)
{
	set_current_state(TASK_INTERRUPTIBLE);
	schedule();
	while (!READ_ONCE(released))
		cpu_relax();
	return 0;
}

static void wake_other(struct irq_work *unused)
{
	say("interrupted at %pS", (void *)interrupted);
	wake_up_process(other);
	WRITE_ONCE(hit, true);
}
static DEFINE_IRQ_WORK(waking, wake_other);

static void on_flags(struct perf_event *e, struct perf_sample_data *data, struct pt_regs *regs)
{
	if (!READ_ONCE(armed) || current->pid != (pid_t)(long)e->overflow_handler_context)
		return;
	WRITE_ONCE(armed, false);
	interrupted = regs->ip;
	irq_work_queue(&waking);
}

/* A data breakpoint on the flags of a probe's aggregate, which its detour hands to optimized_callback. */
static struct perf_event *break_at_flags(struct task_struct *of)
{
	char *code = detour((char *)forced_freed_short), *end = code + 100;
	struct perf_event_attr attr;

	while (code < end && !(code[0] == 0x48 && code[1] == (char)0xbf && code[10] == (char)0xe8)) /* mov $op, %rdi; call */
		code++;
	if (code == end)
		return ERR_PTR(-ENOENT);
	hw_breakpoint_init(&attr);
	attr.bp_addr = *(unsigned long *)(code + 2) + offsetof(struct kprobe, flags);
	attr.bp_len = HW_BREAKPOINT_LEN_4;
	attr.bp_type = HW_BREAKPOINT_RW;
	return perf_event_create_kernel_counter(&attr, 1, NULL, on_flags, (void *)(long)of->pid);
}

/* ---- both */

static DECLARE_COMPLETION(called);

static int caller(void *unused)
{
	if (callback) {
		WRITE_ONCE(armed, true);
		wrong = forced_freed_short(3) != 7;
	} else {
		wrong = forced_freed_long(buffer, 0, 0, megabytes << 20) != (unsigned long)buffer + (megabytes << 20);
	}
	calls++;
	complete(&called);
	return 0;
}

/* Has CPU 1 call the function; returns when the call is where it is to be. */
static int call_and_wait(void)
{
	struct task_struct *t = kthread_create(caller, NULL, "caller");
	unsigned long end;

	kthread_bind(t, 1);
	if (callback) {
		struct perf_event *e = break_at_flags(t);

		if (IS_ERR(e))
			return PTR_ERR(e);
		other = kthread_create(keep_cpu_1, NULL, "other");
		kthread_bind(other, 1);
		sched_set_fifo(other);
		wake_up_process(other);
		msleep(100);
	}
	wake_up_process(t);
	for (end = jiffies + 5 * HZ; !READ_ONCE(hit) && time_before(jiffies, end);)
		cpu_relax();
	return hit ? 0 : -ETIMEDOUT;
}

/* Writes 0 to kprobes/enabled. */
static int all_off(void)
{
	char *argv[] = { "/bin/sh", "-c", "echo 0 >/sys/kernel/debug/kprobes/enabled", NULL }, *envp[] = { NULL };

	return call_usermodehelper(argv[0], argv, envp, UMH_WAIT_PROC);
}

static void take_away(const char *f)
{
	int err;

	if (!strcmp(by, "inside")) {
		err = register_kprobe(&inside);
		say("register_kprobe(inside) = %d, first byte %02x", err, first_byte(f));
	} else if (!strcmp(by, "post")) {
		err = register_kprobe(&joins);
		say("register_kprobe(joins) = %d, first byte %02x", err, first_byte(f));
	} else if (!strcmp(by, "off")) {
		err = all_off();
		say("echo 0 >enabled = %d, first byte %02x", err, first_byte(f));
	}
}

static void step(const char *word)
{
}

static int __init forced_freed_init(void)
{
	char *f = callback ? (char *)forced_freed_short : (char *)forced_freed_long;
	struct kprobe *both[] = { &joins, &outer };
	bool post = !strcmp(by, "post");
	unsigned long from;
	int err = 0;

	set_cpus_allowed_ptr(current, cpumask_of(0));
	if (!callback) {
		err = prepare();
		buffer = long_buffer();
	}
	if (err || (!callback && !buffer)) {
		say("can't prepare: %d", err);
		return -EINVAL;
	}
	outer.addr = (void *)f;
	inside.addr = (void *)f;
	joins.addr = (void *)f;
	err = register_kprobe(&outer);
	say("register_kprobe(outer) = %d, jump: %d", err, NOW_JUMP(f));
	WRITE_ONCE(hit, false);
	err = err ?: call_and_wait();
	say("the call is in the %s: %d; %lu calls have returned", callback ? "callback" : "detour", err, calls);
	if (err)
		return err;
	from = jiffies;
	take_away(f);
	unregister_kprobes(both + !post, 1 + post);
	say("unregister_kprobe(outer) has returned, first byte %02x; %lu calls have; %u ms", first_byte(f), calls,
	    jiffies_to_msecs(jiffies - from));
	msleep(300); /* the optimizer's delay is over */
	say("300 ms later: first byte %02x; %lu calls have returned", first_byte(f), calls);
	WRITE_ONCE(released, true);
	if (!wait_for_completion_timeout(&called, 60 * HZ))
		say("the call has not returned for 60 s");
	msleep(1000);
	say("at the end: %lu calls have returned, %lu with a wrong result", calls, wrong);
	return 0;
}
module_init(forced_freed_init);

// SPDX-License-Identifier: GPL-2.0
/*
 * A probe on a long instruction is hit while it waits to be optimized, and is
 * unregistered while the instruction's copy is executed.
 *
 * A page of detours is given back when all of its own are free and it isn't the
 * only one, at the next collection; one comes when more detours were given back
 * than fit a page. So: a detour that stays on the first page, that page filled and
 * given back, one more on the second page, given back, and then the victim's.
 */
#include "on_a_kernel.h"

#include <linux/slab.h>
#include <linux/vmalloc.h>

#define SITES 48
JUMPABLES(cancel_rcu_site, 48);

/* Fills rcx bytes at rdi, and returns where it ended. */
asm(".pushsection .text\n.balign 64\n.globl cancel_rcu_f\n.type cancel_rcu_f,@function\ncancel_rcu_f:\n"
    "	rep stosb\n	mov %rdi, %rax\n	ret\n	int3\n	nop\n	nop\n"
    ".size cancel_rcu_f, . - cancel_rcu_f\n.popsection\n");
extern unsigned long cancel_rcu_f(void *to, long, long, unsigned long count);

static unsigned long megabytes = 1024;
module_param(megabytes, ulong, 0);

static struct kprobe sites[SITES], victim;
static void *buffer;
static bool go, hit, stop;
static unsigned long calls, wrong;

static int handled(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

static int on_victim(struct kprobe *p, struct pt_regs *regs)
{
	WRITE_ONCE(hit, true);
	return 0;
}

static int use(int i)
{
	sites[i] = (struct kprobe){ .addr = (void *)cancel_rcu_site[i], .pre_handler = handled };
	return register_kprobe(&sites[i]);
}

static unsigned long detour(int i)
{
	return (unsigned long)cancel_rcu_site[i] + 5 + *(s32 *)(cancel_rcu_site[i] + 1);
}

/* Leaves a second page of detours with nothing on it that is in use, one short of a collection. */
static int prepare(void)
{
	unsigned long size;
	int i, per_page;

	if (use(0) || use(1) || !NOW_JUMP(cancel_rcu_site[0]) || !NOW_JUMP(cancel_rcu_site[1]))
		return -EINVAL;
	size = max(detour(0), detour(1)) - min(detour(0), detour(1));
	per_page = PAGE_SIZE / size;
	if (per_page + 1 > SITES)
		return -EINVAL;
	for (i = 2; i < per_page + 1; i++)
		if (use(i) || !NOW_JUMP(cancel_rcu_site[i]))
			return -EINVAL;
	for (i = 1; i < per_page + 1; i++)
		unregister_kprobe(&sites[i]);
	msleep(1000);
	say("detours of %lu bytes, %d a page; %d were given back", size, per_page, per_page);
	return 0;
}

static int caller(void *unused)
{
	unsigned long end;

	while (!READ_ONCE(stop)) {
		while (!READ_ONCE(go) && !READ_ONCE(stop))
			cond_resched(); /* without preemption RCU waits for this task */
		if (READ_ONCE(stop))
			break;
		WRITE_ONCE(go, false);
		end = cancel_rcu_f(buffer, 0, 0, megabytes << 20);
		calls++;
		wrong += end != (unsigned long)buffer + (megabytes << 20);
	}
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

static void step(const char *word)
{
}

static int __init cancel_rcu_init(void)
{
	struct task_struct *t;
	int err = prepare();

	buffer = long_buffer();
	if (err || !buffer) {
		say("can't prepare: %d", err);
		return -EINVAL;
	}
	set_cpus_allowed_ptr(current, cpumask_of(0));
	t = kthread_create(caller, NULL, "caller");
	kthread_bind(t, 1);
	wake_up_process(t);
	msleep(50);
	victim = (struct kprobe){ .symbol_name = "cancel_rcu_f", .pre_handler = on_victim };
	err = register_kprobe(&victim);
	WRITE_ONCE(go, true);
	while (!err && !READ_ONCE(hit))
		cpu_relax();
	say("register_kprobe = %d; the call is in the copy; first byte %02x", err, first_byte(cancel_rcu_f));
	unregister_kprobe(&victim);
	say("unregister_kprobe has returned; %lu calls have", calls);
	msleep(20000);
	say("20 s later: %lu calls have returned, %lu with a wrong end", calls, wrong);
	WRITE_ONCE(stop, true);
	return 0;
}
module_init(cancel_rcu_init);

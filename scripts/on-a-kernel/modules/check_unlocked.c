// SPDX-License-Identifier: GPL-2.0
/* Registers a probe in another module's init text, and is held up between the look and the lock. */
#include "on_a_kernel.h"

#include <linux/ftrace.h>
#include <linux/uaccess.h>

static struct task_struct *registers;
static bool looked, was_held, coming, live;

static int handled(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

static struct kprobe probe = { .symbol_name = "check_unlocked_init_text", .pre_handler = handled };
static struct kprobe late = { .pre_handler = handled }; /* the control */

/* jump_label_unlock is the last that the look at the address calls. */
static void on_look(unsigned long ip, unsigned long parent, struct ftrace_ops *ops, struct ftrace_regs *regs)
{
	if (current == registers)
		looked = true;
}

/* Keeps the task at the entry of its next mutex_lock, which is kprobe_mutex', 20 s at most; interrupts are on. */
static void hold(unsigned long ip, unsigned long parent, struct ftrace_ops *ops, struct ftrace_regs *regs)
{
	unsigned long end = jiffies + 20 * HZ;

	if (current != registers || !looked || was_held)
		return;
	was_held = true;
	say("the address was looked at; the module is coming; kprobe_mutex isn't taken");
	while (!READ_ONCE(live) && time_before(jiffies, end))
		cpu_relax();
}

static struct ftrace_ops look_ops = { .func = on_look };
static struct ftrace_ops hold_ops = { .func = hold };

static int trace(struct ftrace_ops *ops, char *function)
{
	return ftrace_set_filter(ops, function, strlen(function), 1) ?: register_ftrace_function(ops);
}

static bool is_target(void *data)
{
	return !strcmp(((struct module *)data)->name, "check_unlocked_target");
}

/* Runs after kprobes' own, whose priority is 0. The module's task keeps off the CPU that is held. */
static int on_module(struct notifier_block *nb, unsigned long state, void *data)
{
	if (!is_target(data))
		return NOTIFY_DONE;
	if (state == MODULE_STATE_COMING) {
		set_cpus_allowed_ptr(current, cpumask_of(0));
		WRITE_ONCE(coming, true);
	}
	if (state == MODULE_STATE_LIVE) {
		say("the module is live, kprobes' notifier has run");
		WRITE_ONCE(live, true);
	}
	return NOTIFY_DONE;
}

static struct notifier_block notifier = { .notifier_call = on_module, .priority = -1 };

static int register_when_there(void *unused)
{
	int err;

	while (!READ_ONCE(coming))
		msleep(1);
	err = register_kprobe(&probe);
	say("register_kprobe = %d, at %px", err, probe.addr);
	late.addr = probe.addr + 5;
	say("one more, now that it is live: register_kprobe = %d", register_kprobe(&late));
	return 0;
}

static void step(const char *word)
{
	u8 byte;

	if (!strcmp(word, "look"))
		say("the probe's memory is %s, the probe is %s", copy_from_kernel_nofault(&byte, probe.addr, 1) ? "gone" : "there",
		    kprobe_gone(&probe) ? "gone" : "registered");
	else
		unregister_kprobe(&probe);
}
HAS_STEPS;

static int __init check_unlocked_init(void)
{
	int err = trace(&look_ops, "jump_label_unlock") ?: trace(&hold_ops, "mutex_lock");

	if (!err)
		err = register_module_notifier(&notifier);
	if (err)
		return err;
	registers = kthread_create(register_when_there, NULL, "registers");
	kthread_bind(registers, 1);
	wake_up_process(registers);
	return 0;
}
module_init(check_unlocked_init);

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the reproducers have in common: functions whose bytes are known, a look
 * at them, steps that the guest's script asks for, and a way to keep
 * kprobe_mutex busy.
 */
#ifndef ON_A_KERNEL_H
#define ON_A_KERNEL_H

#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/version.h>

MODULE_LICENSE("GPL");

#define say(text, ...) pr_alert("on-a-kernel: " text "\n", ##__VA_ARGS__)

/* int NAME(int): one instruction of five bytes, where a jump fits. It returns 7. */
#define JUMPABLE_IN(section, flags, name)                                      \
	asm(".pushsection " section flags "\n.balign 64\n.globl " #name        \
	    "\n.type " #name ",@function\n" #name ":\n"                        \
	    "	mov $7, %eax\n	ret\n	int3\n"                                \
	    ".size " #name ", . - " #name "\n.popsection\n");                  \
	extern int name(int)
#define JUMPABLE(name) JUMPABLE_IN(".text", "", name)

/* The same, but for a jump into the five bytes: only a breakpoint fits. */
#define BREAKPOINT_ONLY(name)                                                  \
	asm(".pushsection .text\n.balign 64\n.globl " #name                    \
	    "\n.type " #name ",@function\n" #name ":\n"                        \
	    "	mov %edi, %eax\n1:	nop\n	mov $7, %eax\n	ret\n"         \
	    "	jmp 1b\n	int3\n"                                        \
	    ".size " #name ", . - " #name "\n.popsection\n");                  \
	extern int name(int)

/* The same, but with two instructions where the jump fits, so that a probe may be inside. */
#define JUMPABLE_WITH_INSIDE(name)                                             \
	asm(".pushsection .text\n.balign 64\n.globl " #name                    \
	    "\n.type " #name ",@function\n" #name ":\n"                        \
	    "	mov %edi, %eax\n	mov $7, %eax\n	ret\n	int3\n"         \
	    ".size " #name ", . - " #name "\n.popsection\n");                  \
	extern int name(int)
#define INSIDE 2 /* where the second one is */

/* COUNT functions like a JUMPABLE, 64 bytes apart, under one symbol. */
#define JUMPABLES(name, count)                                                 \
	asm(".pushsection .text\n.balign 64\n.globl " #name                    \
	    "\n.type " #name ",@function\n" #name ":\n"                        \
	    ".rept " #count "\n.balign 64\n"                                   \
	    "	mov $7, %eax\n	ret\n	int3\n.endr\n"                         \
	    ".size " #name ", . - " #name "\n.popsection\n");                  \
	extern char name[][64]

/* A function of C that begins with a call of fentry, and that is called as it is written. */
#define FENTRY_FUNCTION __attribute__((noipa))

/* What stands at a function: b8 as it was built, cc a breakpoint, e9 a jump. */
static inline u8 first_byte(const void *function)
{
	return READ_ONCE(*(const u8 *)function);
}

/* Waits until the first byte is as wanted; false after so many milliseconds. */
static inline bool wait_for_byte(const void *function, u8 want, int ms)
{
	for (; first_byte(function) != want; ms -= 4) {
		if (ms <= 0)
			return false;
		msleep(4);
	}
	return true;
}

#define NOW_JUMP(function) wait_for_byte(function, 0xe9, 20000)

/* The module's own: what `echo WORD > step` does. */
static void step(const char *word);

static int step_set(const char *value, const struct kernel_param *unused)
{
	char word[64];

	strscpy(word, value, sizeof(word));
	step(strim(word));
	return 0;
}

static const struct kernel_param_ops step_ops = { .set = step_set };

#define HAS_STEPS module_param_cb(step, &step_ops, NULL, 0200)

/*
 * The optimizer waits for tasks with kprobe_mutex held. A task that keeps its
 * CPU for so long lets it wait. keep_mutex returns when the optimizer waits;
 * another CPU than the last one must call it.
 */
#ifdef KEEPS_MUTEX
JUMPABLE(kept_waiting);

static struct kprobe waiting_probe = { .symbol_name = "kept_waiting" };

static int keep_cpu(void *ms)
{
	unsigned long end = jiffies + msecs_to_jiffies((long)ms);

	while (time_before(jiffies, end))
		cpu_relax();
	return 0;
}

static int keep_mutex(long ms)
{
	struct task_struct *t = kthread_create(keep_cpu, (void *)ms, "keep_cpu");
	cpumask_t here = current->cpus_mask;
	int err;

	set_cpus_allowed_ptr(current, cpumask_of(0));
	kthread_bind(t, num_online_cpus() - 1);
	wake_up_process(t);
	err = register_kprobe(&waiting_probe);
	msleep(100);
	set_cpus_allowed_ptr(current, &here);
	return err;
}

static void done_with_mutex(void)
{
	unregister_kprobe(&waiting_probe);
	waiting_probe = (struct kprobe){ .symbol_name = "kept_waiting" };
}
#endif
#endif

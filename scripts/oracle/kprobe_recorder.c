// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Records what register_kprobe() and the jump optimizer answer for every byte
 * of a list of functions. Nothing that is probed is called from here.
 *
 *	echo "name hexaddr" >> /sys/kernel/debug/kprobe_recorder/functions
 *	echo pre > /sys/kernel/debug/kprobe_recorder/mode
 *	cat /sys/kernel/debug/kprobe_recorder/bytes	function,addr,size,hexbytes
 *	cat /sys/kernel/debug/kprobe_recorder/rows	one row a probe
 *
 * mode is a word of mode_names; " first" behind it asks at offset 0 only.
 *
 * Probes are registered in batches, while optimization is off: the optimizer
 * would hold kprobe_mutex through a grace period for every few of them. Two probes of a batch (or two pairs) are
 * at least STRIDE bytes apart, so none is in the region of another, which is at
 * most 19 bytes long. A batch
 * is looked at when the optimizer has nothing left to do.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include <asm/nops.h>

#define STRIDE		32
#define LIST_MAX	(8 << 20)
#define BUF_SIZE	(2 << 20)
#define ROW_MAX		320

struct function {
	char *name;
	unsigned long addr;
	unsigned long size;
};

enum mode { PRE, POST, DISABLED, TWOSAME, TWOPREPOST, NEAR, NEARREV, MODES };

static const char *const mode_names[MODES] = {
	"pre", "post", "disabled", "twosame", "twoprepost", "near", "nearrev",
};

/* One place asked for: a probe, or a pair of them. */
struct site {
	struct function *f;
	unsigned long offset;
	unsigned int d;
	struct kprobe p[2];
	int err[2];
	unsigned long asked[2];
};

static unsigned long longest = 1 << 20;	/* functions of more bytes are left out */
module_param(longest, ulong, 0600);

static DEFINE_MUTEX(lock);
static char *list;
static struct function *functions;
static size_t list_len, nfunctions;
static enum mode mode;
static bool first_only;

static char *buf;
static size_t buf_len, buf_pos;
static unsigned int round;	/* address modulo STRIDE of this batch */
static unsigned int distance;	/* of the pair, when mode is near */
static size_t next_function;	/* of the bytes file */
static size_t batch_function;	/* where a batch too big for the buffer goes on */
static unsigned long batch_offset;
static bool finished;

/* Not exported: found through a probe on kallsyms_lookup_name itself. */
static unsigned long (*lookup_name)(const char *name);
static int (*lookup_size_offset)(unsigned long addr, unsigned long *size, unsigned long *offset);
static void (*wait_for_optimizer)(void);
static struct kprobe *(*find_kprobe)(void *addr);

static int nothing_before(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

static void nothing_after(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static __printf(1, 2) void emit(const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	buf_len += vscnprintf(buf + buf_len, BUF_SIZE - buf_len, fmt, args);
	va_end(args);
}

static void emit_bytes(unsigned long addr, unsigned long n)
{
	while (n--) {
		u8 b;

		if (copy_from_kernel_nofault(&b, (void *)addr++, 1))
			return;
		emit("%02x", b);
	}
}

/* The columns after errno, empty when the probe was refused. */
static void emit_probe(struct site *s, int i)
{
	struct kprobe *p = &s->p[i];
	struct kprobe *ap;

	emit("%d,", s->err[i]);
	if (s->err[i]) {
		emit(",,,,,,,,,,");
		return;
	}
	ap = find_kprobe(p->addr);
	if (!ap)
		ap = p;
	emit("%d,%d,%d,%d,%u,%d,%d,%ld,",
	     !!(ap->flags & KPROBE_FLAG_OPTIMIZED), !!(ap->flags & KPROBE_FLAG_FTRACE),
	     ap->ainsn.boostable, !!ap->ainsn.emulate_op, ap->ainsn.size, ap != p,
	     !!(p->flags & KPROBE_FLAG_DISABLED), (long)((unsigned long)p->addr - s->asked[i]));
	emit_bytes((unsigned long)p->addr, 5);
	emit(",%lx,", (unsigned long)ap->ainsn.insn);	/* 0: an FTRACE probe has none */
	if (ap->ainsn.insn)
		emit_bytes((unsigned long)ap->ainsn.insn, ap->ainsn.size + (ap->ainsn.boostable ? 5 : 1));
}

#define paired() (mode >= TWOSAME)

static void add(struct site *s, int i, unsigned long addr)
{
	struct kprobe *p = &s->p[i];

	p->addr = (kprobe_opcode_t *)addr;
	p->pre_handler = nothing_before;
	if (mode == POST || (mode == TWOPREPOST && i == 1))
		p->post_handler = nothing_after;
	if (mode == DISABLED)
		p->flags = KPROBE_FLAG_DISABLED;
	s->asked[i] = addr;
	s->err[i] = register_kprobe(p);
}

/* debug.kprobes-optimization: returns when the optimizer has nothing to do. */
static int allow_optimization(bool yes)
{
	struct file *f = filp_open("/proc/sys/debug/kprobes-optimization", O_WRONLY, 0);
	loff_t pos = 0;
	ssize_t n;

	if (IS_ERR(f))
		return PTR_ERR(f);
	n = kernel_write(f, yes ? "1\n" : "0\n", 2, &pos);
	filp_close(f, NULL);
	return n < 0 ? n : 0;
}

/* The bytes at which this batch asks, from where the last one stopped. */
static size_t collect(struct site *sites, size_t max)
{
	size_t n = 0;

	for (; batch_function < nfunctions; batch_function++, batch_offset = 0) {
		struct function *f = &functions[batch_function];

		for (; batch_offset < f->size; batch_offset++) {
			if (first_only && batch_offset)
				break;
			if ((f->addr + batch_offset) % STRIDE != round)
				continue;
			if (batch_offset + distance >= f->size)
				continue;
			if (n == max)
				return n;
			sites[n].f = f;
			sites[n].offset = batch_offset;
			sites[n++].d = distance;
		}
	}
	return n;
}

static int run_batch(void)
{
	const size_t max = BUF_SIZE / ROW_MAX / 4;
	struct site *sites = vzalloc(max * sizeof(*sites));
	struct kprobe **armed = vmalloc(2 * max * sizeof(*armed));
	size_t n, i, j;
	int narmed = 0, err = 0;

	if (!sites || !armed) {
		err = -ENOMEM;
		goto out;
	}
	n = collect(sites, max);
	if (n)
		err = allow_optimization(false);
	if (!n || err)
		goto out;
	for (i = 0; i < n; i++) {
		struct site *s = &sites[i];
		unsigned long at = s->f->addr + s->offset;

		if (mode == NEARREV)
			add(s, 1, at + s->d);
		add(s, 0, at);
		if (paired() && mode != NEARREV)
			add(s, 1, at + s->d);
		if (i % 64 == 0)
			cond_resched();
	}
	err = allow_optimization(true);
	wait_for_optimizer();

	for (i = 0; i < n; i++) {
		struct site *s = &sites[i];

		emit("%s,%lx,%lu,", s->f->name, s->f->addr, s->offset);
		emit_probe(s, 0);
		if (paired()) {
			emit(",%u,", s->d);
			emit_probe(s, 1);
		}
		emit("\n");
		for (j = 0; j < 2; j++)
			if (s->p[j].addr && !s->err[j])
				armed[narmed++] = &s->p[j];
	}
	if (narmed)
		unregister_kprobes(armed, narmed);
	wait_for_optimizer();
out:
	vfree(armed);
	vfree(sites);
	return err;
}

static bool next_batch(void)
{
	if (batch_function < nfunctions)
		return true;
	batch_function = 0;
	batch_offset = 0;
	if (++round < STRIDE)
		return true;
	round = 0;
	finished = !(mode == NEAR || mode == NEARREV) || ++distance > 4;
	return !finished;
}

static int parse(void)
{
	char *s = list, *line;
	size_t max = 0;

	for (line = list; *line; line++)
		max += *line == '\n';
	vfree(functions);
	nfunctions = 0;
	functions = vzalloc((max + 1) * sizeof(*functions));
	if (!functions)
		return -ENOMEM;
	while ((line = strsep(&s, "\n")) && nfunctions < max) {
		struct function *f = &functions[nfunctions];
		unsigned long offset;
		char *addr;

		f->name = strsep(&line, " ");
		addr = strsep(&line, " ");
		if (!addr || kstrtoul(addr, 16, &f->addr))
			continue;
		if (!lookup_size_offset(f->addr, &f->size, &offset) || offset || f->size > longest)
			continue;
		nfunctions++;
	}
	list_len = 0;
	return 0;
}

static int open_results(struct inode *inode, struct file *file)
{
	int err = 0;

	mutex_lock(&lock);
	if (list_len)
		err = parse();
	buf_len = buf_pos = 0;
	next_function = 0;
	batch_function = 0;
	batch_offset = 0;
	round = 0;
	finished = false;
	distance = mode == NEAR || mode == NEARREV;
	mutex_unlock(&lock);
	return err;
}

static ssize_t give(char __user *to, size_t n)
{
	n = min(n, buf_len - buf_pos);
	if (copy_to_user(to, buf + buf_pos, n))
		return -EFAULT;
	buf_pos += n;
	return n;
}

static ssize_t read_rows(struct file *file, char __user *to, size_t n, loff_t *pos)
{
	ssize_t got;

	mutex_lock(&lock);
	while (buf_pos == buf_len) {
		buf_pos = buf_len = 0;
		got = 0;
		if (!nfunctions || finished || !next_batch())
			goto out;
		got = run_batch();
		if (got)
			goto out;
	}
	got = give(to, n);
out:
	mutex_unlock(&lock);
	return got;
}

static ssize_t read_bytes(struct file *file, char __user *to, size_t n, loff_t *pos)
{
	ssize_t got = 0;

	mutex_lock(&lock);
	if (buf_pos == buf_len) {
		buf_pos = buf_len = 0;
		if (next_function < nfunctions) {
			struct function *f = &functions[next_function++];

			emit("%s,%lx,%lu,", f->name, f->addr, f->size);
			emit_bytes(f->addr, f->size);
			emit("\n");
		}
	}
	if (buf_pos < buf_len)
		got = give(to, n);
	mutex_unlock(&lock);
	return got;
}

static ssize_t write_functions(struct file *file, const char __user *from, size_t n, loff_t *pos)
{
	if (list_len + n >= LIST_MAX)
		return -ENOSPC;
	mutex_lock(&lock);
	if (copy_from_user(list + list_len, from, n)) {
		mutex_unlock(&lock);
		return -EFAULT;
	}
	list_len += n;
	list[list_len] = 0;
	mutex_unlock(&lock);
	return n;
}

static ssize_t write_mode(struct file *file, const char __user *from, size_t n, loff_t *pos)
{
	char word[32] = {}, *s = strim(word);
	int i;

	if (n >= sizeof(word) || copy_from_user(word, from, n))
		return -EINVAL;
	s = strim(word);
	i = match_string(mode_names, MODES, strsep(&s, " "));
	if (i < 0)
		return i;
	mode = i;
	first_only = s && !strcmp(s, "first");
	return n;
}

static const struct file_operations rows_fops = { .owner = THIS_MODULE, .open = open_results, .read = read_rows };
static const struct file_operations bytes_fops = { .owner = THIS_MODULE, .open = open_results, .read = read_bytes };
static const struct file_operations functions_fops = { .owner = THIS_MODULE, .open = simple_open, .write = write_functions };
static const struct file_operations mode_fops = { .owner = THIS_MODULE, .open = simple_open, .write = write_mode };

/*
 * Every registration asks whether a jump label is at the address, and for that
 * the kernel decodes the instruction of each of thousands of entries for its
 * length. Under emulation that is nearly all of the time. With fast=1 the
 * question is answered here, with the same answer: only the table of the text
 * in question is walked, and the length is told from the first byte (nop5 and
 * jmp rel32 are five bytes long, nop2 and jmp rel8 two).
 *
 * A kernel without CONFIG_KALLSYMS_ALL doesn't tell where data lie: then only text of
 * modules is asked for, and nothing but this patches text while it is loaded.
 */
static bool fast;
module_param(fast, bool, 0400);
static struct jump_entry *kernel_entries, *kernel_entries_end;
static struct module *(*module_of_text)(unsigned long addr);

#ifndef BYTES_NOP5			/* until 5.13 */
#define BYTES_NOP5	P6_NOP5
#endif
static const u8 nop5[] = { BYTES_NOP5 };

static int quick_text_reserved(void *start, void *end)
{
	struct jump_entry *entry = kernel_entries, *stop = kernel_entries_end;
	struct module *m;

	preempt_disable();
	m = module_of_text((unsigned long)start);
	preempt_enable();
	if (m) {
		entry = m->jump_entries;
		stop = entry + m->num_jump_entries;
	} else if (!entry) {
		return 1;
	}
	for (; entry < stop; entry++) {
		unsigned long at = jump_entry_code(entry);

		if (jump_entry_is_init(entry) || at > (unsigned long)end)
			continue;
		if (at + (*(u8 *)at == nop5[0] || *(u8 *)at == 0xe9 ? 5 : 2) > (unsigned long)start)
			return 1;
	}
	return 0;
}

static int hasten(void)
{
	void *(*poke)(void *addr, const void *opcode, size_t len) = (void *)lookup_name("text_poke");
	struct mutex *text = (void *)lookup_name("text_mutex");
	u8 *site = (u8 *)lookup_name("jump_label_text_reserved");
	u8 jmp[5] = { 0xe9 };

	kernel_entries = (void *)lookup_name("__start___jump_table");
	kernel_entries_end = (void *)lookup_name("__stop___jump_table");
	module_of_text = (void *)lookup_name("__module_text_address");
	if (!poke || !site || !kernel_entries != !kernel_entries_end || !module_of_text)
		return -ENOENT;
	if (!memcmp(site, "\xf3\x0f\x1e\xfa", 4) || !memcmp(site, "\x66\x0f\x1f\x00", 4))
		site += 4;
	if (memcmp(site, nop5, 5))
		return -EINVAL;
	*(s32 *)(jmp + 1) = (long)quick_text_reserved - (long)(site + 5);
	if (text)
		mutex_lock(text);
	poke(site, jmp, 5);
	if (text)
		mutex_unlock(text);
	/* The jump into this module stays: so must the module. */
	__module_get(THIS_MODULE);
	return 0;
}

static struct dentry *dir;
static int __init recorder_init(void)
{
	struct kprobe p = { .symbol_name = "kallsyms_lookup_name" };
	int err = register_kprobe(&p);

	if (err)
		return err;
	lookup_name = (void *)p.addr;
	unregister_kprobe(&p);
	/* On a kernel with IBT the probe went past the endbr64. */
	if (!memcmp((u8 *)lookup_name - 4, "\xf3\x0f\x1e\xfa", 4) ||
	    !memcmp((u8 *)lookup_name - 4, "\x66\x0f\x1f\x00", 4))
		lookup_name = (void *)((u8 *)lookup_name - 4);

	lookup_size_offset = (void *)lookup_name("kallsyms_lookup_size_offset");
	wait_for_optimizer = (void *)lookup_name("wait_for_kprobe_optimizer");
	find_kprobe = (void *)lookup_name("get_kprobe");
	if (!lookup_size_offset || !wait_for_optimizer || !find_kprobe)
		return -ENOENT;

	list = vzalloc(LIST_MAX);
	buf = vmalloc(BUF_SIZE);
	err = !list || !buf ? -ENOMEM : fast ? hasten() : 0;
	if (err) {
		vfree(list);
		vfree(buf);
		return err;
	}
	dir = debugfs_create_dir("kprobe_recorder", NULL);
	debugfs_create_file("functions", 0200, dir, NULL, &functions_fops);
	debugfs_create_file("mode", 0200, dir, NULL, &mode_fops);
	debugfs_create_file("bytes", 0400, dir, NULL, &bytes_fops);
	debugfs_create_file("rows", 0400, dir, NULL, &rows_fops);
	return 0;
}

static void __exit recorder_exit(void)
{
	debugfs_remove_recursive(dir);
	vfree(functions);
	vfree(list);
	vfree(buf);
}

module_init(recorder_init);
module_exit(recorder_exit);
MODULE_LICENSE("Dual BSD/GPL");
MODULE_DESCRIPTION("records the answers of kprobes for every byte of functions");

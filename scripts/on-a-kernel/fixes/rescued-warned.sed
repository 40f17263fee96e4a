# kernel/kprobes.c: an address that is used again, and whose jump is gone by force, waits to be freed no more.
/^static int reuse_unused_kprobe/,/^}/s/^	optimize_kprobe(ap);/	if (!kprobe_optimized(ap)) \/* its breakpoint stands *\/\
		list_del_init(\&op->list);\
&/

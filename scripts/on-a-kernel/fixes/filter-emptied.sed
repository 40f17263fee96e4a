# kernel/kprobes.c: the filter of ops that are gone is emptied when no call goes through them any more.
/^static int __disarm_kprobe_ftrace/,/^}/s/^	ret = ftrace_set_filter_ip(ops, (unsigned long)p->addr, 1, 0);/	if (*cnt == 0) \/* an empty filter is all functions *\/\
		synchronize_rcu();\
&/

# kernel/kprobes.c: a site is disarmed with the ftrace_ops that it was armed with.
/^static int __arm_kprobe_ftrace/i\
#define KPROBE_FLAG_IPMODIFY 32 /* armed with kprobe_ipmodify_ops */\

/^static int arm_kprobe_ftrace/,/^}/{
/bool ipmodify/a\
\
	if (ipmodify)\
		p->flags |= KPROBE_FLAG_IPMODIFY;\
	else\
		p->flags &= ~KPROBE_FLAG_IPMODIFY;
}
/^static int disarm_kprobe_ftrace/,/^}/s/bool ipmodify = .*/bool ipmodify = p->flags \& KPROBE_FLAG_IPMODIFY;/

# kernel/kprobes.c: no breakpoint is written over a jump that waits to be removed.
/^static void __arm_kprobe/,/^}/s/^	arch_arm_kprobe(p);/	if (!kprobe_optimized(p))\
	&/

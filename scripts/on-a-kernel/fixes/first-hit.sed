# arch/x86/kernel/kprobes/core.c: a CPU that had no hit yet has the status of one whose hit is over.
s/^DEFINE_PER_CPU(struct kprobe_ctlblk, kprobe_ctlblk);/DEFINE_PER_CPU(struct kprobe_ctlblk, kprobe_ctlblk) = {\
	.kprobe_status = KPROBE_HIT_SSDONE,\
};/

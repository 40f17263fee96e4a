# kernel/kprobes.c: a probe that has just been disarmed holds back no other one.
/^static void __disarm_kprobe/,/^}/s/^			optimize_kprobe(_p);/		{\
			u32 flags = p->flags;\
\
			p->flags |= KPROBE_FLAG_DISABLED;\
			optimize_kprobe(_p);\
			p->flags = flags;\
		}/

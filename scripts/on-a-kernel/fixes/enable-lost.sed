# kernel/kprobes.c: what is enabled while all is disarmed isn't marked disabled any more.
/if (!kprobes_all_disarmed && kprobe_disabled(p)) {/i\
	if (kprobes_all_disarmed) /* armed as soon as 1 is written */\
		p->flags &= ~KPROBE_FLAG_DISABLED;\


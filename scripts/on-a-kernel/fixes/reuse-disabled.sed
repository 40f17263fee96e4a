# kernel/kprobes.c: an address that is used again by a disabled probe alone is disabled.
/^static int register_aggr_kprobe/,/^}/{
/^	return ret;/i\
	if (ret == 0 && !kprobe_disabled(ap) && kprobe_disabled(p) && list_is_singular(&ap->list)) {\
		/* It was on its way out, and was taken back for a probe that is disabled. */\
		if (!kprobes_all_disarmed)\
			ret = disarm_kprobe(ap, true);\
		ap->flags |= KPROBE_FLAG_DISABLED;\
	}
}

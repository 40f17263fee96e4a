# kernel/kprobes.c: kprobe_mutex is held from the question whether a probe is registered to the end.
/^int register_kprobe(struct kprobe \*p)/,/^}/{
s/struct module \*probed_mod;/struct module *probed_mod = NULL;/
s/ret = warn_kprobe_rereg(p);/mutex_lock(\&kprobe_mutex);\
	ret = WARN_ON_ONCE(__get_valid_kprobe(p)) ? -EINVAL : 0;/
s/^		return ret;/		goto unlock;/
s/^	mutex_lock(&kprobe_mutex);$//
/^	return ret;/a\
\
unlock:\
	mutex_unlock(&kprobe_mutex);\
	return ret;
}

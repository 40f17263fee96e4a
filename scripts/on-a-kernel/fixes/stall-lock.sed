# kernel/kprobes.c: the optimizer waits for tasks without the locks that such a task may wait for.
/^static void kprobe_optimizer(struct work_struct \*work)$/,/^}/{
/^	synchronize_rcu_tasks();/i\
	/* kprobe_mutex keeps what is on the lists. */\
	mutex_unlock(&text_mutex);\
	cpus_read_unlock();
/^	synchronize_rcu_tasks();/a\
	cpus_read_lock();\
	mutex_lock(&text_mutex);
}

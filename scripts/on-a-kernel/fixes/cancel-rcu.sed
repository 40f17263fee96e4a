# kernel/kprobes.c: before an address' detour is freed, all tasks have been waited for.
/^void unregister_kprobes/,/^}/{
/^	synchronize_rcu();/a\
	/* A task may have been interrupted in a detour to which no jump leads. */\
	for (i = 0; i < num; i++)\
		if (kps[i]->addr && list_is_singular(&kps[i]->list)) {\
			synchronize_rcu_tasks();\
			break;\
		}
}

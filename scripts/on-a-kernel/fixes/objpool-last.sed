# include/linux/objpool.h: a push that has interrupted another one doesn't publish.
/smp_store_release(&slot->last, tail + 1)/c\
	/* A push of this CPU that we have interrupted publishes ours, too. */\
	if (READ_ONCE(slot->last) != tail)\
		return 0;\
	/* Ours, and those that have interrupted us meanwhile. */\
	do {\
		tail = READ_ONCE(slot->tail);\
		smp_store_release(&slot->last, tail);\
	} while (tail != READ_ONCE(slot->tail));

# kernel/kprobes.c: an unused address whose module goes is still on a list, and so is freed.
/^static void kill_optimized_kprobe/,/^}/{
s/^	if (!list_empty(&op->list))$/	if (!list_empty(\&op->list) \&\& !kprobe_unused(p))/
s/^		if (optprobe_queued_unopt(op))$/		if (!list_empty(\&op->list))/
}

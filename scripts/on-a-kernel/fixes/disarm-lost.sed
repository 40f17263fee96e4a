# kernel/kprobes.c: the optimizer takes breakpoints away while all is disarmed, too.
s/if (kprobe_disabled(&op->kp) && !kprobe_gone(&op->kp))/if ((kprobe_disabled(\&op->kp) || kprobes_all_disarmed) \&\& !kprobe_gone(\&op->kp))/

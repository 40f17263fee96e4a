# kernel/kprobes.c: a detour passes over a probe with a post_handler, which has joined since.
/^void opt_pre_handler/,/^}/s/if (kp->pre_handler && likely/if (kp->pre_handler \&\& !kp->post_handler \&\& likely/

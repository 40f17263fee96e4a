// Package jumplabel is the kernel's jump labels (kernel/jump_label.c): nops in text that are turned into jumps and
// back. It is the plainest client of text_poke_bp: no probe, and no breakpoint but the patcher's. Label.Set is
// static_key_enable and _disable, Label.Update jump_label_update.
//
// It is a client of the waist and imports nothing of the machine.
//
// Its limits: a label has a key of its own, and is 5 bytes long; so its text is written by itself, never in a batch
// (arch_jump_label_transform_queue, 5.3). text_mutex protects whether it is on: no CPU reads the key without it (with
// mutants that have a key they do: atomic_set_release(enabled) after the text). Kernels since 4.13 take
// cpu_hotplug_lock before jump_label_mutex; here it is taken after it, as in 2.6.37.
package jumplabel

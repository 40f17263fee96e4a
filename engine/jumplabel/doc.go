// Package jumplabel is the kernel's jump labels (kernel/jump_label.c): nops in text that are turned into jumps and
// back. It is the plainest client of text_poke_bp: no probe, and no breakpoint but the patcher's. Label.Set is
// static_key_enable and _disable, Label.Update jump_label_update.
//
// A key has one site or several, in the kernel and in modules. On x86 a site has five bytes or two (since 5.14), on
// riscv64 and arm64 four, and kernel.PokeWhole is the patcher there. At each the jump stands while the key is on or, at
// a likely branch, while it is off. So a key that is on at first has its jumps at the unlikely branches
// (lib/test_static_keys.c has the four forms). Sites are written one by one, or since 5.3 a table at a time, in the
// order of their addresses.
//
// It is a client of the waist and imports nothing of the machine.
//
// Its limits: text_mutex is held from the first site of a batch to the last one (a kernel lets it go after it has
// queued each), and init text and the module's other text are one table. It protects whether a key is on: no CPU reads
// the key without it (with mutants that have a key they do: atomic_set_release(enabled) after the text). Kernels since
// 4.13 take cpu_hotplug_lock before jump_label_mutex; here it is taken after it, as in 2.6.37. Modules have labels on
// x86 alone.
package jumplabel

// Package kprobes is the engine under test: Linux kernel probes, as documented
// in the numbered rules of the specification, on the repaired algorithm of
// kernels 5.8 to 6.18.
//
// What it is not: it knows no simulator. It stands on the interfaces of
// smp/kapi and emits the claims of kprobes/kpev; whether they are true is for
// others to judge.
//
// Its rule: what two CPUs share is a cell; a step of a protocol is a line.
// What is broken on purpose wraps a step of steps.go, in kprobes/mutants; the bodies
// have no switch.
//
// A point is one address with a breakpoint on it, and carries the probes that
// were registered there (the kernel's aggregator). Its states:
//
//	state         text at addr       optimized  list
//	plain         int3 + tail        no         none
//	optimizing    int3 + tail        yes        optimizing
//	optimized     jump               yes        none
//	unoptimizing  jump               yes        unoptimizing
//	freeing       int3 + tail, orig. no         freeing
//
// A probe that is found, armed, disarmed or taken away looks at its own address
// and at those a region away, never at all there are: 100,000 are no slower than ten.
//
// Lock order: kprobe_sysctl_mutex, kprobe_mutex, cpu_hotplug_lock, module_mutex,
// text_mutex. Which of the last three a run of the optimizer holds while it waits is
// an era's (order.go).
//
// The optimizer may wait for grace periods, or look at all stacks while the machine
// is stopped (spec 4.11). It then looks for more than the documents say: a task in
// the detour of a point that has lost its jump comes out of it behind that point's
// region, which may be inside the region of another (spansOf).
//
// Which instructions can be probed, and which regions optimized, is what
// kprobes/rules says of the kernel in Settings; its answers are those of real
// kernels. What the kernel would emulate the engine emulates only if it is that
// to the processor: for the kernel vpsubb is a call, loopne counts one hit too
// many.
//
// Where its API isn't the kernel's: Kprobe.Flags is what its caller asks for, and
// FlagsOf what has become of it, so that what was disabled and unregistered comes
// back enabled; a symbol is absent if it is empty; unregistering tells what wasn't
// registered. Routines that are Go and not text have no symbols to be probed by.
//
// A hit goes its way through step.go (breakpoint, handlers, the end of the step),
// emulate.go (what a copy leaves wrong), boost.go (copies that aren't stepped),
// slots.go (where copies are) and fault.go:
//
//	hit ─► pre_handlers ─┬─ optimized: the detour's copy, and done
//	                     ├─ boosted: the slot's copy and its jump, and done
//	                     ├─ emulated (by int3)      ─────────► post_handlers
//	                     └─ the slot's copy, stepped: int3 or #DB ─► post_handlers
//	         a fault in that copy: back to the probed address, as if not hit
//
// Return probes (kretprobe.go) follow a call by an instance, which keeps the return
// address while the trampoline's stands in its place. The generations differ in
// where free instances are (kretprobe_pool.go, freelist.go, objpool.go) and where
// those in use (kretprobe_hit.go):
//
//	generation  free instances        calls in flight        handlers run      after unregister
//	global      list, kretprobe_lock  table, the same lock   under it          freed at the return
//	hashed      list, a lock a probe  table, lock a bucket   under it          freed at the return
//	freelist    lock-free list        a list a task          preemption off    call_rcu at the return
//	rethook     lock-free list        a list a task          preemption off    call_rcu at the return
//	objpool     ring a CPU            a list a task          preemption off    call_rcu at the return
//
// A call is known by where its return address lies, too: what was left without a
// return is skipped (5.1; later kernels look at the newest alone). The trampoline
// is text of the kernel's that the engine fills in (trampoline.go); in 2.6 it has a
// probe from boot, which kprobes/list doesn't show here. Locks of return probes are
// taken inside all others. The array of free instances isn't the kernel's, which
// loses one when an NMI interrupts a push (objpool.go, mutant objpool-last).
//
// Jprobes (jprobe.go, 2.6) are refused inside a function, as since 2.6.36.
//
// Probes in modules (module.go): a module is held while a probe is registered in it,
// in 2.6 as long as it is. When its text goes they are gone: silent, without slot
// and detour, and nobody writes to the text. A probe that is registered where a
// module has come again revives the point; the gone ones there stay so.
//
// A probe at a site of ftrace (ftrace.go) is a filter entry of one of two clients,
// of which the one that may change the path claims the site (until 5.3 both). It is
// never a breakpoint and never a jump. It is disarmed with the client that it was
// armed with, where kernels take the one that it would be armed with now.
//
// Its limits: return probes don't look whether they are in an NMI, where kernels
// from 4.0 to 5.9 count a miss. A CPU can be in two hits, one inside the other, as in the
// kernel; a third one (an NMI while the second is stepped) nobody handles, in
// 2.6 either, which forgets the first. A copy that was boosted and faults does so
// where it is. The #DB of code that steps itself is seen by the engine only if it
// comes at the end of a copy.
package kprobes

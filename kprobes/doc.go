// Package kprobes is the engine under test: Linux kernel probes, as documented
// in the numbered rules of the specification, on the repaired algorithm of
// kernels 5.8 to 6.18.
//
// What it is not: it knows no simulator. It stands on the interfaces of
// smp/kapi and emits the claims of kprobes/kpev; whether they are true is for
// others to judge.
//
// Its rule: what two CPUs share is a cell; a step of a protocol is a line.
// What is broken on purpose is a switch in mutant.go, and nowhere else.
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
// Lock order: kprobe_sysctl_mutex, kprobe_mutex, text_mutex.
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
// Its limits: a CPU can be in two hits, one inside the other, as in the
// kernel; a third one (an NMI while the second is stepped) nobody handles, in
// 2.6 either, which forgets the first. A copy that was boosted and faults does so
// where it is. The #DB of code that steps itself is seen by the engine only if it
// comes at the end of a copy.
package kprobes

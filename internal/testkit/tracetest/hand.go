package tracetest

import (
	"encoding/hex"
	"fmt"
	"strings"

	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A Hand adds events of one task on one CPU to a log. Its methods return it, for
// chaining.
type Hand struct {
	tr        *Trace
	cpu, task uint8
}

// On returns the hand of a task on a CPU.
func (h Hand) On(cpu, task uint8) Hand { return Hand{tr: h.tr, cpu: cpu, task: task} }

// Emit adds any event.
func (h Hand) Emit(k traces.Kind, a, b, c uint64) Hand {
	h.tr.add(traces.Event{Kind: k, CPU: h.cpu, Task: h.task, A: a, B: b, C: c})
	return h
}

func (h Hand) bytes(k traces.Kind, addr uint64, b []byte) Hand {
	lo, hi := traces.PackBytes(b)
	return h.Emit(k, addr, lo, hi)
}

// Load adds consecutive linked instructions, each in hex.
func (h Hand) Load(addr uint64, insns ...string) Hand {
	for _, s := range insns {
		b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
		if err != nil {
			panic(fmt.Sprintf("tracetest: %q: %v", s, err))
		}
		h.bytes(smpev.Load, addr, b)
		addr += uint64(len(b))
	}
	return h
}

// Image announces a whole image.
func (h Hand) Image(addr uint64, b ...byte) Hand { return h.bytes(smpev.Image, addr, b) }

// Form emits a Form, of the last Setting.
func (h Hand) Form(addr uint64, b ...byte) Hand { return h.bytes(smpev.Form, addr, b) }

// Exec begins an instruction.
func (h Hand) Exec(ip uint64, b ...byte) Hand { return h.bytes(smpev.Exec, ip, b) }

// Store stores to text, split at aligned chunks of eight bytes.
func (h Hand) Store(addr uint64, b ...byte) Hand {
	for len(b) > 0 {
		n := min(len(b), int(8-addr%8))
		lo, _ := traces.PackBytes(b[:n])
		h.Emit(smpev.TextStore, addr, lo, uint64(n))
		addr, b = addr+uint64(n), b[n:]
	}
	return h
}

// Trap takes an exception or an interrupt; ip is the saved address.
func (h Hand) Trap(vector, ip uint64) Hand {
	h.tr.depth[h.task]++
	return h.Emit(smpev.Trap, vector, ip, 0)
}

// Claim says that a handler owns the trap.
func (h Hand) Claim(vector, ip, owner uint64) Hand { return h.Emit(smpev.Claim, vector, ip, owner) }

// Return returns from a trap to ip.
func (h Hand) Return(vector, ip uint64) Hand {
	h.tr.depth[h.task]--
	return h.Emit(smpev.Return, vector, ip, uint64(max(h.tr.depth[h.task], 0)))
}

// Break runs a breakpoint at addr and takes its trap.
func (h Hand) Break(addr uint64) Hand {
	return h.Exec(addr, h.tr.Arch.Breakpoint...).Trap(smpev.VecBP, addr+uint64(h.tr.Arch.Past))
}

// Own claims the trap of the breakpoint at addr.
func (h Hand) Own(addr, owner uint64) Hand {
	return h.Claim(smpev.VecBP, addr+uint64(h.tr.Arch.Past), owner)
}

// Resume returns from a breakpoint's trap to ip.
func (h Hand) Resume(ip uint64) Hand { return h.Return(smpev.VecBP, ip) }

// Oops kills the kernel.
func (h Hand) Oops(vector, ip uint64) Hand { return h.Emit(smpev.Oops, vector, ip, 0) }

// Alloc allocates executable memory.
func (h Hand) Alloc(addr, size, what uint64) Hand { return h.Emit(smpev.Alloc, addr, size, what) }

// Retire gives up executable memory that a CPU may still be executing.
func (h Hand) Retire(addr, size, what uint64) Hand { return h.Emit(smpev.Retire, addr, size, what) }

// Free frees executable memory.
func (h Hand) Free(addr, size, what uint64) Hand { return h.Emit(smpev.Free, addr, size, what) }

// Lock takes a lock.
func (h Hand) Lock(id uint64) Hand { return h.Emit(smpev.Lock, id, 0, 0) }

// Unlock releases a lock.
func (h Hand) Unlock(id uint64) Hand { return h.Emit(smpev.Unlock, id, 0, 0) }

// LockHow takes a lock; how is a set of smpev.Lock….
func (h Hand) LockHow(lock, how uint64) Hand { return h.Emit(smpev.Lock, lock, how, 0) }

// MightSleep enters a routine that may sleep; atomic: 1 if sleeping isn't allowed here.
func (h Hand) MightSleep(atomic uint64) Hand { return h.Emit(smpev.MightSleep, atomic, 0, 0) }

// Expect states the result of the twin run at the end of a call.
func (h Hand) Expect(task, call, digest uint64) Hand { return h.Emit(smpev.Expect, task, call, digest) }

// CallEnd ends a call of the hand's own task.
func (h Hand) CallEnd(call, digest uint64) Hand {
	return h.Emit(smpev.CallEnd, uint64(h.task), call, digest)
}

// Want states the value that a task's check n of what must find.
func (h Hand) Want(task uint64, n, what int, value uint64) Hand {
	return h.Emit(smpev.Want, smpev.Check(task, n, what), value, 0)
}

// Got reports what check n of the hand's own task has found; at is an address in
// memory.
func (h Hand) Got(n, what int, value, at uint64) Hand {
	return h.Emit(smpev.Got, smpev.Check(uint64(h.task), n, what), value, at)
}

// Sysctl begins to write kprobes-optimization or, with done set, returns from it.
func (h Hand) Sysctl(on, done uint64) Hand { return h.Emit(kpev.Sysctl, on, done, 0) }

// ApiEnter begins a call of the API; addr may be 0 once the probe has one.
func (h Hand) ApiEnter(api, probe, addr uint64) Hand {
	if addr != 0 {
		h.tr.addrs[probe] = addr
	}
	return h.Emit(kpev.ApiEnter, api, probe, h.tr.addrs[probe])
}

// ApiReturn ends a call of the API.
func (h Hand) ApiReturn(api, probe, errno uint64) Hand {
	return h.Emit(kpev.ApiReturn, api, probe, errno)
}

// Register registers a probe; the call succeeds at once.
func (h Hand) Register(probe, addr uint64) Hand {
	return h.ApiEnter(kpev.Register, probe, addr).ApiReturn(kpev.Register, probe, 0)
}

// Unregister unregisters a probe at once.
func (h Hand) Unregister(probe uint64) Hand {
	return h.ApiEnter(kpev.Unregister, probe, 0).ApiReturn(kpev.Unregister, probe, 0)
}

// Enable enables a probe at once.
func (h Hand) Enable(probe uint64) Hand {
	return h.ApiEnter(kpev.Enable, probe, 0).ApiReturn(kpev.Enable, probe, 0)
}

// Disable disables a probe at once.
func (h Hand) Disable(probe uint64) Hand {
	return h.ApiEnter(kpev.Disable, probe, 0).ApiReturn(kpev.Disable, probe, 0)
}

// Pre runs a probe's pre_handler.
func (h Hand) Pre(probe uint64) Hand {
	return h.Emit(kpev.Handler, probe, kpev.Pre, h.tr.addrs[probe])
}

// Post runs a probe's post_handler.
func (h Hand) Post(probe uint64) Hand {
	return h.Emit(kpev.Handler, probe, kpev.Post, h.tr.addrs[probe])
}

// Missed increments nmissed of a probe.
func (h Hand) Missed(probe uint64) Hand { return h.Emit(kpev.Missed, probe, 0, 0) }

// Skipped skips a probe: a sibling's pre_handler returned non-zero.
func (h Hand) Skipped(probe, by uint64) Hand { return h.Emit(kpev.Skipped, probe, by, 0) }

// End ends the run; drained: all work is done. Nothing may follow.
func (h Hand) End(drained bool) *Trace {
	var d uint64
	if drained {
		d = 1
	}
	h.Emit(smpev.Done, d, 0, 0)
	h.tr.ended, h.tr.drained = true, drained
	return h.tr
}

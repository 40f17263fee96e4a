package view

import (
	"fmt"
	"strings"

	"kpsim/kprobes/kpev"
	"kpsim/linux/linuxev"
	"kpsim/smp/arch/target"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// say returns the text of one event alone.
func (t *teller) say(e *traces.Event) string {
	x, in := t.text, t.in
	switch e.Kind {
	case smpev.Load:
		return fmt.Sprintf("linked %s: %s", x.place(e.A), x.disassemble(unpack(e), e.A))
	case smpev.Image:
		s := fmt.Sprintf("about to write at %s: % x", x.place(e.A), unpack(e))
		if target.Arch.IsBreakpoint(byte(e.B)) {
			return s + "  int3, and what was linked behind it"
		}
		return s + "  " + x.disassemble(unpack(e), e.A)
	case smpev.TextStore:
		return t.store("store", e)
	case smpev.Exec:
		return t.exec(e)
	case smpev.Trap:
		s := smpev.Vector(e.A) + ", saved ip " + t.stood(e, e.B)
		switch {
		case e.C == smpev.TrapUser && e.A != smpev.VecPF:
			s += ", in user mode"
		case e.C != 0:
			s += ", fault at " + x.place(e.C)
		}
		return s
	case smpev.Claim:
		return "claimed by " + smpev.Owners.Name(e.C)
	case smpev.Return:
		return "return to " + t.stood(e, e.B)
	case smpev.Oops:
		return fmt.Sprintf("OOPS: nobody handles %s at %s", smpev.Vector(e.A), t.where(e.B))
	case smpev.Switch:
		if e.C == 0 {
			return fmt.Sprintf("preempted: %s -> %s", in.task(e.A), in.task(e.B))
		}
		return fmt.Sprintf("switch: %s -> %s", in.task(e.A), in.task(e.B))
	case smpev.Wake:
		return "wake " + in.task(e.A)
	case smpev.Exit:
		return in.task(e.A) + " ends"
	case smpev.Serialise:
		return "serialise (" + smpev.Whys.Name(e.A) + ")"
	case smpev.SendIPI:
		return "send IPI to " + cpuSet(e.A)
	case smpev.Fire:
		return in.source(e.A) + " fires"
	case smpev.Alloc:
		a := x.alloc(e)
		return fmt.Sprintf("allocate %s: %s at %s", a.name, count(int(e.B), "byte", "bytes"), in.symbol(e.A))
	case smpev.Gives:
		return fmt.Sprintf("%s gives up its CPU: %s is next", in.task(e.A), in.task(e.B))
	case smpev.Agrees:
		return "sees what was done before the full fences until here"
	case smpev.Due:
		if e.B == 0 {
			return "a timer runs that will wake " + in.task(e.A)
		}
		return "the timer of " + in.task(e.A) + " is over"
	case smpev.Retire:
		what := count(int(e.B), "byte", "bytes") + " at " + in.symbol(e.A)
		if a := t.text.area(e.A); a != nil {
			what = a.name
		}
		return "give " + what + " back, to be freed after a grace period"
	case smpev.Free:
		return t.free(e)
	case smpev.Lock:
		if e.B&smpev.LockNeeded != 0 {
			return "touch what " + in.lock(e.A) + " protects, WITHOUT IT"
		}
		return "lock " + in.lock(e.A)
	case smpev.Unlock:
		return "unlock " + in.lock(e.A)
	case smpev.MightSleep:
		if e.A != 0 {
			return "might sleep, IN ATOMIC CONTEXT"
		}
		return "might sleep"
	case smpev.GPStart:
		return fmt.Sprintf("%s grace period %d begins", flavour(e.A), e.B)
	case smpev.GPEnd:
		return fmt.Sprintf("%s grace period %d ends", flavour(e.A), e.B)
	case smpev.StopStart:
		return "stop_machine: every CPU is stopped"
	case smpev.StopEnd:
		return "stop_machine: done"
	case smpev.CPUState:
		if e.B == 0 {
			return fmt.Sprintf("CPU %d is offline, and runs nothing", e.A)
		}
		return fmt.Sprintf("CPU %d is online", e.A)
	case smpev.CPUActive:
		if e.B == 0 {
			return fmt.Sprintf("CPU %d isn't active any more: its tasks go to others", e.A)
		}
		return fmt.Sprintf("CPU %d is active: tasks may run there", e.A)
	case smpev.CPUFails:
		if e.C == 0 {
			return fmt.Sprintf("CPU %d fails to come, at %v: it goes back", e.A, smpev.CPUStep(e.B))
		}
		return fmt.Sprintf("CPU %d fails to go, at %v: it stays", e.A, smpev.CPUStep(e.B))
	case smpev.Debugger:
		if e.B == 0 {
			return fmt.Sprintf("the debugger's breakpoint at %s is cleared: %02x", in.symbol(e.A), e.C)
		}
		return fmt.Sprintf("the debugger's breakpoint at %s is set, over %02x", in.symbol(e.A), e.C)
	case smpev.LivePatch, smpev.LiveSwitch, smpev.LiveCall, smpev.Fprobe:
		return t.sayOwner(e)
	case linuxev.Warn, linuxev.Heap, linuxev.Uneven:
		return t.sayLinux(e)
	case smpev.Uprobe:
		return t.sayUprobe(e)
	case smpev.GPStall:
		return "the kernel prints: " + smpev.Stall(e.A, e.B, e.C, e.CPU, in.task)
	case smpev.Held, smpev.Commit:
		return t.sayHeld(e)
	case smpev.Expect, smpev.CallEnd:
		return fmt.Sprintf("call %d of %s returns", e.B&^smpev.MayMiss, in.task(e.A))
	case smpev.Want, smpev.Got:
		return t.check(e)
	case smpev.Done:
		if e.A == 0 {
			return "the run is over, but not all work is done"
		}
		return "the run is over, all work is done"
	}
	return t.sayProbe(e)
}

// sayProbe is say for the events of kprobes.
func (t *teller) sayProbe(e *traces.Event) string {
	x, in := t.text, t.in
	switch e.Kind {
	case kpev.ApiEnter:
		return fmt.Sprintf("%s(%s) at %s begins", api(e.A), in.probe(e.B), x.place(e.C))
	case kpev.ApiReturn:
		return fmt.Sprintf("%s(%s) -> %s", api(e.A), in.probe(e.B), kpev.Errno(e.C))
	case kpev.Handler:
		return handlerName(e.B) + " of " + in.probe(e.A)
	case kpev.Missed:
		return in.probe(e.A) + ": missed"
	case kpev.Skipped:
		return fmt.Sprintf("%s: skipped, by %s", in.probe(e.A), in.probe(e.B))
	case kpev.Arm:
		return "arm " + x.place(e.A)
	case kpev.Disarm:
		return "disarm " + x.place(e.A)
	case kpev.Optimizing:
		return "queued to be optimized: " + x.place(e.A)
	case kpev.Optimized:
		return fmt.Sprintf("optimized: %s jumps to %s", x.place(e.A), x.place(e.B))
	case kpev.Unoptimizing:
		return "queued to be unoptimized: " + x.place(e.A)
	case kpev.Unoptimized:
		return "unoptimized: " + x.place(e.A)
	case kpev.Sysctl:
		if e.B == 0 {
			return fmt.Sprintf("kprobes-optimization = %d begins", e.A)
		}
		return fmt.Sprintf("kprobes-optimization = %d: done", e.A)
	case kpev.InstanceNew:
		return fmt.Sprintf("%s: instance %d", t.in.probe(e.B), e.A)
	case kpev.InstanceGet:
		return fmt.Sprintf("%s: instance %d taken", t.in.probe(e.B), e.A)
	case kpev.InstancePut:
		return fmt.Sprintf("%s: instance %d given back", t.in.probe(e.B), e.A)
	case kpev.InstanceFree:
		return fmt.Sprintf("%s: instance %d freed", t.in.probe(e.B), e.A)
	case kpev.HolderDrop:
		return fmt.Sprintf("return probe memory %d: %s dropped, %d left", e.A, count(int(e.B), "reference", "references"), e.C)
	case kpev.HolderFree:
		return fmt.Sprintf("return probe memory %d of %s freed", e.A, t.in.probe(e.B))
	case kpev.Hooked:
		return fmt.Sprintf("instance %d keeps the return address %s at %#x: now the trampoline's", e.A, t.text.place(e.C), e.B)
	case kpev.Trampoline:
		if e.B == 0 {
			return "trampoline: nobody knows where to return to"
		}
		return "trampoline: returns to " + t.text.place(e.B)
	case kpev.RetMissed:
		return t.in.probe(e.A) + ": no free instance, missed"
	case kpev.JprobeEnter:
		return t.in.probe(e.A) + ": registers and stack kept, its entry runs"
	case kpev.JprobeLeave:
		return t.in.probe(e.A) + ": registers and stack put back"
	case kpev.Kind:
		return fmt.Sprintf("%s is a %s", in.probe(e.A), probeKinds[min(e.B, uint64(len(probeKinds)-1))])
	case kpev.Contexts:
		return "what runs with interrupts off: " + bitNames(e.A|e.B<<1, "handlers behind a detour", "handlers of return probes")
	case kpev.Context:
		return handlerName(e.B) + " of " + in.probe(e.A) + " runs with " + bitNames(e.C, "preemption off", "interrupts off", "and where it was hit they were off")
	case kpev.RetEntry:
		return fmt.Sprintf("%s: a call begins that is to return to %s", in.probe(e.A), x.place(e.C))
	case kpev.RetLeft:
		return in.probe(e.A) + ": this call is left alone"
	case kpev.RetReturn:
		return fmt.Sprintf("%s: its handler is told that the call returns to %s", in.probe(e.A), x.place(e.C))
	case kpev.Enabled:
		if e.B == 0 {
			return fmt.Sprintf("kprobes/enabled = %d begins", e.A)
		}
		return fmt.Sprintf("kprobes/enabled = %d: done", e.A)
	case kpev.State:
		return fmt.Sprintf("the engine holds of %s: %s", x.place(e.A), bitNames(e.B, "armed", "jumped", "optimized", "optimizing", "unoptimizing", "freeing", "gone", "ftrace"))
	case kpev.Listed:
		return fmt.Sprintf("kprobes/list: %s %s", x.place(e.A), bitNames(e.C, "[GONE]", "[DISABLED]", "[OPTIMIZED]", "[FTRACE]", "no tags"))
	case kpev.Returner:
		return fmt.Sprintf("return addresses are replaced with %s", x.place(e.A))
	case kpev.NoPre:
		return in.probe(e.A) + " has no pre_handler"
	case kpev.NoJump:
		return in.probe(e.A) + " has a post_handler, or is a jprobe: no jump may be there"
	case kpev.Printk:
		return "the kernel prints: " + kpev.Text(kpev.Line(e.A), e.B, e.C)
	}
	return strings.TrimSpace(e.String())
}

// sayLinux is say for the events of a kernel's own engine.
func (t *teller) sayLinux(e *traces.Event) string {
	switch e.Kind {
	case linuxev.Warn:
		s := "the kernel warns at " + t.where(e.A)
		if e.B != 0 {
			s += fmt.Sprintf(": the check in line %d of its source fails", e.B)
		}
		return s
	case linuxev.Heap:
		return t.sayHeap(e)
	}
	return uneven(e)
}

// sayHeap says which memory is misused, and how.
func (t *teller) sayHeap(e *traces.Event) string {
	at := t.in.symbol(e.B)
	of := ""
	if e.C != 0 {
		of = ", allocated with " + count(int(e.C), "byte", "bytes")
	}
	memory := "memory at " + at
	if of != "" {
		memory += of + ","
	}
	switch e.A {
	case linuxev.UseAfterFree:
		return "access to freed memory at " + at + of
	case linuxev.OutOfBounds:
		return "access past the end of memory at " + at + of
	case linuxev.DoubleFree:
		return memory + " is freed a second time"
	case linuxev.BadFree:
		return memory + " is freed, and isn't the beginning of an allocation"
	case linuxev.User:
		return "access to user space at " + at + " by the kernel's code"
	}
	return "misuse of memory at " + at + of
}

// uneven says what a function has left otherwise than it was.
func uneven(e *traces.Event) string {
	switch e.A {
	case linuxev.Preemption:
		return fmt.Sprintf("a function returns with preempt_count %#x, which was %#x", e.C, e.B)
	case linuxev.Interrupts:
		if e.C != 0 {
			return "a function returns with interrupts on, which were off"
		}
		return "a function returns with interrupts off, which were on"
	case linuxev.Sections:
		return fmt.Sprintf("a function returns in %s, and began in %d", count(int(e.C), "RCU section", "RCU sections"), e.B)
	}
	return fmt.Sprintf("a function returns with current_kprobe %#x, which was %#x", e.C, e.B)
}

// probeKinds are those of kpev.Kind.
var probeKinds = [...]string{"kprobe", "return probe", "jprobe", "?"}

// handlerName names the handler of kpev.Handler's which.
func handlerName(which uint64) string {
	switch which {
	case kpev.Post:
		return "post_handler"
	case kpev.Entry:
		return "entry_handler"
	case kpev.Return:
		return "handler"
	case kpev.Fault:
		return "fault_handler"
	case kpev.Jump:
		return "entry"
	}
	return "pre_handler"
}

// bitNames lists the names of the set bits.
func bitNames(set uint64, names ...string) string {
	var list []string
	for i, n := range names {
		if set>>i&1 != 0 {
			list = append(list, n)
		}
	}
	if list == nil {
		return "none of that"
	}
	return strings.Join(list, ", ")
}

// stood names the place of a saved ip; an idle CPU is also in kernel code.
func (t *teller) stood(e *traces.Event, ip uint64) string {
	if ip == t.in.KernelIP && ip != 0 && t.in.task(uint64(e.Task)) == "idle" {
		return "idle"
	}
	return t.where(ip)
}

// where names an address, with its place in the source if that is known.
func (t *teller) where(addr uint64) string {
	s := t.text.place(addr)
	if t.in.Line != nil && s == t.in.symbol(addr) {
		if line := t.in.Line(addr); line != "" {
			return s + " (" + line + ")"
		}
	}
	return s
}

// exec prints an instruction, with its bytes where text is patched.
func (t *teller) exec(e *traces.Event) string {
	b := unpack(e)
	s := t.text.place(e.A) + ": "
	if a := t.text.area(e.A); a != nil && !a.live {
		s = t.text.place(e.A) + " (freed): "
	}
	if _, ok := t.text.site(e.A); ok || t.odd(e.A, b) {
		s += fmt.Sprintf("%-*s  ", hexWidth, fmt.Sprintf("% x", b))
	}
	return s + t.text.disassemble(b, e.A)
}

const hexWidth = 3*5 - 1 // of a jump

// odd reports whether b differs from the byte in memory at addr.
func (t *teller) odd(addr uint64, b []byte) bool {
	for i, v := range b {
		if m, ok := t.text.mem[addr+uint64(i)]; ok && m != v {
			return true
		}
	}
	return false
}

// stays is the text of a store that changes nothing.
const stays = ": stays "

// store prints stores to neighbouring bytes, and the resulting bytes of the whole site.
func (t *teller) store(verb string, list ...*traces.Event) string {
	x := t.text
	s := span{list[0].A, list[0].A + list[0].C}
	for _, e := range list {
		s = span{min(s.at, e.A), max(s.end, e.A+e.C)}
	}
	whole := s
	if site, ok := x.site(s.at); ok {
		whole = span{min(s.at, site.at), max(s.end, site.end)}
	}
	before := bytes(x.mem, whole)
	for _, e := range list {
		x.store(e)
	}
	what := verb + " " + x.place(s.at)
	if n := s.end - s.at; n > 1 {
		what += fmt.Sprintf(" (%d bytes)", n)
	}
	after := bytes(x.mem, whole)
	if after == before {
		return what + stays + before
	}
	return fmt.Sprintf("%s: %s -> %s", what, before, after)
}

// free prints a freeing of memory, which leaves an int3 in each byte.
func (t *teller) free(e *traces.Event) string {
	for i := range e.B {
		t.text.mem[e.A+i] = target.Arch.Breakpoint[0]
	}
	if a := t.text.area(e.A); a != nil {
		a.live = false
		return fmt.Sprintf("free %s (%s): from now on int3", a.name, count(int(e.B), "byte", "bytes"))
	}
	return fmt.Sprintf("free %s at %s", count(int(e.B), "byte", "bytes"), t.in.symbol(e.A))
}

// check prints the expected result of a check, and the actual one.
func (t *teller) check(e *traces.Event) string {
	n := smpev.CheckNumber(e.A)
	if e.Kind == smpev.Want {
		return fmt.Sprintf("check %d of %s is to find %#x", n, t.in.task(smpev.CheckTask(e.A)), e.B)
	}
	switch smpev.CheckWhat(e.A) {
	case smpev.CheckMemory:
		return fmt.Sprintf("check %d finds %#x at %s", n, e.B, t.text.place(e.C))
	case smpev.CheckErrno:
		return fmt.Sprintf("check %d finds %s", n, kpev.Errno(e.B))
	}
	return fmt.Sprintf("check %d finds %#x returned", n, e.B)
}

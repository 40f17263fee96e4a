package kapi

import "kpsim/smp/arch"

// An Image is a large piece of memory, such as a kernel's, of which a run touches
// little: the bytes of whole pages, from At on. It is never written after it was given
// to a machine, and machines share it.
type Image struct {
	At    arch.Addr // a multiple of the page size
	Bytes []byte    // may be shorter than Size: the rest is zeros
	Size  int       // a multiple of the page size
	Exec  bool      // text: it is read and executed
	Write bool      // data that is written

	// Over are pages that differ from Bytes, by their distance from At in pages; nil:
	// none does.
	Over map[int]*[4096]byte
	_    struct{}
}

// GuestGates is where the gates of a Guest lie, one after the other, unless the processor's row says otherwise
// (GatesOf); of a kernel of 32 bits where arch.Arch.Addr says.
const GuestGates arch.Addr = 0xffffffff82200000

// GatesOf returns where the gates of a Guest lie on a processor.
func GatesOf(a *arch.Arch) arch.Addr {
	if a.Gates != 0 {
		return a.Gates
	}
	return a.Addr(GuestGates)
}

// GateSize is how many bytes a gate takes.
const GateSize = 16

// Wanted says how a task's flags show that another task wants the CPU: these bits are set, or these are clear.
type Wanted struct{ Set, Clear uint64 }

// In returns flags that show it.
func (w Wanted) In(flags uint64) uint64 { return flags&^w.Clear | w.Set }

// Not returns flags that show the contrary.
func (w Wanted) Not(flags uint64) uint64 { return flags&^w.Set | w.Clear }

// Guest serves an engine that is itself guest code. It provides room for the engine's text and
// data, addresses for the services that the text calls, and notice of context switches. The
// methods without a Context are for the boot, before anything runs.
type Guest interface {
	// Map lays an image into memory.
	Map(im *Image)
	// Left returns the images as a run has left them: another machine of as many CPUs
	// can begin from there.
	Left() []*Image
	// Gate gives a routine an address that text can call or jump to: the same for the
	// same number of calls of Gate before it, whatever else the kernel binds.
	Gate(name string, f Routine) arch.Addr
	// PerCPU returns where a CPU has its own copy of the data at an address.
	PerCPU(cpu int, variable arch.Addr) arch.Addr
	// Preemption says where text counts preempt_disable, as an address for PerCPU. The
	// highest bit of the 32 is clear where another task wants the CPU.
	Preemption(at arch.Addr)
	// TaskPreemption is Preemption of a kernel that counts by task, in the task's own memory. wanted says how the eight
	// bytes of the task's flags show that another task wants the CPU; zero: text doesn't look.
	TaskPreemption(at func(t TaskID) (count, flags arch.Addr), wanted Wanted)
	// TaskRegs calls f with the registers that each task begins a run with, and what the kernel keeps of the CPU's
	// other state for it.
	TaskRegs(f func(t TaskID, r *arch.Regs, s *arch.TaskState))
	// CPURegs calls f with the registers of a CPU where entry code of a trap, the return from one or a switch of tasks
	// loads those that belong to the CPU.
	CPURegs(f func(cpu int, r *arch.Regs))
	// Thread makes a kernel thread: wake makes it run f, once more if f is already running.
	Thread(name string, f func(x Context)) (wake func())
	// OnSwitch calls f when a CPU switches to another task, within that step.
	OnSwitch(f func(cpu int, next TaskID))
	// OnOnline calls f with the set of the CPUs that are online when that changes, within that step.
	OnOnline(f func(cpus uint64))

	// Put stores to memory within a step of the CPU that the memory belongs to.
	Put(at arch.Addr, size int, v uint64)
	// Get reads memory while nothing runs; ok false: it isn't mapped.
	Get(at arch.Addr, size int) (v uint64, ok bool)
	// Seen is Get as a CPU sees memory that may hold stores to it.
	Seen(cpu int, at arch.Addr, size int) (v uint64, ok bool)

	// MapExec maps pages for code, an int3 in each byte, for the rest of the run; ok
	// false: there is no room. UnmapExec takes them away.
	MapExec(x Context, pages int) (at arch.Addr, ok bool)
	UnmapExec(x Context, at arch.Addr, pages int)
	// DraftExec has ordinary stores write to pages of MapExec, which no CPU executes until on is false.
	DraftExec(x Context, at arch.Addr, pages int, on bool)
	// MapData maps adjacent pages of zeros for data, for the rest of the run or until
	// UnmapData; ok false: something else is there.
	MapData(x Context, at arch.Addr, pages int) (ok bool)
	UnmapData(x Context, at arch.Addr, pages int)
	// Fault returns the address that the last page fault of the CPU was about.
	Fault(x Context) arch.Addr
	// DeadStack returns the task below whose stack pointer an address lies, if that isn't
	// the one that runs: what lay there belonged to a call that has returned.
	DeadStack(x Context, at arch.Addr) (of TaskID, ok bool)
	// Busy reports whether the context mustn't sleep.
	Busy(x Context) bool
	// Text reports whether an address is text that is mapped.
	Text(at arch.Addr) bool
	// StopAll stops all CPUs, each of which calls f then, with interrupts off (stop_machine). Context: may
	// sleep; the CPU-hotplug lock is read.
	StopAll(x Context, f func(x Context))
	// Refuse ends the run because text has asked for something that isn't supported.
	Refuse(x Context, what string)
	// Why says in words what the next finding is, if it has none better. x is nil after
	// the last step of a run.
	Why(x Context, why string)
	// Resched gives the CPU to another task that wants it, as preempt_enable does, if
	// the context can be preempted (point).
	Resched(x Context)
}

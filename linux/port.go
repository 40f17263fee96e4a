package linux

import (
	"fmt"
	"slices"

	"kpsim/linux/vmlinux"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
	"kpsim/smp/kapi"
)

// This file holds the differences between the kernels of processors: the addresses of things that
// their boot would make, the size of a word, and how their code is changed.

// A port is what the engine must know of a kernel's processor: a row.
type port struct {
	places *places
	away   func(k *Kernel) int64 // how far the kernel is to be moved from its link address

	trap    string   // the kernel's handler of breakpoints
	slot    []string // the member of struct kprobe that holds the address of its slot, by release
	extends bool     // a result of 32 bits is sign-extended (RISC-V psABI, "Integer Calling Convention")
	bare    bool     // the trampoline of return probes saves no flags: what handlers find there is garbage
	why     int      // the argument of die that is a text
	// traced are the registers that the kernel's own trampolines of ftrace don't keep, by number, a bit each; 0: its
	// ftrace has no clients here.
	traced  uint64
	batches bool // what is to be poked lies in an array of the kernel's (text_poke_loc)

	// What differs between tasks: preemption is counted in a task's thread_info, and something of a CPU points to
	// that. Elsewhere each CPU has its count and its current task.
	perTask bool
	current func(k *Kernel, r *arch.Regs, s *arch.TaskState, task arch.Addr)
	flags   string                      // the member of thread_info that asks the task to give the CPU up
	wanted  func(k *Kernel) kapi.Wanted // finds config.wanted of a preemptible kernel

	// cause returns the cause of a breakpoint's trap, the handler's second argument, and who owns such a breakpoint if
	// the handler doesn't die of it; 0: what the engine notes says. nil: the handler gets the registers alone.
	cause func(x kapi.Context) (cause, owner uint64)

	frames frames
	data   cpuData
	text   portText

	// bootText patches text as boot does.
	bootText func(k *Kernel) error
	// thunk returns code that calls three functions, with the registers that it was called with.
	thunk func(k *Kernel, at arch.Addr, targets [3]arch.Addr) (code []byte, ok bool)
	// missed returns code that calls a gate before a kernel without rethook counts a call that it can't follow, and
	// makes that kernel run it. nil: kernels have rethook.
	missed func(k *Kernel, at, gate arch.Addr) (code []byte, err error)
	// redirect makes direct calls and jumps go to other functions.
	redirect func(k *Kernel, to map[arch.Addr]arch.Addr) error
	// calls returns the linked target of the direct call that ends at an address.
	calls func(k *Kernel, after uint64) (to arch.Addr, ok bool)
	// entered returns the function whose entry has called a gate by patchCall.
	entered func(e *env, x kapi.Context) arch.Addr
	// fixed continues after a fault as a row of the exception table says; false: the row's kind isn't
	// implemented.
	fixed func(k *Kernel, regs *arch.Regs, r *vmlinux.ExEntry, trapnr int) bool
}

// frames is how a processor's trap frames are given to its kernel, where a frame is no struct pt_regs, and how it
// steps instructions.
type frames struct {
	header      arch.Addr // what precedes the struct pt_regs in a frame, in bytes
	below       arch.Addr // bytes that functions may use below the stack pointer, if more than redZone
	load, store func(m arch.Memory, at arch.Addr, r *arch.Regs) (ok bool)

	step  string                                     // the kernel's handler of steps; "": it steps nothing
	cause func(x kapi.Context) (cause, owner uint64) // port.cause of a step
	// left does what the way out of a trap does whose handler has left something to it. nil: nothing.
	left func(t *traps, x kapi.Context, frame arch.Addr, regs *arch.Regs)
}

// A cpuData is the data of a CPU that a register points to, where the kernel has such. load sets the register reg, own
// maps the data of all CPUs, boot fills those of one, switched says which task runs, and mask whether interrupts are
// on.
type cpuData struct {
	reg      arch.Reg
	load     func(k *Kernel, cpu int, r *arch.Regs)
	own      func(k *Kernel, g kapi.Guest, cpus int)
	boot     func(e *Linux, cpu int)
	switched func(k *Kernel, g kapi.Guest, cpu int, task arch.Addr)
	mask     func(k *Kernel, g kapi.Guest, cpu int, r *arch.Regs)
}

// A portText is what else is done to a kernel's text, and where.
type portText struct {
	entry   arch.Reg  // in which a function finds its own address when it is called; 0: nowhere
	via     arch.Reg  // which register a jump over a function's entry goes through; 0: none
	thunks  arch.Addr // where thunks lie; 0: after the kernel's end
	overlay arch.Addr // where objects are laid; 0: after the kernel's end
	boot    arch.Addr // where the code lies that boot allocates; 0: it allocates none
	// tramp is where a branch to ftrace's trampoline lies, for sites that it is out of reach of; 0: there is none.
	tramp arch.Addr
	// local returns where calls by name enter a function. nil: where others do.
	local func(k *Kernel, at arch.Addr) arch.Addr
	// sites makes single instructions of the kernel call services. nil: none does.
	sites func(k *Kernel) error
}

// ports has a row for each processor whose kernels are run.
var ports = [...]*port{target.X8664: &portX8664, target.I386: &portI386, target.RISCV64: &portRISCV,
	target.ARM64: &portARM, target.PPC64LE: &portPPC}

// places are addresses of things in memory that no part of the kernel is linked to.
type places struct {
	tasks   arch.Addr // each task's task_struct
	users   arch.Addr // users' structs
	arrays  arch.Addr // the arrays that each task makes of the addresses of users' structs
	bans    arch.Addr // entries of the blacklist for functions of the scenario
	modules arch.Addr // structs of modules
	fprobes arch.Addr // users' structs fprobe; 0: there are none
	heap    arch.Addr // memory that kmalloc hands out at boot
	fence   arch.Addr // memory that kmalloc hands out in a run
	fenced  arch.Addr // the size in bytes of the address range at fence
	user    arch.Addr // the end of the addresses of user space
}

// On i386 everything except the machine's own memory lies in the 256 MiB below the kernel. The
// kernel's text is at its link address, and the text of scenarios lies below.
var (
	places64 = places{
		tasks: 0xffff_8880_0000_0000, users: 0xffff_8880_0800_0000, arrays: 0xffff_8880_0880_0000,
		bans:    0xffff_8880_0900_0000,
		modules: 0xffff_8880_0a00_0000, fprobes: 0xffff_8880_0c00_0000, heap: 0xffff_8880_1000_0000,
		fence: 0xffff_8880_4000_0000, fenced: 256 << 20,
		user: 1 << 47,
	}
	places32 = places{
		tasks: 0xb000_0000, users: 0xb080_0000, arrays: 0xb100_0000, bans: 0xb180_0000,
		modules: 0xb200_0000, heap: 0xb280_0000, fence: 0xb400_0000, fenced: 128 << 20, user: 0x8000_0000,
	}
)

// settle sets the processor that the kernel is built for.
func (k *Kernel) settle(p target.Processor) error {
	if k.port = ports[p]; k.port == nil {
		return fmt.Errorf("is a kernel for %s, whose own engine kpsim doesn't run; give one for x86-64, i386, "+
			"riscv64, arm64 or ppc64le", p)
	}
	k.Processor, k.places = p, *k.port.places
	k.arch, k.word = p.Linux(), p.Linux().Word
	k.poison = k.truncated(poison)
	for r := range k.arch.RegNames {
		if reg := arch.Reg(r); reg != k.arch.SP && reg != k.arch.Result && !slices.Contains(k.arch.Saved, reg) &&
			!(k.arch.Pushed == 0 && (reg == k.arch.Link || slices.Contains(k.arch.Own, reg))) {
			k.clobbered = append(k.clobbered, reg)
		}
	}
	return nil
}

// Arch returns the row of the processor that the kernel is built for.
func (k *Kernel) Arch() *arch.Arch { return k.arch }

// truncated returns a number truncated to a word.
func (k *Kernel) truncated(v uint64) uint64 { return uint64(k.arch.Addr(arch.Addr(v))) }

// words returns the offset of element n of an array of words.
func (k *Kernel) words(n int) arch.Addr { return arch.Addr(n * k.word) }

// pointer reads the word at an address.
func (e *env) pointer(x kapi.Context, at arch.Addr) arch.Addr {
	v, _ := x.Memory().Load(at, e.k.word)
	return arch.Addr(v)
}

// putWord writes a word within a step of the CPU that the memory belongs to.
func (e *env) putWord(at arch.Addr, v uint64) { e.d.Guest.Put(at, e.k.word, v) }

// arguments reads the arguments of a call, at the entry of the function. The first are in
// registers, the others above the return address. On i386 (-mregparm=3) a variadic function
// gets all of them there.
func (e *env) arguments(x kapi.Context, regs *arch.Regs, varied bool, a *args) {
	list := e.k.arch.Args
	if varied && e.k.Processor.Bits32() {
		list = nil
	}
	n := 0
	for ; n < len(list) && n < len(a); n++ {
		a[n] = regs.R[list[n]]
	}
	at := e.k.arch.StackPointer(regs) + arch.Addr(e.k.arch.Pushed)
	for ; n < len(a); n, at = n+1, at+e.k.words(1) {
		a[n], _ = x.Memory().Load(at, e.k.word)
	}
}

// enter calls a function. While it runs, arguments that don't fit into registers are on the
// stack, above the return address.
func (e *env) enter(x kapi.Context, f arch.Addr, list ...uint64) uint64 {
	a, r := e.k.arch, x.Regs()
	n := min(len(list), len(a.Args))
	for i, v := range list[:n] {
		r.R[a.Args[i]] = v
	}
	if n == len(list) {
		return e.run(x, f)
	}
	was := r.R[a.SP]
	at := (arch.Addr(was) - e.k.words(len(list)-n)) &^ 15
	for i, v := range list[n:] {
		x.Memory().Store(at+e.k.words(i), a.Word, v)
	}
	r.R[a.SP] = uint64(at)
	v := e.run(x, f)
	x.Regs().R[a.SP] = was
	return v
}

// run calls a function whose arguments are in their places.
func (e *env) run(x kapi.Context, f arch.Addr) uint64 {
	if r := e.k.port.text.entry; r != 0 {
		x.Regs().R[r] = uint64(f)
	}
	if mask := e.k.port.data.mask; mask != nil {
		mask(e.k, e.d.Guest, x.CPU(), x.Regs())
	}
	return x.Call(f)
}

// loadRegs reads the registers that the kernel has a pointer to (struct pt_regs).
func (e *env) loadRegs(x kapi.Context, at uint64, r *arch.Regs) {
	if f := e.k.port.frames.load; f != nil {
		f(x.Memory(), arch.Addr(at), r)
		return
	}
	e.k.arch.Frame.Load(x.Memory(), arch.Addr(at), r)
}

// storeRegs writes what loadRegs has read.
func (e *env) storeRegs(x kapi.Context, at uint64, r *arch.Regs) {
	if f := e.k.port.frames.store; f != nil {
		f(x.Memory(), arch.Addr(at), r)
		return
	}
	e.k.arch.Frame.Store(x.Memory(), arch.Addr(at), r)
}

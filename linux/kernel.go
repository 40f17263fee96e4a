package linux

import (
	"fmt"
	"slices"

	"kpsim/linux/closure"
	"kpsim/linux/overlay"
	"kpsim/linux/vmlinux"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
	"kpsim/smp/kapi"
)

// Moved is the distance of an x86-64 kernel from its link address, as KASLR would move it: the
// functions of scenarios lie at its link address. An i386 kernel stays at its link address,
// text32 or above, unless it has CONFIG_VMSPLIT_2G.
const Moved = 0x1000_0000

const text32 = 0xc100_0000

// moved is port.away of kernels that are moved by a fixed distance.
func moved(*Kernel) int64 { return Moved }

// moved32 is port.away of kernels of 32 bits.
func moved32(k *Kernel) int64 {
	if s := k.Image.Section(".text"); s != nil && s.Addr < text32 {
		return int64((text32 - s.Addr + moveUnit - 1) &^ (moveUnit - 1))
	}
	return 0
}

// moveUnit is the unit of moves: a kernel is moved by a multiple of it (vmlinux.Image.Move).
const moveUnit = 2 << 20

// overlayGap is the alignment of an overlay's address.
const overlayGap = 2 << 20

// A Kernel is an opened kernel, with its text prepared for the machine. It is immutable and
// may be shared.
type Kernel struct {
	Image   *vmlinux.Image
	Closure *closure.Closure // the functions of the kernel that run
	Objects []string         // the files that were laid over it

	Processor target.Processor // the processor that the kernel is built for
	arch      *arch.Arch       // the processor's row
	port      *port
	word      int // the size of an address in bytes
	maskBytes int // the size of a set of CPUs in bytes
	places    places
	clobbered []arch.Reg // the registers that a callee may clobber
	poison    uint64     // poison, truncated to a word

	images   []*kapi.Image // text and data, without per-CPU data
	perCPU   perCPU
	fields   fields
	services []*service // bound in this order

	text    span   // .text
	texts   []span // the .text of overlays
	extable func() []vmlinux.ExEntry
	symbols symbols
	api     api
	config  config
	labels  labelParts
	static  callParts
	records recordParts
	hooks   *hooking
}

// perCPU is the per-CPU section. Addresses are distances from a CPU's base; at is where the
// section is linked.
type perCPU struct {
	bytes []byte
	span  int // the size of a CPU's data in bytes, in whole pages

	at, preemptCount, currentTask, cpuNumber arch.Addr
	currentKprobe                            arch.Addr // 0: the kernel has none
	kprobeInstance                           arch.Addr // likewise
	ctlblk                                   arch.Addr // kprobe_ctlblk
}

// symbols are the addresses of the engine's functions and data. 0: the kernel has none.
type symbols struct {
	breakpoint   arch.Addr // the handler of breakpoints
	step         arch.Addr // the handler of steps; 0: the kernel steps nothing
	faultHandler arch.Addr // kprobe_fault_handler
	memset       arch.Addr // the function that __text_poke gets to fill text
	pokeArray    arch.Addr // text_poke_array
	kprobeMutex  arch.Addr
	table        arch.Addr    // kprobe_table
	optSlots     arch.Addr    // the cache of detours
	optimizer    [3]arch.Addr // optimizing_list, unoptimizing_list, freeing_list
	aggrPre      arch.Addr    // aggr_pre_handler
	retPre       arch.Addr    // pre_handler_kretprobe
	trampoline   arch.Addr    // the return address of calls that a return probe follows
	flushTask    arch.Addr    // rethook_flush_task
	calls        arch.Addr    // the hash table of the calls that return probes follow
}

// api holds the calls of the API, by verb: for one probe and for an array.
type api struct {
	one, ret, array, retArray [8]arch.Addr
	fprobe                    fprobeAPI
}

// config is how the kernel was built.
type config struct {
	ibt       bool        // CONFIG_X86_KERNEL_IBT
	without   string      // what kprobes can't be run without, and isn't there; "": they are run
	fprobes   string      // what fprobes can't be run without, and isn't there; "": they are run
	kgdbFirst bool        // CONFIG_KGDB_LOW_LEVEL_TRAP
	execmem   bool        // module_alloc is execmem_alloc(type, size)
	uncounted bool        // preempt_disable does nothing: no task is preempted in the kernel
	wanted    kapi.Wanted // how a task's flags ask it to give the CPU up; zero: no code looks
	completes bool        // tasks wait for the optimizer's thread by a completion
	counts    bool        // every return of an instance is seen (countable)
}

// A Booted is a kernel after its boot on a number of CPUs. Runs begin with it.
type Booted struct {
	Kernel *Kernel
	CPUs   int
	images []*kapi.Image
	boot   bootState
}

// Open opens a kernel's file and lays objects over it. The objects' functions replace the
// kernel's.
func Open(path string, objects ...string) (*Kernel, error) {
	im, err := vmlinux.Open(path)
	if err != nil {
		return nil, err
	}
	k := &Kernel{Image: im, Objects: objects}
	if err := k.settle(im.Processor()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if d := k.port.away(k); d != 0 {
		if err := im.Move(d); err != nil {
			return nil, err
		}
	}
	if err := k.resolve(im.Types()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(objects) > 0 {
		v, err := overlay.Link(im, k.overlayAt(), objects...)
		if err != nil {
			return nil, err
		}
		if err := v.Lay(im); err != nil {
			return nil, err
		}
	}
	if err := k.find(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if k.Closure, err = closure.Of(im, setsOf(k)...); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	k.config.counts = k.countable()
	k.config.completes = slices.ContainsFunc(k.Closure.Boundary, func(c closure.Callee) bool {
		return c.Name == "wait_for_completion"
	})
	if err := k.prepare(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

// overlayAt returns the address of an overlay: that of the port's, or after the end of the kernel.
func (k *Kernel) overlayAt() (end uint64) {
	if at := k.port.text.overlay; at != 0 {
		return uint64(at)
	}
	for _, s := range k.Image.Sections() {
		end = max(end, s.Addr+s.Size)
	}
	return (end + overlayGap) &^ (overlayGap - 1)
}

// at returns the address of a symbol, or 0 if the kernel has none.
func (k *Kernel) at(name string) arch.Addr {
	s, _ := k.Image.Symbol(name)
	return arch.Addr(s.Addr)
}

// compiled returns the address of a function, or 0 if the kernel has none. The compiler may
// have renamed the function because no caller uses all its arguments or its result (-fipa-sra).
func (k *Kernel) compiled(name string) arch.Addr {
	if at := k.at(name); at != 0 {
		return at
	}
	return k.at(name + ".isra.0")
}

// Symbol returns the function or data that an address lies in, and the offset. If the
// kernel's own table has no data (a build without CONFIG_KALLSYMS_ALL), the names of the file
// identify data, at its first byte only.
func (k *Kernel) Symbol(a arch.Addr) (name string, off int, ok bool) {
	s, ok := k.Image.Lookup(uint64(a))
	if !ok {
		return "", 0, false
	}
	if !k.Image.Together(s.Addr, uint64(a)) {
		s, ok = k.Image.At(uint64(a))
		return s.Name, 0, ok
	}
	return s.Name, int(uint64(a) - s.Addr), true
}

// whole suggests a file to use instead of a kernel that names no data or has no types, as
// Debian's vmlinuz for i386. The vmlinux that it was made from has both.
func (k *Kernel) whole() string {
	if k.Image.Types().From != "" && k.at("kprobe_table") != 0 {
		return ""
	}
	return "; give the vmlinux with its symbols and DWARF (scripts/fetch-kernel --dbg linux-image-" + k.Image.Release +
		")"
}

// renamed returns an error if objects contain a function but not its static data. Package
// linux finds such data by name, and would read the unused copy of the kernel below.
func (k *Kernel) renamed() error {
	for _, of := range [...]struct{ function, data string }{
		{"register_kprobe", "kprobe_table"}, {"kprobe_optimizer", "optimizing_list"},
		{"kprobe_optimizer", "unoptimizing_list"}, {"kprobe_optimizer", "freeing_list"},
	} {
		f, _ := k.Image.Symbol(of.function)
		if d, ok := k.Image.Symbol(of.data); ok && f.Laid() && !d.Laid() {
			return fmt.Errorf("the objects have %s and no %s, which is looked at by that name; leave it its name",
				of.function, of.data)
		}
	}
	return nil
}

// mutexIn returns the offset of a mutex from its symbol.
func mutexIn(k *Kernel, name string) arch.Addr {
	if name == "kprobe_insn_slots" || name == "kprobe_optinsn_slots" {
		return arch.Addr(k.fields.slots.mutex.off)
	}
	return 0
}

// ID identifies the kernel by its release, its build ID, and the digest of its file.
func (k *Kernel) ID() string {
	id := fmt.Sprintf("%s %x %x", k.Image.Release, k.Image.BuildID, k.Image.Digest[:8])
	if l := k.Image.Layer(); l != nil {
		id += fmt.Sprintf(" %x", l.Digest[:8])
	}
	return id
}

// replacement returns the function that objects laid over the kernel put in the place of the one at an address, which
// then only jumps to it; 0 if none does.
func (k *Kernel) replacement(at arch.Addr) arch.Addr {
	to, _ := k.Image.Layer().Replacement(uint64(at))
	return arch.Addr(to)
}

// Replaced reports whether an instruction that runs belongs to a replaced function, and so isn't the kernel's own.
func (k *Kernel) Replaced(at arch.Addr) bool { return k.replacement(at) != 0 }

// isText reports whether an address lies in the kernel's code or an overlay's.
func (k *Kernel) isText(at arch.Addr) bool {
	return slices.ContainsFunc(k.texts, func(s span) bool { return s.has(at) })
}

// AsksKgdb reports whether the kernel's probes ask a debugger where its breakpoints are (CONFIG_KGDB).
func (k *Kernel) AsksKgdb() bool { return k.at("kgdb_has_hit_break") != 0 }

// AsksKgdbFirst reports whether the kernel's handler of breakpoints asks a debugger before its
// probes (CONFIG_KGDB_LOW_LEVEL_TRAP). Such a debugger claims every breakpoint in the kernel.
func (k *Kernel) AsksKgdbFirst() bool { return k.config.kgdbFirst }

// ServesUser reports whether the boundary serves the kernel's handlers of traps from user mode
// up to the return to user mode. Handlers of 7.0 and later call exit_to_user_mode_loop themselves.
func (k *Kernel) ServesUser() bool {
	return !slices.ContainsFunc(k.Closure.Boundary, func(c closure.Callee) bool {
		return c.Name == "exit_to_user_mode_loop"
	})
}

// Preemptible reports whether the kernel is built with CONFIG_PREEMPTION.
func (k *Kernel) Preemptible() bool { return k.at("preempt_schedule") != 0 }

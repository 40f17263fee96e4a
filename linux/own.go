package linux

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"kpsim/engine"
	"kpsim/linux/vmlinux"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// Memory that a kernel's boot would make: the data of each CPU, tasks, a heap.

const (
	taskStep = 0x4000 // bytes, of a task_struct
	mostTask = 256
)

func (k *Kernel) taskAt(t kapi.TaskID) arch.Addr { return k.places.tasks + arch.Addr(t)*taskStep }

func (e *env) taskAt(t kapi.TaskID) arch.Addr { return e.k.taskAt(t) }

// enabled is the preemption count of a task that can be preempted.
const enabled = 1 << 31

// mapOwn maps that memory, on a machine that boots the kernel.
func (e *Linux) mapOwn(g kapi.Guest, cpus int) {
	k := e.k
	e.boot.heap.next = e.k.places.heap
	g.Map(&kapi.Image{At: e.k.places.heap, Size: heapSize, Write: true})
	g.Map(&kapi.Image{At: e.k.places.arrays, Size: mostTask * page, Write: true})
	g.Map(&kapi.Image{At: e.k.places.bans, Size: banSize, Write: true})
	g.Map(&kapi.Image{At: k.near(), Size: nearSize, Write: true})
	g.Map(&kapi.Image{At: e.k.places.modules, Size: mostModules * moduleStep, Write: true})
	tasks := &kapi.Image{At: e.k.places.tasks, Size: mostTask * taskStep, Write: true, Over: make(map[int]*[page]byte)}
	init := slices.Clone(k.bytes(k.at("init_task"), k.fields.task.size))
	if f := k.fields.thread.count; f.size > 0 { // boot's own task can't be preempted
		clear(init[f.off : f.off+f.size])
		at := init[k.fields.thread.flags.off:]
		binary.LittleEndian.PutUint64(at, k.config.wanted.Not(binary.LittleEndian.Uint64(at)))
	}
	for t := range mostTask {
		for off := 0; off < len(init); off += page {
			b := new([page]byte)
			copy(b[:], init[off:])
			tasks.Over[t*taskStep/page+off/page] = b
		}
	}
	g.Map(tasks)
	if at := k.port.text.boot; at != 0 {
		g.Map(&kapi.Image{At: at, Size: bootCodeSize, Exec: true})
	}
	if f := k.port.data.own; f != nil {
		f(k, g, cpus)
	}
	for c := range cpus {
		own := append([]byte(nil), k.perCPU.bytes...)
		g.Map(&kapi.Image{At: g.PerCPU(c, k.perCPU.at), Bytes: own, Size: k.perCPU.span, Write: true})
	}
}

// BootCPUs sets the variables that hold the sets of CPUs.
func (e *Linux) BootCPUs() {
	g, k, cpus := e.d.Guest, e.k, e.d.CPUs
	all := uint64(1)<<cpus - 1
	for c := range cpus {
		base := uint64(g.PerCPU(c, 0))
		e.putWord(k.at("__per_cpu_offset")+k.words(c), base)
		if f := k.port.data.boot; f != nil {
			f(e, c)
		}
		if k.port.perTask {
			continue
		}
		e.putWord(g.PerCPU(c, k.at("this_cpu_off")), base)
		g.Put(g.PerCPU(c, k.perCPU.preemptCount), 4, enabled)
		g.Put(g.PerCPU(c, k.perCPU.cpuNumber), 4, uint64(c))
	}
	if at := k.at("nr_cpu_ids"); at != 0 {
		g.Put(at, 4, uint64(cpus))
	}
	e.putOnline(all)
	if at := k.at("__num_possible_cpus"); at != 0 {
		g.Put(at, 4, uint64(cpus))
	}
	for _, name := range []string{"__cpu_possible_mask", "__cpu_present_mask"} {
		g.Put(k.at(name), min(8, k.maskBytes), all)
	}
	g.Put(k.at("system_state"), 4, systemRunning)
	for _, name := range []string{"static_key_initialized", "static_call_initialized"} {
		if at := k.at(name); at != 0 {
			g.Put(at, 1, 1)
		}
	}
	if off, size, ok := k.Image.Types().Off("cpuinfo_x86", "x86_virt_bits"); ok {
		g.Put(k.at("boot_cpu_data")+arch.Addr(off), size, k.virtualBits())
	}
}

// putOnline sets the variables that say which CPUs are online.
func (e *Linux) putOnline(cpus uint64) {
	g, k := e.d.Guest, e.k
	g.Put(k.at("__num_online_cpus"), 4, uint64(bits.OnesCount64(cpus)))
	g.Put(k.at("__cpu_online_mask"), min(8, k.maskBytes), cpus)
}

// systemRunning is SYSTEM_RUNNING of 5.x and later.
const systemRunning = 3

// virtualBits returns how many bits an address has. On x86-64 it assumes four levels of page tables.
func (k *Kernel) virtualBits() uint64 {
	if k.Processor.Bits32() {
		return 32
	}
	return 48
}

// MostCPUs returns how many CPUs the kernel is built for (CONFIG_NR_CPUS, rounded up).
func (k *Kernel) MostCPUs() int { return 8 * k.maskBytes }

// Boot runs the kernel's own initialisation of its engine, and returns an error if that fails.
func (e *Linux) Boot(x kapi.Context) error {
	for _, name := range []string{"init_kprobes", "init_optprobes"} {
		f := e.k.at(name)
		if f == 0 || e.k.config.without != "" {
			continue
		}
		if v := int32(e.call(x, f)); v != 0 {
			return fmt.Errorf("%s answers %d", name, v)
		}
	}
	e.thread.settle(x)
	return nil
}

// place formats the file and line of a BUG or WARN.
func place(b vmlinux.Bug) string { return fmt.Sprintf("%s:%d", b.File, b.Line) }

// Booted returns the kernel as a run has left it. Other machines begin with it.
func (e *Linux) Booted() *Booted {
	b := &Booted{Kernel: e.k, CPUs: e.d.CPUs, images: e.d.Guest.Left(), boot: e.boot}
	if len(b.boot.held) > 0 { // the trampoline has a probe of the kernel's own, which is disarmed and armed
		b.boot.held = append(slices.Clone(b.boot.held), engine.Held{At: e.k.symbols.trampoline,
			Size: uint64(2 * e.k.arch.BranchLen), What: smpev.TrampolineMem})
	}
	b.boot.code = slices.Clone(e.memory.code)
	b.boot.heap = heap{next: e.memory.heap.next, live: append([]span(nil), e.memory.heap.live...)}
	return b
}

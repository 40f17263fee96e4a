package linux

import (
	"slices"

	"kpsim/linux/vmlinux"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// Modules of the scenario. Each has a struct module in memory, as if the kernel had loaded it.

// The structs lie one after the other. Each is followed by the addresses of the module's
// functions that refuse probes (kprobe_blacklist).
const (
	moduleStep  = page
	mostModules = 256
	banned      = 2048 // bytes from the struct
	mostBanned  = (moduleStep - banned) / 8
)

// The values of module.state and of the notifiers (enum module_state).
var moduleStates = [...]uint64{kapi.ModuleLive: 0, kapi.ModuleComing: 1, kapi.ModuleGoing: 2, kapi.ModuleUnformed: 3}

// moduleFields are the members of a struct module that the engine reads.
type moduleFields struct {
	size                               int // 0: the kernel has no modules
	state, name, banned, count         field
	coreAt, coreSize, initAt, initSize field
	labels, labelCount                 field // its own tables of sites, where the kernel has such
	calls, callCount                   field
}

// The places in module.mem (enum mod_mem_type).
const (
	memText     = 0
	memInitText = 4
)

// modules finds the members. A module's memory is an array in 6.4 and later, and two structs
// before.
func modules(t *vmlinux.Types) (f moduleFields, ok bool) {
	f.size, ok = t.Size("module")
	get := func(base int, name, member string) field {
		off, size, there := t.Off(name, member)
		ok = ok && there
		return field{base + off, size}
	}
	f.state, f.name = get(0, "module", "state"), get(0, "module", "name")
	f.banned, f.count = get(0, "module", "kprobe_blacklist"), get(0, "module", "num_kprobe_blacklist")
	if mem, _, there := t.Off("module", "mem"); there {
		each, _ := t.Size("module_memory")
		text, init := mem+memText*each, mem+memInitText*each
		f.coreAt, f.coreSize = get(text, "module_memory", "base"), get(text, "module_memory", "size")
		f.initAt, f.initSize = get(init, "module_memory", "base"), get(init, "module_memory", "size")
	} else {
		f.coreAt, f.coreSize = get(0, "module", "core_layout.base"), get(0, "module", "core_layout.size")
		f.initAt, f.initSize = get(0, "module", "init_layout.base"), get(0, "module", "init_layout.size")
	}
	f.labels, _ = part(t, "module", "jump_entries", true)
	f.labelCount, _ = part(t, "module", "num_jump_entries", true)
	f.calls, _ = part(t, "module", "static_call_sites", true)
	f.callCount, _ = part(t, "module", "num_static_call_sites", true)
	return f, ok && f.size <= banned && f.name.size > 0
}

// moduleList lists the scenario's modules that have a struct module.
type moduleList struct {
	*env
	list  []*kapi.Module
	early []bool // the module was live when the run began: its sites are in the kernel's own tables
}

// at returns where the struct of a module lies.
func (ml *moduleList) at(m *kapi.Module) arch.Addr {
	for i, o := range ml.list {
		if o == m {
			return ml.k.places.modules + arch.Addr(i)*moduleStep
		}
	}
	return 0
}

// holds returns the number of the module that an address lies in and that comes in the run, or -1. The kernel's own
// tables have the sites that no such module has.
func (ml *moduleList) holds(at arch.Addr) int {
	for i, m := range ml.list {
		if !ml.early[i] && (m.Core.Has(at) || m.Init.Has(at)) {
			return i
		}
	}
	return -1
}

// loaded reports whether any module is live, coming or going.
func (ml *moduleList) loaded() bool {
	for _, m := range ml.list {
		if ml.look(ml.at(m), ml.k.fields.module.state) != moduleStates[kapi.ModuleUnformed] {
			return true
		}
	}
	return false
}

// of returns the module whose struct lies at an address, nil if there is none.
func (ml *moduleList) of(at uint64) *kapi.Module {
	i := (at - uint64(ml.k.places.modules)) / moduleStep
	if arch.Addr(at) < ml.k.places.modules || i >= uint64(len(ml.list)) ||
		arch.Addr(at) != ml.k.places.modules+arch.Addr(i*moduleStep) {
		return nil
	}
	return ml.list[i]
}

// onState updates a module's struct, within the step in which the module's state changes.
func (ml *moduleList) onState(m *kapi.Module, s kapi.ModuleState, init bool) {
	at := ml.at(m)
	if at == 0 && len(ml.list) < mostModules {
		at = ml.k.places.modules + arch.Addr(len(ml.list))*moduleStep
		ml.list, ml.early = append(ml.list, m), append(ml.early, s == kapi.ModuleLive)
	}
	f, g := &ml.k.fields.module, ml.d.Guest
	if at == 0 || f.size == 0 {
		return
	}
	put := func(f field, v uint64) { g.Put(at+arch.Addr(f.off), f.size, v) }
	// The list is filled when the module is loaded. A module that is live from the start has no
	// list: ban has made its entries.
	if s == kapi.ModuleComing {
		put(f.count, 0)
		for _, b := range ml.d.Symbols.Blacklist(nil) {
			n, _ := g.Get(at+arch.Addr(f.count.off), f.count.size)
			if b.Module == m.Name && n < mostBanned {
				ml.putWord(at+banned+ml.k.words(int(n)), uint64(b.Addr))
				put(f.count, n+1)
			}
		}
		i := slices.Index(ml.list, m)
		from, n := ml.e.patched.layModuleLabels(i)
		put(f.labels, uint64(from))
		put(f.labelCount, uint64(n))
		from, n = ml.e.patched.layModuleCalls(i)
		put(f.calls, uint64(from))
		put(f.callCount, uint64(n))
	}
	for i := range min(f.name.size-1, len(m.Name)) {
		g.Put(at+arch.Addr(f.name.off+i), 1, uint64(m.Name[i]))
	}
	put(f.banned, uint64(at+banned))
	put(f.state, moduleStates[s])
	put(f.coreAt, uint64(m.Core.At))
	put(f.coreSize, uint64(m.Core.Size))
	put(f.initAt, 0)
	put(f.initSize, 0)
	if init && m.Init.Size > 0 {
		put(f.initAt, uint64(m.Init.At))
		put(f.initSize, uint64(m.Init.Size))
	}
}

// onModule calls the kernel's own notifiers, those of jump labels and static calls first: the first has a higher
// priority, the second was registered before that of probes. That is the first member of struct notifier_block.
func (ml *moduleList) onModule(x kapi.Context, m *kapi.Module, s kapi.ModuleState) {
	at, f := ml.at(m), &ml.k.fields.module
	for _, c := range [...]struct {
		notify arch.Addr
		count  field
	}{{ml.k.labels.notify, f.labelCount}, {ml.k.static.notify, f.callCount}} {
		if c.notify != 0 && c.count.size > 0 && at != 0 && ml.look(at, c.count) > 0 {
			ml.call(x, c.notify, 0, moduleStates[s], uint64(at))
		}
	}
	block := ml.boot.moduleNotifier
	if block == 0 {
		return
	}
	ml.call(x, ml.pointer(x, block), uint64(block), moduleStates[s], uint64(at))
}

// moduleText is __module_text_address(addr) and __module_address: probes ask only about text.
func moduleText(e *Linux, x kapi.Context, a *args) uint64 {
	m := e.d.Modules.Find(x, arch.Addr(a[0]))
	if m == nil {
		return 0
	}
	return uint64(e.modules.at(m))
}

func isModuleText(e *Linux, x kapi.Context, a *args) uint64 {
	return b2u(e.d.Modules.Find(x, arch.Addr(a[0])) != nil)
}

// moduleGet is try_module_get(mod). NULL stands for the kernel itself.
func moduleGet(e *Linux, x kapi.Context, a *args) uint64 {
	if a[0] == 0 {
		return 1
	}
	m := e.modules.of(a[0])
	if m == nil {
		e.bug(x, "try_module_get of what is no module")
		return 0
	}
	return b2u(e.d.Modules.Get(x, m))
}

func modulePut(e *Linux, x kapi.Context, a *args) uint64 {
	if a[0] == 0 {
		return 0
	}
	m := e.modules.of(a[0])
	if m == nil {
		e.bug(x, "module_put of what is no module")
		return 0
	}
	e.d.Modules.Put(x, m)
	return 0
}

func registerModuleNotifier(e *Linux, _ kapi.Context, a *args) uint64 {
	e.boot.moduleNotifier = arch.Addr(a[0])
	return 0
}

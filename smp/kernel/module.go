package kernel

import (
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// Modules are the loadable modules of a machine. It implements kapi.Modules.
//
// Lock order: module_mutex is held over no notifier and no grace period.
type Modules struct {
	k     *Kernel
	list  []*Module             // set at boot
	mutex *Mutex                // module_mutex; set at boot, nil: there is no module
	chain []kapi.ModuleNotifier `state:"boot"` // owned by the boot of a run

	onState []func(m *kapi.Module, s kapi.ModuleState, init bool) `state:"boot"` // owned by the boot of a run
}

// A Module is text in pages of its own, which are mapped and filled when it is loaded and unmapped when it is
// unloaded. A CPU that executes there afterwards faults. The module's data is loaded and unloaded with it.
type Module struct {
	kapi.Module
	k      *Kernel
	number uint64         // set at boot: as monitors know it
	funcs  []moduleFunc   `state:"boot"` // set at boot
	init   arch.Addr      // set at boot: called when it is loaded; 0: nothing
	exit   arch.Addr      // set at boot: called when it is unloaded; 0: nothing
	boot   bool           // set at boot: a run begins with it loaded, its init done
	data   []kapi.Section // set at boot: the pages of its data

	state  kapi.Var[kapi.ModuleState]
	refs   kapi.Var[int]  // of holders, and one of the load; 0: it can't be held
	inits  kapi.Var[bool] // its init section is mapped
	loads  kapi.Var[bool] // it is live, but its load isn't finished
	taken  bool           // owned by module_mutex: it is loaded, or being loaded or unloaded
	coming bool           // owned by the task that loads it: its load holds it, counted in refs
	is     moduleIs       // owned by the task that loads or unloads it: the values it has stored in state and inits

	core, initial int // set at boot: the numbers of the sections' ranges; -1: there is no init section
}

// The orders of modules.
var (
	moduleFound = kapi.DefineBarrier("module: fill before publishing", kapi.OrderRelease,
		"mod_tree_insert, kernel/module/tree_lookup.c: rcu_assign_pointer() of rb_link_node_rcu")
	moduleGoes = kapi.DefineBarrier("module: going before counting", kapi.OrderMB,
		"do_init_module, kernel/module/main.c: synchronize_rcu() after MODULE_STATE_GOING")
	moduleStops = kapi.DefineBarrier("module: stop", kapi.OrderFull,
		"try_release_module_ref, kernel/module/main.c: atomic_sub_return(MODULE_REF_BASE, &module->refcnt)")
	moduleGet = kapi.DefineBarrier("module: get", kapi.OrderFull,
		"try_module_get, kernel/module/main.c: atomic_inc_not_zero(&module->refcnt)")
	modulePut = kapi.DefineBarrier("module: put", kapi.OrderFull,
		"module_put, kernel/module/main.c: atomic_dec_if_positive(&module->refcnt)")
)

// moduleIs is the module's state as the task that changes it knows it. Other tasks may see it later.
type moduleIs struct {
	state kapi.ModuleState // owned by the task that loads or unloads it
	init  bool             // owned by the task that loads or unloads it
}

// A moduleFunc is a function of a module.
type moduleFunc struct {
	at   arch.Addr // set at boot
	code []byte    // set at boot
	init bool      // set at boot: in the init section
}

// The errnos of loading and unloading, besides 0 and the result of the module's init.
const (
	ModuleEAGAIN = 11 // it is in use
	ModuleEBUSY  = 16 // it is coming or going
	ModuleEEXIST = 17 // it is loaded
	ModuleENOENT = 2  // it isn't loaded
	ModuleENOSYS = 38 // a kernel without CONFIG_MODULES, or CONFIG_MODULE_UNLOAD
)

// A ModuleText is a function for NewModule.
type ModuleText struct {
	Name    string
	At      arch.Addr
	Code    []byte
	Extable []int // offsets of instructions with an exception-table entry
	Init    bool  // it is unmapped when the module's init has ended
}

func (ms *Modules) init(k *Kernel) { ms.k = k }

func (ms *Modules) reset() {
	ms.chain, ms.onState = ms.chain[:0], ms.onState[:0]
	for _, m := range ms.list {
		m.rewind()
	}
}

const pageSize = 1 << 12

// NewModule makes a module, at boot. Its functions lie in pages of their own, those of the init section apart from
// the rest. init and exit are addresses of such functions, or 0. loaded: a run begins with it loaded, and its init
// section gone.
func (ms *Modules) NewModule(name string, texts []ModuleText, init, exit arch.Addr, loaded bool) *Module {
	k := ms.k
	if ms.mutex == nil {
		ms.mutex = k.Locks.bootMutex("module_mutex")
	}
	m := &Module{Module: kapi.Module{Name: name}, k: k, number: uint64(len(ms.list)), init: init, exit: exit,
		boot: loaded}
	for i := range texts {
		t := &texts[i]
		m.funcs = append(m.funcs, moduleFunc{t.At, t.Code, t.Init})
		if s := m.section(t.Init); s.Size == 0 || t.At < s.At {
			end := max(s.At+arch.Addr(s.Size), t.At+arch.Addr(len(t.Code)))
			if s.At = t.At &^ (pageSize - 1); s.Size == 0 {
				end = t.At + arch.Addr(len(t.Code))
			}
			s.Size = pages(s.At, end)
		} else {
			s.Size = max(s.Size, pages(s.At, t.At+arch.Addr(len(t.Code))))
		}
		k.M.Names().AddSymbol(t.Name, t.At, len(t.Code))
		k.Symbols.Add(kapi.Function{Name: t.Name, Addr: t.At, Size: len(t.Code), Module: name}, t.Extable)
	}
	core, initial := kapi.TextNone, kapi.TextNone
	if loaded {
		core, initial = kapi.TextCore, kapi.TextFreed
	}
	m.core, m.initial = k.Symbols.AddRange(Range{Addr: m.Core.At, Size: m.Core.Size, Kind: core}), -1
	if m.Init.Size > 0 {
		m.initial = k.Symbols.AddRange(Range{Addr: m.Init.At, Size: m.Init.Size, Kind: initial})
	}
	k.M.Memory().MapLater(m.Core.At, m.Core.Size/pageSize, loaded)
	k.M.Memory().MapLater(m.Init.At, m.Init.Size/pageSize, false)
	for i := range m.funcs {
		f := &m.funcs[i]
		if loaded && !f.init {
			k.M.Memory().Map(f.at, f.code, smp.PermRead|smp.PermExec)
		}
	}
	m.state.Init(&k.M.Cells, kapi.ModuleUnformed)
	m.refs.Init(&k.M.Cells, 0)
	m.inits.Init(&k.M.Cells, false)
	m.loads.Init(&k.M.Cells, false)
	ms.list = append(ms.list, m)
	m.rewind()
	return m
}

// AddData gives the module a block of data, at boot, in ascending order. Its pages are mapped
// already and are the module's alone. Each load restores the data's contents at boot.
func (m *Module) AddData(at arch.Addr, size int) {
	first := at &^ (pageSize - 1)
	next := kapi.Section{At: first, Size: pages(first, at+arch.Addr(size))}
	if n := len(m.data); n > 0 && first <= m.data[n-1].At+arch.Addr(m.data[n-1].Size) {
		last := &m.data[n-1]
		last.Size = max(last.Size, int(first-last.At)+next.Size)
	} else {
		m.data = append(m.data, next)
	}
	m.k.M.Memory().ComeAndGo(first, next.Size, m.boot)
}

// Data returns where the module's data are, whole pages.
func (m *Module) Data() []kapi.Section { return m.data }

// pages is the size of the pages from at, the start of one, up to end.
func pages(at, end arch.Addr) int { return int(end-at+pageSize-1) &^ (pageSize - 1) }

// section is the section that a function is in.
func (m *Module) section(init bool) *kapi.Section {
	if init {
		return &m.Init
	}
	return &m.Core
}

// rewind restores the module's state at the beginning of a run.
func (m *Module) rewind() {
	m.taken, m.coming = m.boot, false
	m.state.Set(kapi.ModuleUnformed)
	m.refs.Set(0)
	m.inits.Set(false)
	m.loads.Set(false)
	m.is = moduleIs{}
	if m.boot {
		m.is.state = kapi.ModuleLive
		m.state.Set(kapi.ModuleLive)
		m.refs.Set(1)
	}
}

// set gives the sections their kinds for kallsyms: the symbols of an unmapped section can't be found.
func (m *Module) set(x kapi.Context, core, initial kapi.TextKind) {
	ms := &m.k.Modules
	ms.mutex.Lock(x)
	m.k.Symbols.SetKind(x, m.core, core)
	if m.initial >= 0 {
		m.k.Symbols.SetKind(x, m.initial, initial)
	}
	ms.mutex.Unlock(x)
}

// Known implements kapi.Modules.
func (ms *Modules) Known(name string) bool { return ms.Named(name) != nil }

// Now returns the state that the module is in, without a point.
func (m *Module) Now() kapi.ModuleState { return m.state.Peek() }

// Named returns the module of that name, nil if there is none.
func (ms *Modules) Named(name string) *Module {
	for _, m := range ms.list {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// Load loads a module (init_module). It returns 0, an errno of those above, or the result of the module's init, as a
// positive number. Context: may sleep.
//
//	step 1: map it and store its text; its symbols appear
//	step 2: it is coming; notifiers
//	step 3: its init runs
//	step 4: it is live; notifiers
//	step 5: the symbols of its init section go; a grace period; the section is unmapped
func (ms *Modules) Load(x kapi.Context, m *Module) (errno int) {
	if ms.k.cfg.NoModules {
		return ModuleENOSYS
	}
	ms.mutex.Lock(x)
	taken := m.taken
	m.taken = true
	ms.mutex.Unlock(x)
	if taken {
		return ModuleEEXIST
	}
	m.fill(x, false)
	m.fill(x, true)
	for _, s := range m.data {
		ctxOf(x).Pages().Map(s.At, s.Size/pageSize)
		x.Emit(smpev.Alloc, uint64(s.At), uint64(s.Size), smpev.ModuleMem)
	}
	ms.k.Sync.Core(x, smpev.SyncFlush) // the pages become executable: set_memory_x flushes
	m.set(x, kapi.TextCore, kapi.TextInit)

	m.refs.WriteOnce(x, 2) // one is the load's, one its init's (module_unload_init: atomic_set)
	m.coming = true
	m.become(x, kapi.ModuleComing)
	ms.k.section(x, m.Core, true)
	ms.k.section(x, m.Init, true)
	ms.k.Prefix.follow(x, m.Core, true)
	ms.k.Prefix.follow(x, m.Init, true)
	ms.notify(x, m, kapi.ModuleComing)

	x.Step("load_module", 3)
	if m.init != 0 {
		if ret := int32(x.Call(m.init)); ret < 0 {
			m.become(x, kapi.ModuleGoing)
			m.retire(x, m.Core)
			m.retire(x, m.Init)
			x.Fence(moduleGoes)
			ms.notify(x, m, kapi.ModuleGoing)
			// A client that got the module while it was coming still holds it. A kernel frees the
			// module all the same; here the client's later Put would hit the next load.
			for m.refs.ReadOnce(x) > 2 {
				ms.k.RCU.Synchronize(x, kapi.QuiesceRCU)
			}
			*m.refs.RMW(x, kapi.Once) = 0
			m.coming = false
			m.free(x)
			return int(-ret)
		}
	}

	m.loading(true)
	m.become(x, kapi.ModuleLive)
	m.retire(x, m.Init)
	ms.notify(x, m, kapi.ModuleLive)
	m.Put(x)
	m.coming = false

	ms.k.section(x, m.Init, false)
	ms.k.Prefix.follow(x, m.Init, false)
	m.inits.WriteOnce(x, false) // mod_tree_remove_init
	m.is.init = false
	m.tell()
	m.set(x, kapi.TextCore, kapi.TextFreed)
	ms.k.RCU.Synchronize(x, kapi.QuiesceRCU)
	m.unmap(x, m.Init)
	m.loading(false)
	return 0
}

// loading sets whether the load of a live module is unfinished. Only its init section is left to unmap, whose place
// another load would take. A kernel has no such word, so it isn't subject to weak memory.
func (m *Module) loading(on bool) {
	m.k.M.Footprint().TouchCell(m.loads.ID(), true)
	m.loads.Overwrite(on)
}

// Unload unloads a module (delete_module). It returns 0 or an errno of those above: EBUSY also while its load isn't
// finished. A kernel may unload it by then, because its sections' addresses aren't reused at once. Context: may
// sleep.
//
//	step 1: if it isn't in use, make it going: it can't be held any more
//	step 2: its exit runs
//	step 3: notifiers
//	step 4: its symbols go; a grace period; it is unmapped
func (ms *Modules) Unload(x kapi.Context, m *Module) (errno int) {
	if ms.k.cfg.NoModules || ms.k.cfg.NoUnload {
		return ModuleENOSYS
	}
	ms.mutex.Lock(x)
	m.k.M.Footprint().TouchCell(m.loads.ID(), false)
	switch state := m.state.ReadOnce(x); {
	case state == kapi.ModuleUnformed && !m.taken:
		errno = ModuleENOENT
	case state != kapi.ModuleLive:
		errno = ModuleEBUSY
	case !m.refs.Swap(x, moduleStops, 1, 0):
		errno = ModuleEAGAIN
		m.denies(ctxOf(x))
	case m.loads.Peek():
		*m.refs.Change(x, kapi.Once) = 1
		errno = ModuleEBUSY
	default:
		m.become(x, kapi.ModuleGoing)
		m.retire(x, m.Core)
	}
	ms.mutex.Unlock(x)
	if errno != 0 {
		return errno
	}
	x.Step("delete_module", 2)
	if m.exit != 0 {
		x.Call(m.exit)
	}
	ms.notify(x, m, kapi.ModuleGoing)
	m.free(x)
	return 0
}

// free takes a module that is going away.
func (m *Module) free(x kapi.Context) {
	ms := &m.k.Modules
	m.k.section(x, m.Core, false)
	m.k.Prefix.follow(x, m.Core, false)
	m.k.Prefix.follow(x, m.Init, false)
	m.become(x, kapi.ModuleUnformed)
	m.set(x, kapi.TextNone, kapi.TextNone)
	m.k.RCU.Synchronize(x, kapi.QuiesceRCU)
	m.unmap(x, m.Core)
	for _, s := range m.data {
		m.unmap(x, s)
	}
	if m.inits.ReadOnce(x) {
		m.inits.WriteOnce(x, false) // no task finds the module any more
		m.is.init = false
		m.unmap(x, m.Init)
	}
	ms.mutex.Lock(x)
	m.taken = false
	ms.mutex.Unlock(x)
}

// fill maps a section and stores its text, before any task can know its address.
func (m *Module) fill(x kapi.Context, init bool) {
	s := *m.section(init)
	if s.Size == 0 {
		return
	}
	c := ctxOf(x)
	c.Pages().Map(s.At, s.Size/pageSize)
	x.Emit(smpev.Alloc, uint64(s.At), uint64(s.Size), smpev.ModuleMem)
	for i := range m.funcs {
		if f := &m.funcs[i]; f.init == init {
			m.k.Text.Fill(x, f.at, f.code)
		}
	}
	if init {
		m.inits.StoreRelease(x, moduleFound, true)
		m.is.init = true
	}
}

// retire announces that a section is about to go: its text is no longer restored.
func (m *Module) retire(x kapi.Context, s kapi.Section) {
	if s.Size > 0 {
		x.Emit(smpev.Retire, uint64(s.At), uint64(s.Size), smpev.ModuleMem)
	}
}

// unmap unmaps a section: its bytes are poisoned, and the CPUs' translations are flushed by IPIs, from which each CPU
// returns by an IRET.
func (m *Module) unmap(x kapi.Context, s kapi.Section) {
	if s.Size == 0 {
		return
	}
	c := ctxOf(x)
	x.Emit(smpev.Free, uint64(s.At), uint64(s.Size), smpev.ModuleMem)
	for i := range m.funcs {
		if f := &m.funcs[i]; s.Has(f.at) {
			c.Text().Poison(f.at, len(f.code))
		}
	}
	c.Pages().Unmap(s.At, s.Size/pageSize)
	m.k.Sync.Core(x, smpev.SyncFlush)
}

// become sets the state (point).
func (m *Module) become(x kapi.Context, s kapi.ModuleState) {
	if s == kapi.ModuleComing { // from now on it can be found
		m.state.StoreRelease(x, moduleFound, s)
	} else {
		m.state.WriteOnce(x, s)
	}
	m.is.state = s
	m.tell()
}

// tell calls the functions registered by OnState.
func (m *Module) tell() {
	for _, f := range m.k.Modules.onState {
		f(&m.Module, m.is.state, m.is.init)
	}
}

func (ms *Modules) notify(x kapi.Context, m *Module, s kapi.ModuleState) {
	for _, h := range ms.chain {
		h(x, &m.Module, s)
	}
}

// OnChange implements kapi.Modules.
func (ms *Modules) OnChange(h kapi.ModuleNotifier) { ms.chain = append(ms.chain, h) }

// OnState implements kapi.Modules.
func (ms *Modules) OnState(f func(m *kapi.Module, s kapi.ModuleState, init bool)) {
	ms.onState = append(ms.onState, f)
	for _, m := range ms.list {
		f(&m.Module, m.is.state, m.is.init)
	}
}

// State implements kapi.Modules.
func (ms *Modules) State(x kapi.Context, m *kapi.Module) kapi.ModuleState {
	return ms.of(m).state.ReadOnce(x)
}

// Get implements kapi.Modules.
func (ms *Modules) Get(x kapi.Context, m *kapi.Module) bool {
	o := ms.of(m)
	if s := o.state.ReadOnce(x); s == kapi.ModuleGoing || s == kapi.ModuleUnformed {
		return false
	}
	n := o.refs.RMW(x, moduleGet)
	if *n == 0 {
		return false
	}
	*n++
	return true
}

// Put implements kapi.Modules.
func (ms *Modules) Put(x kapi.Context, m *kapi.Module) { ms.of(m).Put(x) }

// Put drops a hold on the module.
func (m *Module) Put(x kapi.Context) { kapi.Add(&m.refs, x, modulePut, -1) }

// SetUnload sets, at boot, whether the kernel has CONFIG_MODULE_UNLOAD.
func (k *Kernel) SetUnload(on bool) { k.cfg.NoUnload = !on }

// Mutex returns module_mutex, nil if there is no module.
func (ms *Modules) Mutex() kapi.Mutex {
	if ms.mutex == nil {
		return nil
	}
	return ms.mutex
}

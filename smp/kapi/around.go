package kapi

import "kpsim/smp/arch"

// A ModuleState is where a module is in its life.
type ModuleState uint8

// The states. A module whose state is unformed isn't found by its text.
const (
	ModuleUnformed ModuleState = iota // not loaded, being put together, or being freed
	ModuleComing                      // its text is in place, its init has not ended
	ModuleLive                        // its init has ended, and its init section is about to be freed
	ModuleGoing                       // it can't be held any more; its text is still there
)

var moduleStateNames = [...]string{"unformed", "coming", "live", "going"}

func (s ModuleState) String() string { return moduleStateNames[s] }

// A Section is a piece of a module's memory. Size 0: there is none.
type Section struct {
	At   arch.Addr
	Size int
}

// Has reports whether addr lies in the section.
func (s Section) Has(addr arch.Addr) bool { return addr >= s.At && addr < s.At+arch.Addr(s.Size) }

// A Module is what a client may know of one that is loaded. It is the kernel's:
// the same pointer in each load of it, and shared.
type Module struct {
	Name string
	Core Section // stays until the module is unloaded
	Init Section // freed when its init has ended
	_    struct{}
}

// A ModuleNotifier is called when a module reaches a state. Context: may sleep.
// At ModuleGoing the module can't be held any more, and its text is freed when
// all notifiers have returned.
type ModuleNotifier func(x Context, m *Module, s ModuleState)

// Modules are the kernel's loadable modules.
type Modules interface {
	// Find returns the module whose text addr lies in, nil if there is none
	// (__module_text_address). Freed init text belongs to no module. It is a
	// point.
	Find(x Context, addr arch.Addr) *Module
	// Known reports whether there is a module of that name, in whatever state.
	Known(name string) bool
	// State returns the state that a module is in (point).
	State(x Context, m *Module) ModuleState
	// Get holds a module so that it isn't unloaded (try_module_get). false: it
	// is going, or gone (point).
	Get(x Context, m *Module) bool
	// Put lets it go again (point).
	Put(x Context, m *Module)
	// OnChange appends h to the notifier chain, which is called for
	// ModuleComing, ModuleLive and ModuleGoing. It is for the boot of a run.
	OnChange(h ModuleNotifier)
	// OnState has f called for each module, for the state that it is in now, and
	// with each change of that, within the step that changes it. init: its init
	// section is there. It is for the boot of a run.
	OnState(f func(m *Module, s ModuleState, init bool))
}

// A SectionHandler is called when a section of a module has come, or is about
// to go, even if the section is empty. Context: may sleep.
type SectionHandler func(x Context, in Section, here bool)

// Boot is the kernel while it is built: what clients ask of it that are as old as it
// is, and stay for all runs.
type Boot interface {
	// BootMutex makes a mutex.
	BootMutex(name string) Mutex
	// BootBind gives a routine an address, for guest text to call.
	BootBind(name string, f Routine) arch.Addr
	// AddSite adds a site to the tables beside the text.
	AddSite(s Site)
	// Present reports whether the text at addr is there when a run begins: it isn't
	// that of a module that is yet to be loaded.
	Present(addr arch.Addr) bool
	// OnSections appends h to the handlers of modules' sections. They run for
	// new text before the module's notifiers do, and for text that goes after
	// the notifiers.
	OnSections(h SectionHandler)
	// OnReset appends f to what begins a run, after the kernel's own services.
	OnReset(f func())
}

// A Rewrite is one instruction that a batch replaces.
type Rewrite struct {
	At   arch.Addr
	Insn []byte // what will stand there; as long as what does
	// As is what a CPU does that meets the batch's breakpoint there: a nop, or a
	// jump, conditional or not, a call, or a return. nil: Insn.
	As []byte
}

// A Batcher replaces many instructions while other CPUs run them, with three
// syncs for all of them (text_poke_bp_batch). Where an address isn't above the
// one before a new batch begins: the breakpoint's handler looks its address up
// by halving. Context: may sleep; text_mutex held.
type Batcher interface {
	Batch(x Context, list []Rewrite)
}

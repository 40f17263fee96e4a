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

// A Module is what a client may know of a loaded module. It belongs to the kernel and is
// shared; each load of the module has the same pointer.
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
	// Get takes a hold on a module, which keeps it from being unloaded (try_module_get).
	// false: the module is going, or gone (point).
	Get(x Context, m *Module) bool
	// Put drops the hold (point).
	Put(x Context, m *Module)
	// OnChange appends h to the notifier chain, which is called for
	// ModuleComing, ModuleLive and ModuleGoing. It is for the boot of a run.
	OnChange(h ModuleNotifier)
	// OnState calls f for each module with its current state, and again at each change of
	// that, within the step that makes the change. init: the module's init section is there.
	// It is for the boot of a run.
	OnState(f func(m *Module, s ModuleState, init bool))
}

// A SectionHandler is called when a section of a module has come, or is about
// to go, even if the section is empty. Context: may sleep.
type SectionHandler func(x Context, in Section, here bool)

// Boot is the kernel while it is being built. It is for clients that are made with the kernel
// and stay for all runs.
type Boot interface {
	// BootMutex makes a mutex.
	BootMutex(name string) Mutex
	// BootBind gives a routine an address, for guest text to call.
	BootBind(name string, f Routine) arch.Addr
	// AddSite adds a site to the tables beside the text.
	AddSite(s Site)
	// Present reports whether the text at addr is there when a run begins. Text of a module
	// that is yet to be loaded isn't.
	Present(addr arch.Addr) bool
	// Foreign reports whether others than the owner of a site write to the n bytes at addr: a task by hand, or an
	// alternative. An owner that looks before it writes need look only there.
	Foreign(addr arch.Addr, n int) bool
	// Shares tells monitors that a patcher, by, has read n bytes at addr, or written them, if others write there, too.
	Shares(x Context, addr arch.Addr, n int, by SiteKind, wrote bool)
	// OnSections appends h to the handlers of modules' sections. They run for
	// new text before the module's notifiers do, and for text that goes after
	// the notifiers.
	OnSections(h SectionHandler)
	// OnReset appends f to the functions that begin a run, after the kernel's own services.
	OnReset(f func())
	// Planted reports whether a mutant has planted a fault in this run.
	Planted(f Fault) bool
}

// A Rewrite is one instruction that a batch replaces.
type Rewrite struct {
	At   arch.Addr
	Insn []byte // what will stand there; as long as what does
	Keep int    // bytes at its beginning that stand there already, and aren't written
	// As is the instruction that a CPU emulates when it hits the batch's breakpoint there: a
	// nop, a jump, conditional or not, a call, or a return. nil: Insn.
	As []byte
}

// A Batcher replaces many instructions while other CPUs run them, with three
// syncs for all of them (text_poke_bp_batch). A new batch begins wherever an address isn't
// above the previous one, because the breakpoint's handler uses a binary search. Context: may
// sleep; text_mutex held.
type Batcher interface {
	Batch(x Context, list []Rewrite)
}

package kapi

import "kpsim/smp/arch"

// A ModuleState is where a module is in its life.
type ModuleState uint8

// The states. A module whose state is unformed isn't found by its text.
const (
	ModuleUnformed ModuleState = iota // not loaded, being put together, or being freed
	ModuleComing                      // its text is in place, its init has not ended
	ModuleLive                        // its init has ended, and its init section is about to be freed
	ModuleGoing                       // nobody can hold it any more; its text is still there
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

// A ModuleNotifier is told that a module has come to a state. Context: may
// sleep; of ModuleGoing nobody can hold the module any more, and its text is
// freed when all notifiers have returned.
type ModuleNotifier func(x Context, m *Module, s ModuleState)

// Modules are the kernel's loadable modules.
type Modules interface {
	// Find returns the module whose text addr lies in, nil if there is none
	// (__module_text_address). Freed init text is nobody's (point).
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
}

// A FtraceHandler is called from the entry of a function. ip is the address of
// the site; regs.IP is the one behind it, and what the handler leaves there is
// where the function goes on. Changes of the other registers but rsp hold, too.
// Context: preemption off, interrupts as they were in the caller.
type FtraceHandler func(x Context, ip arch.Addr, regs *arch.Regs)

// The errnos that ftrace answers with, beside 0.
const (
	FtraceEBUSY  = 16 // another client changes the path at that site
	FtraceEINVAL = 22 // there is no site at that address
)

// A FtraceOps is one client of ftrace: a handler, and the sites that it wants
// to be called from.
type FtraceOps interface {
	// Filter adds the site at ip to those of the client, or takes it out. If the
	// client is registered the site's text follows. errno 0, FtraceEBUSY or
	// FtraceEINVAL. Context: may sleep; takes ftrace_lock, text_mutex.
	Filter(x Context, ip arch.Addr, on bool) (errno int)
	// Register begins calling the handler from the client's sites. Context: as
	// Filter.
	Register(x Context) (errno int)
	// Unregister ends that. Unless the client is dynamic a CPU may still be in
	// the handler when it returns, with preemption off. Context: as Filter.
	Unregister(x Context) (errno int)
}

// FtraceFlags say what sort of client one is.
type FtraceFlags uint8

// The flags.
const (
	FtraceModifies FtraceFlags = 1 << iota // its handler changes regs.IP: no site has two such clients
	FtraceDynamic                          // it may be freed: unregistering waits until no CPU and no task is in its handler
)

// Ftrace calls its clients from functions that have a site: a 5-byte nop at the
// entry, which becomes a call while somebody wants it.
type Ftrace interface {
	// Site reports whether a site begins at addr (ftrace_location).
	Site(addr arch.Addr) bool
	// NewOps makes a client, at the boot of a run. One without a site in its
	// filter is called from all.
	NewOps(name string, h FtraceHandler, flags FtraceFlags) FtraceOps
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

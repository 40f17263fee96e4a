package engine

import "kpsim/smp/kapi"

// A Row is one engine in the list of them (engine/all).
type Row struct {
	Name string // the NAME in machine(engine = NAME)
	Says string // a line that describes it

	Kinds    []Kind   // the kinds of probe that it has
	Verbs    []uint64 // kpev.Register and Unregister, at least
	Handlers []uint64 // the handlers that a Kprobe may have, kpev.Pre and others; other kinds have their own
	Arrays   bool     // it has DoAll
	Reads    bool     // it is a Reader
	Debugged bool     // it shares text with a debugger (Deps.Debugger)
	Fprobes  bool     // it has fprobes (Patcher.Fprobes), unless its settings lack them
	Switches []Switch

	// Memory returns the kinds of executable memory that the engine needs from the kernel; settings is what
	// Config.Settings will be. nil: none.
	Memory func(settings any) []kapi.Memory
	// Guest gets the engine that a scenario orders, which is booted once for all machines; nil: the engine is Go.
	Guest func(o Order) (Guest, error)
	Mark  []byte // what an engine that is guest code looks for after the trampoline of a static call
	// Boot is called before anything runs, for an engine that is guest code; its result becomes Config.Booted. nil:
	// there is nothing to do.
	Boot func(settings any, g kapi.Guest, cpus int) any
	// New makes the engine, and hooks it to the kernel.
	New func(c *Config) Engine
	_   struct{}
}

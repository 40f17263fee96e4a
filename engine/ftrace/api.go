package ftrace

import (
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// A Handler is called from the entry of a function. ip is the address of the site. regs.IP is the address after it;
// control continues at the value that the handler leaves there. Changes of the other registers hold, too, but not of
// the stack pointer. Context: preemption off, interrupts as they were in the caller.
type Handler func(x kapi.Context, ip arch.Addr, regs *arch.Regs)

// The errnos of ftrace, besides 0.
const (
	ENOENT = 2  // the filter hasn't that address
	EBUSY  = 16 // another client changes the path at that site
	ENODEV = 19 // ftrace has shut down: it has found bytes at a site that aren't its own
	EINVAL = 22 // there is no site at that address
)

// A Client is one client of ftrace (ftrace_ops): a handler, and the sites that it wants
// to be called from.
type Client interface {
	// Filter adds the site at ip to the client's filter, or removes it (ftrace_set_filter_ip). If the client is
	// registered, the site's text is rewritten. errno is 0, ENOENT, EBUSY, ENODEV or EINVAL. Context: may sleep; takes
	// ftrace_lock, text_mutex.
	Filter(x kapi.Context, ip arch.Addr, on bool) (errno int)
	// Register begins calling the handler from the client's sites
	// (register_ftrace_function). Context: as Filter.
	Register(x kapi.Context) (errno int)
	// Unregister ends that (unregister_ftrace_function). Unless the client is
	// dynamic a CPU may still be in the handler when it returns, with preemption
	// off. Context: as Filter.
	Unregister(x kapi.Context) (errno int)
	// Wants reports whether the client is registered and wants the site at ip, whether its text is there or not. It
	// accesses nothing. Context: ftrace_lock free.
	Wants(ip arch.Addr) bool
}

// Flags are the properties of a client.
type Flags uint8

// The flags.
const (
	// Modifies: its handler changes regs.IP, and no site has two such clients (FTRACE_OPS_FL_IPMODIFY).
	Modifies Flags = 1 << iota
	// Dynamic: it may be freed, and unregistering waits until no CPU is in its handler (FTRACE_OPS_FL_DYNAMIC).
	Dynamic
	// Plain: its handler needs no registers, so a site that only such clients want calls ftrace's shorter trampoline
	// where text is written by a Writer (a client without FTRACE_OPS_FL_SAVE_REGS).
	Plain
)

// Tracer calls its clients from functions that have a site: a 5-byte nop at the
// entry, which becomes a call while a client wants it.
type Tracer interface {
	// Site reports whether a site begins at addr (ftrace_location).
	Site(addr arch.Addr) bool
	// NewOps makes a client, at the boot of a run. One without a site in its
	// filter is called from all.
	NewOps(name string, h Handler, flags Flags) Client
}

// A Record is a site as its clients have it.
type Record struct {
	At      arch.Addr
	Clients int  // the clients that want it
	Regs    bool // one of them needs the registers
	On      bool // the call is in the text
	Here    bool // the text is there
}

// A Writer writes the text of the sites in the place of Ftrace.
type Writer interface {
	// WriteSites writes to all sites what their records say: a call, which leads to Ftrace.Caller, or a nop. Context:
	// may sleep; ftrace_lock held, takes text_mutex.
	WriteSites(x kapi.Context, f *Ftrace)
	// SiteCalls returns the calls that may stand there: that for clients that need the registers, and that for others.
	SiteCalls(at arch.Addr) (regs, plain arch.Code)
}

// A Core is a kernel's own ftrace: it has the clients and the direct calls in the place of Ftrace, and writes the text
// of the sites. A direct call is given by its number in the order of NewDirect. It is one client's, which makes one
// call at a time.
type Core interface {
	// NewOps is Tracer's.
	NewOps(name string, h Handler, flags Flags) Client
	// NewDirect makes a direct call of the site at ip, at the boot of a run: it isn't registered.
	NewDirect(ip arch.Addr)
	// RegisterDirect, UnregisterDirect and ModifyDirect are those of Ftrace. Context: may sleep.
	RegisterDirect(x kapi.Context, direct int, to arch.Addr) (errno int)
	UnregisterDirect(x kapi.Context, direct int) (errno int)
	ModifyDirect(x kapi.Context, direct int, to arch.Addr, waits bool) (errno int)
	// Calls returns the calls that may stand in the common trampolines. The list isn't changed.
	Calls() []Call
}

// A Call is an instruction, and where it stands.
type Call struct {
	At   arch.Addr
	Insn arch.Code
}

// Site is the kind of its sites.
const Site kapi.SiteKind = 4

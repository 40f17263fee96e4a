package debugger

import (
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// Deps are the kernel services that a debugger stands on.
type Deps struct {
	Boot  kapi.Boot
	Cells *kapi.Cells
	Text  Text
	Sync  kapi.Sync
	Traps Traps
	_     struct{}
}

// Text is the kernel's text as a debugger has it.
type Text interface {
	kapi.Text
	// Exchange writes a byte and returns the old one, in one step. ok is false if a task holds text_mutex; then
	// nothing is written (point).
	Exchange(x kapi.Context, addr arch.Addr, b byte) (was byte, ok bool)
}

// Traps are the kernel's traps as a debugger has them.
type Traps interface {
	kapi.Traps
	// Stepped reports that the context, a trap's handler, has executed an instruction on the saved registers: the
	// frame is then where that of a debug trap after it would be.
	Stepped(x kapi.Context)
}

// What mutants do.
var (
	forgets = kapi.DefineFault("debugger-forgets",
		"a debugger forgets a breakpoint that it has cleared: a late trap on it has no owner", "kgdb_skipexception")
	unwritten = kapi.DefineFault("debugger-unwritten",
		"a breakpoint that can't be written because text_mutex is held is entered as set, or as cleared, all the same",
		"dbg_activate_sw_breakpoints: if (ret) continue, before the state")
)

// The errnos of Set and Clear, besides 0.
const (
	ENOENT = 2  // there is no breakpoint there
	EBUSY  = 16 // a task holds text_mutex
	EEXIST = 17 // there is a breakpoint there
)

// A Debugger has the breakpoints of one kernel.
type Debugger struct {
	d Deps `state:"boot"` // set at boot
	// dbg_master_lock; set at boot, nil: no breakpoint is ever set
	mutex  kapi.Mutex `state:"address: it is among the mutexes"`
	breaks []*place   // set at boot: where breakpoints are set some time, in the order in which they were added
	// owned by the step under way: the instruction executed instead of a breakpoint
	insn []byte `state:"skip: of the step under way"`
}

// A place is an address at which a breakpoint is set some time (kgdb_bkpt).
type place struct {
	at arch.Addr // set at boot
	is kapi.Var[breakpoint]
}

// A breakpoint is the state of one.
type breakpoint struct {
	state state // owned by the cell that holds it
	saved byte  // owned by the cell that holds it: the byte under the breakpoint
}

// state is a breakpoint's (kgdb_bpstate).
type state uint8

const (
	undefined state = iota // it was never set
	active                 // it is in the text
	removed                // it was set, and has been cleared
)

// New returns a kernel's debugger, without a breakpoint.
func New(d Deps) *Debugger {
	return &Debugger{d: d, insn: make([]byte, d.Text.Arch().MaxLen)}
}

// Add declares, at boot, that a breakpoint may be set at an address.
func (g *Debugger) Add(at arch.Addr) {
	if g.find(at) != nil {
		return
	}
	if g.mutex == nil {
		g.mutex = g.d.Boot.BootMutex("dbg_master_lock")
	}
	g.breaks = append(g.breaks, &place{at: at})
}

// Any reports whether a breakpoint is set some time.
func (g *Debugger) Any() bool { return len(g.breaks) > 0 }

// Begin makes the debugger ready, at the boot of a run: the last one on the notifier chain.
func (g *Debugger) Begin() {
	for _, b := range g.breaks {
		b.is.Init(g.d.Cells, breakpoint{})
	}
	if g.Any() {
		g.d.Traps.OnBreakpoint(g.notify)
	}
}

func (g *Debugger) find(at arch.Addr) *place {
	for _, b := range g.breaks {
		if b.at == at {
			return b
		}
	}
	return nil
}

// Set sets a breakpoint (dbg_set_sw_break, kgdb_arch_set_breakpoint). EEXIST: there is one; EBUSY: a task holds
// text_mutex. Context: may sleep; takes dbg_master_lock.
func (g *Debugger) Set(x kapi.Context, at arch.Addr) (errno int) {
	b := g.find(at)
	g.mutex.Lock(x)
	if b.is.Look(x).state == active {
		errno = EEXIST
	} else {
		errno = g.write(x, b, breakpoint{state: active})
	}
	g.mutex.Unlock(x)
	return errno
}

// Clear removes a breakpoint (dbg_remove_sw_break, kgdb_arch_remove_breakpoint): the saved byte is written back.
// ENOENT: there is none; EBUSY: a task holds text_mutex, and the breakpoint stays. Context: as Set.
func (g *Debugger) Clear(x kapi.Context, at arch.Addr) (errno int) {
	b := g.find(at)
	g.mutex.Lock(x)
	if is := b.is.Look(x); is.state != active {
		errno = ENOENT
	} else {
		errno = g.write(x, b, breakpoint{state: removed, saved: is.saved})
	}
	g.mutex.Unlock(x)
	return errno
}

// write changes a breakpoint and its byte in the text, in one step: kgdb holds the other CPUs meanwhile. Then all
// CPUs serialise, as they do when kgdb releases them.
func (g *Debugger) write(x kapi.Context, b *place, to breakpoint) (errno int) {
	write := to.saved
	if to.state == active {
		write = g.d.Text.Arch().Breakpoint[0]
	}
	was, ok := g.d.Text.Exchange(x, b.at, write)
	if !ok {
		if g.d.Boot.Planted(unwritten) {
			b.is.Put(x, to)
		}
		return EBUSY
	}
	set := uint64(0)
	if to.state == active {
		to.saved, set = was, 1
	}
	if to.state == removed && g.d.Boot.Planted(forgets) {
		to.state = undefined
	}
	b.is.Put(x, to)
	x.Emit(smpev.Debugger, uint64(b.at), set, uint64(to.saved))
	g.d.Sync.Core(x, smpev.SyncDebug)
	return 0
}

// HasHitBreak reports whether a breakpoint is set at an address (kgdb_has_hit_break).
func (g *Debugger) HasHitBreak(x kapi.Context, at arch.Addr) bool {
	b := g.find(at)
	return b != nil && b.is.LookNewest(x).state == active
}

// notify is asked whether a #BP is the debugger's (kgdb_notify). Context: interrupts off.
//
//	set:      the original instruction is executed, as by a step
//	cleared:  the CPU executes what is there now
func (g *Debugger) notify(x kapi.Context, regs *arch.Regs) (owner uint64) {
	at := g.d.Text.Arch().BreakpointAt(regs)
	b := g.find(at)
	if b == nil {
		return 0
	}
	g.d.Text.Read(x, at, g.insn) // one step from here on
	is := b.is.LookNewest(x)
	switch {
	case is.state == undefined:
		return 0
	case is.state == active && !g.d.Text.Arch().IsBreakpoint(uint64(is.saved)):
		g.insn[0] = is.saved
		g.step(x, regs, at)
	default: // cleared, or set over a breakpoint that is gone: execute what is there now
		regs.IP = at
	}
	return smpev.OwnerDebugger
}

// step executes the instruction in g.insn, which is at at.
func (g *Debugger) step(x kapi.Context, regs *arch.Regs, at arch.Addr) {
	regs.IP = at
	in, err := g.d.Text.Decode(g.insn, at)
	if err != nil || in.Exec(regs, x.Memory()).Faulted() {
		g.d.Traps.Bug(x, "a debugger steps an instruction that faults")
		return
	}
	g.d.Traps.Stepped(x)
}

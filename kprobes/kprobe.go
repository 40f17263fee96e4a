package kprobes

import (
	"fmt"
	"slices"

	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// A PreHandler runs before the probed instruction, with regs.IP the probe's
// address + 1 (spec 1.2), or its address where the trap of a breakpoint saves that. It returns non-zero if its
// change of regs.IP is to take effect (1.6). Context: preemption off; it may not sleep (1.10).
type PreHandler func(x kapi.Context, p *Kprobe, regs *arch.Regs) int

// A PostHandler runs after the probed instruction (1.4). Context: as PreHandler.
type PostHandler func(x kapi.Context, p *Kprobe, regs *arch.Regs, flags uint64)

// A FaultHandler runs when a pre_handler, a post_handler or the copy has
// faulted, with trap number trapnr (13, 14). It returns 1 if it has handled the fault
// (spec 1.12; until 5.13). Context: as PreHandler.
type FaultHandler func(x kapi.Context, p *Kprobe, regs *arch.Regs, trapnr int) int

// Flags are the flags of a probe, with the kernel's numbers (include/linux/kprobes.h).
type Flags uint8

// The flags.
const (
	FlagGone        Flags = 1 << iota // the probe's text is freed
	FlagDisabled                      // the probe's handlers don't run
	FlagOptimized                     // the probe is optimized, or queued to be
	FlagFtrace                        // ftrace calls the probe
	FlagOnFuncEntry                   // the probe is at a function's first instruction (5.18 and later)
)

// A Kprobe is a probe that a user registers at Symbol + Offset, or at Addr + Offset
// (spec 6.1). ID names it in events. Each handler may be nil (1.5). Its user may change it
// again once Unregister has returned. Unregister leaves Addr set, so the user of a probe with
// a symbol must clear Addr before registering it again.
type Kprobe struct {
	ID     uint64
	Symbol string // "": Addr is used
	Offset int    // in bytes
	// set at registration: with the offset, and after an endbr64; 0 when it was unregistered without being registered
	Addr  arch.Addr
	Flags Flags // registration keeps FlagDisabled only; FlagsOf returns the current flags
	// Pre and Post of a return probe are set at registration.
	Pre   PreHandler   `state:"skip: set when ret or jp is, or doesn't change in a run"`
	Post  PostHandler  `state:"skip: as Pre"`
	Fault FaultHandler `state:"boot"` // editions 2.6 and 4.15

	ret      *Kretprobe // set at registration: the return probe that contains it; nil: none
	jp       *Jprobe    // set at registration: the jprobe that contains it; nil: none
	nmissed  kapi.Var[int]
	disabled kapi.Var[bool]
	entry    bool         // owned by kprobe_mutex: FlagOnFuncEntry
	gone     bool         // owned by kprobe_mutex: FlagGone; disabled is set then
	off      bool         // owned by kprobe_mutex: it is gone, and was disabled before
	module   *kapi.Module // owned by the task that unregisters: held while it is registered (2.6)
	aggr     *Aggr        // owned by kprobe_mutex: nil while it isn't registered
	_        struct{}
}

// Missed returns how many hits ran no handler because they happened inside another hit (1.11).
func (p *Kprobe) Missed() int { return p.nmissed.Peek() }

// Disabled reports whether a probe's handlers are disabled. Context: kprobe_mutex held, or a handler's.
func (p *Kprobe) Disabled() bool { return p.disabled.Owned() }

// FlagsOf returns a probe's flags as the file list shows them: GONE and DISABLED
// are the probe's own; OPTIMIZED and FTRACE hold for all probes at its address. For a probe
// that isn't registered it returns the flags that its user has set. Context: kprobe_mutex
// held, or nothing running.
func (e *Engine) FlagsOf(p *Kprobe) Flags {
	ap := p.aggr
	if ap == nil {
		return p.Flags
	}
	return p.flagsAt(ap)
}

// flagsAt is FlagsOf for a reader that has found the probe at an aggr.
func (p *Kprobe) flagsAt(ap *Aggr) Flags {
	return ap.flags() | when(FlagGone, p.gone) | when(FlagDisabled, p.disabled.Owned() &&
		(!p.gone || p.off)) | when(FlagOnFuncEntry, p.entry)
}

func when(f Flags, on bool) Flags {
	if on {
		return f
	}
	return 0
}

// An Aggr stands for one address and its probes, one or more (aggr_kprobe).
type Aggr struct {
	id        uint64
	addr      arch.Addr
	verdict   rules.Verdict        // set at registration
	insn      arch.Inst            // set at registration; nil: no instruction, and never emulated
	orig      [16]byte             // set at registration: the bytes at addr as the image had them
	slot      kapi.Var[insnSlot]   // the out-of-line copy; written under kprobe_mutex, and when it is boosted
	boostable bool                 // set at registration: a jump may follow the copy
	detour    detour               // set at registration; size 0: the aggr can't be optimized
	probes    kapi.Var[*probeList] // replaced as a whole: readers walk the list that they found

	armed     kapi.Var[bool]    // the breakpoint is in the text, or the jump
	jumped    bool              // owned by kprobe_mutex: the jump is in the text
	optimized kapi.Var[bool]    // see the table of states
	list      *kapi.List[*Aggr] // owned by kprobe_mutex: the list it is on
	freed     bool              // owned by the code that discards it; goes with slot
	gone      bool              // owned by kprobe_mutex: its text was freed
	// owned by kprobe_mutex: of ftrace, that it is armed with; nil: it isn't, or with a breakpoint
	client *client
	// owned by kprobe_mutex: for a wrapper of steps (kprobes/mutants); the engine has no use for it
	Note uint64
	next *Aggr // owned by the task that unregisters: the next aggr to free
}

// flags returns the flags that all probes of the aggr have in common.
func (ap *Aggr) flags() Flags {
	return when(FlagOptimized, ap.optimized.Owned()) | when(FlagFtrace, ap.verdict.Ftrace)
}

// A probeList lists the probes of an aggr, last registered first. It is immutable once
// readers can see it.
type probeList struct {
	probes []*Kprobe // set at the making
	posts  bool      // set at the making: a probe that isn't gone has a post_handler
}

// add appends a probe. Context: no reader can see the list yet.
func (c *probeList) add(p *Kprobe) {
	c.probes = append(c.probes, p)
	c.posts = c.posts || p.Post != nil && !p.gone
}

// owesPost reports whether a hit has a post_handler to call after the instruction. A probe
// that is gone doesn't count: it doesn't prevent a jump either, and a CPU that steps where a
// jump is about to be written would come back into the jump's region.
func (c *probeList) owesPost() bool { return c.posts }

// AnyPost is owesPost including probes that are gone, for a wrapper of steps (kprobes/mutants).
func AnyPost(c *probeList) bool {
	return slices.ContainsFunc(c.probes, func(p *Kprobe) bool { return p.Post != nil })
}

// Unused reports whether an aggr has no probes left (kprobe_unused).
func (ap *Aggr) Unused() bool { return len(ap.List()) == 0 }

// enabled reports whether any probe of the aggr is enabled. Context:
// kprobe_mutex held.
func (ap *Aggr) enabled() bool {
	for _, p := range ap.probes.Owned().probes {
		if !p.disabled.Owned() {
			return true
		}
	}
	return false
}

// runs is enabled for callers without kprobe_mutex: other CPUs may be writing what it reads.
func (ap *Aggr) runs(x kapi.Context) bool {
	for _, p := range ap.probes.Look(x).probes {
		if !p.disabled.Look(x) {
			return true
		}
	}
	return false
}

// post reports whether any probe of the aggr that isn't gone has a post_handler.
func (ap *Aggr) post() bool {
	for _, p := range ap.probes.Owned().probes {
		if p.Post != nil && !p.gone {
			return true
		}
	}
	return false
}

// Addr returns the address of an aggr.
func (ap *Aggr) Addr() arch.Addr { return ap.addr }

// Orig returns the bytes at an aggr as the image had them. The slice belongs to the aggr.
func (ap *Aggr) Orig() []byte { return ap.orig[:] }

// Insn returns the probed instruction, or nil if the bytes are no instruction.
func (ap *Aggr) Insn() arch.Inst { return ap.insn }

// List returns the probes of an aggr. Context: kprobe_mutex held, or nothing running.
func (ap *Aggr) List() []*Kprobe { return ap.probes.Owned().probes }

// Probes returns the probes of an aggr, for callers without kprobe_mutex (point).
func (ap *Aggr) Probes(x kapi.Context) []*Kprobe { return ap.probes.Deref(x).probes }

// Jumped reports whether the jump is in the text. Context: kprobe_mutex held.
func (ap *Aggr) Jumped() bool { return ap.jumped }

// Armed reports whether the breakpoint, the jump or ftrace's call is in the text. Context:
// kprobe_mutex held.
func (ap *Aggr) Armed() bool { return ap.armed.Owned() }

// Traced reports whether ftrace arms an aggr.
func (ap *Aggr) Traced() bool { return ap.verdict.Ftrace }

// HasDetour reports whether an aggr can be optimized. Context: kprobe_mutex held.
func (ap *Aggr) HasDetour() bool { return ap.detour.size != 0 }

// Freed reports whether the memory of an aggr has been freed. Context: kprobe_mutex held.
func (ap *Aggr) Freed() bool { return ap.freed }

// Table is kprobe_table, and the memory of its aggrs and lists.
type Table struct {
	*env   `state:"boot"`    // set at New
	probes kapi.Table[*Aggr] // read by the trap handlers under RCU
	aggrs  []*Aggr           // owned by kprobe_mutex: every aggr of the run, by id-1
	lists  int               // owned by kprobe_mutex: how many entries of listPlaces are in use

	// Memory that renew keeps. Entries are used in order, and zeroed when taken.
	aggrPlaces []*Aggr      `state:"skip: those in use are among points"`  // owned by kprobe_mutex
	listPlaces []*probeList `state:"skip: those in use are their points'"` // owned by kprobe_mutex
}

func (t *Table) renew() {
	t.aggrs, t.lists = t.aggrs[:0], 0
	t.probes.Init(t.d.Cells, golden(t.s.Kernel.Edition))
}

// golden returns the factor of the hash table's function. Until 4.6 it is a prime with
// few bits set, which spreads addresses 4096 bytes apart badly; since 4.7 it is the
// golden ratio (GOLDEN_RATIO_PRIME_64, GOLDEN_RATIO_64 of include/linux/hash.h).
func golden(e rules.Edition) uint64 {
	if e == rules.Edition26 {
		return 0x9e37fffffffc0001
	}
	return 0x61c8864680b583eb
}

// newAggr returns the aggr that will be the next of aggrs, if the registration succeeds.
// Context: kprobe_mutex held.
func (t *Table) newAggr(addr arch.Addr) *Aggr {
	n := len(t.aggrs)
	if n == len(t.aggrPlaces) {
		t.aggrPlaces = append(t.aggrPlaces, new(Aggr))
	}
	ap := t.aggrPlaces[n]
	*ap = Aggr{id: uint64(n + 1), addr: addr}
	return ap
}

// AddAggr makes an aggr for an address that has none. Context: kprobe_mutex held.
func (t *Table) AddAggr(addr arch.Addr) *Aggr {
	ap := t.newAggr(addr)
	t.aggrs = append(t.aggrs, ap)
	return ap
}

// newList returns an empty list. Context: kprobe_mutex held.
func (t *Table) newList() *probeList {
	if t.lists == len(t.listPlaces) {
		t.listPlaces = append(t.listPlaces, new(probeList))
	}
	c := t.listPlaces[t.lists]
	t.lists++
	*c = probeList{probes: c.probes[:0]}
	return c
}

// Find returns the aggr of an address, or nil. Context: a trap's.
func (t *Table) Find(x kapi.Context, at arch.Addr) *Aggr {
	ap, _ := t.probes.Get(x, at)
	return ap
}

// Points returns how many aggrs the run has had. Context: as StateOf.
func (t *Table) Points() int { return len(t.aggrs) }

// StateOf returns the words of a State event of aggr i (0 to Points()-1): its address, its
// bits, and the address of its detour. ok is false if the aggr is freed, or is out of the
// table and about to be freed, so that text at its address may belong to another. Context:
// kprobe_mutex held, or nothing running.
func (t *Table) StateOf(i int) (addr, bits, detour uint64, ok bool) {
	ap := t.aggrs[i]
	if ap.freed || ap.list == nil && ap.Unused() && !ap.armed.Owned() {
		return 0, 0, 0, false
	}
	flag := func(bit uint64, on bool) {
		if on {
			bits |= bit
		}
	}
	flag(kpev.StateArmed, ap.armed.Owned())
	flag(kpev.StateJumped, ap.jumped)
	flag(kpev.StateOptimized, ap.optimized.Owned())
	flag(kpev.StateOptimizing, ap.list == &t.e.Optimizer.optimizingList)
	flag(kpev.StateUnoptimizing, ap.list == &t.e.Optimizer.unoptimizingList)
	flag(kpev.StateFreeing, ap.list == &t.e.Optimizer.freeingList)
	flag(kpev.StateGone, ap.gone)
	flag(kpev.StateFtrace, ap.verdict.Ftrace)
	flag(kpev.StateCalled, ap.verdict.Ftrace && t.e.Ftrace.calledFrom(ap.addr))
	return uint64(ap.addr), bits, uint64(ap.detour.addr), true
}

// ProbesOf returns the probes of aggr i, if the table has that aggr at its address and the
// probes aren't the kernel's own. Context: as StateOf.
func (t *Table) ProbesOf(i int) []*Kprobe {
	ap := t.aggrs[i]
	if q, ok := t.probes.Owned(ap.addr); !ok || q != ap || ap.addr == t.e.Rethook.trampoline {
		return nil
	}
	return ap.List()
}

// Unneeded returns the address of an aggr without probes that is in the table or not freed.
// ok is false if there is none.
func (t *Table) Unneeded() (at arch.Addr, ok bool) {
	for _, ap := range t.aggrs {
		q, listed := t.probes.Owned(ap.addr)
		if ap.Unused() && (!ap.freed || listed && q == ap) {
			return ap.addr, true
		}
	}
	return 0, false
}

// Errno is the kernel errno that a failed API call returns.
type Errno int

// The errnos the API returns.
const (
	ENOENT     Errno = 2  // the address lies in no function
	E2BIG      Errno = 7  // more private data than a return probe may have
	ENOMEM     Errno = 12 // no executable memory within reach
	EBUSY      Errno = 16 // another client of ftrace changes the path at the site
	EEXIST     Errno = 17 // there is a jprobe already
	EINVAL     Errno = 22 // registered already, or not registered; refused text
	ENOSPC     Errno = 28 // an instruction so long that no breakpoint fits after its copy
	EILSEQ     Errno = 84 // not an instruction boundary, or a breakpoint or trap by itself (spec 6.2)
	EOPNOTSUPP Errno = 95 // an instruction that can be neither stepped nor emulated
)

func (e Errno) Error() string {
	if name := kpev.ErrnoName(uint64(e)); name != "" {
		return "-" + name
	}
	return fmt.Sprintf("errno %d", int(e))
}

// Registered reports whether a probe is registered. Context: as StateOf.
func (p *Kprobe) Registered() bool { return p.aggr != nil }

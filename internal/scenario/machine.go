package scenario

import (
	"fmt"
	"math/bits"
	"slices"

	"kpsim/engine/ftrace"
	"kpsim/internal/nearest"
	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch/target"
	"kpsim/smp/fetch"
)

// Preempt is a model of preemption: a build and a mode (spec 8.1).
type Preempt uint8

// The constants are the models.
const (
	PreemptNone      Preempt = iota // built n
	PreemptVoluntary                // built n, might_sleep() schedules
	PreemptDynamic                  // built y, run as voluntary: what distributions ship
	PreemptFull                     // built y
	PreemptLazy                     // built y: a task that wants the CPU waits for the next tick
)

// Loading says how the kernel is built to handle modules (spec 8.3).
type Loading uint8

// The constants are the builds.
const (
	LoadingUnload Loading = iota // CONFIG_MODULE_UNLOAD
	LoadingStay                  // loaded modules stay
	LoadingNone                  // no CONFIG_MODULES
)

// Machine is the configuration of the machine and of the engine. A Machine made in Go must be
// settled (Settle) before its settings are read or changed.
type Machine struct {
	CPUs    int // 1 to 64
	Arch    target.Processor
	Engine  string // the name of the engine (engine/all), "": kprobes. Only kprobes has the settings of an edition
	Preempt Preempt
	Fetch   fetch.Model
	Memory  smp.Ordering // for data: in what order other CPUs see a CPU's accesses
	FRED    bool         // events return without serialising
	Late    bool         // interrupts are taken between a breakpoint and its handler
	NoHZ    bool         // an idle CPU gets no timer tick
	Offline uint64       // the set of CPUs that are offline when a run begins, never CPU 0
	// Trampolines says which of ftrace's trampolines are text.
	Trampolines ftrace.Trampolines
	Stubs       bool // calls of ftrace stand out of line
	Stall       int  // a grace period that has lasted this many cycles is reported at a tick; 0: never
	Modules     Loading
	Steps       int // budget of boundaries of a run, 0 for the default

	// Image says which kernel engine linux runs (linux.Kernel.ID), as a trace must. "" is the
	// kernel that was given.
	Image string

	// Edition is the edition from which Settle has taken the settings. Each setting can be changed
	// by itself, except Kernel.Preemption, which Preempt decides.
	Edition rules.Edition
	era.Settings
}

// Settings are the parameters of machine(), in the order of its signature and of its page. The
// first, cpus, is printed always.
var Settings = slices.Concat([]*Setting{
	{
		Word: "cpus", Value: number(func(m *Machine) *int { return &m.CPUs }, 1, MaxCPUs, "a machine has 1 to %d"),
		Says: "1 to 64 CPUs",
	},
	{
		Word: "preempt", Value: word(func(m *Machine) *Preempt { return &m.Preempt }, PreemptWords),
		Says: "`\"none\"`; `\"voluntary\"`: `might_sleep` schedules as `cond_resched` does; `\"dynamic\"`: built " +
			"with preemption, run as voluntary; `\"full\"`; `\"lazy\"`: a task that wants the CPU gets it at a " +
			"timer tick. `cond_resched` schedules under the first two; under `\"dynamic\"` it preempts, which " +
			"`quiesce = \"tasks\"` doesn't count; under the last two it does nothing. Whether the kernel is built " +
			"with preemption decides RCU's flavour and much of what an edition presets; the mode decides when " +
			"tasks switch",
	},
	{
		Word: "fetch", Value: word(func(m *Machine) *fetch.Model { return &m.Fetch }, fetch.Names()),
		Says: "what a CPU fetches from text that changes: the newest bytes; `\"stale\"`: old ones until it " +
			"serialises; `\"mixing\"`: old and new bytes in one instruction",
	},
	{
		Word: "edition", Value: optional(word(func(m *Machine) *rules.Edition {
			return &m.Edition
		}, append([]string{""}, rules.EditionNames()...))),
		Says: "presets everything below as in the kernels of one document: `\"2.6\"`, `\"4.15\"`, `\"5.14\"`, " +
			"`\"6.5\"`, `\"6.9\"`, `\"documented\"`; `kpsim editions` prints the table. Settings given beside it " +
			"take precedence",
		OfKprobes: true,
	},
}, ofEditions(), []*Setting{
	{
		Word: "config", Value: Value{Kind: ValueBuild},
		Says: "the argument of `kpsim check --config`: some of `\"PREEMPTION,RETPOLINE,IBT,FTRACE\"`, or " +
			"`\"none\"`, or `\"OPTPROBES=n\"`. It sets `retpoline`, `ibt`, `ftrace` and `optprobes`, and without " +
			"an edition `boost = \"prepare\"`; with PREEMPTION `preempt` is `\"dynamic\"` by default. So one " +
			"object is judged by one configuration",
		OfKprobes: true,
	},
	{
		Word: "profile", Value: Value{Kind: ValueBuild},
		Says: "the argument of `kpsim check --profile`, `\"k61\"` or `\"k612\"`: the edition of that recorded " +
			"kernel and its `config`",
		OfKprobes: true,
	},
	{
		Word: "arch", Value: word(func(m *Machine) *target.Processor { return &m.Arch }, target.Words),
		Says: "what the kernel is built for. `\"i386\"`: functions are 32-bit code, with arguments in eax, edx and " +
			"ecx, and per-CPU data at fs. `\"riscv64\"`, `\"arm64\"` and `\"ppc64le\"`: functions and patchers, jump " +
			"labels, sites of ftrace, kprobes and return probes, without the rest of the kernel's own patching, but " +
			"that probes of `\"ppc64le\"` become jumps; [Processors](processors.md) says what each executes. It must " +
			"come before functions and data",
	},
	{
		Word: "modules", Value: word(func(m *Machine) *Loading { return &m.Modules }, ModuleWords),
		Says: "modules are loaded and unloaded; `\"stay\"`: no CONFIG_MODULE_UNLOAD; `\"none\"`: no " +
			"CONFIG_MODULES. A missing call answers `ENOSYS`",
	},
	{
		Word: "steps", Value: number(func(m *Machine) *int {
			return &m.Steps
		}, 0, MaxBudget, "0 is the default budget, %d the largest"),
		Says: "how many boundaries one run may have; 0: the default",
	},
	{
		Word: "engine", Value: Value{Kind: ValueWord, late: Engines, get: func(m *Machine) uint64 {
			if m.Engine == "" {
				return 0
			}
			return uint64(max(slices.Index(Engines(), m.Engine), 0))
		}, set: func(m *Machine, v uint64) {
			if m.Engine = Engines()[v]; v == 0 {
				m.Engine = ""
			}
		}},
		Says: "the engine that inserts the probes. Engines other than `\"kprobes\"` have none of the settings from " +
			"`edition` to `profile` but `patch`",
	},
	{Word: "image", Value: Value{Kind: ValueName, name: func(m *Machine) *string { return &m.Image }}},
	{
		Word: "memory", Value: word(func(m *Machine) *smp.Ordering { return &m.Memory }, smp.Orderings()),
		Says: "the order in which other CPUs see a CPU's accesses to data: as they are made; `\"tso\"`: x86's, " +
			"where stores wait in a store buffer; `\"lkmm\"`: the kernel's memory model, only for the cells of the " +
			"kernel and the engine. [The memory models](memory.md) says what each promises",
		check: checker.memoryModel,
	},
	{
		Word: "fred", Value: flag(func(m *Machine) *bool { return &m.FRED }),
		Says: "CPUs return from traps and interrupts with FRED's ERETS, which doesn't serialise as IRET does: a " +
			"CPU may fetch old bytes for longer. It makes a difference where `fetch` isn't `\"coherent\"`",
		// The engine must synchronize CPUs after it has written a copy. A jump that is written after a
		// copy later can't be synchronized. FRED doesn't exist for 32 bits.
		Drawn: &DrawnSetting{Part: "returns", In: 12,
			Unless: func(s *Scenario) bool {
				return s.Machine.Boost == era.BoostStepped || s.Machine.Arch.Bits32()
			},
			With: func(m *Machine) { m.SyncCopies = true }},
	},
	{
		Word: "late_int3", Value: flag(func(m *Machine) *bool { return &m.Late }),
		Says: "the trap of a breakpoint may come late: before its handler runs, the CPU takes IPIs and interrupts, " +
			"as under an emulator. By then the breakpoint may be gone, with all syncs done",
		// The engine must check whether the breakpoint is still there. That doesn't help beside other
		// patchers, whose breakpoints return at the same place.
		Drawn: &DrawnSetting{Part: "late", In: 12,
			Unless: func(s *Scenario) bool { return len(s.Labels)+len(s.Sites)+len(s.Locked)+len(s.Calls) > 0 },
			With:   func(m *Machine) { m.RemovedInt3 = true }},
	},
	{
		Word: "nohz", Value: flag(func(m *Machine) *bool { return &m.NoHZ }),
		Says: "an idle CPU with nothing to run gets no timer tick: `timer(idle = True)` fires there only when a " +
			"task wants the CPU",
		Drawn: &DrawnSetting{Part: "ticks", In: 12},
	},
	{
		Word: "ftrace_trampolines", Value: optional(word(func(m *Machine) *ftrace.Trampolines {
			return &m.Trampolines
		}, ftrace.TrampolineWords)),
		Says: "which of ftrace's trampolines are text: a task executes it instruction by instruction and may be " +
			"preempted in it, and its call is patched. None is: the trampoline calls the clients in its first step. " +
			"`\"shared\"`: there is one, as in kernels until 3.18; `\"own\"`: each client has one, too, which a " +
			"site calls that only this client wants, as is a kernel's own ftrace, which runs then. It is made when the client is registered, and freed, if the " +
			"client isn't kprobes', when it is unregistered and all tasks have given their CPUs up",
		check: checkTrampolines,
		Drawn: &DrawnSetting{Part: "trampolines", In: 4, Unless: func(s *Scenario) bool {
			return len(s.Sites) == 0 || s.Machine.Arch.Bits32() || s.Machine.Engine != ""
		}},
	},
	{ // not drawn: the generator's functions have the nops of calls at sites
		Word: "ftrace_stubs", Value: flag(func(m *Machine) *bool { return &m.Stubs }),
		Says: "calls of ftrace stand out of line, on ppc64le, as since 6.13 (CONFIG_PPC_FTRACE_OUT_OF_LINE): the " +
			"compiler leaves one nop, which becomes a branch to the site's stub while a client wants the calls, and " +
			"the call stands in the stub",
		check: func(c checker, p Part) error {
			if _, ok := c.s.SiteForm(); c.s.Machine.Stubs && !ok {
				return Faultf(p, "ftrace_stubs = True is of ppc64le; leave it out on %s", c.s.Machine.Arch)
			}
			return nil
		},
	},
	{ // not drawn: a drawn program may well keep a CPU for long
		Word: "stall", Value: number(func(m *Machine) *int {
			return &m.Stall
		}, 0, MaxStall, "0 reports no grace period, %d cycles are the most"),
		Says: "a grace period that has lasted this many cycles is reported at the next tick, as the kernel does " +
			"after 21 s, and breaks `no-stall`; 0: none is reported. A grace period's age is counted in cycles " +
			"that CPUs spend: of the CPUs with something to do, by the one that has spent the fewest. Ticks come " +
			"from a `timer()`, which the scenario must have. Such a scenario can't be proved: clocks are no part " +
			"of a state",
		check: checker.ticks,
	},
	{
		Word: "offline", Value: Value{Kind: ValueCPUs,
			get: func(m *Machine) uint64 { return m.Offline }, set: func(m *Machine, v uint64) { m.Offline = v }},
		Says: "the CPUs that are offline when a run begins, as `[2]`, but never the first. A task on one of them " +
			"begins when the CPU comes online, so the scenario needs an operation `online(2)`. Such a CPU has " +
			"never been sent a sync",
		check: checker.absent,
		Plainer: func(m *Machine) (list []Change[*Machine]) {
			for set := m.Offline; set != 0; set &= set - 1 {
				cpu := bits.TrailingZeros64(set)
				says := fmt.Sprintf("cpu%d is online from the beginning", cpu)
				list = append(list, Change[*Machine]{says, func(m *Machine) { m.Offline &^= 1 << cpu }})
			}
			return list
		},
	},
})

// ParseMemory returns the memory model of that name.
func ParseMemory(name string) (smp.Ordering, error) {
	o, ok := smp.OrderingNamed(name)
	if !ok {
		return 0, nearest.Unknown("memory model", name, smp.Orderings())
	}
	return o, nil
}

// SetMemory sets the machine's memory model by its name.
func (s *Scenario) SetMemory(name string) (err error) {
	if s.Machine.Memory, err = ParseMemory(name); err != nil {
		return err
	}
	return Check(s)
}

// checkTrampolines checks that the kernel has ftrace's trampolines as text.
func checkTrampolines(c checker, p Part) error {
	switch m := &c.s.Machine; {
	case m.Trampolines == ftrace.NoText:
	case m.Engine != "" && !m.Arch.Serves(target.OwnClients):
		return Faultf(p, "ftrace_trampolines = %q is of kpsim's own kernel, and not of engine %q on %s; leave it out",
			ftrace.TrampolineWords[m.Trampolines], m.Engine, m.Arch)
	case m.Engine != "" && m.Trampolines != ftrace.Own:
		return Faultf(p, "ftrace_trampolines = %q is of kernels until 3.18, and engine %q has one for each client; "+
			"say ftrace_trampolines = \"own\"", ftrace.TrampolineWords[m.Trampolines], m.Engine)
	case !m.Arch.Serves(target.Trampolines):
		return Faultf(p, "ftrace_trampolines = %q is of x86-64; leave it out, or take another machine",
			ftrace.TrampolineWords[m.Trampolines])
	case m.Trampolines == ftrace.Own && m.Edition == rules.Edition26:
		return Faultf(p, "edition %v has one trampoline for all clients of ftrace, as until 3.18; say "+
			"ftrace_trampolines = \"shared\", or take a later edition", m.Edition)
	}
	return nil
}

// memoryCPUs is how many CPUs can hold stores: each needs a mover of its own.
const memoryCPUs = int(sim.NoMover - sim.MoverDrain)

// memoryModel checks the memory model.
func (c checker) memoryModel(p Part) error {
	m := &c.s.Machine
	if m.Memory == smp.LKMM && m.Guest() {
		return Faultf(p, "memory = \"lkmm\" is of the cells of an engine in Go; those of engine %q are memory, so say \"sc\" or \"tso\"", m.Engine)
	}
	if m.Memory == smp.TSO && !m.Arch.Serves(target.StoreOrder) {
		return Faultf(p, "memory = \"tso\" is how x86 orders stores; text of %s runs with memory = \"sc\", so leave "+
			"memory out", m.Arch)
	}
	if m.Memory == smp.TSO && m.CPUs > memoryCPUs {
		return Faultf(p, "cpus = %d is out of range under memory = \"tso\"; at most %d CPUs hold stores", m.CPUs,
			memoryCPUs)
	}
	return nil
}

package lang

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"kpsim/internal/nearest"
	"kpsim/internal/scenario"
	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/linux"
	"kpsim/smp"
	"kpsim/smp/arch/target"
	"kpsim/smp/fetch"
)

// A param is a parameter of machine(), what it is if it isn't said, and what it means.
type param struct{ word, otherwise, means string }

// machineParams are the parameters of machine(): its own, and the settings, which are
// what stands here if neither they nor an edition are said.
func machineParams() []param {
	list := []param{
		{"cpus", "2", "1 to 64 CPUs"},
		{"preempt", `"none"`, "`\"none\"`; `\"voluntary\"`: `might_sleep` schedules as `cond_resched` does; `\"dynamic\"`: built with preemption, run as voluntary; `\"full\"`; `\"lazy\"`: a task that wants the CPU gets it at a timer tick. `cond_resched` schedules under the first two; under `\"dynamic\"` it preempts, which `quiesce = \"tasks\"` doesn't count; under the last two it does nothing. The build, the first two or the others, decides RCU's flavour and much of what an edition presets; the mode, who may switch tasks"},
		{"fetch", `"coherent"`, "what a CPU fetches of text that changes: the newest bytes; `\"stale\"`: old ones until it serialises; `\"mixing\"`: old and new in one instruction"},
		{"edition", "None", "presets all that follows as the kernels of one document have it: `\"2.6\"`, `\"4.15\"`, `\"5.14\"`, `\"6.5\"`, `\"6.9\"`, `\"documented\"`; `kpsim editions` prints the table. What is said beside it holds by itself"},
	}
	for i := range era.Table {
		r := &era.Table[i]
		list = append(list, param{r.Word, r.Value(r.Preset(rules.EditionNone, false)), r.Means})
	}
	return append(list,
		param{"config", "None", "what `kpsim check --config` takes: some of `\"PREEMPTION,RETPOLINE,IBT,FTRACE\"`, or `\"none\"`, or `\"OPTPROBES=n\"`: sets `retpoline`, `ibt`, `ftrace` and `optprobes`, and without an edition `boost = \"prepare\"`; with PREEMPTION `preempt` is `\"dynamic\"` if nothing else is said. So one object is judged by one configuration"},
		param{"profile", "None", "what `kpsim check --profile` takes, `\"k61\"` or `\"k612\"`: the edition of that recorded kernel and its `config`"},
		param{"modules", `"unload"`, "modules are loaded and unloaded; `\"stay\"`: no CONFIG_MODULE_UNLOAD; `\"none\"`: no CONFIG_MODULES: what isn't there answers `ENOSYS`"},
		param{"steps", "0", "budget of boundaries of one run; 0: the default"},
		param{"engine", Quote(scenario.Engines()[0]), "the engine that puts the probes in. Another one than `\"kprobes\"` has none of the settings from `edition` to `profile` but `patch`"},
		param{"memory", `"sc"`, "in what order other CPUs see a CPU's accesses to data: as they are made; `\"tso\"`: x86's, a CPU holds its stores for a while; `\"lkmm\"`: the kernel's memory model, of the kernel's and the engine's cells only. [The memory models](memory.md) says what each promises"},
		param{"fred", "False", "CPUs return from traps and interrupts as FRED has it, by ERETS, which doesn't serialise as IRET does: what a CPU fetches may be old for longer. It shows where `fetch` isn't `\"coherent\"`"},
		param{"arch", Quote(target.Words[target.X8664]), "what the kernel is built for; `\"i386\"`: functions are 32-bit code, with arguments in eax, edx and ecx, and per-CPU data at fs. It stands before functions and data"},
		param{"late_int3", "False", "the trap of a breakpoint may come late: between it and its handler a CPU takes IPIs and interrupts, as under an emulator. A breakpoint may be gone by then, with all syncs done"},
		param{"nohz", "False", "a CPU that idles, and has nothing to run, gets no timer tick: `timer(idle = True)` doesn't come there until a task wants the CPU"},
		param{"stall", "0", "a grace period that has lasted so many cycles is reported at the next tick, as the kernel does after 21 s, and breaks `no-stall`; 0: none is. Of a CPU's cycles those count that it spends, and a grace period has lasted as long as the CPU with something to do that has spent the fewest. A tick is a `timer()`'s, which has to be there. There are no proofs of such a scenario: clocks are no part of a state"},
		param{"offline", "[]", "the CPUs that are offline when a run begins, as `[2]`, but never the first. A task on one of them begins when the CPU is online, so an operation `online(2)` has to be there. It has never been sent a sync"})
}

// machineSig is the signature of machine().
func machineSig() string {
	var list []string
	for _, p := range machineParams() {
		list = append(list, p.word+" = "+p.otherwise)
	}
	return "machine(" + strings.Join(list, ", ") + ")"
}

// A said is a setting that a program may say.
type said struct {
	row *era.Row
	v   starlark.Value // nil: it doesn't
}

// Unpack implements starlark.Unpacker.
func (s *said) Unpack(v starlark.Value) error {
	_, isBool := v.(starlark.Bool)
	_, isString := v.(starlark.String)
	switch {
	case s.row.Bool() && !isBool:
		return fmt.Errorf("got %s, want bool", v.Type())
	case !s.row.Bool() && !isString:
		return fmt.Errorf("got %s, want string", v.Type())
	}
	s.v = v
	return nil
}

// ofKprobes reports whether a setting was said that only kprobes has.
func (s said) ofKprobes() bool { return s.v != nil && s.row.Word != "patch" }

// apply sets what was said.
func (s *said) apply(m *scenario.Machine) error {
	if s.v == nil {
		return nil
	}
	if s.row.Bool() {
		v := uint8(0)
		if s.v.Truth() {
			v = 1
		}
		s.row.Set(&m.Settings, v)
		return nil
	}
	name, _ := starlark.AsString(s.v)
	v, err := nearest.Lookup[uint8](s.row.Word, name, s.row.Values)
	s.row.Set(&m.Settings, v)
	return err
}

// unsaid is no word's value.
const unsaid = "\x00"

// names reads names joined by commas, or a list of them.
type names string

// Unpack implements starlark.Unpacker.
func (n *names) Unpack(v starlark.Value) error {
	if s, ok := starlark.AsString(v); ok {
		*n = names(s)
		return nil
	}
	list, ok := v.(starlark.Indexable)
	if !ok {
		return fmt.Errorf("got %s, want string", v.Type())
	}
	words := make([]string, list.Len())
	for i := range words {
		if words[i], ok = starlark.AsString(list.Index(i)); !ok {
			return fmt.Errorf("got %s, want string", list.Index(i).Type())
		}
	}
	if *n = names(strings.Join(words, ",")); len(words) == 0 {
		*n = "none"
	}
	return nil
}

// A cpuSet reads a list of numbers of CPUs.
type cpuSet uint64

// Unpack implements starlark.Unpacker.
func (s *cpuSet) Unpack(v starlark.Value) error {
	list, ok := v.(starlark.Indexable)
	if !ok {
		return fmt.Errorf("got %s, want a list of CPUs, as [1]", v.Type())
	}
	for i := range list.Len() {
		cpu, err := starlark.AsInt32(list.Index(i))
		if err != nil || cpu < 0 || cpu >= scenario.MaxCPUs {
			return fmt.Errorf("got %s, want the number of a CPU, 1 to %d", list.Index(i), scenario.MaxCPUs-1)
		}
		*s |= 1 << cpu
	}
	return nil
}

// built is what config and profile say of a machine.
type built struct {
	config  names  // unsaid: nothing
	profile string // likewise
	kernel  rules.Kernel
}

// edition takes the edition of the profile, if there is one, and what it is built with
// unless config says that.
func (b *built) edition(edition *string) error {
	if b.profile == unsaid {
		return nil
	}
	k, ok := rules.ParseProfile(b.profile)
	if !ok {
		return fmt.Errorf("profile = %q isn't known; it is \"k61\" or \"k612\"", b.profile)
	}
	if *edition != unsaid {
		return fmt.Errorf("profile = %q has its edition; leave edition = %q out, or say config", b.profile, *edition)
	}
	if *edition = k.Edition.String(); b.config == unsaid {
		b.config = names(strings.Join(k.Options(), ","))
	}
	return nil
}

// preempt says how the machine is preempted if it wasn't said, and whether what was said
// is what it is built with.
func (b *built) preempt(preempt *string) error {
	if b.config == unsaid {
		if *preempt == unsaid {
			*preempt = scenario.PreemptWords[0]
		}
		return nil
	}
	if err := b.kernel.Configure(string(b.config)); err != nil {
		return fmt.Errorf("config = %q: %w", string(b.config), err)
	}
	if *preempt == unsaid {
		if *preempt = scenario.PreemptWords[scenario.PreemptNone]; b.kernel.Preemption {
			*preempt = scenario.PreemptWords[scenario.PreemptDynamic]
		}
		return nil
	}
	p, err := nearest.Lookup[scenario.Preempt]("preempt", *preempt, scenario.PreemptWords)
	if err == nil && p.Built() != b.kernel.Preemption {
		return fmt.Errorf("config = %q and preempt = %q disagree: \"none\" and \"voluntary\" are built without PREEMPTION, the others with it; leave one out", string(b.config), *preempt)
	}
	return err
}

// settle sets what the machine is built with.
func (b *built) settle(m *scenario.Machine) error {
	if b.config == unsaid {
		return nil
	}
	b.kernel = m.Kprobes().Kernel
	if err := b.kernel.Configure(string(b.config)); err != nil {
		return err
	}
	if m.Edition == rules.EditionNone {
		m.Boost = era.BoostPrepare // as check's kernels, where the build lets them
	}
	m.Kernel.Retpoline, m.Kernel.IBT, m.Kernel.Ftrace, m.Kernel.Optprobes = b.kernel.Retpoline, b.kernel.IBT, b.kernel.Ftrace, b.kernel.Optprobes
	return nil
}

// agrees reports what was said of the machine that config denies.
func (b *built) agrees(m *scenario.Machine) error {
	if b.config == unsaid {
		return nil
	}
	wanted, is := b.kernel.Options(), m.Kprobes().Kernel.Options()
	for _, o := range append(wanted, is...) {
		if slices.Contains(wanted, o) != slices.Contains(is, o) {
			return fmt.Errorf("config = %q, and beside it is said otherwise of %s; leave one out", string(b.config), o)
		}
	}
	return nil
}

func (l *loader) doMachine(c *call) (starlark.Value, error) {
	m := scenario.Machine{CPUs: defaultCPUs}
	processor, preempt, model, memory, edition, modules := target.Words[target.X8664], unsaid, fetch.Coherent.String(), smp.SC.String(), unsaid, scenario.ModuleWords[0]
	b := built{config: unsaid, profile: unsaid}
	pairs := []any{"cpus?", &m.CPUs, "preempt?", &preempt, "fetch?", &model, "edition??", &edition}
	list := make([]said, len(era.Table))
	for i := range era.Table {
		list[i].row = &era.Table[i]
		pairs = append(pairs, era.Table[i].Word+"?", &list[i])
	}
	err := c.unpack(append(pairs, "config??", &b.config, "profile??", &b.profile, "modules?", &modules, "steps?", &m.Steps, "engine?", &m.Engine, "image?", &m.Image, "memory?", &memory, "fred?", &m.FRED, "arch?", &processor, "late_int3?", &m.Late, "nohz?", &m.NoHZ, "stall?", &m.Stall, "offline?", (*cpuSet)(&m.Offline))...)
	if err != nil {
		return nil, err
	}
	if m.Engine == scenario.Engines()[0] {
		m.Engine = ""
	}
	if m.Engine != "" && (edition != unsaid || b.config != unsaid || b.profile != unsaid || slices.ContainsFunc(list, said.ofKprobes)) {
		return nil, fmt.Errorf("engine = %q has no edition and no settings but patch; leave them out", m.Engine)
	}
	if err := b.edition(&edition); err != nil {
		return nil, err
	}
	if err := b.preempt(&preempt); err != nil {
		return nil, err
	}
	if m.Preempt, err = nearest.Lookup[scenario.Preempt]("preempt", preempt, scenario.PreemptWords); err != nil {
		return nil, err
	}
	if m.Fetch, err = nearest.Lookup[fetch.Model]("fetch", model, fetch.Names()); err != nil {
		return nil, err
	}
	if m.Memory, err = nearest.Lookup[smp.Ordering]("memory", memory, smp.Orderings()); err != nil {
		return nil, err
	}
	if m.Modules, err = nearest.Lookup[scenario.Loading]("modules", modules, scenario.ModuleWords); err != nil {
		return nil, err
	}
	if edition != unsaid {
		e, ok := rules.ParseEdition(edition)
		if !ok {
			return nil, nearest.Unknown("edition", edition, rules.EditionNames())
		}
		m.Edition = e
	}
	if m.Arch, err = nearest.Lookup[target.Processor]("arch", processor, target.Words); err != nil {
		return nil, err
	}
	if m.Arch != l.s.Machine.Arch && len(l.symbols) > 0 {
		return nil, fmt.Errorf("arch = %q decides where functions and data lie; put machine() before them", processor)
	}
	if m.Arch == target.I386 && m.Engine != "" && m.Engine != linux.Row.Name {
		return nil, fmt.Errorf("arch = \"i386\" is of the engine kprobes, or a kernel's own; engine = %q is of x86-64, so leave arch out", m.Engine)
	}
	m.Settle()
	l.text, l.data = m.Processor().Addr(l.text), m.Processor().Addr(l.data)
	if err := b.settle(&m); err != nil {
		return nil, err
	}
	var errs []error
	for i := range list {
		errs = append(errs, list[i].apply(&m))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if err := b.agrees(&m); err != nil {
		return nil, err
	}
	l.s.Machine = m
	l.position[scenario.PartOf(scenario.TheMachine, 0)] = c.at
	return starlark.None, l.first(c.name)
}

package scenario

import (
	"slices"
	"strconv"
	"strings"

	"kpsim/internal/nearest"
	"kpsim/kprobes"
	"kpsim/kprobes/rules"
	"kpsim/smp/kapi"
)

// Edition is one of the documents, and so a preset of all settings below: 0 is
// none of them, n is kprobes.Edition n-1.
type Edition uint8

// The editions.
const (
	EditionNone Edition = iota
	Edition26
	Edition415
	Edition514
	Edition65
	Edition69
	EditionDocumented
)

// Document returns the engine's name of an edition that is not EditionNone.
func (e Edition) Document() kprobes.Edition { return kprobes.Edition(e - 1) }

// SetEdition makes the machine that of an edition, by its name: all settings are
// those that it presets, but for those of the build.
func (s *Scenario) SetEdition(name string) error {
	e, err := nearest.Lookup[Edition]("edition", name, EditionWords[1:])
	if err != nil {
		return err
	}
	built := s.Machine
	s.Machine.Edition = e + 1
	s.Machine.Settle()
	for i := range Settings {
		if Settings[i].Build {
			Settings[i].Set(&s.Machine, Settings[i].Get(&built))
		}
	}
	return Check(s)
}

// Editions lists them, oldest first.
func Editions() []Edition {
	return []Edition{Edition26, Edition415, Edition514, Edition65, Edition69, EditionDocumented}
}

// Rules says which edition's rules decide what can be probed.
type Rules uint8

// The rules.
const (
	Rules69 Rules = iota
	Rules65
	Rules514
	Rules415
	Rules26
)

var rulesEditions = []rules.Edition{rules.Edition69, rules.Edition65, rules.Edition514, rules.Edition415, rules.Edition26}

// Boost is where the jump behind a copy comes from.
type Boost uint8

// The ways to boost.
const (
	BoostNever   Boost = iota
	BoostPrepare       // written with the copy
	BoostStepped       // written when the copy has been stepped once
)

var boosts = []kprobes.Boost{kprobes.BoostNever, kprobes.BoostPrepare, kprobes.BoostStepped}

// Unoptimize is how a jump is taken away.
type Unoptimize uint8

// The ways to take a jump away.
const (
	UnoptimizeLikePatch  Unoptimize = iota // by a breakpoint if patch is one, else as it was written
	UnoptimizeBreakpoint                   // by a breakpoint and syncs, whatever patch is
	UnoptimizePatcher                      // as it was written
)

// Choice is one of the numbers that a setting has words for.
type Choice uint8

// What the choices are.
var (
	dataMaxWords, dataMaxes = []string{"any", "4096"}, []int{0, 4096}
	batchWords, batches     = []string{"all", "256"}, []int{0, 256}
)

// The words for settings that kprobes enumerates.
var (
	EditionWords    = []string{"", "2.6", "4.15", "5.14", "6.5", "6.9", "documented"}
	rulesWords      = []string{"6.9", "6.5", "5.14", "4.15", "2.6"}
	boundaryWords   = []string{"checked", "any"}
	steppingWords   = []string{"int3", "debug"}
	boostWords      = []string{"never", "prepare", "stepped"}
	returnsWords    = []string{"objpool", "rethook", "freelist", "hashed", "global"}
	maxactiveWords  = []string{"always", "preemption"}
	orderWords      = []string{"text", "module", "step"}
	filesWords      = []string{"bool", "char", "plain", "first"}
	unoptimizeWords = []string{"as-patched", "breakpoint", "patcher"}
)

// truth are the words of a setting that is yes or no.
var truth = []string{"False", "True"}

// A setting is one word of machine() that an edition decides, and that can be
// said by itself.
type Setting struct {
	Word  string
	Words []string // its values, by number
	says  string   // what it decides, for kpsim editions
	Build bool     // the build decides it, whatever the edition
	Means string   // and what each value does, for docs/scenarios.md
	Get   func(m *Machine) uint8
	Set   func(m *Machine, v uint8)
	// from and to relate the value to the engine's. from is given the patch, too.
	from func(s *kprobes.Settings, e Edition) uint8
	to   func(s *kprobes.Settings, m *Machine, v uint8)
}

func (s *Setting) Bool() bool { return &s.Words[0] == &truth[0] }

// value prints a value of a setting as the language has it.
func (s *Setting) Value(v uint8) string {
	if w := nearest.Word(s.Words, v); s.Bool() {
		return w
	} else {
		return strconv.Quote(w)
	}
}

// in makes get and set of a field.
func in[T ~uint8](at func(m *Machine) *T) (func(*Machine) uint8, func(*Machine, uint8)) {
	return func(m *Machine) uint8 { return uint8(*at(m)) }, func(m *Machine, v uint8) { *at(m) = T(v) }
}

// flag is in of a field that is yes or no; no: the field says the contrary.
func flag(at func(m *Machine) *bool, no bool) (func(*Machine) uint8, func(*Machine, uint8)) {
	return func(m *Machine) uint8 { return TruthOf(*at(m) != no) }, func(m *Machine, v uint8) { *at(m) = (v != 0) != no }
}

func TruthOf(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// numbered is from and to of an enumeration of the engine's with the same order.
func numbered[T ~uint8](at func(s *kprobes.Settings) *T) (func(*kprobes.Settings, Edition) uint8, func(*kprobes.Settings, *Machine, uint8)) {
	return func(s *kprobes.Settings, _ Edition) uint8 { return uint8(*at(s)) },
		func(s *kprobes.Settings, _ *Machine, v uint8) { *at(s) = T(v) }
}

// yes is numbered of what is yes or no; no: the engine's says the contrary.
func yes(at func(s *kprobes.Settings) *bool, no bool) (func(*kprobes.Settings, Edition) uint8, func(*kprobes.Settings, *Machine, uint8)) {
	return func(s *kprobes.Settings, _ Edition) uint8 { return TruthOf(*at(s) != no) },
		func(s *kprobes.Settings, _ *Machine, v uint8) { *at(s) = (v != 0) != no }
}

// listed is numbered of an enumeration whose order is another: list[v] is the engine's.
func listed[T comparable](list []T, at func(s *kprobes.Settings) *T) (func(*kprobes.Settings, Edition) uint8, func(*kprobes.Settings, *Machine, uint8)) {
	return func(s *kprobes.Settings, _ Edition) uint8 {
			for i, x := range list {
				if x == *at(s) {
					return uint8(i)
				}
			}
			return 0
		},
		func(s *kprobes.Settings, _ *Machine, v uint8) { *at(s) = list[v] }
}

// settings are all of them, in the order in which machine() prints them: those that
// editions decide, then those of the build.
var Settings = makeSettings()

// ofEditions is how many of them editions decide.
var OfEditions = slices.IndexFunc(Settings, func(s Setting) bool { return s.Build })

func makeSettings() []Setting {
	var list []Setting
	add := func(word string, words []string, says string) *Setting {
		list = append(list, Setting{Word: word, Words: words, says: says})
		return &list[len(list)-1]
	}

	s := add("quiesce", quiesceWords, "what the optimizer waits for before it writes a jump")
	s.Means = "what the optimizer waits for before it writes a jump: nothing; `\"sched\"`: every CPU schedules; `\"rcu\"`: a grace period; `\"tasks\"`: every task schedules voluntarily; `\"stack-check\"`: the machine is stopped, and nobody stands in the region, by what is on the stacks"
	s.Get, s.Set = in(func(m *Machine) *Quiesce { return &m.Quiesce })
	s.from, s.to = numbered(func(s *kprobes.Settings) *kapi.Flavour { return &s.Quiesce })

	s = add("patch", patchWords, "how a jump is written over live text")
	s.Means = "how a jump is written: int3 first; `\"stop_machine\"`; `\"naive\"`: plain stores, the head byte first; `\"naive-tail-first\"`. So are jump labels and static calls written; what ftrace does is always behind an int3"
	s.Get, s.Set = in(func(m *Machine) *Patch { return &m.Patch })
	s.from = func(_ *kprobes.Settings, e Edition) uint8 { // the engine is given a patcher, not a word
		if e == EditionDocumented {
			return uint8(PatchStopMachine)
		}
		return uint8(PatchBreakpoint)
	}
	s.to = func(*kprobes.Settings, *Machine, uint8) {}

	s = add("removed_int3", truth, "a trap on a breakpoint that is gone is taken as one")
	s.Means = "a trap on a breakpoint that is gone is taken as one (kernels until 6.2)"
	s.Get, s.Set = flag(func(m *Machine) *bool { return &m.RemovedInt3 }, false)
	s.from, s.to = yes(func(s *kprobes.Settings) *bool { return &s.RemovedInt3 }, false)

	s = add("rules", rulesWords, "whose rules say what can be probed")
	s.Means = "whose rules say what can be probed, boosted and optimized: also `\"6.5\"`, `\"5.14\"`, `\"4.15\"`, `\"2.6\"`"
	s.Get, s.Set = in(func(m *Machine) *Rules { return &m.Rules })
	s.from, s.to = listed(rulesEditions, func(s *kprobes.Settings) *rules.Edition { return &s.Kernel.Edition })

	s = add("boundaries", boundaryWords, "whether a probe must be at an instruction's first byte")
	s.Means = "`\"any\"`: a probe may be anywhere in an instruction (2.6)"
	s.Get, s.Set = flag(func(m *Machine) *bool { return &m.AnyByte }, false)
	s.from, s.to = yes(func(s *kprobes.Settings) *bool { return &s.AnyByte }, false)

	s = add("step", steppingWords, "how the end of the copied instruction is noticed")
	s.Means = "how the end of a copied instruction is noticed: a breakpoint behind it; `\"debug\"`: the trap flag (until 5.12)"
	s.Get, s.Set = in(func(m *Machine) *kprobes.Step { return &m.Stepping })
	s.from, s.to = numbered(func(s *kprobes.Settings) *kprobes.Step { return &s.Step })

	s = add("boost", boostWords, "where the jump behind the copy comes from, built without preemption")
	s.Means = "where the jump behind a copy comes from that saves the step, built without preemption: `\"prepare\"`: written with the copy; `\"stepped\"`: when that has run once (until 5.12)"
	s.Get, s.Set = in(func(m *Machine) *Boost { return &m.Boost })
	s.from, s.to = listed(boosts, func(s *kprobes.Settings) *kprobes.Boost { return &s.Boost })

	s = add("returns", returnsWords, "how return probes keep track of calls")
	s.Means = "how return probes keep track of calls: a per-CPU array; `\"rethook\"`: a lock-free list; `\"freelist\"`: that, and a list a task; `\"hashed\"`: a table with a lock a bucket; `\"global\"`: with one lock, and a probe as the trampoline"
	s.Get, s.Set = in(func(m *Machine) *kprobes.ReturnGeneration { return &m.Returns })
	s.from, s.to = numbered(func(s *kprobes.Settings) *kprobes.ReturnGeneration { return &s.Return })

	s = add("maxactive", maxactiveWords, "whether maxactive is by default max(10, 2 CPUs) always, or built with preemption, and else the CPUs")
	s.Means = "its default: max(10, 2 CPUs); `\"preemption\"`: built without preemption, the CPUs (until 6.0)"
	s.Get, s.Set = flag(func(m *Machine) *bool { return &m.MaxactiveByBuild }, false)
	s.from, s.to = yes(func(s *kprobes.Settings) *bool { return &s.MaxactiveAll }, true)

	s = add("data_max", dataMaxWords, "the most bytes of private data that a return probe may have")
	s.Means = "the most private data that a return probe may have; `\"4096\"` (5.16 and later)"
	s.Get, s.Set = in(func(m *Machine) *Choice { return &m.DataMax })
	s.from, s.to = listed(dataMaxes, func(s *kprobes.Settings) *int { return &s.DataMax })

	s = add("unwind", truth, "whether backtraces see through the trampoline of return probes")
	s.Means = "backtraces see through the trampoline of return probes (5.15 and later)"
	s.Get, s.Set = flag(func(m *Machine) *bool { return &m.Unwind }, false)
	s.from, s.to = yes(func(s *kprobes.Settings) *bool { return &s.Unwind }, false)

	s = add("fault_handlers", truth, "whether probes have fault handlers")
	s.Means = "probes have fault handlers (until 5.13)"
	s.Get, s.Set = flag(func(m *Machine) *bool { return &m.FaultHandlers }, false)
	s.from, s.to = yes(func(s *kprobes.Settings) *bool { return &s.FaultHandlers }, false)

	s = add("jprobes", truth, "whether there are jprobes")
	s.Means = "there are jprobes (until 4.14)"
	s.Get, s.Set = flag(func(m *Machine) *bool { return &m.Jprobes }, false)
	s.from, s.to = yes(func(s *kprobes.Settings) *bool { return &s.Jprobes }, false)

	s = add("batches", truth, "whether arrays can be registered, probes disabled and enabled")
	s.Means = "arrays of probes can be registered, probes disabled and enabled (not in 2.6)"
	s.Get, s.Set = flag(func(m *Machine) *bool { return &m.NoBatches }, true)
	s.from, s.to = yes(func(s *kprobes.Settings) *bool { return &s.Batches }, false)

	s = add("optprobes", truth, "whether a breakpoint may become a jump")
	s.Means = "a breakpoint may become a jump (CONFIG_OPTPROBES; not in 2.6)"
	s.Get, s.Set = flag(func(m *Machine) *bool { return &m.NoOptprobes }, true)
	s.from, s.to = yes(func(s *kprobes.Settings) *bool { return &s.Kernel.Optprobes }, false)

	s = add("order", orderWords, "which locks the optimizer holds while it waits")
	s.Means = "which locks the optimizer holds while it waits: cpus_read_lock and text_mutex; `\"module\"`: text_mutex a step only (4.15 to 5.2); `\"step\"`: neither (until 4.12)"
	s.Get, s.Set = in(func(m *Machine) *kprobes.Order { return &m.Order })
	s.from, s.to = numbered(func(s *kprobes.Settings) *kprobes.Order { return &s.Order })

	s = add("batch", batchWords, "how many jumps a run of the optimizer writes, and takes away, at most")
	s.Means = "how many jumps a run of the optimizer writes, and takes away, at most; `\"256\"`: as long as text_poke_smp_batch wrote them"
	s.Get, s.Set = in(func(m *Machine) *Choice { return &m.Batch })
	s.from, s.to = listed(batches, func(s *kprobes.Settings) *int { return &s.Batch })

	s = add("save_ss", truth, "whether detours save ss with the other registers")
	s.Means = "detours save ss with the other registers (5.10 and later)"
	s.Get, s.Set = flag(func(m *Machine) *bool { return &m.SaveSS }, false)
	s.from, s.to = yes(func(s *kprobes.Settings) *bool { return &s.SaveSS }, false)

	s = add("detour_irqs_off", truth, "whether handlers behind a detour run with interrupts off")
	s.Means = "handlers behind a detour run with interrupts off (until 4.14)"
	s.Get, s.Set = flag(func(m *Machine) *bool { return &m.DetourIRQsOff }, false)
	s.from, s.to = yes(func(s *kprobes.Settings) *bool { return &s.DetourIRQsOff }, false)

	s = add("unoptimize", unoptimizeWords, "how a jump is taken away")
	s.Means = "how a jump is taken away: `\"breakpoint\"`: by one, and syncs (5.6 and later); `\"patcher\"`: as it was written; else the first if `patch` is `\"breakpoint\"`"
	s.Get, s.Set = in(func(m *Machine) *Unoptimize { return &m.Unoptimize })
	s.from = func(s *kprobes.Settings, _ Edition) uint8 {
		if s.Breakpoint {
			return uint8(UnoptimizeBreakpoint)
		}
		return uint8(UnoptimizePatcher)
	}
	s.to = func(s *kprobes.Settings, m *Machine, v uint8) {
		s.Breakpoint = v == uint8(UnoptimizeBreakpoint) || v == uint8(UnoptimizeLikePatch) && m.Patch == PatchBreakpoint
	}

	s = add("sync_arm", truth, "whether every CPU is synchronized after a breakpoint was written")
	s.Means = "every CPU is synchronized after a breakpoint was written; without it the kernels until 5.5"
	s.Get, s.Set = flag(func(m *Machine) *bool { return &m.NoSyncArm }, true)
	s.from = func(*kprobes.Settings, Edition) uint8 { return 1 } // on the repaired algorithm: see --as-shipped
	s.to = func(*kprobes.Settings, *Machine, uint8) {}           // what it stands on is rewired

	s = add("ftrace", truth, "whether a probe at a function's fentry goes through ftrace")
	s.Means = "a probe at a function's fentry goes through ftrace"
	s.Get, s.Set = flag(func(m *Machine) *bool { return &m.Ftrace }, false)
	s.from, s.to = yes(func(s *kprobes.Settings) *bool { return &s.Kernel.Ftrace }, false)

	s = add("ftrace_modifies", truth, "whether every probe at a fentry says that it may change the path, or those with a post_handler")
	s.Means = "every such probe says that it may change the path, not only one with a post_handler (until 5.3)"
	s.Get, s.Set = flag(func(m *Machine) *bool { return &m.FtraceModifies }, false)
	s.from, s.to = yes(func(s *kprobes.Settings) *bool { return &s.FtraceClaims }, false)

	s = add("module_refs", truth, "whether a probe holds its module until it is unregistered, or while it is being registered")
	s.Means = "a probe holds its module until it is unregistered (2.6)"
	s.Get, s.Set = flag(func(m *Machine) *bool { return &m.ModuleRefs }, false)
	s.from, s.to = yes(func(s *kprobes.Settings) *bool { return &s.ModuleRefs }, false)

	s = add("files", filesWords, "what the interface files take and print: as since 5.16, as until 5.15, as until 4.17, as in 2.6")
	s.Means = "what the files of debugfs take and print: `\"char\"`: as until 5.15; `\"plain\"`: as until 4.17; `\"first\"`: as in 2.6"
	s.Get, s.Set = in(func(m *Machine) *kprobes.Files { return &m.Files })
	s.from, s.to = numbered(func(s *kprobes.Settings) *kprobes.Files { return &s.Files })

	s = add("retpoline", truth, "built with CONFIG_RETPOLINE")
	s.Build = true
	s.Means = "built with CONFIG_RETPOLINE: there are no jump tables, but jumps to thunks (`__x86_indirect_thunk_…`), and the rules of probing go by that"
	s.Get, s.Set = flag(func(m *Machine) *bool { return &m.Retpoline }, false)
	s.from, s.to = yes(func(s *kprobes.Settings) *bool { return &s.Kernel.Retpoline }, false)

	s = add("ibt", truth, "built with CONFIG_X86_KERNEL_IBT")
	s.Build = true
	s.Means = "built with CONFIG_X86_KERNEL_IBT: functions begin with endbr64, and a probe at one goes behind it (5.18 and later)"
	s.Get, s.Set = flag(func(m *Machine) *bool { return &m.IBT }, false)
	s.from, s.to = yes(func(s *kprobes.Settings) *bool { return &s.Kernel.IBT }, false)
	return list
}

// Built reports whether a model is built with CONFIG_PREEMPTION (spec 8.1).
func (p Preempt) Built() bool { return p >= PreemptDynamic }

// Settle gives every setting the value that the edition has with this preemption:
// what machine(edition = …) says before anything else. Without an edition each
// becomes what it is if nothing is said.
func (m *Machine) Settle() {
	var none Machine
	var of kprobes.Settings
	if m.Edition != EditionNone {
		of = m.Edition.Document().Settings(m.Preempt.Built())
	}
	for i := range Settings {
		s := &Settings[i]
		if m.Edition == EditionNone {
			s.Set(m, s.Get(&none))
		} else {
			s.Set(m, s.from(&of, m.Edition))
		}
	}
}

// preset returns what Settle makes of a machine.
func (m *Machine) Preset() Machine {
	p := *m
	p.Settle()
	return p
}

// Kprobes returns the settings of kprobes, without mutants.
func (m *Machine) Kprobes() (e kprobes.Settings) {
	for i := range Settings {
		Settings[i].to(&e, m, Settings[i].Get(m))
	}
	e.Kernel.Preemption = m.Preempt.Built()
	return e
}

// InsnSlot returns the size in bytes of a slot for a copied instruction, for
// machines of an edition, which hand them out as the kernel does (MAX_INSN_SIZE);
// 0: of no edition, slots are handed out so that use after they were freed shows.
func (m *Machine) InsnSlot() int {
	switch {
	case m.Edition == EditionNone:
		return 0
	case m.Stepping == kprobes.StepDebug || m.Boost == BoostStepped:
		return 16
	}
	return 15
}

// DetourSlot is that of a slot for a detour (MAX_OPTINSN_SIZE): what comes before the
// copy, 19 bytes of that and the way back, on x86-64 without frame pointers. It was
// read off a 6.1 and a 6.12 kernel, 124; those before 5.9 and 5.10 save no ss, and
// have no room for a clac.
func (m *Machine) DetourSlot() int {
	switch {
	case m.Edition == EditionNone:
		return 0
	case m.SaveSS:
		return 124
	}
	return 119
}

// A SettingRow is what kpsim editions says of a word of machine().
type SettingRow struct {
	Word   string
	Says   string
	Values []string              // all that may be said
	Of     map[Edition][2]string // by edition, built without and with preemption
}

// SettingRows lists the settings that editions decide.
func SettingRows() (rows []SettingRow) {
	for i := range Settings {
		s := &Settings[i]
		if s.Build {
			continue
		}
		r := SettingRow{Word: s.Word, Says: s.says, Of: make(map[Edition][2]string)}
		r.Values = append(r.Values, s.Words...)
		for _, e := range Editions() {
			without, with := Machine{Edition: e, Preempt: PreemptNone}, Machine{Edition: e, Preempt: PreemptFull}
			without.Settle()
			with.Settle()
			r.Of[e] = [2]string{s.Words[s.Get(&without)], s.Words[s.Get(&with)]}
		}
		rows = append(rows, r)
	}
	return rows
}

// has reports whether the machine has what a setting stands for, and if it hasn't
// says so, and who has.
func (c checker) has(p Part, who, what, word string, m *Machine) error {
	for i := range Settings {
		s := &Settings[i]
		if s.Word != word || s.Get(m) == 1 {
			continue
		}
		var have []string
		for _, e := range Editions() {
			of := Machine{Edition: e, Preempt: m.Preempt}
			if of.Settle(); s.Get(&of) == 1 {
				have = append(have, e.String())
			}
		}
		here := "a machine with " + word + " = False"
		if m.Edition != EditionNone {
			here = "edition " + m.Edition.String()
			if word == "optprobes" && m.Preempt.Built() {
				here += " built with preemption"
			}
		}
		return Faultf(p, "%s: %s has no %s; %s: choose one, or say machine(%s = True)", who, here, what, haveIt(have), word)
	}
	return nil
}

func haveIt(editions []string) string {
	switch n := len(editions); n {
	case 0:
		return "no edition has"
	case 1:
		return "edition " + editions[0] + " has"
	default:
		return "editions " + strings.Join(editions[:n-1], ", ") + " and " + editions[n-1] + " have"
	}
}

// Optimizes reports whether the machine makes breakpoints jumps, by its settings and its
// rules.
func (m *Machine) Optimizes() bool { return !m.NoOptprobes && !m.AnyByte && m.Rules != Rules26 }

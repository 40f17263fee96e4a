package cause

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/shrink"
	"kpsim/internal/search/twoengines"
	"kpsim/kprobes/mutants"
	"kpsim/linux"
	"kpsim/properties"
	"kpsim/sim"
	"kpsim/smp/arch/target"
	"kpsim/traces"
)

// likeMutants lists the mutants of kpsim's engine that imitate a fault of kernels, each with its
// find in docs/findings.md.
var likeMutants = [...]struct{ mutant, find string }{
	{"objpool-last", "objpool-last"}, {"ftrace-by-post", "ftrace-by-post"}, {"cancel-rcu", "cancel-rcu"},
	{"asked-unlocked", "asked-unlocked"},
	{"check-unlocked", "check-unlocked"}, {"disarm-lost", "disarm-lost"}, {"reuse-disabled", "reuse-disabled"},
	{"enable-lost", "enable-lost"},
	{"detour-post", "detour-post"}, {"post-by-list", "detour-post"}, {"boost-post", "boost-post"},
	{"never-again", "blocked-lost"}, {"jump-hidden", "jump-hidden"}, {"gone-traced", "gone-traced"}, {"arm-unreported", "arm-unreported"},
	{"flags-wide", "flags-wide"}, {"loop-late", "emulated-wrong"}, {"ret-keeps", "emulated-wrong"},
}

// likeWays are the ways in which a program's runs with a mutant are scheduled, and likeRuns is how many there are of
// each. Some finds show only if the optimizer's work comes at another time than its timer's.
var likeWays = [...]struct {
	strategy string
	delay    uint64
}{{"", 0}, {"random", 200}}

const likeRuns = 300

// A sign identifies a find without a mutant: the property that a kernel's engine breaks, the
// wording of the message, and a condition on the program.
type sign struct {
	property *properties.Property
	message  string
	has      func(sc *scenario.Scenario) bool // condition on the program; nil: none
	finds    []string
	behind   *properties.Property // only if the witness goes on after a known find of this property; nil: anywhere
}

// keepsSlots reports whether the kernel is for riscv64, where arch_remove_kprobe does nothing.
func keepsSlots(sc *scenario.Scenario) bool { return sc.Machine.Arch == target.RISCV64 }

// ofPower reports whether the kernel is for ppc64le.
func ofPower(sc *scenario.Scenario) bool { return sc.Machine.Arch == target.PPC64LE }

// prefixed reports whether a probe of ppc64le is on an instruction with a prefix.
func prefixed(sc *scenario.Scenario) bool {
	return ofPower(sc) && slices.ContainsFunc(sc.Probes, func(p scenario.Probe) bool {
		f, ok := sc.Place(&p)
		if !ok || sc.Text(f) == nil || p.Offset >= len(sc.Text(f).Code) {
			return false
		}
		in, err := sc.Machine.Processor().Decode(sc.Text(f).Code[p.Offset:], 0)
		return err == nil && in.Size() > sc.Machine.Processor().BranchLen
	})
}

func hasModules(sc *scenario.Scenario) bool { return len(sc.Modules) > 0 }
func unloads(sc *scenario.Scenario) bool    { return hasModules(sc) && sc.Does(act.Unload) }
func enables(sc *scenario.Scenario) bool    { return sc.Does(act.Enable) }

// probesInit reports whether a probe is in text that a module frees when it is live.
func probesInit(sc *scenario.Scenario) bool {
	return slices.ContainsFunc(sc.Modules, func(m scenario.Module) bool {
		return slices.ContainsFunc(sc.Probes, func(p scenario.Probe) bool { return slices.Contains(m.Init, p.Func) })
	})
}

// forbids reports whether a program writes 0 to both files, by which all jumps and all probes are removed.
func forbids(sc *scenario.Scenario) bool {
	off := func(k *scenario.Operation) bool {
		return sc.Any(func(op *scenario.Op) bool { return op.Kind == k && !op.On })
	}
	return off(act.Enabled) && off(act.Optimization)
}

// signs match the function that warns. It may do so for more than one reason; then all finds
// known to cause it are named.
var signs = [...]sign{
	{&properties.TextAgrees, " optimized, and no jump to its detour stands there: " + breakpoint, enables,
		[]string{"jump-lost"}, nil},
	// the optimizer ends before the write to the file does; kpsim's engine with the mutant only breaks all-off
	{&properties.TextAgrees, " disarmed, and " + breakpoint + " stands there", forbids, []string{"disarm-lost"}, nil},
	{&properties.TextAgrees, " queued to be freed with its jump", nil, []string{"rescued-warned"},
		&properties.NoWarning},
	{&properties.Answers, " to unregister of probe ", nil, []string{"ftrace-by-post"}, &properties.NoWarning},
	{&properties.NoWarning, " warns at optimize_kprobe+", nil, []string{"rescued-warned"}, nil},
	{&properties.NoWarning, " warns at __disarm_kprobe_ftrace+", nil, []string{"ftrace-by-post"}, nil},
	{&properties.NoWarning, " warns at reenter_kprobe+", nil, []string{"first-hit"}, nil},
	{&properties.NoWarning, " warns at register_kprobe+", hasModules, []string{"unload-kept", "reuse-disabled"}, nil},
	{&properties.NoRemains, " is in the table, and stands for no probe", unloads, []string{"unload-kept"}, nil},
	// kpsim's engine with the mutant dies there, or breaks text-agrees before
	{&properties.NoUseAfterFree, " optimizing_work reads or writes ", probesInit, []string{"check-unlocked"}, nil},
	{&properties.NoUseAfterFree, " hasn't been freed: of kprobe_insn_slots", keepsSlots, []string{"slot-kept"}, nil},
	{&properties.NoRemains, " slots are in use, and ", keepsSlots, []string{"slot-kept"}, nil},
	{&properties.NoMemoryMisuse, " (use after free): struct optimized_kprobe's ", nil,
		[]string{"forced-freed", "cancel-rcu"}, nil},
	{&properties.Progress, " waits for a completion by kprobe_optimizer_thread", nil, []string{"flush-forever"}, nil},
	{&properties.TextRestored, ", which is no whole image of a registered probe", forbids, []string{"disarm-lost"},
		&properties.TextAgrees},
	{&properties.HandlerContext, " runs the post_handler of probe ", ofPower, []string{"post-address"}, nil},
	{&properties.TextRestored, ", though no probe is registered; linked there: ", prefixed,
		[]string{"suffix-lost"}, nil},
	{&properties.WholeInstructions, ": bytes blend two instructions", prefixed, []string{"suffix-lost"}, nil},
}

// breakpoint stands in a wording for the bytes of the processor's.
const breakpoint = "BREAKPOINT"

// wording returns what a message contains about a scenario.
func (s *sign) wording(sc *scenario.Scenario) string {
	bytes := fmt.Sprintf("% x", sc.Machine.Processor().Breakpoint)
	return strings.ReplaceAll(s.message, breakpoint, bytes)
}

// signOf returns the sign that a broken property has in a witness of a program, nil if it has none.
func signOf(q *properties.Property, witness *traces.File, sc *scenario.Scenario) *sign {
	for i := range signs {
		if s := &signs[i]; s.property.ID == q.ID && strings.Contains(witness.Message, s.wording(sc)) &&
			(s.has == nil || s.has(sc)) &&
			(s.behind == nil || strings.HasPrefix(witness.Remark(traces.OriginKnown), s.behind.Name+" ")) {
			return s
		}
	}
	return nil
}

// LooksLike returns the known finds (docs/findings.md) that a broken property of a kernel's
// engine resembles. A find matches by its sign, or if its mutant breaks the property in the
// witness' program on kpsim's own engine, which doesn't break it without the mutant. That is a
// resemblance, not a proof: if several finds break the property in a program, all are named.
func LooksLike(k *linux.Kernel, q *properties.Property, witness *traces.File) (names []string, err error) {
	names, _, err = looksLike(k, q, witness)
	return names, err
}

// looksLike is LooksLike; it also returns the number of questions asked.
func looksLike(k *linux.Kernel, q *properties.Property, witness *traces.File) (names []string, asked uint64,
	err error) {
	sc, err := lang.Parse("witness", []byte(witness.Scenario))
	if err != nil {
		return nil, 0, err
	}
	sc.Machine.Engine, sc.Machine.Image = "", ""
	if s := signOf(q, witness, sc); s != nil {
		return s.finds, 0, nil
	}
	_, ours, err := twoengines.On(sc, k)
	if err != nil {
		return nil, 0, nil // the program uses something that kpsim's engine lacks
	}
	t := trial{sc: ours, property: q, seed: sim.Mix(witness.Digest)}
	if witness.Remark(traces.OriginKnown) != "" { // what the find has for a consequence is like it, too
		t.past = properties.Every
	}
	if without, err := t.breaks(""); without || err != nil {
		return nil, t.asked, nil // or something that kpsim's engine refuses
	}
	for _, l := range likeMutants {
		if slices.Contains(names, l.find) {
			continue
		}
		// on an error, the program's machine can't have this mutant
		if bad, err := t.breaks(l.mutant); bad && err == nil {
			names = append(names, l.find)
		}
	}
	return names, t.asked, nil
}

// A trial runs a program on engines with a mutant.
type trial struct {
	sc       *scenario.Scenario
	property *properties.Property
	seed     uint64
	past     properties.Set // properties after which runs go on
	asked    uint64         // questions so far
}

// breaks reports whether any run with the mutant breaks the property.
func (t *trial) breaks(mutant string) (bool, error) {
	for _, w := range likeWays {
		r, err := explore.Run(explore.Spec{Scenario: t.sc, Mutant: mutant, Strategy: w.strategy, Delay: w.delay,
			Runs: likeRuns, Seed: t.seed, Blind: true, Past: t.past})
		if err != nil {
			return false, err
		}
		if t.asked += r.Counts.Points; r.Broken[t.property.Name] > 0 {
			return true, nil
		}
	}
	return false, nil
}

// shippedLike returns which of the faults restored by --as-shipped the witness resembles: those
// that break the property in its program on their own. For another engine there are none. It also
// returns the number of questions asked.
func shippedLike(w *shrink.Witness) (names []string, asked uint64, err error) {
	if w.File.Remark(traces.OriginMutant) != mutants.AsShipped {
		return nil, 0, nil
	}
	sc, err := lang.Parse("witness", []byte(w.File.Scenario))
	if err != nil {
		return nil, 0, err
	}
	t := trial{sc: sc, property: w.Property, seed: sim.Mix(w.Digest)}
	for _, f := range mutants.Shipped() {
		if f.Edition != sc.Machine.Edition {
			continue
		}
		if bad, err := t.breaks(f.Mutant); bad && err == nil {
			names = append(names, f.Mutant)
		}
	}
	return names, t.asked, nil
}

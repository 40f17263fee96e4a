package cause

import (
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
	"kpsim/traces"
)

// likeMutants are the mutants of kpsim's engine that do what kernels do, each with the find in
// docs/findings.md.
var likeMutants = [...]struct{ mutant, find string }{
	{"objpool-last", "objpool-last"}, {"ftrace-by-post", "ftrace-by-post"}, {"cancel-rcu", "cancel-rcu"},
	{"asked-unlocked", "asked-unlocked"},
	{"check-unlocked", "check-unlocked"}, {"disarm-lost", "disarm-lost"}, {"reuse-disabled", "reuse-disabled"},
	{"enable-lost", "enable-lost"},
	{"detour-post", "detour-post"}, {"post-by-list", "detour-post"}, {"boost-post", "boost-post"},
	{"never-again", "blocked-lost"},
	{"flags-wide", "flags-wide"}, {"loop-late", "emulated-wrong"}, {"ret-keeps", "emulated-wrong"},
}

// likeRuns is how many runs a program is given with each of them.
const likeRuns = 300

// A sign is what finds that have no mutant show by themselves: of a property that a kernel's
// engine breaks, how the message reads, and what the program has to have.
type sign struct {
	property *properties.Property
	message  string
	has      func(sc *scenario.Scenario) bool // nil: anything
	finds    []string
}

func hasModules(sc *scenario.Scenario) bool { return len(sc.Modules) > 0 }
func unloads(sc *scenario.Scenario) bool    { return hasModules(sc) && sc.Does(act.Unload) }
func enables(sc *scenario.Scenario) bool    { return sc.Does(act.Enable) }

// signs name the function that warns, which may do so for more than one reason: then all finds
// are named that are known to bring it to that.
var signs = [...]sign{
	{&properties.TextAgrees, " optimized, and no jump to its detour stands there: cc ", enables, []string{"jump-lost"}},
	{&properties.NoWarning, " warns at optimize_kprobe+", nil, []string{"rescued-warned"}},
	{&properties.NoWarning, " warns at __disarm_kprobe_ftrace+", nil, []string{"ftrace-by-post"}},
	{&properties.NoWarning, " warns at reenter_kprobe+", nil, []string{"first-hit"}},
	{&properties.NoWarning, " warns at register_kprobe+", hasModules, []string{"unload-kept", "reuse-disabled"}},
	{&properties.NoRemains, " is in the table, and stands for no probe", unloads, []string{"unload-kept"}},
	{&properties.NoMemoryMisuse, " (use after free): struct optimized_kprobe's ", nil,
		[]string{"forced-freed", "cancel-rcu"}},
}

// LooksLike says which known finds (docs/findings.md) a broken property of a kernel's engine looks
// like: those that show by a sign, and those by whose mutant kpsim's own engine breaks the
// property in the witness' program, too, where it doesn't without one. That is a likeness,
// and no proof: in a program in which several finds break the property each is named.
func LooksLike(k *linux.Kernel, q *properties.Property, witness *traces.File) (names []string, err error) {
	names, _, err = looksLike(k, q, witness)
	return names, err
}

// looksLike also says how many questions it has asked.
func looksLike(k *linux.Kernel, q *properties.Property, witness *traces.File) (names []string, asked uint64,
	err error) {
	sc, err := lang.Parse("witness", []byte(witness.Scenario))
	if err != nil {
		return nil, 0, err
	}
	sc.Machine.Engine, sc.Machine.Image = "", ""
	for _, s := range signs {
		if s.property.ID == q.ID && strings.Contains(witness.Message, s.message) && (s.has == nil || s.has(sc)) {
			return s.finds, 0, nil
		}
	}
	_, ours, err := twoengines.On(sc, k, twoengines.Edition(k.Image.Release).String())
	if err != nil {
		return nil, 0, nil // it asks for what kpsim's engine hasn't
	}
	t := trial{sc: ours, property: q, seed: sim.Mix(witness.Digest)}
	if without, err := t.breaks(""); without || err != nil {
		return nil, t.asked, nil // or it asks for what kpsim's engine refuses
	}
	for _, l := range likeMutants {
		if slices.Contains(names, l.find) {
			continue
		}
		if bad, err := t.breaks(l.mutant); bad && err == nil { // else the program's machine can't have that one
			names = append(names, l.find)
		}
	}
	return names, t.asked, nil
}

// A trial gives a program to engines with a mutant.
type trial struct {
	sc       *scenario.Scenario
	property *properties.Property
	seed     uint64
	asked    uint64 // questions so far
}

// breaks reports whether runs break the property under a mutant.
func (t *trial) breaks(mutant string) (bool, error) {
	r, err := explore.Run(explore.Spec{Scenario: t.sc, Mutant: mutant, Runs: likeRuns, Seed: t.seed, Blind: true})
	if err != nil {
		return false, err
	}
	t.asked += r.Counts.Points
	return r.Broken[t.property.Name] > 0, nil
}

// shippedLike says which of the faults that --as-shipped brings back the witness looks like: those
// that break the property in its program by themselves. Another engine has none. It says, too, how
// many questions it has asked.
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

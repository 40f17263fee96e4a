package fuzz

import (
	"slices"
	"strings"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/twoengines"
	"kpsim/linux"
	"kpsim/properties"
	"kpsim/sim"
	"kpsim/traces"
)

// likeMutants are the mutants of kpsim's engine that do what kernels do, each with the find in
// docs/findings.md.
var likeMutants = [...]struct{ mutant, find string }{
	{"objpool-last", "objpool-last"}, {"ftrace-by-post", "ftrace-by-post"}, {"cancel-rcu", "cancel-rcu"}, {"asked-unlocked", "asked-unlocked"},
	{"check-unlocked", "check-unlocked"}, {"disarm-lost", "disarm-lost"}, {"reuse-disabled", "reuse-disabled"}, {"enable-lost", "enable-lost"},
	{"detour-post", "detour-post"}, {"post-by-list", "detour-post"}, {"boost-post", "boost-post"}, {"never-again", "blocked-lost"},
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
func enables(sc *scenario.Scenario) bool    { return sc.Does(scenario.OpEnable) }

// signs name the function that warns, which may do so for more than one reason: then all finds
// are named that are known to bring it to that.
var signs = [...]sign{
	{&properties.TextAgrees, " optimized, and no jump to its detour stands there: cc ", enables, []string{"jump-lost"}},
	{&properties.NoWarning, " warns at optimize_kprobe+", nil, []string{"rescued-warned"}},
	{&properties.NoWarning, " warns at __disarm_kprobe_ftrace+", nil, []string{"ftrace-by-post"}},
	{&properties.NoWarning, " warns at reenter_kprobe+", nil, []string{"first-hit"}},
	{&properties.NoWarning, " warns at register_kprobe+", hasModules, []string{"unload-kept", "reuse-disabled"}},
	{&properties.NoRemains, " is in the table, and stands for no probe", hasModules, []string{"unload-kept"}},
	{&properties.NoMemoryMisuse, " (use after free): struct optimized_kprobe's ", nil, []string{"forced-freed", "cancel-rcu"}},
}

// LooksLike says which known finds (docs/findings.md) a broken property of a kernel's engine looks
// like: those that show by a sign, and those by whose mutant kpsim's own engine breaks the
// property in the witness' program, too, where it doesn't without one. That is a likeness,
// and no proof: in a program in which several finds break the property each is named.
func LooksLike(k *linux.Kernel, q *properties.Property, witness *traces.File) (names []string, err error) {
	sc, err := lang.Parse("witness", []byte(witness.Scenario))
	if err != nil {
		return nil, err
	}
	sc.Machine.Engine, sc.Machine.Image = "", ""
	for _, s := range signs {
		if s.property.ID == q.ID && strings.Contains(witness.Message, s.message) && (s.has == nil || s.has(sc)) {
			return s.finds, nil
		}
	}
	_, ours, err := twoengines.On(sc, k, twoengines.Edition(k.Image.Release).String())
	if err != nil {
		return nil, nil // it asks for what kpsim's engine hasn't
	}
	breaks := func(mutant string) bool {
		r, bad := explore.Run(explore.Spec{Scenario: ours, Mutant: mutant, Runs: likeRuns, Seed: sim.Mix(witness.Digest), Blind: true})
		if bad != nil {
			err = bad
			return false
		}
		return r.Broken[q.Name] > 0
	}
	if breaks("") || err != nil {
		return nil, nil // or it asks for what kpsim's engine refuses
	}
	for _, l := range likeMutants { // an error says that the program's machine can't have that one
		if !slices.Contains(names, l.find) && breaks(l.mutant) {
			names = append(names, l.find)
		}
	}
	return names, nil
}

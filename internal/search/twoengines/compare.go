package twoengines

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/engine/ftrace"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/scenario/onlinux"
	"kpsim/linux"
	"kpsim/properties"
	"kpsim/smp/arch/target"
)

// On returns the scenario for a kernel's own engine, and for kpsim's engine with the settings of an edition, and the
// kernel's build.
func On(sc *scenario.Scenario, k *linux.Kernel) (kernels, ours *scenario.Scenario, err error) {
	one, two := *sc, *sc
	one.Machine.Trampolines, two.Machine.Trampolines = ftrace.NoText, ftrace.NoText // kpsim's own kernel alone has them
	if err := onlinux.Set(&one, k); err != nil {
		return nil, nil, err
	}
	two.Machine.Preempt = one.Machine.Preempt
	build(&two.Machine, k)
	if err := SetOurs(&two, k); err != nil {
		return nil, nil, err
	}
	return &one, &two, nil
}

// A Difference is one that is known, and explained in docs/two-engines.md.
type Difference struct {
	Name   string // of the scenario in testdata that shows it
	Says   string
	Broken string // the property that only the kernel's engine breaks
	End    string // what the violation reads besides
	By     *scenario.Operation
	Mutant string           // with it kpsim's engine answers as the kernel's does, if that breaks nothing
	On     target.Processor // whose kernels alone show it; that of x86-64: those of all may
	In     string           // a series that shows it, where the newest 6.1 and 6.12 don't
}

// Known are the differences that are known.
var Known = []Difference{
	{Name: "jump-lost", Says: "enabling a probe before the optimizer has taken its jump away writes a " +
		"breakpoint over the jump, and keeps it marked optimized", Broken: properties.TextAgrees.Name, By: act.Enable},
	{Name: "unregistered-twice", Says: "unregistering a return probe twice frees its instances twice",
		Broken: properties.NoMemoryMisuse.Name, By: act.Unregister},
	{Name: "unregistered-refused", Says: "unregistering a return probe that was refused frees instances that it " +
		"doesn't have", Broken: properties.NoOops.Name, End: " at rethook_free+", By: act.Unregister,
		On: target.PPC64LE},
	{Name: "blocked-lost", Says: "a probe that lost its jump to one inside its region doesn't get it back " +
		"when that goes", Mutant: "never-again"},
	{Name: "enable-lost", Says: "what is enabled while kprobes/enabled says 0 stays disabled", Mutant: "enable-lost"},
	{Name: "ftrace-by-post", Says: "a site of ftrace is disarmed with the client that it would be armed with now",
		Mutant: "ftrace-by-post"},
	{Name: "reuse-disabled", Says: "a probe that is registered disabled where a jump is on its way out keeps it",
		Mutant: "reuse-disabled"},
	{Name: "boost-post", Says: "a post_handler that joins a boosted probe isn't called, in a kernel without preemption",
		Mutant: "boost-post", In: "5.10"},
	{Name: "jump-hidden", Says: "a jump that lies over a probe isn't taken away if a disabled probe is in between",
		Mutant: "jump-hidden", In: "5.10"},
	{Name: "gone-traced", Says: "a probe of a module that goes stays in ftrace's filter", Mutant: "gone-traced",
		In: "5.10"},
	{Name: "arm-unreported", Says: "a registration whose arming ftrace refuses answers 0", Mutant: "arm-unreported",
		In: "7.3"},
	{Name: "flags-wide", Says: "pushfw and popfw are emulated as if they were pushfq and popfq", Mutant: "flags-wide"},
	{Name: "loop-late", Says: "an emulated loop runs once too often", Mutant: "loop-late"},
	{Name: "nip-unstored", Says: "a branch whose hit is missed in a detour is emulated from an address that " +
		"wasn't stored", Mutant: "nip-unstored", On: target.PPC64LE},
	{Name: "ret-keeps", Says: "an emulated ret leaves its operands on the stack", Mutant: "ret-keeps"},
}

// KnownAs returns the name of the known difference that two runs of a scenario may show,
// "" if they show another or none.
func KnownAs(sc *scenario.Scenario, kernels, ours *Answers) string {
	for _, d := range Known {
		if d.Mutant == "" && kernels.Broken == d.Broken && strings.Contains(kernels.End, d.End) && ours.Passed &&
			sc.Does(d.By) {
			return d.Name
		}
	}
	return ""
}

// KnownLike returns the name of the known difference with which kpsim's engine answers a
// serial scenario as a kernel's has, "" if none does so.
func KnownLike(ours *scenario.Scenario, kernels *Answers) (string, error) {
	for _, d := range Known {
		if d.Mutant == "" || d.On != target.X8664 && d.On != ours.Machine.Arch {
			continue
		}
		like, err := Answer(ours, d.Mutant)
		if err != nil {
			return "", err
		}
		if Differences(kernels, like) == "" || breakAlike(kernels, like) {
			return d.Name, nil
		}
	}
	return "", nil
}

// breakAlike reports whether both runs broke a property, and were the same until the first
// did: where one warns, the other may notice only later.
func breakAlike(a, b *Answers) bool {
	n := min(len(a.Order), len(b.Order))
	return !a.Passed && !b.Passed && slices.Equal(a.Order[:n], b.Order[:n])
}

// Differences describes where the answers of two runs of a serial scenario differ: everything is compared.
func Differences(kernels, ours *Answers) string {
	if s := ends(kernels, ours); s != "" {
		return s
	}
	if s := differ(kernels.Order, ours.Order); s != "" {
		return s
	}
	return differ(kernels.Last, ours.Last)
}

// DifferencesInAny compares only the answers that don't depend on the schedule: for each task the results of API
// calls and of calls.
func DifferencesInAny(kernels, ours *Answers) string {
	if s := ends(kernels, ours); s != "" {
		return s
	}
	byTask := func(list []string) []string {
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(a, b string) int {
			one, _, _ := strings.Cut(a, ":")
			two, _, _ := strings.Cut(b, ":")
			return strings.Compare(one, two)
		})
		return list
	}
	return differ(byTask(kernels.API), byTask(ours.API))
}

// ends compares how two runs have ended.
func ends(kernels, ours *Answers) string {
	if kernels.Passed != ours.Passed {
		return fmt.Sprintf("the kernel's engine: %s; kpsim's: %s", ended(kernels), ended(ours))
	}
	return ""
}

func ended(a *Answers) string {
	if a.Passed {
		return "nothing is broken"
	}
	return a.End
}

// differ returns the first line that differs.
func differ(kernels, ours []string) string {
	for i := range max(len(kernels), len(ours)) {
		one, two := "nothing more", "nothing more"
		if i < len(kernels) {
			one = kernels[i]
		}
		if i < len(ours) {
			two = ours[i]
		}
		if one != two {
			return fmt.Sprintf("the kernel's engine: %s\nkpsim's: %s", one, two)
		}
	}
	return ""
}

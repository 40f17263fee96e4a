package twoengines

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/scenario"
	"kpsim/linux"
	"kpsim/properties"
)

// On returns the scenario for a kernel's own engine, and that for kpsim's with the
// settings of an edition, and the kernel's build.
func On(sc *scenario.Scenario, k *linux.Kernel, edition string) (kernels, ours *scenario.Scenario, err error) {
	one, two := *sc, *sc
	if err := one.SetLinux(k); err != nil {
		return nil, nil, err
	}
	two.Machine.Preempt = one.Machine.Preempt
	build(&two.Machine, k)
	if err := two.SetEdition(edition); err != nil {
		return nil, nil, err
	}
	return &one, &two, nil
}

// A Difference is one that is known, and explained in docs/two-engines.md.
type Difference struct {
	Name   string // of the scenario in testdata that shows it
	Says   string
	Broken string // the property that only the kernel's engine breaks
	By     scenario.OpKind
}

// Known are the differences that are known.
var Known = []Difference{
	{"jump-lost", "enabling a probe before the optimizer has taken its jump away writes a breakpoint over the jump, and keeps it marked optimized", properties.TextAgrees.Name, scenario.OpEnable},
	{"unregistered-twice", "unregistering a return probe twice frees its instances twice", properties.NoMemoryMisuse.Name, scenario.OpUnregister},
}

// KnownAs returns the name of the known difference that two runs of a scenario may show,
// "" if they show another or none.
func KnownAs(sc *scenario.Scenario, kernels, ours *Answers) string {
	for _, d := range Known {
		if kernels.Broken == d.Broken && ours.Passed && sc.Does(d.By) {
			return d.Name
		}
	}
	return ""
}

// Differences says where the answers of two runs of a serial scenario differ: all is
// compared.
func Differences(kernels, ours *Answers) string {
	if s := ends(kernels, ours); s != "" {
		return s
	}
	if s := differ(kernels.Order, ours.Order); s != "" {
		return s
	}
	return differ(kernels.Last, ours.Last)
}

// DifferencesInAny compares what no schedule decides: of each task the answers of the
// API and what its calls have left.
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

// differ says which is the first line that differs.
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

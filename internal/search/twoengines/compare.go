package twoengines

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/scenario"
	"kpsim/linux"
)

// On returns the scenario for a kernel's own engine, and that for kpsim's with the
// settings of an edition.
func On(sc *scenario.Scenario, k *linux.Kernel, edition string) (kernels, ours *scenario.Scenario, err error) {
	one, two := *sc, *sc
	if err := one.SetLinux(k); err != nil {
		return nil, nil, err
	}
	two.Machine.Preempt = one.Machine.Preempt
	if err := two.SetEdition(edition); err != nil {
		return nil, nil, err
	}
	return &one, &two, nil
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

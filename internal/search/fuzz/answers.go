package fuzz

import (
	"slices"
	"strings"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/scenario/gen"
	"kpsim/internal/search/twoengines"
	"kpsim/linux"
	"kpsim/properties"
)

// answersIn: one in this many programs for a kernel is also run by a single task, and its answers
// are compared with those of kpsim's own engine, which implements the rules: return values of
// calls, handlers that ran and their registers, and the list at the end.
const answersIn = 3

// unloadKept is the find (docs/findings.md) in which an address stays in the table after its
// module is unloaded. Another order of the same calls may show it, so it has no row in Known.
const unloadKept = "unload-kept"

// Answers returns how the kernel's answers in a program differ from the rules, and the known
// difference that matches; both are "" for a program that isn't compared.
func (s *Spec) Answers(p *Program) (otherwise, like string) {
	if !s.compares(p) {
		return "", ""
	}
	sc, _ := gen.Of(&p.Recipe, s.On)
	otherwise, like = Otherwise(s.Kernel, sc, s.Mutant)
	return text(otherwise), like
}

// compares reports whether a program's answers are compared.
func (s *Spec) compares(p *Program) bool {
	return s.Kernel != nil && p.Recipe.Hash()%answersIn == 0
}

// Otherwise returns how a kernel's answers to the serial programs of a scenario differ from the
// rules. like is the known difference (twoengines.Known) that gives the kernel's answers; "" if
// none does.
func Otherwise(k *linux.Kernel, sc *scenario.Scenario, mutant string) (says, like string) {
	for _, serial := range Serials(sc) {
		kernels, ours, err := twoengines.On(serial, k)
		if err != nil {
			continue // it uses something that one of the two engines lacks
		}
		rules, err := twoengines.Answer(ours, "")
		if err != nil {
			continue
		}
		got, err := twoengines.Answer(kernels, mutant)
		if err != nil {
			continue
		}
		d := twoengines.Differences(got, rules)
		if d == "" {
			continue
		}
		if name := twoengines.KnownAs(serial, got, rules); name != "" {
			says, like = d, name
			continue
		}
		if rules.Passed && serial.Does(act.Unload) &&
			(got.Broken == properties.NoRemains.Name || strings.Contains(got.End, " warns at register_kprobe+")) {
			says, like = d, unloadKept
			continue
		}
		name, err := twoengines.KnownLike(ours, got)
		if err != nil {
			continue
		}
		if says, like = d, name; name == "" {
			return says, ""
		}
	}
	return says, like
}

// Serials returns the serial programs of a drawn scenario whose answers are compared. There are
// none if a page arrives late, if a probe is at a function that only the kernel has, or if only
// some releases of an edition refuse the probe.
func Serials(sc *scenario.Scenario) []*scenario.Scenario {
	if slices.ContainsFunc(sc.Datas, func(d scenario.Data) bool { return d.Away }) ||
		slices.ContainsFunc(sc.Probes, func(p scenario.Probe) bool { return gen.Kernels(&p) }) {
		return nil
	}
	s := *sc
	s.Probes = slices.Clone(sc.Probes)
	for i := range s.Probes {
		p := &s.Probes[i]
		p.Pre, p.Post, p.Fault = slices.Clone(p.Pre), slices.Clone(p.Post), slices.Clone(p.Fault)
	}
	return twoengines.Serials(twoengines.Straight(&s))
}

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

// answersIn is how many programs for a kernel there are to one that is also run by a single task. Its answers
// are compared with those of kpsim's own engine, which is written after the rules: what a call
// returned, which handlers ran with which registers, what is listed in the end.
const answersIn = 3

// unloadKept is the find (docs/findings.md) by which an address stays in the table when its
// module goes: another order of the same calls may show it, so it is no row of Known.
const unloadKept = "unload-kept"

// Answers says what the kernel answers otherwise than by the rules in a program, and the known
// difference that this is: nothing, if it isn't one that is compared.
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

// Otherwise says what the serial programs of a scenario answer on a kernel that they don't by
// the rules; like is the known difference (twoengines.Known) that answers as the kernel
// does, "" if none does.
func Otherwise(k *linux.Kernel, sc *scenario.Scenario, mutant string) (says, like string) {
	edition := twoengines.Edition(k.Image.Release).String()
	for _, serial := range Serials(sc) {
		kernels, ours, err := twoengines.On(serial, k, edition)
		if err != nil {
			continue // it asks for what one of the two hasn't
		}
		rules, err := twoengines.Of(ours, "")
		if err != nil {
			continue
		}
		got, err := twoengines.Of(kernels, mutant)
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

// Serials are the serial programs of a drawn scenario whose answers are compared: none where
// a page comes late, or a probe is at a function that only the kernel has, or that only some
// releases of an edition refuse.
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

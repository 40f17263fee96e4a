package search_test

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/rig"
	"kpsim/linux"
	"kpsim/linux/closure"
	"kpsim/linux/mutate"
	"kpsim/linux/vmlinux/kerneltest"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/smp"
)

var (
	drawnAll = flag.Bool("drawn-all", false, "look for each mutant with the whole library")
	drawn    = flag.Int("drawn", 6, "how many mutants of a kernel's machine code are drawn")
	drawnBy  = flag.Uint64("drawn-seed", 1, "what they are drawn from")
	drawnIn  = flag.Int("drawn-runs", 60, "how many runs of each scenario")
)

// quick are the scenarios that a mutant is looked for with first; with -drawn-all the rest
// of the library comes after.
var quick = []string{
	"safe-full", "return-siblings", "handlers-at-work", "second-instruction", "trampoline-off", "switches", "return-probes",
	"neighbours", "boost-room", "unoptimized", "lock-orders", "register-storm-full", "unsafe-regions", "return-exit",
}

// Drawn faults in a kernel's machine code are noticed, most of them: by a property that
// the kernel as it is doesn't break in the scenario.
func TestDrawnMachineCodeMutants(t *testing.T) {
	k, err := linux.Open(kerneltest.Path(t, "6.1"))
	require.NoError(t, err)
	linux.Give(k)
	names := quick
	if *drawnAll {
		names = append(slices.Clone(quick), slices.DeleteFunc(library.Names(), func(n string) bool { return slices.Contains(quick, n) })...)
	}
	var known []properties.Set
	var scenarios []*scenario.Scenario
	for _, name := range names {
		sc, err := library.Load(name)
		require.NoError(t, err)
		if sc.SetLinux(k) != nil {
			continue // it asks for what no kernel has any more
		}
		scenarios, known = append(scenarios, sc), append(known, breaks(t, sc, "", *drawnIn, 0))
	}
	probes, err := closure.Of(k.Image, "kprobes")
	require.NoError(t, err)
	noticed, list := 0, mutate.Draw(probes, *drawnBy, *drawn)
	for _, m := range list {
		by := ""
		for i, sc := range scenarios {
			if set := breaks(t, sc, m.Name, *drawnIn, known[i]) &^ known[i]; set != 0 {
				by = fmt.Sprintf("%s by %v", sc.Name, ids(set))
				noticed++
				break
			}
		}
		t.Logf("%-70s %s", m.Name, by)
	}
	t.Logf("%d of %d noticed", noticed, len(list))
	require.NotZero(t, noticed)
}

// breaks returns what a kernel breaks in so many runs; it stops after the first that isn't
// known.
func breaks(t *testing.T, sc *scenario.Scenario, mutant string, runs int, known properties.Set) (set properties.Set) {
	r, err := rig.New(sc, mutant)
	if err != nil {
		return properties.Every // its boot, or its setup, fails
	}
	defer r.Close()
	first := r.Run(new(sched.Default))
	for _, row := range sched.All {
		if row.Name != "portfolio" && row.Name != "sticky" {
			continue
		}
		s := row.New(sched.Params{Seed: 1, Length: first.Counts.Points})
		for i := range uint64(runs) {
			if !s.Begin(i) {
				break
			}
			run := r.Run(s)
			s.End(run.Counts.Points)
			switch {
			case run.Property != nil:
				set |= properties.SetOf(run.Property)
			case run.Outcome != smp.Passed:
				set |= properties.SetOf(&properties.NoOops)
			}
			if mutant != "" && set&^known != 0 {
				return set
			}
		}
	}
	return set
}

// ids are the IDs of a set.
func ids(set properties.Set) (list []string) {
	if set == properties.Every {
		return []string{"its boot"}
	}
	for _, p := range set.List() {
		list = append(list, p.ID)
	}
	return list
}

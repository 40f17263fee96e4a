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
	"kpsim/smp/arch"
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

// A look is a scenario that mutants are looked for with.
type look struct {
	scenario *scenario.Scenario
	known    properties.Set // what the kernel as it is breaks in it
	executed []bool         // whether it executes the instruction of each mutant
}

// Drawn faults in a kernel's machine code are noticed, most of them: by a property that
// the kernel as it is doesn't break in the scenario. A scenario whose runs don't execute
// the instruction can't notice: its runs are those of the kernel as it is.
func TestDrawnMachineCodeMutants(t *testing.T) {
	k, err := linux.Open(kerneltest.Path(t, "6.1"))
	require.NoError(t, err)
	linux.Give(k)
	names := quick
	if *drawnAll {
		names = append(slices.Clone(quick), slices.DeleteFunc(library.Names(), func(n string) bool { return slices.Contains(quick, n) })...)
	}
	probes, err := closure.Of(k.Image, "kprobes")
	require.NoError(t, err)
	list := mutate.Draw(probes, *drawnBy, *drawn)
	var looks []look
	for _, name := range names {
		sc, err := library.Load(name)
		require.NoError(t, err)
		if sc.SetLinux(k) != nil {
			continue // it asks for what no kernel has any more
		}
		l := look{scenario: sc, executed: make([]bool, len(list))}
		l.known = breaks(sc, "", *drawnIn, 0, func(m *smp.Memory) {
			for i := range list {
				l.executed[i] = m.Executed(arch.Addr(list[i].Addr))
			}
		})
		looks = append(looks, l)
	}
	noticed, silent := 0, 0
	for i, m := range list {
		by, tried := "", 0
		for j := range looks {
			l := &looks[j]
			if l.executed[i] {
				tried++
			} else if j > 0 { // the first is tried in any case: for the boot
				continue
			}
			if set := breaks(l.scenario, m.Name, *drawnIn, l.known, nil) &^ l.known; set != 0 {
				by = fmt.Sprintf("%s by %v", l.scenario.Name, ids(set))
				break
			}
		}
		switch {
		case by != "":
			noticed++
		case tried > 0:
			by = fmt.Sprintf("executed by %d, not noticed", tried)
			silent++
		}
		t.Logf("%-70s %s", m.Name, by)
	}
	t.Logf("%d of %d noticed; of the others %d are executed", noticed, len(list), silent)
	require.NotZero(t, noticed)
}

// breaks returns what a kernel breaks in so many runs; it stops after the first that isn't
// known. saw gets the memory after all runs, if it isn't nil.
func breaks(sc *scenario.Scenario, mutant string, runs int, known properties.Set, saw func(m *smp.Memory)) (set properties.Set) {
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
	if saw != nil {
		saw(r.Machine.Memory())
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

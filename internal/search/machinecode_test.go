package search_test

import (
	"flag"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/library"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/search/change"
	"kpsim/internal/search/rig"
	"kpsim/internal/search/twoengines"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/thorough"
	"kpsim/linux"
	"kpsim/linux/closure"
	"kpsim/linux/mutate"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/arch"
)

var (
	drawnAll = flag.Bool("drawn-all", false, "look for each mutant with the whole library")
	drawn    = flag.Int("drawn", thorough.Of(3, 6), "how many mutants of a kernel's machine code are drawn")
	drawnBy  = flag.Uint64("drawn-seed", 1, "what they are drawn from")
	drawnIn  = flag.Uint64("drawn-runs", 60, "how many runs of each scenario")
	drawnOf  = flag.String("drawn-of", "6.1", "of which kernel")

	drawnPrograms = flag.Int("drawn-programs", thorough.Of(8, 20), "of how many seeds programs are drawn")
)

// quick are the scenarios that a mutant is looked for with first; with -drawn-all the rest
// of the library comes after.
var quick = []string{
	"safe-full", "return-siblings", "handlers-at-work", "second-instruction", "trampoline-off", "switches",
	"return-probes",
	"neighbours", "boost-room", "unoptimized", "lock-orders", "register-storm-full", "unsafe-regions", "return-exit",
}

// A look is a scenario that mutants are looked for with.
type look struct {
	change.Search
	executed []bool // whether it executes the instruction of each mutant
}

// Drawn faults in a kernel's machine code are noticed, most of them, as kpsim compare
// notices a change: by an answer, or by a property that the kernel as it is doesn't break
// in the scenario. Schedules of a scenario that doesn't execute the instruction aren't
// searched: they are those of the kernel as it is.
func TestDrawnMachineCodeMutants(t *testing.T) {
	k, err := linux.Open(kerneltest.Path(t, *drawnOf))
	require.NoError(t, err)
	linux.Give(k)
	names := quick
	if *drawnAll {
		names = append(slices.Clone(quick), slices.DeleteFunc(library.Names(), func(n string) bool {
			return slices.Contains(quick, n)
		})...)
	}
	probes, err := closure.Of(k.Image, "kprobes")
	require.NoError(t, err)
	list := mutate.Draw(probes, *drawnBy, *drawn)
	var looks []*look
	var serial []*scenario.Scenario
	for _, name := range names {
		sc, err := library.Load(name)
		require.NoError(t, err)
		serial = append(serial, twoengines.Serials(sc)...)
		if !sc.OfKernel() {
			continue
		}
		l := &look{Search: change.Search{Scenario: sc, Base: k, Kernel: k, Runs: *drawnIn, Seed: 1, Blind: true},
			executed: make([]bool, len(list))}
		of := *sc
		if onlinux.Set(&of, k) != nil {
			continue // it asks for what no kernel has any more
		}
		executes(&of, func(m *smp.Memory) {
			for i := range list {
				l.executed[i] = m.Executed(arch.Addr(list[i].Addr))
			}
		})
		looks = append(looks, l)
	}
	machine := twoengines.Machine(k)
	for seed := range uint64(*drawnPrograms) {
		serial = append(serial, twoengines.Drawn(seed+1, machine)...)
	}
	var stop atomic.Bool
	programs, err := change.Programs(k, serial, 0, &stop)
	require.NoError(t, err)
	noticed, silent := 0, 0
	for i, m := range list {
		begin := time.Now()
		by, tried := answersOtherwise(programs, k, m.Name), 0
		for _, l := range looks {
			if by != "" {
				break
			}
			if l.executed[i] {
				tried++
				by = l.notices(m.Name)
			}
		}
		switch {
		case by != "":
			noticed++
		case tried > 0:
			by = fmt.Sprintf("executed by %d, not noticed", tried)
			silent++
		}
		t.Logf("%-70s %s (%.0f s)", m.Name, by, time.Since(begin).Seconds())
	}
	t.Logf("%d of %d noticed; of the others %d are executed", noticed, len(list), silent)
	require.NotZero(t, noticed)
}

// answersOtherwise says which program a mutant answers otherwise, "" if it is none.
func answersOtherwise(all []*change.Program, k *linux.Kernel, mutant string) string {
	var stop atomic.Bool
	list, _, err := change.Changed(all, k, mutant, 0, &stop)
	switch {
	case err != nil:
		return "its boot: " + err.Error()
	case len(list) > 0:
		return list[0].Program.Name + " by its answers"
	}
	return ""
}

// notices says by which property a mutant shows, "" if by none.
func (l *look) notices(mutant string) string {
	l.Mutant = mutant
	found, err := l.Run()
	list := append(found.Worse, found.Unsure...)
	switch {
	case err != nil:
		return l.Scenario.Name + ": " + err.Error()
	case len(list) > 0:
		return fmt.Sprintf("%s by %s, %d of %d, without it %d of %d", l.Scenario.Name, list[0].Property,
			list[0].Violations, list[0].Runs, list[0].Base, list[0].BaseRuns)
	}
	return ""
}

// executes runs a scenario a few times, and shows the memory then.
func executes(sc *scenario.Scenario, saw func(m *smp.Memory)) {
	breaks(sc, "", 60, 0, saw)
}

// breaks returns what a kernel breaks in so many runs; it stops after the first that isn't
// known. saw gets the memory after all runs, if it isn't nil.
func breaks(sc *scenario.Scenario, mutant string, runs int, known properties.Set,
	saw func(m *smp.Memory)) (set properties.Set) {
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

package search_test

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/gen"
	"kpsim/internal/scenario/library"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/search/change"
	"kpsim/internal/search/fuzz"
	"kpsim/internal/search/twoengines"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/thorough"
	"kpsim/linux"
	"kpsim/linux/closure"
	"kpsim/linux/mutate"
	"kpsim/properties"
	"kpsim/smp"
	"kpsim/smp/arch"
)

var (
	aloneRuns     = flag.Int("alone-runs", 6, "how many schedules of each of two strategies a scenario has")
	alonePrograms = flag.Uint64("alone-programs", thorough.Of[uint64](24, 256), "how many programs are drawn")
	aloneMost     = flag.Int("alone-most", thorough.Of(6, 40),
		"in how many drawn programs a mutant is looked for, at most")
	aloneAll = flag.Bool("alone-all", false, "and in the whole library")
)

// A site is a scenario that mutants are looked for in, and what it does as the kernel is.
type site struct {
	sc       *scenario.Scenario
	known    properties.Set // that the kernel breaks itself
	drawn    bool
	long     bool              // known has what many runs break
	executed []bool            // the instruction of each mutant
	serial   []*change.Program // what fuzz compares the answers of
}

// Drawn faults in a kernel's machine code are noticed by properties in the scenarios
// of the library (explore), and by those and by answers in programs that are drawn (fuzz). A
// scenario that doesn't execute the instruction can't tell, and isn't run.
func TestDrawnMachineCodeMutantsAlone(t *testing.T) {
	if !*aloneAll {
		thorough.Only(t, "5 s; TestDrawnMachineCodeMutants has most of it")
	}
	k, err := linux.Open(kerneltest.Path(t, *drawnOf))
	require.NoError(t, err)
	linux.Give(k)
	probes, err := closure.Of(k.Image, "kprobes")
	require.NoError(t, err)
	list := mutate.Draw(probes, *drawnBy, *drawn)
	begin := time.Now()
	explored, drawn := explorable(t, k, list), keptPrograms(t, k, list)
	t.Logf("%d scenarios of the library, %d drawn programs: %.0f s", len(explored), len(drawn),
		time.Since(begin).Seconds())

	total, noticed := make(map[string]int), make(map[string]int)
	for i, m := range list {
		begin, by, tried := time.Now(), "", 0
		kind, _, _ := strings.Cut(m.Name, ":")
		total[kind]++
		programs := 0
		for _, s := range slices.Concat(explored, drawn) {
			if by != "" || !s.executed[i] {
				continue
			}
			if s.drawn {
				if programs++; programs > *aloneMost {
					break
				}
			}
			tried++
			if by = s.notices(m.Name); by == "" {
				by = answersOtherwise(s.serial, k, m.Name)
			}
		}
		if by != "" {
			noticed[kind]++
		} else if tried > 0 {
			by = fmt.Sprintf("executed by %d, not noticed", tried)
		} else {
			by = "not executed"
		}
		t.Logf("%-70s %s (%.0f s)", m.Name, by, time.Since(begin).Seconds())
	}
	all, sum := make([]string, 0, len(total)), 0
	for kind, n := range total {
		all, sum = append(all, fmt.Sprintf("%s %d of %d", kind, noticed[kind], n)), sum+noticed[kind]
	}
	slices.Sort(all)
	t.Logf("%d of %d noticed: %s", sum, len(list), strings.Join(all, ", "))
	require.NotZero(t, sum)
}

// explorable are the scenarios of the library that the kernel can run.
func explorable(t *testing.T, k *linux.Kernel, list []mutate.Mutant) (out []*site) {
	names := quick
	if *aloneAll {
		names = append(slices.Clone(quick), slices.DeleteFunc(library.Names(), func(n string) bool {
			return slices.Contains(quick, n)
		})...)
	}
	for _, name := range names {
		sc, err := library.Load(name)
		require.NoError(t, err)
		if !sc.OfKernel() || onlinux.Set(sc, k) != nil {
			continue
		}
		out = append(out, seen(sc, list))
	}
	return out
}

// keptPrograms are those that a session of fuzz keeps: the ones that have shown something
// new, the cheapest first.
func keptPrograms(t *testing.T, k *linux.Kernel, list []mutate.Mutant) (out []*site) {
	s, err := fuzz.New(fuzz.Spec{On: twoengines.DrawnFor(k), Kernel: k, Seed: 1, Each: 4})
	require.NoError(t, err)
	type kept struct {
		recipe gen.Recipe
		points uint64
	}
	var all []kept
	for s.Programs+s.Refused < *alonePrograms {
		batch, err := s.Batch(*alonePrograms - s.Programs - s.Refused)
		require.NoError(t, err)
		for _, p := range batch {
			if p.Kept && p.Violations < p.Runs {
				all = append(all, kept{p.Recipe, p.Points / p.Runs})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b kept) int { return cmp.Compare(a.points, b.points) })
	for i := range all {
		sc, _, err := s.Scenario(&all[i].recipe)
		require.NoError(t, err)
		one := seen(sc, list)
		drawn, _ := gen.Of(&all[i].recipe, s.On)
		var stop atomic.Bool
		one.serial, err = change.Programs(k, fuzz.Serials(drawn), 0, &stop)
		require.NoError(t, err)
		one.drawn = true
		out = append(out, one)
	}
	return out
}

// seen runs a scenario on the kernel as it is.
func seen(sc *scenario.Scenario, list []mutate.Mutant) *site {
	s := &site{sc: sc, executed: make([]bool, len(list))}
	s.known = breaks(sc, "", *aloneRuns, 0, func(m *smp.Memory) {
		for i := range list {
			s.executed[i] = m.Executed(arch.Addr(list[i].Addr))
		}
	})
	return s
}

// notices says which property runs with a mutant break that the kernel doesn't break itself,
// in eight times as many, "" if there is none.
func (s *site) notices(mutant string) string {
	set := breaks(s.sc, mutant, *aloneRuns, s.known, nil) &^ s.known
	if set == 0 {
		return ""
	}
	if !s.long {
		s.known, s.long = s.known|breaks(s.sc, "", 8**aloneRuns, 0, nil), true
	}
	if set &= ^s.known; set == 0 {
		return ""
	}
	for _, p := range properties.All {
		if set&properties.SetOf(p) != 0 {
			return s.sc.Name + " by " + p.Name
		}
	}
	return s.sc.Name
}

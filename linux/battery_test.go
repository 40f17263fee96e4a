package linux_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/search/rig"
	"kpsim/internal/search/twoengines"
	"kpsim/linux"
	"kpsim/linux/boot"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/smp"
)

// batteryRuns is how many runs of each scenario and strategy a broken kernel gets.
const batteryRuns = 20

// seldom is how many the kernel as it is gets, before what it doesn't break is a fault's.
const seldom = 400

// A battery is what a broken kernel has to pass, made with the kernel as it is.
type battery struct {
	series, edition string
	k               *linux.Kernel
	called          map[string]bool // services that the boot calls
	into            map[string]bool // where those go that are called
	rows            []judged
	sure            bool // what is noticed is looked for in many runs of the kernel as it is
}

// A judged is a scenario, and what the kernel as it is does with it.
type judged struct {
	sc     *scenario.Scenario
	known  properties.Set
	often  properties.Set // of them: in one of four runs
	never  properties.Set // it doesn't break these in many runs
	called map[string]bool
	serial *scenario.Scenario // by one task, nil: the engines differ, or it can't be had
	ours   *twoengines.Answers
}

// newBattery runs scenarios on the kernel as it is: those of the library with these names,
// and if there are any, those for services.
func newBattery(t *testing.T, series, edition string, names []string) *battery {
	b := &battery{series: series, edition: edition, called: make(map[string]bool), sure: len(names) > 0}
	b.into = b.called
	b.k = open(t, series).Counting(func(name string) { b.into[name] = true })
	for cpus := range 4 {
		_, err := boot.Kernel(b.k, cpus+1)
		require.NoError(t, err)
	}
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		return strings.HasPrefix(n, "return-nmi") // kernels break them seldom: finding objpool-last
	})
	if len(names) > 0 {
		own, err := filepath.Glob(filepath.Join(ownScenarios, "*.star"))
		require.NoError(t, err)
		names = slices.Concat(names, own)
	}
	for _, name := range names {
		b.add(t, name)
	}
	return b
}

// add adds a scenario, of the library or a file.
func (b *battery) add(t *testing.T, name string) {
	linux.Give(b.k)
	j := judged{sc: load(t, name), called: make(map[string]bool)}
	j.twoEngines(b)
	if onlinux.Set(j.sc, b.k) != nil {
		return // it asks for what no kernel has any more
	}
	b.into = j.called
	often, by := j.runs(batteryRuns, properties.Every)
	require.Empty(t, by, name)
	for i, p := range properties.All {
		if often[i] > 0 {
			j.known |= properties.SetOf(p)
		}
		if often[i] > batteryRuns/2 {
			j.often |= properties.SetOf(p)
		}
	}
	b.rows = append(b.rows, j)
}

// load loads a scenario of the library, or of a file.
func load(t *testing.T, name string) *scenario.Scenario {
	if !strings.HasSuffix(name, ".star") {
		sc, err := library.Load(name)
		require.NoError(t, err)
		return sc
	}
	source, err := os.ReadFile(name)
	require.NoError(t, err)
	sc, err := lang.Load(name, source, nil)
	require.NoError(t, err)
	return sc
}

// twoEngines prepares the comparison with kpsim's engine.
func (j *judged) twoEngines(b *battery) {
	if !b.sure {
		return
	}
	one, two, err := twoengines.On(twoengines.Serial(j.sc), b.k)
	if err != nil {
		return
	}
	kernels, err := twoengines.Answer(one, "")
	if err != nil {
		return
	}
	if j.ours, err = twoengines.Answer(two, ""); err == nil && twoengines.Differences(kernels, j.ours) == "" {
		j.serial = one
	}
}

// runs runs the scenario on the kernel that was given last, and counts how often which
// property is broken. It stops at the first that isn't among those known, and says so.
func (j *judged) runs(runs int, known properties.Set) (often [64]int, by string) {
	r, err := rig.New(j.sc, "")
	if err != nil {
		return often, "it doesn't start"
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
			case run.Property != nil && !known.Has(run.Property):
				return often, run.Property.ID + " " + run.Property.Name
			case run.Property != nil:
				often[slices.Index(properties.All, run.Property)]++
			case run.Outcome != smp.Passed:
				return often, "the run is refused"
			}
		}
	}
	return often, ""
}

// broken is the property that runs has said first, nil if it has said another thing.
func broken(by string) *properties.Property {
	id, _, _ := strings.Cut(by, " ")
	p, _ := properties.ByName(id)
	return p
}

// breaks reports whether the kernel as it is, too, breaks a property, seldom as that may be:
// then it is known.
func (b *battery) breaks(j *judged, p *properties.Property) bool {
	if !b.sure || j.never.Has(p) {
		return false
	}
	linux.Give(b.k)
	for {
		_, by := j.runs(seldom, j.known)
		also := broken(by)
		if also == nil {
			j.never |= properties.SetOf(p)
			return false
		}
		j.known |= properties.SetOf(also)
		if also == p {
			return true
		}
	}
}

// dies says what becomes of a kernel that does what is deadly.
func (b *battery) dies(t *testing.T, k *linux.Kernel, how string) string {
	sc := load(t, filepath.Join(ownScenarios, "dying.star"))
	linux.Give(k.Dying(how))
	defer linux.Give(b.k)
	require.NoError(t, onlinux.Set(sc, b.k))
	r, err := rig.New(sc, "")
	require.NoError(t, err)
	defer r.Close()
	run := r.Run(new(sched.Default))
	return fmt.Sprint(run.Outcome, run.Finding.Message, run.Err)
}

// noticed says by what a fault is noticed, "" if nothing does.
func (b *battery) noticed(t *testing.T, f *linux.Fault) (by string) {
	k, n := b.k.Faulty(f)
	if n == 0 {
		return ""
	}
	if f.Dying != "" {
		if b.dies(t, k, f.Dying) != b.dies(t, b.k, f.Dying) {
			return "`dying`: it doesn't die as it should"
		}
		return ""
	}
	linux.Give(k)
	defer linux.Give(b.k)
	if _, err := boot.Kernel(k, 2); err != nil {
		return "its engine doesn't boot"
	}
	if by := b.byScenario(k, f); by != "" {
		return by
	}
	if !b.sure {
		return ""
	}
	if s := linux.Examined(t, k, b.series, 97); s != "" {
		return "the exam"
	}
	for i := range b.rows {
		j := &b.rows[i]
		if j.serial == nil {
			continue
		}
		kernels, err := twoengines.Answer(j.serial, "")
		if err != nil || twoengines.Differences(kernels, j.ours) != "" {
			return "two engines, `" + j.sc.Name + "`"
		}
	}
	return ""
}

// byScenario says which scenario notices, and by what.
func (b *battery) byScenario(k *linux.Kernel, f *linux.Fault) string {
	names := f.Services()
	in := func(called map[string]bool) bool {
		return slices.ContainsFunc(names, func(n string) bool { return called[n] })
	}
	for i := range b.rows {
		j := &b.rows[i]
		if !in(j.called) && !in(b.called) || f.Where != "" && f.Where != j.sc.Name {
			continue
		}
		runs := batteryRuns
		if f.Where != "" {
			runs = 4 * seldom
		}
		often, by := j.runs(runs, j.known)
		for p := broken(by); p != nil && b.breaks(j, p); p = broken(by) {
			linux.Give(k)
			often, by = j.runs(batteryRuns, j.known)
		}
		linux.Give(k)
		if by != "" {
			return "`" + j.sc.Name + "`: " + by
		}
		for i, p := range properties.All {
			if j.often.Has(p) && often[i] == 0 {
				return fmt.Sprintf("`%s`: %s %s isn't found", j.sc.Name, p.ID, p.Name)
			}
		}
	}
	return ""
}

package search_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/replay"
	"kpsim/internal/testkit/searchtest"
	"kpsim/kprobes/mutants"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/traces"
)

var rerecord = flag.Bool("rerecord", false,
	"explore again where each was found and write traces/corpus anew; commit it by itself, and say why")

const corpusDir = "../../traces/corpus"

type row struct{ file, scenario, mutant string }

// corpus is the committed traces, PROPERTY-CAUSE: where each was found is in its file.
var corpus = corpusRows()

func corpusRows() (rows []row) {
	files, err := filepath.Glob(filepath.Join(corpusDir, "*.kps"))
	must(err)
	for _, path := range files {
		data, err := os.ReadFile(path)
		must(err)
		f, err := traces.Parse(path, data)
		must(err)
		sc, err := lang.Parse(path, []byte(f.Scenario))
		must(err)
		rows = append(rows, row{strings.TrimSuffix(filepath.Base(path), ".kps"), sc.Name,
			f.Remark(traces.OriginMutant)})
	}
	return rows
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// playPath plays a trace, edited if edit isn't nil. The rig is closed when the
// test ends.
func playPath(t *testing.T, path string, edit func(f *traces.File)) (*traces.File, *replay.Replay) {
	t.Helper()
	f := searchtest.ReadTrace(t, path)
	if edit != nil {
		edit(f)
	}
	r, err := replay.Play(path, f, false)
	require.NoError(t, err)
	t.Cleanup(r.Rig.Close)
	return f, r
}

// nowhere is what is said of a CPU that has gone where no memory is, and so no name.
var nowhere = regexp.MustCompile(`dies of #PF at (0xffff[0-9a-f]{12}), address 0xffff[0-9a-f]{12}$`)

// TestCorpus: each committed trace ends in its property, at its place, with its
// digest; one of a mutant doesn't on the right engine; and each mutant has one. A file that
// doesn't any more is re-recorded in a commit of its own:
// go test ./internal/search -run Corpus/FILE -rerecord.
func TestCorpus(t *testing.T) {
	for _, c := range corpus {
		t.Run(c.file, func(t *testing.T) {
			path := filepath.Join(corpusDir, c.file+".kps")
			if *rerecord {
				record(t, path, c.scenario, c.mutant, c.file[:2])
			}
			f, r := playPath(t, path, nil)
			require.True(t, r.Same, r.Why)
			require.Equal(t, r.Message, f.Message)
			if !nowhere.MatchString(f.Message) {
				require.NotContains(t, f.Message, "0xffff")
			}
			require.Empty(t, r.Drifts)
			require.Equal(t, c.file[:2], r.Property.ID)
			if c.mutant != "" {
				requireRight(t, path, f)
			}
		})
	}
	for i := range mutants.All {
		mu := &mutants.All[i]
		has := slices.ContainsFunc(corpus, func(c row) bool {
			return c.mutant == mu.Name && slices.ContainsFunc(properties.All, func(p *properties.Property) bool {
				return p.ID == c.file[:2] && (p.Name == mu.Property || slices.Contains(mu.Also, p.Name))
			})
		})
		require.Equal(t, mu.Equivalent == nil, has, "%s: a trace of what notices", mu.Name)
	}
	require.NotEmpty(t, corpus)
}

// requireRight plays a trace of a mutant on the right engine, which breaks nothing
// along it.
func requireRight(t *testing.T, path string, f *traces.File) {
	right := *f
	right.Origin = slices.DeleteFunc(slices.Clone(f.Origin), func(r traces.Remark) bool {
		return r.Key == traces.OriginMutant
	})
	require.Less(t, len(right.Origin), len(f.Origin))
	rig, err := replay.Open(path, &right)
	require.NoError(t, err)
	defer rig.Close()
	run := rig.Play(sched.NewAnchored(f.Schedule, rig.Machine.Names()))
	require.NotEqual(t, smp.Refused, run.Outcome, "%v", run.Err)
	if x := rig.Scenario.Expect; x.Sometimes && run.Property != nil && x.Property == run.Property.Name {
		return // it is what the scenario expects of the right engine
	}
	require.Nil(t, run.Property, "the right engine breaks it, too: %+v", run.Finding)
}

// record explores until it has a witness of the property. Other properties may
// be broken more often under a mutant: seeds are gone through. A lost order is looked for
// among all schedules of few deviations.
func record(t *testing.T, path, name, broken, property string) {
	sc, err := library.Load(name)
	require.NoError(t, err)
	for i := range mutants.LostOrders {
		if l := &mutants.LostOrders[i]; l.Mutant == broken {
			w := verifyOrder(t, l, broken, l.Deviations).Witnesses[0]
			require.NoError(t, os.WriteFile(path, w.File.Marshal(), 0o644))
			return
		}
	}
	for seed := range uint64(200) {
		res, err := explore.Run(explore.Spec{Scenario: sc, Mutant: broken, Runs: 20_000, Seed: seed, Workers: 1,
			Stop: true})
		require.NoError(t, err)
		if seed == 0 && (res.Witness == nil || len(res.Witness.Schedule) > 0) { // more runs may have a shorter one
			res, err = explore.Run(explore.Spec{Scenario: sc, Mutant: broken, Runs: 20_000, Seed: seed, Workers: 1})
			require.NoError(t, err)
		}
		if w := res.Witness; w != nil && w.Property.ID == property {
			require.NoError(t, os.WriteFile(path, w.File.Marshal(), 0o644))
			return
		}
	}
	t.Fatalf("no witness of %s in %s", property, name)
}

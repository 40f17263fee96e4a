package search

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/rig"
	"kpsim/sched"
	"kpsim/traces"
)

// What a stranger's file may take.
const strangersTime = 20 * time.Second

// Whatever a trace's bytes are, it is refused by one line, or played.
func FuzzPlay(f *testing.F) {
	paths, err := filepath.Glob("../../traces/corpus/*.kps")
	require.NoError(f, err)
	for i := 0; i < len(paths); i += 8 {
		data, err := os.ReadFile(paths[i])
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		began := time.Now()
		file, err := traces.Parse("mail.kps", data)
		if err == nil {
			var r *Replay
			if r, err = PlayFile("mail.kps", file, true); err == nil {
				r.Rig.Close()
			}
		}
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
		}
		require.Less(t, time.Since(began), strangersTime)
	})
}

// Whatever a share's bytes are, with a checksum that fits.
func FuzzResults(f *testing.F) {
	f.Add(share(f))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := ReadResults("mail.json", withSum(body))
		for i := 0; err == nil && i < len(r.Scenarios); i++ {
			var spec Spec
			if spec, _, err = r.Spec(r.Scenarios[i]); err == nil {
				err = r.Check(spec, r.Scenarios[i])
			}
		}
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
		}
	})
}

// share is what an exploration writes, without its checksum.
func share(t testing.TB) []byte {
	sc, err := library.Load("torn-jump")
	require.NoError(t, err)
	spec := Spec{Scenario: sc, Strategy: DefaultStrategy, Runs: 60, Seed: 1, Workers: 1}
	res, err := Explore(spec)
	require.NoError(t, err)
	require.NotZero(t, res.Violations)
	rig, err := rig.New(sc, "")
	require.NoError(t, err)
	defer rig.Close()
	run := rig.Run(new(sched.Default))
	r := &Results{Share: 1, Shares: 1, Strategy: spec.Strategy, Seed: 1, Runs: 60, Scenarios: []*Explored{{
		Name: sc.Name, Arg: sc.Name, Text: lang.Print(sc), Default: DigestName(run.Digest), Runs: 60, Parts: res.Parts,
	}}}
	data, err := r.Marshal()
	require.NoError(t, err)
	_, err = ReadResults("share.json", data)
	require.NoError(t, err)
	return data[:len(data)-len(sumSuffix(data))]
}

func sumSuffix(data []byte) []byte {
	n := len(data) - 1
	for data[n-1] != '\n' {
		n--
	}
	return data[n:]
}

func withSum(body []byte) []byte {
	return append(append([]byte(nil), body...), `{"sha256":"`+sumOf(body)+"\"}\n"...)
}

// An edited share is bad input, which names the file and the place; what it says is made
// again before it is believed.
func TestEditedShare(t *testing.T) {
	read := func() (*Results, *Explored, *Part) {
		r, err := ReadResults("share.json", withSum(share(t)))
		require.NoError(t, err)
		for i := range r.Scenarios[0].Parts {
			if p := &r.Scenarios[0].Parts[i]; len(p.Found) > 0 {
				return r, r.Scenarios[0], p
			}
		}
		t.Fatal("nothing was found")
		return nil, nil, nil
	}
	for says, edit := range map[string]func(e *Explored, p *Part, f *Found){
		"":                              func(*Explored, *Part, *Found) {},
		"made again it has digest":      func(_ *Explored, _ *Part, f *Found) { f.Digest++ },
		"its choices don't fit":         func(_ *Explored, _ *Part, f *Found) { f.Choices[0][0]++ },
		"no choice is":                  func(_ *Explored, _ *Part, f *Found) { f.Choices[0][4] = 99 },
		"a replay left its recording":   func(_ *Explored, _ *Part, f *Found) { f.Asked++ },
		"it doesn't break":              func(_ *Explored, p *Part, f *Found) { f.Property = "no-start-inside"; rename(p, f.Property) },
		"no property is called":         func(_ *Explored, p *Part, f *Found) { f.Property = "x"; rename(p, f.Property) },
		"otherwise":                     func(_ *Explored, _ *Part, f *Found) { f.Message += "\x1b[31m" },
		"it tells 0 of them":            func(_ *Explored, p *Part, _ *Found) { p.Found = nil },
		"runs break a property":         func(_ *Explored, p *Part, _ *Found) { p.Violations = 1 << 63 },
		"all parts together":            func(_ *Explored, p *Part, _ *Found) { p.Runs = 1 << 63 },
		"it tells of 5 probes":          func(_ *Explored, p *Part, _ *Found) { p.Probes = make([]rig.Probed, 5) },
		"there are parts 0 to":          func(_ *Explored, p *Part, _ *Found) { p.Index = -1 },
		"the runs that break one prope": func(_ *Explored, p *Part, f *Found) { p.Broken[f.Property] = 1 << 63 },
	} {
		r, e, p := read()
		edit(e, p, &p.Found[0])
		spec, _, err := r.Spec(e)
		require.NoError(t, err)
		err = r.Check(spec, e)
		if says == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, says)
		require.Regexp(t, `^share\.json: scenario torn-jump, part -?\d+: .*; it was edited, or made by another kpsim: make it again$`, err.Error())
	}
}

func rename(p *Part, property string) { p.Broken = map[string]uint64{property: p.Violations} }

// A stranger's trace may say that a run is long: it takes so long and no longer.
func TestLongTrace(t *testing.T) {
	file := &traces.File{Property: "T2", Format: 1, Scenario: `machine(cpus = 2, steps = 50000000)
f = text("f", hex = "55 4889e5 5d c3")
task(cpu = 0, ops = [call(f)], repeat = 1000000)
task(cpu = 1, ops = [call(f)], repeat = 1000000)
`}
	_, err := PlayFile("long.kps", file, true)
	require.ErrorContains(t, err, "hasn't ended after 1000000 steps; if it is a loop that ends, and only long, a trace's run, which has at most 1000000 boundaries, is too short for it: explore its scenario by itself, with machine(steps = 10000000)")
	file.Scenario = strings.Replace(file.Scenario, "steps = 50000000", "steps = 100000", 1)
	_, err = PlayFile("long.kps", file, true)
	require.ErrorContains(t, err, "only long, say machine(steps = 1000000)")
}

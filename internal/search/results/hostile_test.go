package results

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/rig"
	"kpsim/internal/search/shrink"
	"kpsim/sched"
)

// Whatever a share's bytes are, with a checksum that fits.
func FuzzResults(f *testing.F) {
	f.Add(share(f))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := Read("mail.json", withSum(body))
		for i := 0; err == nil && i < len(r.Scenarios); i++ {
			var spec explore.Spec
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
	spec := explore.Spec{Scenario: sc, Strategy: explore.DefaultStrategy, Runs: 60, Seed: 1, Workers: 1}
	res, err := explore.Run(spec)
	require.NoError(t, err)
	require.NotZero(t, res.Violations)
	rig, err := rig.New(sc, "")
	require.NoError(t, err)
	defer rig.Close()
	run := rig.Run(new(sched.Default))
	r := &File{Share: 1, Shares: 1, Strategy: spec.Strategy, Seed: 1, Runs: 60, Scenarios: []*Explored{{
		Name: sc.Name, Arg: sc.Name, Text: lang.Print(sc), Default: DigestName(run.Digest), Runs: 60, Parts: res.Parts,
	}}}
	data, err := r.Marshal()
	require.NoError(t, err)
	_, err = Read("share.json", data)
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
	read := func() (*File, *Explored, *explore.Part) {
		r, err := Read("share.json", withSum(share(t)))
		require.NoError(t, err)
		for i := range r.Scenarios[0].Parts {
			if p := &r.Scenarios[0].Parts[i]; len(p.Found) > 0 {
				return r, r.Scenarios[0], p
			}
		}
		t.Fatal("nothing was found")
		return nil, nil, nil
	}
	for says, edit := range map[string]func(e *Explored, p *explore.Part, f *shrink.Found){
		"":                            func(*Explored, *explore.Part, *shrink.Found) {},
		"made again it has digest":    func(_ *Explored, _ *explore.Part, f *shrink.Found) { f.Digest++ },
		"its choices don't fit":       func(_ *Explored, _ *explore.Part, f *shrink.Found) { f.Choices[0][0]++ },
		"no choice is":                func(_ *Explored, _ *explore.Part, f *shrink.Found) { f.Choices[0][4] = 99 },
		"a replay left its recording": func(_ *Explored, _ *explore.Part, f *shrink.Found) { f.Asked++ },
		"it doesn't break": func(_ *Explored, p *explore.Part, f *shrink.Found) {
			f.Property = "no-start-inside"
			rename(p, f.Property)
		},
		"no property is called": func(_ *Explored, p *explore.Part, f *shrink.Found) { f.Property = "x"; rename(p, f.Property) },
		"otherwise": func(_ *Explored, _ *explore.Part, f *shrink.Found) {
			f.Message += "\x1b[31m"
		},
		"it tells 0 of them":    func(_ *Explored, p *explore.Part, _ *shrink.Found) { p.Found = nil },
		"runs break a property": func(_ *Explored, p *explore.Part, _ *shrink.Found) { p.Violations = 1 << 63 },
		"all parts together":    func(_ *Explored, p *explore.Part, _ *shrink.Found) { p.Runs = 1 << 63 },
		"it tells of 5 probes": func(_ *Explored, p *explore.Part, _ *shrink.Found) {
			p.Probes = make([]rig.Probed, 5)
		},
		"there are parts 0 to": func(_ *Explored, p *explore.Part, _ *shrink.Found) { p.Index = -1 },
		"the runs that break one prope": func(_ *Explored, p *explore.Part, f *shrink.Found) {
			p.Broken[f.Property] = 1 << 63
		},
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

func rename(p *explore.Part, property string) { p.Broken = map[string]uint64{property: p.Violations} }

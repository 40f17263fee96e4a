package replay_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/search/replay"
	"kpsim/internal/testkit/searchtest"
	"kpsim/internal/testkit/thorough"
	"kpsim/traces"
	"kpsim/traces/view"
)

// The timeline of each trace is that of the run itself, and its parts fit
// together: spans lie in each other, arrows point forward, deviations are in order.
func TestTimeline(t *testing.T) {
	names, err := filepath.Glob(searchtest.CorpusPath(t, "*"))
	require.NoError(t, err)
	require.NotEmpty(t, names)
	if !thorough.Set() {
		names = sample(names)
	}
	stale, arrows, bands, violated := 0, 0, 0, 0
	for _, name := range names {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		file, err := traces.Parse(name, data)
		require.NoError(t, err)
		r, err := replay.Play(name, file, true)
		require.NoError(t, err)
		in := r.View(file)
		s := view.Lay(in, r.Timeline(view.Sites(in)))
		n := len(s.Steps)
		require.NotZero(t, n, name)
		if s.Violation >= 0 {
			require.Equal(t, "violation", s.Steps[s.Violation].Class, name)
			violated++
		}
		require.Len(t, s.Deviations, len(file.Schedule), name)
		last := -1
		for _, d := range s.Deviations {
			require.GreaterOrEqual(t, d.Step, last, name)
			last = d.Step
		}
		require.Less(t, last, n)
		for _, a := range s.Arrows {
			require.Less(t, a.From, a.To, name)
			require.Less(t, a.To, n, name)
		}
		nested(t, name, s)
		for i := range s.Texts {
			p := &s.Texts[i]
			require.NotEmpty(t, p.Versions, "%s: %s", name, p.Name)
			require.NotEmpty(t, p.Name, name)
			for k := range p.Sights {
				require.Len(t, p.Sights[k].Bytes, 3*p.Len-1, name)
			}
			stale += len(p.Sights)
		}
		arrows, bands = arrows+len(s.Arrows), bands+len(s.Bands)
		r.Rig.Close()
	}
	require.Greater(t, violated, len(names)/2)
	require.NotZero(t, stale)
	require.NotZero(t, arrows)
	require.NotZero(t, bands)
}

// nested holds that the tasks and traps of a CPU lie in each other.
func nested(t *testing.T, name string, s *view.Scene) {
	for cpu := range s.CPUs {
		var open []view.Span
		for _, p := range s.Spans {
			if p.CPU != cpu || p.Kind != view.SpanTask && p.Kind != view.SpanTrap {
				continue
			}
			to := p.From
			if p.Kind == view.SpanTrap && to == len(s.Steps)-1 {
				to-- // the run ends with it, and so does what it came into
			}
			for len(open) > 0 && open[len(open)-1].To <= to {
				open = open[:len(open)-1]
			}
			if p.Kind == view.SpanTask {
				require.Empty(t, open, "%s: cpu%d: %+v", name, cpu, p)
			} else {
				require.NotEmpty(t, open, "%s: cpu%d: %+v", name, cpu, p)
				require.LessOrEqual(t, p.To, open[len(open)-1].To, "%s: cpu%d: %+v in %+v", name, cpu, p,
					open[len(open)-1])
			}
			open = append(open, p)
		}
	}
}

// sample is a quarter of the traces.
func sample(names []string) (list []string) {
	for i := 0; i < len(names); i += 4 {
		list = append(list, names[i])
	}
	return list
}

// Near nearly every trace there is a run that breaks nothing, which is the same up to
// where the first deviation is left out.
func TestNearest(t *testing.T) {
	names, err := filepath.Glob(searchtest.CorpusPath(t, "*"))
	require.NoError(t, err)
	if !thorough.Set() {
		names = sample(names)
	}
	found, alone, late := 0, 0, 0
	for _, name := range names {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		file, err := traces.Parse(name, data)
		require.NoError(t, err)
		n, err := replay.Nearest(name, file)
		require.NoError(t, err)
		if n == nil {
			continue
		}
		require.Nil(t, n.Property, name)
		require.Equal(t, n.Mutant == "", len(n.Without) > 0, name)
		in := n.View(file)
		s := view.Lay(in, n.Timeline(view.Sites(in)))
		require.Negative(t, s.Violation, name)
		require.Empty(t, s.Headline, name)
		r, err := replay.Play(name, file, true)
		require.NoError(t, err)
		in = r.View(file)
		w := view.Lay(in, r.Timeline(view.Sites(in)))
		same := 0
		for same < len(s.Steps) && same < len(w.Steps) && s.Steps[same].Event == w.Steps[same].Event {
			same++
		}
		found++
		if n.Mutant != "" {
			continue
		}
		require.GreaterOrEqual(t, same, w.Deviations[n.Without[0]].Step, name)
		alone++
		if n.Without[0] == len(file.Schedule)-1 {
			late++
		}
		n.Rig.Close()
		r.Rig.Close()
	}
	require.Greater(t, found*10, len(names)*9, "of %d", len(names))
	require.Greater(t, late*2, alone, "of %d", alone)
	t.Logf("%d of %d traces, %d with the mutant, %d of them by leaving the last deviation out", found, len(names),
		alone, late)
}

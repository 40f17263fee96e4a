package viewer_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/cmd/kpsim/viewer"
	"kpsim/properties/harness"
	"kpsim/traces"
	"kpsim/traces/view"
)

const corpus = "../../../traces/corpus/"

// read reads a trace of the corpus.
func read(t testing.TB, name string) *traces.File {
	t.Helper()
	data, err := os.ReadFile(corpus + name + ".kps")
	require.NoError(t, err)
	f, err := traces.Parse(name, data)
	require.NoError(t, err)
	return f
}

// filmed plays a trace.
func filmed(t testing.TB, name string, f *traces.File) viewer.Run {
	t.Helper()
	r, err := harness.PlayFile(name, f, true)
	require.NoError(t, err)
	defer r.Rig.Close()
	return laidOut(name, f, r)
}

func laidOut(name string, f *traces.File, r *harness.Replay) viewer.Run {
	in := r.View(f)
	in.Schedule = nil
	for _, a := range r.Taken {
		in.Schedule = append(in.Schedule, traces.Deviation(a))
	}
	var tasks []string
	for _, t := range r.Rig.Machine.Tasks() {
		tasks = append(tasks, t.Name)
	}
	return viewer.Run{
		Name: name, About: "Scenario " + r.Rig.Scenario.Name + ". " + r.Rig.Scenario.Says,
		Scene: view.Lay(in, r.Film(view.Sites(in))), Task: func(id uint64) string { return tasks[id] },
	}
}

// pair plays a trace, and the nearest run that breaks nothing.
func pair(t testing.TB, name string) []viewer.Run {
	t.Helper()
	f := read(t, name)
	n, err := harness.Nearest(name, f)
	require.NoError(t, err)
	require.NotNil(t, n)
	defer n.Rig.Close()
	other := laidOut(n.Says(), f, n.Replay)
	other.About = "The nearest run that breaks nothing."
	return []viewer.Run{filmed(t, name, f), other}
}

// page writes runs to a file.
func page(t testing.TB, runs ...viewer.Run) (file string, size int) {
	t.Helper()
	title := runs[0].Name
	if len(runs) > 1 {
		title += ", and " + runs[1].Name
	}
	var b bytes.Buffer
	require.NoError(t, viewer.Write(&b, &viewer.Page{Title: title, Command: "kpsim view traces/corpus/" + runs[0].Name + ".kps", Runs: runs}))
	file = filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(file, b.Bytes(), 0o644))
	return file, b.Len()
}

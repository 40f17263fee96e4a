package viewer_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/replay"
	"kpsim/internal/ui/viewer"
	"kpsim/traces"
	"kpsim/traces/view"
)

// corpus is where traces are, from the root of the repository.
const corpus = "traces/corpus/"

// read reads a trace of the corpus.
func read(t testing.TB, name string) *traces.File {
	t.Helper()
	data, err := os.ReadFile("../../../" + name)
	require.NoError(t, err)
	f, err := traces.Parse(name, data)
	require.NoError(t, err)
	return f
}

// witness plays a trace of the corpus.
func witness(t testing.TB, name string) viewer.Run {
	t.Helper()
	name = corpus + name + ".kps"
	return filmed(t, name, read(t, name))
}

// filmed plays a trace.
func filmed(t testing.TB, name string, f *traces.File) viewer.Run {
	t.Helper()
	r, err := replay.Play(name, f, true)
	require.NoError(t, err)
	defer r.Rig.Close()
	return laidOut(name, f, r)
}

func laidOut(name string, f *traces.File, r *replay.Replay) viewer.Run {
	in := r.View(f)
	in.Schedule = slices.Clone(r.Taken)
	var tasks []string
	for _, t := range r.Rig.Machine.Tasks().All() {
		tasks = append(tasks, t.Name)
	}
	return viewer.Run{
		Name: filepath.Base(name), About: "Scenario " + r.Rig.Scenario.Name + ". " + r.Rig.Scenario.Says,
		Scene: view.Lay(in, r.Timeline(view.Sites(in))), Task: func(id uint64) string { return tasks[id] },
	}
}

// pair plays a trace, and the nearest run that breaks nothing.
func pair(t testing.TB, name string) []viewer.Run {
	t.Helper()
	name = corpus + name + ".kps"
	f := read(t, name)
	n, err := replay.Nearest(name, f)
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
	return pageAt(t, "", runs...)
}

// pageAt writes runs to a file that opens at an event.
func pageAt(t testing.TB, at string, runs ...viewer.Run) (file string, size int) {
	t.Helper()
	title := runs[0].Name
	if len(runs) > 1 {
		title += ", and " + runs[1].Name
	}
	var b bytes.Buffer
	command := "kpsim view "
	if len(runs) > 1 {
		command += "--passing "
	}
	require.NoError(t, viewer.Write(&b, &viewer.Page{Title: title, Command: command + runs[0].Name, At: at,
		Runs: runs}))
	file = filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(file, b.Bytes(), 0o644))
	return file, b.Len()
}

// loops is a run that goes on for as long as it is let: probes come and go, jumps are
// written and taken away, on four CPUs.
const loops = `
scenario("loops", says = "Three probes come and go, while three CPUs are in their function.")
machine(cpus = 4, preempt = "full", quiesce = "tasks", fetch = "stale")
f = text("busy_function_under_test", at = 0xffffffff81000000, hex = "55 4889e5 53 4154 4155 b801000000 415d 415c 5b 5d c3")
ks = [kprobe("probe%%d" %% i, at = f + at) for i, at in enumerate([0, 1, 9])]
task("prober", cpu = 0, ops = [register(k) for k in ks] + [wait_optimized()] + [unregister(k) for k in ks], repeat = %d)
for cpu in (1, 2, 3):
    task("caller%%d" %% cpu, cpu = cpu, ops = [call(f), schedule()], repeat = %[1]d, background = True)
never()
`

// long is a run of at least so many events.
func long(t testing.TB, events int) viewer.Run {
	t.Helper()
	last := 0
	for repeat := max(1, events/280); ; repeat += repeat/2 + 1 {
		sc, err := lang.Load("loops", fmt.Appendf(nil, loops, repeat), nil)
		require.NoError(t, err)
		run := filmed(t, "loops", &traces.File{Scenario: lang.Print(sc)}) // a trace has no loops
		n := len(run.Scene.Steps)
		require.Greater(t, n, last, "the run is as long as a trace's may be")
		if last = n; n >= events {
			t.Logf("%d events, %d times", n, repeat)
			return run
		}
	}
}

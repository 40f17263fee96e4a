package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kpsim/campaign/board"
	"kpsim/campaign/hub"
	"kpsim/campaign/plan"
	"kpsim/campaign/unit"
)

// fakeBoard makes a board that a test tells what a coordinator would.
func fakeBoard(t testing.TB) *board.Board {
	t.Helper()
	h, err := hub.Start(hub.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(h.Stop)
	nc, err := h.Connect(hub.Lead)
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	require.NoError(t, hub.Ready(t.Context(), nc))
	b, err := board.Make(t.Context(), nc, 1)
	require.NoError(t, err)
	return b
}

func begin(t testing.TB, b *board.Board, id, state string, at time.Time) {
	t.Helper()
	require.NoError(t, b.CreateState(t.Context(),
		&board.State{ID: id, Name: "nightly", Build: "0123456789ab", State: state, Began: at}))
}

func tell(t testing.TB, b *board.Board, s *board.Status) {
	t.Helper()
	require.NoError(t, b.PublishStatus(t.Context(), s))
}

func serve(t testing.TB, b *board.Board, listen string) *Server {
	t.Helper()
	s, err := Serve(b, Options{Listen: listen})
	require.NoError(t, err)
	t.Cleanup(s.Stop)
	return s
}

const hostile = `<script>document.title = "taken"</script><img src="https://elsewhere.example/x.png" onerror="alert(1)">`

// example is a status that has something of everything.
func example(id string) *board.Status {
	t := &board.Status{
		ID: id, Name: "nightly", State: board.Running, Build: "0123456789ab", Units: 2004, Done: 1223, SetAside: 1,
		HandedOut: 24,
		Runs:      48_212_004, RunsPlanned: 79_000_000, Points: 1 << 40, Violations: 1377,
		CoreSeconds: 5123, Seconds: 700,
		Rate: 71234.5, SecondsLeft: 431, Crew: board.Crew{WorkerCount: 15, Cores: 36},
		Coverage: &board.Coverage{Features: 10231, Estimated: 11800, New: 0.0123, Blocks: 812, BlocksAll: 1024,
			Kept: 344},
	}
	for i := range 15 {
		w := board.Heartbeat{Name: fmt.Sprintf("build-host-%d.%d", i, 4100+i), Build: t.Build, Cores: 2 + i%3,
			Units: uint64(80 + i), Needs: []string{"go"},
			CurrentUnit: fmt.Sprintf("%s.0.%d.r.%d.%d", id, i%3, 12*i, 12*i+12)}
		if i == 3 {
			w.CurrentUnit, w.Missing = "", []string{"vmlinuz-6.8: the disk has no room for it"}
		}
		t.Workers = append(t.Workers, w)
	}
	explored := board.SearchStatus{Title: "kpsim explore --strategy pct --runs 1000000 second-instruction torn-jump " +
		"safe-none", Units: 2000, Done: 1219}
	for i := range 60 {
		e := board.ScenarioStatus{Scenario: fmt.Sprintf("scenario-%d", i), Units: 30, RunsPlanned: 1_000_000}
		switch {
		case i == 7:
			e.Scenario, e.Done, e.Runs, e.Violations, e.Broken = "second-instruction", 30, 1_000_000, 1377,
				map[string]uint64{"T2": 1377}
		case i < 15:
			e.Done, e.Runs = 30, 1_000_000
		case i < 22:
			e.Done, e.Runs = i, uint64(i)*33_333
		}
		explored.Scenarios = append(explored.Scenarios, e)
	}
	t.Searches = []board.SearchStatus{explored,
		{Title: "kpsim fuzz --kernel vmlinuz-6.8", Units: 4, Done: 4, Scenarios: []board.ScenarioStatus{}}}
	t.Finds = []board.FindStatus{
		{New: true, Cause: board.Cause{First: id, Last: id, Build: t.Build, Find: unit.Find{
			Cause: "T2-second-instruction", Property: "T2", Scenario: "second-instruction",
			Engine:  "kpsim's own engine",
			Message: "cpu1 stands inside the five bytes that are replaced", Place: "f+1", Deviations: 2,
			Story: []string{"cpu1 runs the first instruction of f, and is interrupted before the second.",
				"cpu0 replaces the five bytes at f by a jump.", "cpu1 returns to f+1, in the middle of the jump."},
		}}},
		{Cause: board.Cause{First: "nightly-1", Last: id, Build: t.Build, Find: unit.Find{
			Cause: "X1-torn-jump", Property: "X1", Scenario: "torn-jump", Engine: "Linux 6.8.0 a1b2c3d4",
			Message:    hostile,
			Deviations: 1, Story: []string{hostile, "cpu1 fetches half of it."},
		}}},
	}
	t.Troubles = []board.Trouble{{
		Unit: plan.Unit{Campaign: id, Job: 7, Kind: plan.Runs, From: 84, To: 96}, Worker: "build-host-9.4109",
		Why: "a bug of the simulator: cpu 1: frame stack empty",
		Log: "goroutine 1 [running]:\n" + strings.Repeat("main.main()\n\t/src/main.go:10\n", 40),
	}}
	t.Causes, t.CausesNew, t.TroubleCount = 2, 1, 31
	return t
}

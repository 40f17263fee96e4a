package proof

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/internal/testkit/thorough"
	"kpsim/sched"
	"kpsim/smp"
)

// Public reports as scenarios, and the page that lists them. A cure is beside its race, NAME-cured.star.
const (
	publicDir  = "../../../docs/reports"
	publicPage = "../../../docs/reports.md"
)

// TestPublicReports: each race is found in 1,000 drawn runs, by the property that its file names; no cure breaks
// anything in as many, nor in any schedule.
func TestPublicReports(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(publicPage)
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(publicDir, "*.star"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".star")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, string(page), "reports/"+name+".star")
			src, err := os.ReadFile(file)
			require.NoError(t, err)
			sc, err := lang.Load(name+".star", src, os.ReadFile)
			require.NoError(t, err)
			race, cure := strings.CutSuffix(name, "-cured")
			require.Equal(t, !cure, sc.Expect.Sometimes)
			if cure {
				require.FileExists(t, filepath.Join(publicDir, race+".star"))
				require.Zero(t, drawnBreaks(t, sc, thorough.Of[uint64](1000, 20_000)))
				if searchtest.Slow == 1 {
					ends, _ := endsOfStates(t, sc, "")
					require.NotEmpty(t, ends)
					for e := range ends {
						require.Equal(t, smp.Passed.String(), e.name)
					}
				}
				return
			}
			r, err := rig.New(sc, "")
			require.NoError(t, err)
			defer r.Close()
			s := sched.NewPortfolio(sched.Params{Seed: 47, Length: r.Run(new(sched.Default)).Counts.Points})
			for i := range uint64(1000) / searchtest.Slow {
				if run, _ := r.Next(s, i); run.Property != nil && run.Property.Name == sc.Expect.Property {
					return
				}
			}
			if searchtest.Slow == 1 {
				require.Fail(t, "not found", sc.Expect.Property)
			}
		})
	}
}

// TestPublicCounts: the page's numbers are those of its rows, and each row that says a scenario or a mutant of this
// tool says what comes out.
func TestPublicCounts(t *testing.T) {
	page, err := os.ReadFile(publicPage)
	require.NoError(t, err)
	count := map[string]int{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 5 || cells[3] == "class" {
			continue
		}
		require.Contains(t, []string{"seen", "stand-in", "no"}, cells[3], line)
		require.Equal(t, cells[3] == "no", strings.HasPrefix(cells[2], "needs "), line)
		require.Equal(t, cells[3] == "no", cells[4] == "– |", line)
		count[cells[3]]++
	}
	require.Contains(t, string(page), fmt.Sprintf("Of the %d, %d come out as their authors saw them, "+
		"%d with a stand-in, and %d can't be said.",
		count["seen"]+count["stand-in"]+count["no"], count["seen"], count["stand-in"], count["no"]))
}

// TestProtectedStepsCommute: what takes a page's permission to execute away is ordered with the fetches there.
func TestProtectedStepsCommute(t *testing.T) {
	total := new(swapCount)
	for _, name := range []string{"page-patched", "page-restored-cured"} {
		src, err := os.ReadFile(filepath.Join(publicDir, name+".star"))
		require.NoError(t, err)
		sc, err := lang.Load(name+".star", src, nil)
		require.NoError(t, err)
		commute(t, sc, "", 1, 400, false, total)
	}
	t.Log(total)
}

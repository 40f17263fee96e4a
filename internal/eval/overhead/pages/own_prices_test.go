package pages

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/eval/overhead"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/page"
	"kpsim/smp/cycles"
)

// ownProfile writes a profile with prices of the user's own.
func ownProfile(t *testing.T) cli.FileName {
	t.Helper()
	u := overhead.NominalProfile("Mine", "x86_64", 2000)
	u.Costs[cycles.SendIPI], u.Costs[cycles.Line] = 1500*cycles.Unit, 250*cycles.Unit
	file := filepath.Join(t.TempDir(), "own.profile")
	require.NoError(t, os.WriteFile(file, []byte(u.Text(func(e cycles.Event) string {
		if e == cycles.SendIPI || e == cycles.Line {
			return "our lab"
		}
		return overhead.NominalNote
	})), 0o644))
	return cli.FileName(file)
}

// A profile's page says which prices are the profile's, with their comments, and has a row for each event.
func TestOwnPricesOnPage(t *testing.T) {
	o := &htmlPage{c: &Table{Profile: ownProfile(t), Probes: []string{"k"}}, at: func(int, int, string) {}}
	require.NoError(t, o.measure())
	require.Contains(t, o.pausesBy(), "By the profile: sending an IPI 1500 cycles (our lab), getting a line of ")
	require.Contains(t, o.pausesBy(), "Assumed, as the profile's comments say: a switch of tasks 1000 cycles, ")
	limits, err := o.limits()
	require.NoError(t, err)
	text := fmt.Sprint(limits.Blocks)
	require.Contains(t, text, "that another CPU has stored to 250 cycles (our lab). Each lock")
	require.NotContains(t, text, "100 cycles")

	table := o.profileCosts().Blocks[1].(*page.Details).Blocks[0].(*page.Table)
	require.Equal(t, []string{"event", "from", "cycles"}, table.Head)
	require.Len(t, table.Groups[0].Rows, len(cycles.All()))
	for i, row := range table.Groups[0].Rows {
		require.Equal(t, cycles.All()[i].String(), row[0].Text)
		require.NotEmpty(t, row[0].Text)
		require.NotEmpty(t, row[1].Text)
	}
}

// The last line of pauses is the page's.
func TestOwnPricesOfPauses(t *testing.T) {
	u, err := readProfile(string(ownProfile(t)))
	require.NoError(t, err)
	var out bytes.Buffer
	(&Pauses{drawn: drawn{Runs: 1, Schedule: overhead.Timed}}).print(cli.New(&out, &out),
		&pricedMachine{UserProfile: u, by: "profile"}, nil)
	words := strings.Join(strings.Fields(out.String()), " ")
	require.True(t, strings.HasSuffix(words, overhead.Unfigured(u)), out.String())
	require.Contains(t, out.String(), "sending an IPI 1500 cycles (our lab)")
}

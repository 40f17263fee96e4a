package pages

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/pagetest"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/page"
)

// By costs of nothing hits take nothing, which no logarithmic axis has.
func TestOverheadPageOfNothing(t *testing.T) {
	profile := filepath.Join(t.TempDir(), "nothing.profile")
	var out bytes.Buffer
	_, err := (&Calibrate{File: "../figures.csv", Machine: "xeon-e5410/x86_64", Tier: "calibrated"}).Run(cli.New(&out,
		&out))
	require.NoError(t, err)
	text := regexp.MustCompile(`(?m)^([a-z_-]+ +)[\d.]+  #`).ReplaceAllString(out.String(), "$1 0 #")
	require.NoError(t, os.WriteFile(profile, []byte(text), 0o644))
	o := &htmlPage{c: &Table{Profile: cli.FileName(profile)}, at: func(int, int, string) {}}
	require.NoError(t, o.measure())
	d := page.Document{Title: "Nothing", Lead: o.lead()}
	for _, part := range []func() (page.Section, error){o.figures, o.attribution, o.noise} {
		s, err := part()
		require.NoError(t, err)
		d.Sections = append(d.Sections, s)
	}
	blocks, err := o.manyProbes()
	require.NoError(t, err)
	d.Sections[0].Blocks = append(d.Sections[0].Blocks, blocks...)
	b, err := d.Render()
	require.NoError(t, err)
	pagetest.Check(t, string(b))
}

// What paper has of the page, printed by a browser, takes 4 sheets at most. The other sections are for the screen.
func TestOverheadPagePrints(t *testing.T) {
	o := &htmlPage{c: &Table{}, at: func(int, int, string) {}}
	require.NoError(t, o.measure())
	d := page.Document{Title: "What probes cost", Command: o.command(), Lead: o.lead(), Foot: cli.WrittenBy}
	for _, part := range []func() (page.Section, error){o.figures, o.attribution, o.kernel, o.limits} {
		s, err := part()
		require.NoError(t, err)
		if len(s.Blocks) > 0 {
			require.Contains(t, printed, s.ID)
			d.Sections = append(d.Sections, s)
		}
	}
	require.GreaterOrEqual(t, len(d.Sections), 3)
	b, err := d.Render()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(file, b, 0o644))
	require.LessOrEqual(t, pagetest.Sheets(t, file), 4)
}

package pages

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/eval/overhead"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/page"
)

// The page and the command print the same of the same seed, and each row is drawn from a stream of its own: the hits of
// two probes that cost the same differ.
func TestPageAndCommandAgree(t *testing.T) {
	c := Table{Machines: []string{"xeon-e5410/i386"}, Probes: []string{"k", "o", "ro"}}
	o := &htmlPage{c: &c, at: func(int, int, string) {}}
	require.NoError(t, o.measure())
	s, err := o.noise()
	require.NoError(t, err)
	table := s.Blocks[len(s.Blocks)-1].(*page.Table)
	rows := table.Groups[0].Rows

	var out bytes.Buffer
	seed := uint64(pageSeed)
	command := c
	command.ways, command.JSON = ways{Noise: true, Seed: &seed}, true
	_, err = command.Run(cli.New(&out, &out))
	require.NoError(t, err)
	d := json.NewDecoder(&out)
	var skews []float64
	for _, cells := range rows {
		var r noiseRowJSON
		require.NoError(t, d.Decode(&r))
		skews = append(skews, r.Skew)
		r.margin = o.subject.margin
		require.Equal(t, r.margin.around(r.MeanUsec.Value).Predicted, r.Predicted)
		require.Equal(t, texts(r.cells()), texts(cells))
	}
	require.False(t, d.More())
	require.NotEqual(t, skews[0], skews[1])

	// Two probes of the same cost: with one stream their noise would be the same.
	l := o.r.rows[0][0]
	var own [2]noiseRowJSON
	for i, probe := range []string{"k", "b"} {
		own[i] = noiseRowJSON{hitJSON: l.hitJSON, Noise: overhead.NominalNoise, Seed: seed}
		own[i].Probe = probe
		require.NoError(t, own[i].draw(&l.hit, nil, 2, 100))
	}
	require.NotEqual(t, own[0].samples, own[1].samples)
}

func texts(cells []page.Cell) (list []string) {
	for _, c := range cells {
		list = append(list, c.Text)
	}
	return list
}

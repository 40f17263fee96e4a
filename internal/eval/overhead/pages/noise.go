package pages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/stat"

	"kpsim/internal/eval/overhead"
	"kpsim/internal/ui/cli"
)

// What is drawn if nothing is said, for a page too, and at most. The hits are enough for some ticks to come in those
// of the shortest probe: the interval of a mean that two ticks decide holds less than it says.
const (
	noiseRuns    = 20
	noiseHits    = 20_000
	noiseSeed    = 1
	noiseAllMost = 2_000_000
)

// A noiseRowJSON is a figure with noise, as --json prints it.
type noiseRowJSON struct {
	hitJSON
	Documented *float64       `json:"documented_us"`
	WarmUsec   float64        `json:"warm_us"`
	Warm       float64        `json:"warm_cycles"`
	Noise      overhead.Noise `json:"noise"`
	NoiseFrom  string         `json:"noise_from"` // assumed, or a file
	Seed       uint64         `json:"seed"`
	Misses     float64        `json:"misses_add_cycles"` // in the mean
	Ticks      float64        `json:"ticks_add_cycles"`
	SMIs       float64        `json:"smis_add_cycles"`
	// Rare sources are drawn so seldom that the interval of the mean holds less than 95 %.
	Rare []string `json:"too_rare,omitempty"`
	noiseUsec
	// Where the mean lies by the errors of figures left out: Predicted is null for a profile, Largest is a profile's.
	Predicted *overhead.Interval `json:"left_out_us_95"`
	Largest   *overhead.Interval `json:"largest_left_out_us,omitempty"`
	overhead.Summary
	With *noiseCompared `json:"compared"` // null: with itself

	samples overhead.Samples
	margin  *margin
}

// noiseUsec is what of a Summary is a time.
type noiseUsec struct {
	MeanUsec overhead.Measure `json:"mean_us"`
	SDUsec   float64          `json:"sd_us"`
	P50Usec  overhead.Measure `json:"p50_us"`
	P90Usec  overhead.Measure `json:"p90_us"`
	P99Usec  overhead.Measure `json:"p99_us"`
	P999Usec overhead.Measure `json:"p99_9_us"`
	MaxUsec  float64          `json:"max_us"`
}

// noiseCompared says how many times as long hits are as those of another probe.
type noiseCompared struct {
	Probe   string `json:"with_probe"`
	Edition string `json:"with_edition"`
	overhead.Comparison
}

// noise prints how hits are spread.
func (c *Table) noise(p *cli.Program) error {
	of, from, err := c.noiseOf()
	if err != nil {
		return err
	}
	runs, hits, seed := value(c.Runs, noiseRuns), value(c.Hits, noiseHits), value(c.Seed, noiseSeed)
	if runs*hits > noiseAllMost {
		return fmt.Errorf("--hits: %d runs of %d hits are more than %d; give fewer of either", runs, hits, noiseAllMost)
	}
	tiers, _ := tiersOf(c.Tier)
	machines, err := probeMachines(c.Machines, tiers[0], c.Profile)
	if err != nil {
		return err
	}
	list, err := c.hits(machines, c.Editions)
	if err != nil {
		return err
	}
	rows := make([]noiseRowJSON, len(list))
	err = inParts(p, "hits with noise", len(list), func(i int) error {
		h := &list[i]
		hit, err := h.probe.Measure(&h.Costs)
		if err != nil {
			return err
		}
		rows[i] = noiseRowJSON{hitJSON: h.shown(), Documented: h.documented(), Noise: of, NoiseFrom: from, Seed: seed}
		return rows[i].draw(&hit, h.margin, runs, hits)
	})
	if err != nil {
		return err
	}
	if c.Bench {
		return benchNoise(p, rows, len(c.Editions) > 0)
	}
	for i := range rows {
		first := slices.IndexFunc(rows, func(r noiseRowJSON) bool { return r.Machine == rows[i].Machine })
		if err := rows[i].compare(&rows[first]); err != nil {
			return err
		}
		if c.JSON {
			if err := p.PrintJSON(&rows[i]); err != nil {
				return err
			}
		}
	}
	if !c.JSON {
		printNoise(p, rows, len(c.Editions) > 0, c.Markdown)
	}
	return nil
}

// noiseOf returns how much noise there is, and where that is from.
func (c *Table) noiseOf() (n overhead.Noise, from string, err error) {
	if c.NoiseFile == "" {
		return overhead.NominalNoise, "assumed", nil
	}
	name := string(c.NoiseFile)
	b, err := cli.ReadFile(name, cli.MostTrace)
	if err != nil {
		return n, "", fmt.Errorf("--noise-file: %s; name a file with a JSON object", cli.Cause(err, name))
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&n); err != nil || d.More() {
		return n, "", fmt.Errorf("%s: it is to be one JSON object of the keys and numbers that %s --json "+
			"--noise prints as noise (%v)", name, "kpsim overhead", err)
	}
	if err := n.Check(); err != nil {
		return n, "", fmt.Errorf("%s: %w", name, err)
	}
	return n, name, nil
}

// draw draws hits and sums them up.
func (r *noiseRowJSON) draw(hit *overhead.Hit, off *margin, runs, hits int) error {
	r.Warm, r.WarmUsec = hit.Cycles, hit.Cycles/r.MHz
	r.Misses, r.Ticks, r.SMIs = r.Noise.Expected(hit, r.MHz)
	r.Rare = r.Noise.Rare(hit, r.MHz, runs, hits)
	r.samples = r.Noise.DrawRuns(hit, r.MHz, overhead.Stream(r.Seed, r.Machine, r.Edition, r.Probe), runs, hits)
	s, err := overhead.Summarize(r.samples)
	if err != nil {
		return err
	}
	r.Summary = *s
	usec := func(m overhead.Measure) overhead.Measure { return m.Over(r.MHz) }
	r.noiseUsec = noiseUsec{usec(s.Mean), s.SD / r.MHz, usec(s.P50), usec(s.P90), usec(s.P99), usec(s.P999),
		s.Max / r.MHz}
	left := off.around(r.MeanUsec.Value)
	r.margin, r.Predicted, r.Largest = off, left.Predicted, left.Largest
	return nil
}

// compare compares a figure with the first of its machine.
func (r *noiseRowJSON) compare(first *noiseRowJSON) error {
	if r == first {
		return nil
	}
	k, err := overhead.Compare(first.samples, r.samples)
	if err != nil {
		return err
	}
	r.With = &noiseCompared{first.Probe, first.Edition, *k}
	return nil
}

// benchNoise prints a line for each run, so that benchstat compares distributions.
func benchNoise(p *cli.Program, rows []noiseRowJSON, editions bool) error {
	fmt.Fprintf(p.Out, "pkg: kpsim/properties/overhead\ncosts: %s\n", rows[0].Costs)
	for i := range rows {
		r := &rows[i]
		edition := r.Edition
		if !editions {
			edition = ""
		}
		for _, run := range r.samples {
			run = slices.Sorted(slices.Values(run))
			mean, p99 := stat.Mean(run, nil), stat.Quantile(0.99, stat.Empirical, run, nil)
			fmt.Fprintf(p.Out, "%s %d %.1f ns/op %.1f cycles/hit %.1f p99-ns/hit\n",
				benchName(r.Machine, edition, r.Probe), len(run), 1000*mean/r.MHz, mean, 1000*p99/r.MHz)
		}
	}
	return nil
}

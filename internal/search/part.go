package search

import (
	"fmt"
	"slices"

	"kpsim/internal/search/rig"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/traces"
)

// A Part is what one of the shards of an exploration has shown. It is plain
// data, so that it can be written to a file on one computer and added to the
// others on another.
type Part struct {
	Index      int               `json:"index"` // of the shard
	Runs       uint64            `json:"runs"`
	Violations uint64            `json:"violations"`
	First      uint64            `json:"first"`           // the number of the first violating run, if there is one
	Broken     map[string]uint64 `json:"broken"`          // runs that broke a property, by its name
	After      map[string]uint64 `json:"after,omitempty"` // of these, those that had broken another one before
	Counts     smp.Counts        `json:"counts"`
	Complete   bool              `json:"complete"` // the strategy has run all it can be complete for
	Probes     []rig.Probed      `json:"probes"`
	During     uint64            `json:"optimized_during_call"` // runs in which a jump was written in a function that a task was in
	Found      []Found           `json:"found"`                 // the best candidate for a witness of each property, in the order of the catalogue
	Stats      Sample            `json:"statistics"`

	best map[*properties.Property]*candidate
}

// A Found is a violating run: all that it takes to make it again.
type Found struct {
	Property string      `json:"property"`
	Number   uint64      `json:"run"`
	By       string      `json:"by"` // the strategy
	Digest   uint64      `json:"digest"`
	Place    uint64      `json:"place"`
	Message  string      `json:"message"`
	Slow     bool        `json:"slow"`
	Outcome  smp.Outcome `json:"outcome"`
	Asked    uint64      `json:"asked"`
	After    []string    `json:"after,omitempty"` // what the run had broken before
	Choices  [][5]uint64 `json:"choices"`         // sched.Choice: Seq, Steps, Kind, N, Pick
}

// A candidate is a violating run, to be shrunk if none has fewer deviations.
type candidate struct {
	number  uint64
	run     rig.Run
	choices []sched.Choice
	asked   uint64
	by      string
	after   properties.Set // what the run had broken before: a trace has to ignore it
}

func (p *Part) begin(index int) {
	p.Index = index
	p.Broken, p.After = make(map[string]uint64), nil
	p.best = make(map[*properties.Property]*candidate)
}

// take adds one run to what the part has seen.
func (p *Part) take(i uint64, run rig.Run, rec *sched.Recorder) {
	p.Runs++
	count(&p.During, run.During)
	addCounts(&p.Counts, &run.Counts)
	if run.Property == nil {
		return
	}
	if p.Violations++; p.Violations == 1 {
		p.First = i
	}
	r := rec.Recording()
	run.EachBroken(func(q *properties.Property, f *traces.Finding, before properties.Set) {
		p.Broken[q.Name]++
		if before != 0 {
			if p.After == nil { // as where it is read from a file
				p.After = make(map[string]uint64)
			}
			p.After[q.Name]++
		}
		one := run
		one.Property, one.Finding, one.Broken = q, *f, nil
		if c := p.best[q]; c == nil || better(one, before, len(r.Choices), c) {
			p.best[q] = &candidate{i, one, append([]sched.Choice(nil), r.Choices...), r.Asked, rec.String(), before}
		}
	})
}

func addCounts(to, c *smp.Counts) {
	to.Boundaries += c.Boundaries
	to.Points += c.Points
	to.Instructions += c.Instructions
	to.Switches += c.Switches
}

// end writes the candidates down as data.
func (p *Part) end() {
	for _, q := range properties.All {
		c := p.best[q]
		if c == nil {
			continue
		}
		p.Found = append(p.Found, *c.found())
	}
	p.best = nil
}

// found is the candidate as data.
func (c *candidate) found() *Found {
	f := &Found{
		Property: c.run.Property.Name, Number: c.number, By: c.by, Digest: c.run.Digest, Outcome: c.run.Outcome, Asked: c.asked,
		Place: c.run.Finding.Place, Message: c.run.Finding.Message, Slow: c.run.Finding.Slow, After: c.after.Names(),
	}
	for _, ch := range c.choices {
		f.Choices = append(f.Choices, [5]uint64{ch.Seq, ch.Steps, uint64(ch.Kind), uint64(ch.N), uint64(ch.Pick)})
	}
	return f
}

// candidate is the run that was found, as shrinking wants it.
func (f *Found) candidate() (*properties.Property, *candidate, error) {
	i := slices.IndexFunc(properties.All, func(q *properties.Property) bool { return q.Name == f.Property })
	if i < 0 {
		return nil, nil, fmt.Errorf("no property is called %q", f.Property)
	}
	q := properties.All[i]
	after, err := properties.Named(f.After...)
	if err != nil {
		return nil, nil, err
	}
	c := &candidate{number: f.Number, asked: f.Asked, by: f.By, after: after, run: rig.Run{
		Outcome: f.Outcome, Property: q, Digest: f.Digest,
		Finding: traces.Finding{Place: f.Place, Message: f.Message, Slow: f.Slow},
	}}
	for _, ch := range f.Choices {
		if ch[2] > uint64(sim.Cost) || ch[3] > 1<<31 || ch[4] == 0 || ch[4] >= ch[3] {
			return nil, nil, fmt.Errorf("run %d: no choice is %v", f.Number, ch)
		}
		c.choices = append(c.choices, sched.Choice{Seq: ch[0], Steps: ch[1], Kind: sim.Kind(ch[2]), N: int(ch[3]), Pick: int(ch[4])})
	}
	return q, c, nil
}

// better reports whether a run is a better candidate than c: one that breaks nothing
// before, then one that needs no CPU to stand still for no reason, then one with fewer
// deviations.
func better(run rig.Run, before properties.Set, deviations int, c *candidate) bool {
	if (before == 0) != (c.after == 0) {
		return before == 0
	}
	if run.Finding.Slow != c.run.Finding.Slow {
		return c.run.Finding.Slow
	}
	return deviations < len(c.choices)
}

// before reports whether c is to be preferred to b, a candidate of another shard.
func (c *candidate) before(b *candidate) bool {
	if better(c.run, c.after, len(c.choices), b) {
		return true
	}
	return !better(b.run, b.after, len(b.choices), c) && c.number < b.number
}

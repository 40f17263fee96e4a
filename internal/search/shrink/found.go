package shrink

import (
	"fmt"
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/search/rig"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/traces"
)

// A Found is a violating run, with everything needed to repeat it. It is plain data.
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
	After    []string    `json:"after,omitempty"` // properties broken before, which a trace has to ignore
	Choices  [][5]uint64 `json:"choices"`         // sched.Choice: Seq, Steps, Kind, N, Pick
}

// NewFound returns run number i of a search, which broke p with the finding, after breaking the
// properties in before.
func NewFound(i uint64, run *rig.Run, p *properties.Property, finding *traces.Finding, before properties.Set,
	rec *sched.Recorder) *Found {
	r := rec.Recording()
	f := &Found{
		Property: p.Name, Number: i, By: rec.String(), Digest: run.Digest, Outcome: run.Outcome, Asked: r.Asked,
		Place: finding.Place, Message: finding.Message, Slow: finding.Slow, After: before.Names(),
	}
	for _, c := range r.Choices {
		f.Choices = append(f.Choices, [5]uint64{c.Seq, c.Steps, uint64(c.Kind), uint64(c.N), uint64(c.Pick)})
	}
	return f
}

// Better reports whether f is a better candidate for a witness than g, a run that breaks the same
// property: one that breaks nothing before, then one in which no CPU stands still without reason,
// then one of fewer deviations.
func (f *Found) Better(g *Found) bool {
	return Better(len(f.After) > 0, f.Slow, len(f.Choices), g)
}

// Better is Found.Better for a run that has no Found yet.
func Better(after, slow bool, deviations int, g *Found) bool {
	if after != (len(g.After) > 0) {
		return !after
	}
	if slow != g.Slow {
		return g.Slow
	}
	return deviations < len(g.Choices)
}

// before reports whether f is preferred to g, a run of another shard.
func (f *Found) before(g *Found) bool {
	return f.Better(g) || !g.Better(f) && f.Number < g.Number
}

// Recording returns the property that the run breaks, the properties broken before, and the
// choices. An error is about a Found that was read from a file.
func (f *Found) Recording() (p *properties.Property, after properties.Set, rec *sched.Recording, err error) {
	i := slices.IndexFunc(properties.All, func(q *properties.Property) bool { return q.Name == f.Property })
	if i < 0 {
		return nil, 0, nil, fmt.Errorf("no property is called %q", f.Property)
	}
	if after, err = properties.Named(f.After...); err != nil {
		return nil, 0, nil, err
	}
	rec = &sched.Recording{Asked: f.Asked}
	for _, c := range f.Choices {
		if c[2] >= uint64(sim.Kinds) || c[3] > 1<<31 || c[4] == 0 || c[4] >= c[3] {
			return nil, 0, nil, fmt.Errorf("run %d: no choice is %v", f.Number, c)
		}
		rec.Choices = append(rec.Choices, sched.Choice{Seq: c[0], Steps: c[1], Kind: sim.Kind(c[2]), N: int(c[3]),
			Pick: int(c[4])})
	}
	return properties.All[i], after, rec, nil
}

// An Origin is the search that runs come from.
type Origin struct {
	Scenario *scenario.Scenario
	Mutant   string // "": the correct engine
	Seed     uint64
	Past     bool        // runs went on after violations
	Known    []rig.Known // findings after which runs went on
}

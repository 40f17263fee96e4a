package explore

import (
	"kpsim/internal/search/rig"
	"kpsim/internal/search/shrink"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/traces"
)

// A Part is the result of one shard. It is plain data, so that it can be written to a file on one
// computer and merged on another.
type Part struct {
	Index      int               `json:"index"` // of the shard
	Runs       uint64            `json:"runs"`
	Violations uint64            `json:"violations"`
	First      uint64            `json:"first"`           // the number of the first violating run, if there is one
	Broken     map[string]uint64 `json:"broken"`          // runs that broke each property, by its name
	After      map[string]uint64 `json:"after,omitempty"` // of these, runs that had broken another property before
	Counts     smp.Counts        `json:"counts"`
	// the strategy has run everything that it promises to run completely
	Complete bool         `json:"complete"`
	Probes   []rig.Probed `json:"probes"`
	// runs that wrote a jump into a function while a task was in it
	During uint64 `json:"optimized_during_call"`
	// the best candidate for a witness of each property, in the order of the catalogue
	Found []shrink.Found `json:"found"`
	// the ways in which properties were broken; none with Spec.Blind
	Ways  []Way  `json:"ways,omitempty"`
	Stats Sample `json:"statistics"`

	best map[*properties.Property]*shrink.Found
	from uint64 // Spec.From
	look Look
	ways ways
}

// Begin begins the part of a shard.
func (p *Part) Begin(index int) {
	p.Index = index
	p.Broken, p.After = make(map[string]uint64), nil
	p.best = make(map[*properties.Property]*shrink.Found)
}

// Take adds one run to the part.
func (p *Part) Take(i uint64, run rig.Run, rec *sched.Recorder) {
	p.Runs++
	if run.During {
		p.During++
	}
	p.Counts.Add(&run.Counts)
	if run.Property == nil {
		return
	}
	if p.Violations++; p.Violations == 1 {
		p.First = i
	}
	deviations := len(rec.Recording().Choices)
	run.EachBroken(func(q *properties.Property, f *traces.Finding, before properties.Set) {
		p.Broken[q.Name]++
		if before != 0 {
			if p.After == nil { // as in a part read from a file
				p.After = make(map[string]uint64)
			}
			p.After[q.Name]++
		}
		if i < p.from {
			return
		}
		found := func() *shrink.Found { return shrink.NewFound(i, &run, q, f, before, rec) }
		if b := p.best[q]; b == nil || shrink.Better(before != 0, f.Slow, deviations, b) {
			p.best[q] = found()
		}
		p.ways.take(q, f, before != 0, deviations, found)
	})
}

// End ends the part.
func (p *Part) End() {
	for _, q := range properties.All {
		if f := p.best[q]; f != nil {
			p.Found = append(p.Found, *f)
		}
	}
	p.Ways = p.ways.end(p.Found)
	p.best, p.ways = nil, ways{}
}

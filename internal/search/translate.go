package search

import (
	"kpsim/internal/search/rig"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/traces"
)

// Shrink makes witnesses of runs that a search under the spec has found: one of each property,
// in the order of the catalogue.
func Shrink(spec Spec, found []Found) ([]*Witness, error) {
	spec.fill()
	spec.Blind = false
	by := make(map[*properties.Property][]*candidate)
	for i := range found {
		p, c, err := found[i].candidate()
		if err != nil {
			return nil, err
		}
		by[p] = append(by[p], c)
	}
	r := new(Result)
	if err := r.witness(&spec, by); err != nil {
		return nil, err
	}
	return r.Witnesses, nil
}

// Found returns the best run of each property that an exploration has broken, shard by shard.
func (r *Result) Found() (list []Found) {
	for i := range r.Parts {
		list = append(list, r.Parts[i].Found...)
	}
	return list
}

// Better reports whether f is the better run to make a witness of, of those that break the same
// property: one that breaks nothing before, then one in which no CPU stands still, then one of
// fewer deviations.
func (f *Found) Better(g *Found) bool {
	switch {
	case (len(f.After) == 0) != (len(g.After) == 0):
		return len(f.After) == 0
	case f.Slow != g.Slow:
		return g.Slow
	}
	return len(f.Choices) < len(g.Choices)
}

// A Translator looks whether schedules that break something in another program, which is much
// like this one, do so here. Labels lead; what they don't find is looked for nearby.
type Translator struct {
	rig *rig.Rig
	rec sched.Recorder
}

// NewTranslator builds one for the spec's program.
func NewTranslator(spec Spec) (*Translator, error) {
	rig, err := spec.newRig()
	if err != nil {
		return nil, err
	}
	return &Translator{rig: rig}, nil
}

// Close ends the translator's rig.
func (t *Translator) Close() { t.rig.Close() }

// Try plays a schedule: as it is, then with those of its deviations moved that aren't met, and
// then, in as many runs as near says, with single deviations put elsewhere. It returns the first
// run that breaks the property, nil if none does.
func (t *Translator) Try(p *properties.Property, schedule []traces.Deviation, near int) *Found {
	anchors := schedule
	a := sched.NewAnchored(anchors, t.rig.Machine.Names())
	for i := uint64(0); ; i++ {
		f, more := t.play(a, i, p)
		if f != nil || !more {
			if f != nil || near == 0 {
				return f
			}
			break
		}
	}
	var found *Found
	r := &Replay{Rig: t.rig}
	s := &seeker{r: r, f: new(traces.File), left: near}
	s.near(anchors, 0, func() bool {
		if !breaks(&r.Run, p) {
			return false
		}
		found, _ = t.play(sched.NewAnchored(r.Taken, t.rig.Machine.Names()), 0, p)
		return found != nil
	})
	return found
}

// breaks reports whether a run breaks a property.
func breaks(run *rig.Run, p *properties.Property) (yes bool) {
	run.EachBroken(func(q *properties.Property, _ *traces.Finding, _ properties.Set) { yes = yes || q == p })
	return yes
}

// play makes run i of a strategy, if there is one, and returns it if it breaks the property.
func (t *Translator) play(s sched.Strategy, i uint64, p *properties.Property) (found *Found, more bool) {
	t.rec.Strategy = s
	if !t.rec.Begin(i) {
		return nil, false
	}
	run := t.rig.Run(&t.rec)
	t.rec.End(run.Counts.Points)
	if run.Outcome == smp.Refused || !breaks(&run, p) {
		return nil, true
	}
	part := new(Part)
	part.begin(0)
	part.take(i, run, &t.rec)
	part.end()
	for k := range part.Found {
		if part.Found[k].Property == p.Name {
			return &part.Found[k], true
		}
	}
	return nil, true
}

package matrix

import (
	"kpsim/internal/search/explore"
	"kpsim/internal/search/replay"
	"kpsim/internal/search/rig"
	"kpsim/internal/search/shrink"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/traces"
)

// A Translator tries schedules that break something in a similar program. It follows their
// labels, and searches nearby for labels that don't exist.
type Translator struct {
	rig *rig.Rig
	rec sched.Recorder
}

// NewTranslator returns a Translator for the spec's program.
func NewTranslator(spec explore.Spec) (*Translator, error) {
	rig, err := spec.NewRig()
	if err != nil {
		return nil, err
	}
	return &Translator{rig: rig}, nil
}

// Close ends the translator's rig.
func (t *Translator) Close() { t.rig.Close() }

// Try plays a schedule: unchanged, then with unmet deviations moved, then, in at most near runs,
// with single deviations moved. It returns the first run that breaks the property, or nil.
func (t *Translator) Try(p *properties.Property, schedule []traces.Deviation, near int) *shrink.Found {
	a := sched.NewAnchored(schedule, t.rig.Machine.Names())
	for i := uint64(0); ; i++ {
		f, more := t.play(a, i, p)
		if f != nil || !more {
			if f != nil || near == 0 {
				return f
			}
			break
		}
	}
	var found *shrink.Found
	replay.Near(t.rig, schedule, near, func(r *replay.Replay) bool {
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

// play makes run i of a strategy, if it exists, and returns it if it breaks the property.
func (t *Translator) play(s sched.Strategy, i uint64, p *properties.Property) (found *shrink.Found, more bool) {
	t.rec.Strategy = s
	if !t.rec.Begin(i) {
		return nil, false
	}
	run := t.rig.Run(&t.rec)
	t.rec.End(run.Counts.Points)
	if run.Outcome == smp.Refused || !breaks(&run, p) {
		return nil, true
	}
	run.EachBroken(func(q *properties.Property, f *traces.Finding, before properties.Set) {
		if q == p && (found == nil || shrink.Better(before != 0, f.Slow, len(found.Choices), found)) {
			found = shrink.NewFound(i, &run, q, f, before, &t.rec)
		}
	})
	return found, true
}

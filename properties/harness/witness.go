package harness

import (
	"fmt"

	"kpsim/properties"
	"kpsim/properties/scenario"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/traces"
)

// A Witness is a violating run, shrunk: the deviations it can't do without.
type Witness struct {
	Property *properties.Property
	Place    string // symbol and offset
	Message  string
	Digest   uint64
	Schedule []traces.Deviation
	Found    int  // deviations of the run as it was found
	Slow     bool // it needs a CPU that stands still (traces.Finding)
	File     *traces.File
}

// smaller reports whether w is the better one to show.
func (w *Witness) smaller(v *Witness) bool {
	if w.Slow != v.Slow {
		return v.Slow
	}
	return len(w.Schedule) < len(v.Schedule)
}

// shrinkTests bounds the runs that shrinking a candidate may take, and
// shrinkQuestions the questions of all candidates of a property: with long runs
// it is these that take the time, a fifth of a microsecond each.
const (
	shrinkTests     = 4000
	shrinkQuestions = 100_000_000
)

// shrink takes away every deviation that the violation doesn't need, until
// taking any one away loses it, or no questions are left: then the witness is
// the smallest one so far.
func shrink(spec *Spec, c *candidate, questions *int64) (*Witness, error) {
	rig, err := New(spec.Scenario, spec.Mutant)
	if err != nil {
		return nil, err
	}
	defer rig.Close()

	l := sched.NewLabeller(sched.NewExact(&sched.Recording{Choices: c.choices, Asked: c.asked}), rig.Machine)
	again := rig.play(l)
	if again.Digest != c.run.Digest {
		sim.Bug("run %d of %s had digest %#x, played again %#x", c.number, spec.Scenario.Name, c.run.Digest, again.Digest)
	}
	found := append([]sched.Anchor(nil), l.Anchors()...)

	// A witness breaks the same property, and doesn't come to need a slow CPU;
	// where, may move while it shrinks.
	same := func(run Run) bool {
		return run.Property == c.run.Property && (c.run.Finding.Slow || !run.Finding.Slow)
	}
	breaks := func(list []sched.Anchor) bool {
		if *questions <= 0 {
			return false
		}
		run := rig.play(sched.NewAnchored(list, rig.Machine))
		*questions -= int64(run.Counts.Points)
		return same(run)
	}
	small := found
	if breaks(found) {
		small = sched.Minimise(found, breaks, shrinkTests)
	}

	l = sched.NewLabeller(sched.NewAnchored(small, rig.Machine), rig.Machine)
	run := rig.play(l)
	if !same(run) { // its labels don't lead back: keep it as it was found
		l = sched.NewLabeller(sched.NewExact(&sched.Recording{Choices: c.choices, Asked: c.asked}), rig.Machine)
		run = rig.play(l)
	}
	w := &Witness{
		Property: run.Property, Message: run.Finding.Message, Digest: run.Digest, Found: len(found), Slow: run.Finding.Slow,
	}
	if run.Finding.Place != 0 {
		w.Place = rig.Machine.SymbolName(run.Finding.Place)
	}
	for _, a := range l.Anchors() {
		w.Schedule = append(w.Schedule, traces.Deviation(a))
	}
	w.File = &traces.File{
		Scenario: spec.Scenario.String(), Schedule: w.Schedule,
		Property: w.Property.ID, Place: w.Place, Message: w.Message,
		Digest: w.Digest, Format: traces.ScheduleFormat,
		Origin: []traces.Remark{
			{Key: "strategy", Value: c.by},
			{Key: "seed", Value: fmt.Sprint(spec.Seed)},
			{Key: "run", Value: fmt.Sprint(c.number)},
			{Key: "deviations as found", Value: fmt.Sprint(len(found))},
		},
	}
	if spec.Mutant != "" {
		w.File.Origin = append(w.File.Origin, traces.Remark{Key: traces.OriginMutant, Value: spec.Mutant})
	}
	return w, nil
}

// play makes the first run of a strategy.
func (r *Rig) play(s sched.Strategy) Run {
	s.Begin(0)
	run := r.Run(s)
	s.End(run.Counts.Points)
	return run
}

// A Replay is a trace file run again.
type Replay struct {
	Run
	Place  string
	Drifts []sched.Drift // anchors that were not taken at their word
	Same   bool          // it ends as the file says: by digest if the formats agree, else by property and place
	Why    string        // if not: what differs, in one line
	Rig    *Rig          // to ask for names; the caller closes it
}

// PlayFile runs a trace file's scenario along its schedule. store keeps the
// events, for a report. Errors are about the file.
func PlayFile(name string, f *traces.File, store bool) (*Replay, error) {
	sc, err := scenario.Load(name, []byte(f.Scenario), func(file string) ([]byte, error) {
		return nil, fmt.Errorf("%s: the scenario of a trace is self-contained, and opens no file (%s)", name, file)
	})
	if err != nil {
		return nil, err
	}
	if m := f.Remark(traces.OriginFetch); m != "" {
		if err := sc.SetFetch(m); err != nil {
			return nil, fmt.Errorf("%s: origin: %w", name, err)
		}
	}
	rig, err := New(sc, f.Remark(traces.OriginMutant))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	rig.Log.Store = store
	anchors := make([]sched.Anchor, len(f.Schedule))
	for i := range anchors {
		anchors[i] = sched.Anchor(f.Schedule[i])
	}
	r := &Replay{Rig: rig}
	a := sched.NewAnchored(anchors, rig.Machine)
	for i := uint64(0); a.Begin(i); i++ {
		r.Run = rig.Run(a)
		a.End(r.Counts.Points)
		r.Drifts = a.Drifts()
		if r.compare(f); r.Same {
			break
		}
	}
	if r.Outcome == smp.Refused {
		rig.Close()
		return nil, fmt.Errorf("%s: %w", name, r.Err)
	}
	return r, nil
}

// compare holds what the replay came to against what the file says.
func (r *Replay) compare(f *traces.File) {
	r.Place = ""
	if r.Finding.Place != 0 {
		r.Place = r.Rig.Machine.SymbolName(r.Finding.Place)
	}
	id := ""
	if r.Property != nil {
		id = r.Property.ID
	}
	switch {
	case id != f.Property && id == "":
		r.Same, r.Why = false, fmt.Sprintf("no property is broken; the file says %s", f.Property)
	case id != f.Property:
		r.Same, r.Why = false, fmt.Sprintf("%s is broken; the file says %s", id, f.Property)
	case r.Place != f.Place:
		r.Same, r.Why = false, fmt.Sprintf("%s is broken at %s; the file says at %s", id, r.Place, f.Place)
	case f.Format == traces.ScheduleFormat && r.Digest != f.Digest:
		r.Same, r.Why = false, fmt.Sprintf("the digest is %016x; the file says %016x", r.Digest, f.Digest)
	default:
		r.Same, r.Why = true, ""
	}
}

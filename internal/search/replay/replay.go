package replay

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/nearest"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/rig"
	"kpsim/kprobes/mutants"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/traces"
)

// A Replay is a trace file run again.
type Replay struct {
	rig.Run
	Place   string
	Message string             // the finding's message, with names
	Taken   []traces.Deviation // the deviations of the run, as this program names them
	Drifts  []sched.Drift      // anchors that were not taken as the file says
	Miss    *sched.Miss        // the first anchor not reached when all had to be taken exactly; nil: all were
	Places  []string           // with Miss: the names of all places of that run
	// the run ends as the file says: by digest if the formats agree, otherwise by property and
	// place
	Same   bool
	Breaks bool     // the run breaks the file's property at its place, though it may be another run
	Why    string   // if not Same: the difference, in one line
	Rig    *rig.Rig // to ask for names; the caller closes it
}

// Play runs a trace file's scenario along its schedule. If the result isn't what the file says,
// because the scenario or the engine has changed, it searches for the deviations at other places
// nearby. With store the events are kept for a report. Errors are about the file.
func Play(name string, f *traces.File, store bool) (*Replay, error) {
	return playFile(name, f, store, false)
}

// PlayAnyPlace is Play where the property may be broken at any place. Events aren't kept.
func PlayAnyPlace(name string, f *traces.File) (*Replay, error) {
	return playFile(name, f, false, true)
}

func playFile(name string, f *traces.File, store, anyPlace bool) (*Replay, error) {
	rig, err := Open(name, f)
	if err != nil {
		return nil, err
	}
	rig.Log.Store = store
	r := &Replay{Rig: rig}
	s := &seeker{r: r, f: f, left: seekRuns}
	s.seek(f.Schedule, anyPlace)
	if r.Outcome == smp.Refused {
		rig.Close()
		return nil, locate(name, f, r.Err)
	}
	return r, nil
}

// Open builds the rig of a trace file.
func Open(name string, f *traces.File) (*rig.Rig, error) {
	return openAs(name, f, f.Remark(traces.OriginMutant))
}

// locate prefixes an error about a trace's scenario with its position in the file.
func locate(name string, f *traces.File, err error) error {
	return lang.LocateFrom(name, []byte(f.Scenario), f.ScenarioLine, err)
}

// openAs is Open with a mutant, "" for none.
func openAs(name string, f *traces.File, mutant string) (*rig.Rig, error) {
	sc, err := lang.ParseFrom(name, []byte(f.Scenario), f.ScenarioLine)
	if err != nil {
		return nil, err
	}
	if m := f.Remark(traces.OriginFetch); m != "" {
		if err := sc.SetFetch(m); err != nil {
			return nil, fmt.Errorf("%s: origin: %w", name, err)
		}
	}
	sc.Machine.Steps = min(sc.Machine.Steps, rig.TraceSteps)
	ignored, err := ignoredBy(name, f)
	if err != nil {
		return nil, err
	}
	known, err := rig.ParseKnown(f.Remark(traces.OriginKnown))
	if err != nil {
		return nil, fmt.Errorf("%s: origin: %s: %w", name, traces.OriginKnown, err)
	}
	r, err := rig.NewGoingOn(sc, mutant, rig.GoOn{Ignored: ignored, Known: known})
	if long := new(rig.LongAlone); errors.As(err, &long) {
		err = fmt.Errorf("run without probes: %w", long.InTrace())
	}
	switch {
	case err != nil && mutant != "" && !slices.Contains(mutants.Known(), mutant):
		return nil, fmt.Errorf("%s: %w", name, err) // it's about the origin
	case err != nil:
		return nil, locate(name, f, err)
	}
	r.OfTrace()
	return r, nil
}

// ErrLong reports that a question needs more boundaries of the trace's run than the budget
// allows.
var ErrLong = errors.New("its run is too long to be made again without each of its deviations; shrink it first")

// A stamina is the number of boundaries that may still be spent on repeated runs.
type stamina uint64

const manyRuns stamina = 10 * rig.TraceSteps

// spend subtracts a run; it returns ErrLong if nothing is left.
func (n *stamina) spend(run *rig.Run) error {
	if took := stamina(run.Counts.Boundaries); took < *n {
		*n -= took
		return nil
	}
	return ErrLong
}

// play makes run i of the strategy, and reports whether there was one.
func (r *Replay) play(a *sched.Anchored, i uint64) bool {
	l := sched.NewLabeller(a, r.Rig.Machine.Names())
	if !l.Begin(i) {
		return false
	}
	r.Run = r.Rig.Run(l)
	l.End(r.Counts.Points)
	r.Taken = append(r.Taken[:0], l.Anchors()...)
	r.Drifts = a.Drifts()
	return true
}

// unknownPlace suggests a similar name for a place in a function or data that the scenario
// doesn't have; "" if there is none.
func (r *Replay) unknownPlace(place string) string {
	name, _, _ := strings.Cut(place, "+")
	var known []string
	for i := range r.Rig.Scenario.Texts {
		known = append(known, r.Rig.Scenario.Texts[i].Name)
	}
	for i := range r.Rig.Scenario.Datas {
		known = append(known, r.Rig.Scenario.Datas[i].Name)
	}
	if _, _, ok := r.Rig.Machine.Names().FindSymbol(name); ok {
		return ""
	}
	if hint := nearest.DidYouMean(name, known); hint != "" {
		return fmt.Sprintf("; the scenario has no %q: %s", name, hint)
	}
	return ""
}

// compare compares the replay's result with the file.
func (r *Replay) compare(f *traces.File) {
	r.Place, r.Message = "", r.Rig.Message(&r.Run)
	if r.Finding.Place != 0 {
		r.Place = r.Rig.Machine.Names().SymbolName(r.Finding.Place)
	}
	id := ""
	switch {
	case r.Property != nil:
		id = r.Property.ID
	case f.Property == traces.NoProperty:
		id = traces.NoProperty
	}
	r.Same, r.Breaks = false, id == f.Property && r.Place == f.Place
	switch {
	case id != f.Property && id == "" && r.Outcome == smp.Exhausted:
		r.Why = fmt.Sprintf("no property is broken when its budget of boundaries is out; the file says %s", f.Property)
	case id != f.Property && id == "":
		r.Why = fmt.Sprintf("no property is broken; the file says %s", f.Property)
	case id != f.Property:
		r.Why = fmt.Sprintf("%s is broken; the file says %s", id, f.Property) // which may be none
	case r.Place != f.Place:
		r.Why = fmt.Sprintf("%s is broken at %s; the file says at %s%s", id, r.Place, f.Place, r.unknownPlace(f.Place))
	case f.Format == traces.ScheduleFormat && r.Digest != f.Digest:
		r.Why = fmt.Sprintf("the digest is %016x; the file says %016x", r.Digest, f.Digest)
	default:
		r.Same, r.Why = true, ""
	}
}

package unit

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"

	"kpsim/campaign/plan"
	"kpsim/internal/cli"
	"kpsim/internal/cli/inputs"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/replay"
	"kpsim/internal/search/shrink"
	"kpsim/traces/view"
)

// A Source has what units before have shown.
type Source interface {
	// Parts returns those that a witness is of: of one unit of runs, or of all that a scenario
	// has if From is plan.All.
	Parts(witness *plan.Unit) ([]explore.Part, error)

	// Island returns what an island of a fuzzing campaign has shown.
	Island(campaign string, search, round, number int) ([]byte, error)
}

// A Find is a property that was broken, by its smallest witness.
type Find struct {
	Cause      string   `json:"cause"` // its bucket
	Property   string   `json:"property"`
	Scenario   string   `json:"scenario"`
	Engine     string   `json:"engine"` // a kernel with its build ID, or kpsim's own
	Message    string   `json:"message"`
	Place      string   `json:"place"`
	Deviations int      `json:"deviations"`
	Story      []string `json:"story"`
	Trace      string   `json:"trace,omitempty"` // NAME.kps
}

// witness makes the smallest witnesses of what a scenario's runs have broken.
func (b *Bench) witness(s *plan.Search, u *plan.Unit, data Source, stop *atomic.Bool) (r Result, err error) {
	spec, err := s.Spec(u.Job)
	if err != nil {
		return r, err
	}
	parts, err := data.Parts(u)
	if err != nil {
		return r, err
	}
	var found []shrink.Found
	for i := range parts {
		if len(parts[i].Found) > 0 && s.Believe(&spec, u.Job, parts[i:i+1]) == nil { // else it is false: the report says so
			found = append(found, parts[i].Found...)
		}
	}
	list, err := shrink.Witnesses(spec.Origin(), found)
	if err != nil {
		return r, err
	}
	e := s.Scenarios[u.Job]
	in := &inputs.Input{Scenario: spec.Scenario, Arg: cli.AsFile(e.Arg), Source: e.Source}
	for _, w := range list {
		in.FoundIn(w.File)
		f, err := FindOf(w, spec.Scenario.Name, engineOf(s, &spec))
		if err != nil {
			return r, err
		}
		r.Summary.Finds = append(r.Summary.Finds, *f)
	}
	if stop.Load() {
		return r, ErrStopped
	}
	r.Data, err = json.Marshal(r.Summary.Finds)
	for i := range r.Summary.Finds { // they are among the data
		r.Summary.Finds[i].Trace = ""
	}
	return r, err
}

// engineOf says whose engine a find is of.
func engineOf(s *plan.Search, spec *explore.Spec) string {
	if im := spec.Scenario.Machine.Image; im != "" {
		return im
	}
	list := []string{"kpsim's own"}
	for _, f := range []string{s.Flags.Edition, s.Flags.Mutant} {
		if f != "" {
			list = append(list, f)
		}
	}
	return strings.Join(list, ", ")
}

// FindOf makes a find of a witness. It plays it, for its story.
func FindOf(w *shrink.Witness, scenario, engine string) (*Find, error) {
	r, err := replay.Play(scenario, w.File, true)
	if err != nil {
		return nil, err
	}
	defer r.Rig.Close()
	f := NewFind(w.Property.Name, scenario, engine, w.Message, w.Place, len(w.Schedule))
	if text, err := inputs.TraceText(scenario, w.File); err == nil { // else it would be refused
		f.Trace = string(text)
	}
	for _, s := range view.Story(r.View(w.File)) {
		f.Story = append(f.Story, s.Text)
	}
	f.Cause = causeOf(f)
	return f, nil
}

// NewFind makes a find without a trace and a story.
func NewFind(property, scenario, engine, message, place string, deviations int) *Find {
	f := &Find{Property: property, Scenario: scenario, Engine: engine, Message: message, Place: place, Deviations: deviations}
	f.Cause = causeOf(f)
	return f
}

// causeOf names the bucket of a find: two finds are taken for one if the same property of the
// same engine is broken and the last thing that happens is the same, but for numbers and places.
// So a cause that shows in two ways has two buckets, and two that end alike have one.
func causeOf(f *Find) string {
	last := f.Message
	if n := len(f.Story); n > 0 {
		last = f.Story[n-1]
	}
	var words []string
	for _, w := range strings.Fields(last) {
		if !strings.ContainsAny(w, "0123456789%+()<>") {
			words = append(words, w)
		}
	}
	sum := sha256.Sum256([]byte(f.Property + "\n" + f.Engine + "\n" + strings.Join(words, " ")))
	return fmt.Sprintf("%s-%x", f.Property, sum[:4])
}

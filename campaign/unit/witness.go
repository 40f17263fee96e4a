package unit

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"

	"kpsim/campaign/plan"
	"kpsim/internal/search/cause"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/shrink"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
)

// A Find is a property that was broken, with its smallest witness.
type Find struct {
	Cause      string   `json:"cause"` // its bucket
	Property   string   `json:"property"`
	Scenario   string   `json:"scenario"`
	Engine     string   `json:"engine"` // a kernel with its build ID, or kpsim's own
	Message    string   `json:"message"`
	Place      string   `json:"place"`
	Deviations int      `json:"deviations"`
	KnownFinds []string `json:"like,omitempty"` // known finds that it looks like
	Words      string   `json:"words"`          // the wording of its cause
	Story      []string `json:"story"`
	Trace      string   `json:"trace,omitempty"` // NAME.kps
}

// witness makes the smallest witnesses of what a scenario's runs have broken.
func (b *Maker) witness(s *plan.Search, u *plan.Unit, data Source, stop *atomic.Bool) (r Result, err error) {
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
		// a part that fails the check is skipped here; the report names it
		if len(parts[i].Found) > 0 && s.CheckParts(&spec, u.Job, parts[i:i+1]) == nil {
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
	for i := range r.Summary.Finds { // the traces are in Data; the summary leaves them out
		r.Summary.Finds[i].Trace = ""
	}
	return r, err
}

// engineOf names the engine of a find.
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

// FindOf makes a find of a witness. It plays the witness for its story.
func FindOf(w *shrink.Witness, scenario, engine string) (*Find, error) {
	c, err := cause.Of(w, scenario)
	if err != nil {
		return nil, err
	}
	f := NewFind(w.Property.Name, scenario, engine, w.Message, w.Place, len(w.Schedule))
	f.KnownFinds, f.Words, f.Story = c.Like, c.Words, c.Story
	f.Cause = causeOf(f)
	// a trace that kpsim would refuse to read is left out
	if text, err := inputs.TraceText(scenario, w.File); err == nil {
		f.Trace = string(text)
	}
	return f, nil
}

// NewFind makes a find without a trace or a story; the message serves as Words.
func NewFind(property, scenario, engine, message, place string, deviations int) *Find {
	f := &Find{
		Property: property, Scenario: scenario, Engine: engine, Message: message, Words: message, Place: place,
		Deviations: deviations,
	}
	f.Cause = causeOf(f)
	return f
}

// causeOf names the bucket of a find: package cause decides which finds of an engine have one cause.
func causeOf(f *Find) string {
	c := cause.Cause{Property: f.Property, Like: f.KnownFinds, Words: f.Words}
	sum := sha256.Sum256([]byte(f.Engine + "\n" + c.Key()))
	return fmt.Sprintf("%s-%x", f.Property, sum[:4])
}

package cause

import (
	"strings"

	"kpsim/internal/search/replay"
	"kpsim/internal/search/rig"
	"kpsim/internal/search/shrink"
	"kpsim/linux"
	"kpsim/traces/view"
)

// A Cause is what the witnesses of one find have in common.
type Cause struct {
	Property string
	Like     []string // the known finds that it resembles: the words then don't count
	Message  string   // the witness' message, in the words of rig.Plain; Words begins with it
	Words    string
	Story    []string // the explanation of the witness; not part of the cause
	Asked    uint64   // number of questions spent on determining it; not part of the cause
}

// Key is equal for two witnesses of one engine that have the same cause.
func (c *Cause) Key() string {
	if c.Known() {
		return c.Property + "\nlike " + strings.Join(c.Like, ", ")
	}
	return c.Property + "\n" + c.Words
}

// Known reports whether the cause resembles a known find.
func (c *Cause) Known() bool { return len(c.Like) > 0 }

// Of replays a witness and returns its cause. If the witness needs a kernel's engine, that kernel
// must have been registered with linux.Give.
func Of(w *shrink.Witness, scenario string) (*Cause, error) {
	r, err := replay.Play(scenario, w.File, true)
	if err != nil {
		return nil, err
	}
	defer r.Rig.Close()
	c := &Cause{Property: w.Property.Name}
	in := r.View(w.File)
	for _, s := range view.Story(in) {
		c.Story = append(c.Story, s.Text)
	}
	symbol := in.Symbol
	nameless := func(uint64) string { return "" }
	in.Symbol, in.Task, in.Probe = func(at uint64) string { return r.Rig.PlainPlace(symbol(at)) }, nameless, nameless
	c.Message = r.Rig.Plain(r.Finding.Message)
	c.Words = c.Message
	if story := view.Story(in); len(story) > 0 {
		c.Words += "; " + rig.Words(story[len(story)-1].Text)
	}
	if image := r.Rig.Scenario.Machine.Image; image != "" {
		k, err := linux.Given(image)
		if err != nil {
			return nil, err
		}
		c.Like, c.Asked, err = looksLike(k, w.Property, w.File)
		return c, err
	}
	c.Like, c.Asked, err = shippedLike(w)
	return c, err
}

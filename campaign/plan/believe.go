package plan

import (
	"fmt"

	"kpsim/internal/search/explore"
)

// Believe says what in parts of a scenario can't be: what they count doesn't add up, or a run that
// they say breaks a property doesn't when it is made again.
func (s *Search) Believe(spec *explore.Spec, job int, parts []explore.Part) (err error) {
	defer func() {
		if v := recover(); v != nil { // choices that no run can have
			err = fmt.Errorf("made again it panics: %.100q", fmt.Sprint(v))
		}
	}()
	e := *s.Scenarios[job]
	e.Parts = parts
	return s.File().Check(*spec, &e)
}

package plan

import (
	"fmt"

	"kpsim/internal/search/explore"
)

// CheckParts checks parts of a scenario for what can't be: counts that don't add up, or a run that is said to break a
// property and doesn't when it is made again.
func (s *Search) CheckParts(spec *explore.Spec, job int, parts []explore.Part) (err error) {
	defer func() {
		if v := recover(); v != nil { // choices that no run can have
			err = fmt.Errorf("repeated, it panics: %.100q", fmt.Sprint(v))
		}
	}()
	e := *s.Scenarios[job]
	e.Parts = parts
	return s.File().Check(*spec, &e)
}

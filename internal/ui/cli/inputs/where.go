package inputs

import (
	"strings"

	"kpsim/internal/scenario"
	"kpsim/internal/ui/verdict"
)

// Where returns the line of the scenario's file that a verdict is about: that of the function at whose place, such as
// f+0x4, something was seen, else that of what is expected. It returns nil for a built-in scenario.
func (j *Input) Where(place string) []verdict.Place {
	if j.line == nil || j.Arg == j.Name {
		return nil
	}
	part := scenario.PartOf(scenario.TheExpect, 0)
	name, _, _ := strings.Cut(place, "+")
	for i := range j.Scenario.Texts {
		if j.Scenario.Texts[i].Name == name {
			part = scenario.PartOf(scenario.TheTexts, i)
		}
	}
	return []verdict.Place{{File: j.Arg, Line: j.line(part)}}
}

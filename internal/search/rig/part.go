package rig

import (
	"slices"
	"strings"

	"kpsim/internal/scenario"
)

// refusal is why the machine refused to go on, with the part of the scenario that it is about.
func (r *Rig) refusal() error {
	err := r.Machine.Refusal()
	if err == nil {
		return nil
	}
	_, task, _ := r.Machine.Inspect().Last()
	place := ""
	if says := strings.SplitN(err.Error(), ": ", 3); len(says) == 3 { // cpu0 caller: f+0x2: what is wrong
		place = says[1]
	}
	return scenario.Placed(r.partOf(task, place), err)
}

// stands returns the part of the scenario that the machine's last step was in.
func (r *Rig) stands() scenario.Part {
	_, task, place := r.Machine.Inspect().Last()
	return r.partOf(task, place)
}

// partOf returns the function that a place is in, or else the task; the scenario as a whole if there
// is neither.
func (r *Rig) partOf(task, place string) scenario.Part {
	name, _, _ := strings.Cut(place, "+")
	sc := r.Scenario
	if i := slices.IndexFunc(sc.Texts, func(t scenario.Text) bool { return t.Name == name }); i >= 0 {
		return scenario.PartOf(scenario.TheTexts, i)
	}
	if i := slices.IndexFunc(sc.Tasks, func(t scenario.Task) bool { return t.Name == task }); i >= 0 {
		return scenario.PartOf(scenario.TheTasks, i)
	}
	return scenario.PartOf(scenario.TheScenario, 0)
}

// textFault is an error about a function.
func (r *Rig) textFault(t *scenario.Text, err error) error {
	i := slices.IndexFunc(r.Scenario.Texts, func(o scenario.Text) bool { return o.Name == t.Name })
	return scenario.Placed(scenario.PartOf(scenario.TheTexts, i), err)
}

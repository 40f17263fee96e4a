package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	spelling "kpsim/internal/nearest"
	"kpsim/internal/search/replay"
	"kpsim/internal/ui/cli"
	"kpsim/sim"
	"kpsim/traces"
)

// missingName describes the first name in a deviation that the replayed run doesn't have, and suggests
// a similar one. It returns "" if the run has every name.
func missingName(r *replay.Replay, d *traces.Deviation) string {
	names := r.Rig.Machine.Names()
	var movers, cpus []string
	for _, mv := range names.Movers() {
		movers = append(movers, names.Mover(mv))
		if mv < sim.MoverIPI {
			cpus = append(cpus, names.Mover(mv))
		}
	}
	mover := func(name string) string {
		of := movers
		what := "source or CPU"
		if n, ok := strings.CutPrefix(name, "cpu"); ok && n != "" && strings.Trim(n, "0123456789") == "" {
			what, of = "CPU", cpus
		}
		if slices.Contains(of, name) {
			return ""
		}
		return fmt.Sprintf("the machine has no %s called %q; %s", what, name, spelling.OrAll(name, of))
	}
	var tasks []string
	for i := range r.Rig.Scenario.Tasks {
		tasks = append(tasks, r.Rig.Scenario.Tasks[i].Name)
	}
	if says := mover(d.Mover); says != "" {
		return says
	}
	if says := missingPlace(r, d, tasks); says != "" {
		return says
	}
	switch d.Kind {
	case sim.Step:
		return mover(d.Alt)
	case sim.Task:
		if _, worker := names.TaskNamed(d.Alt); !worker {
			return fmt.Sprintf("the run has no task called %q; %s", d.Alt, spelling.OrAll(d.Alt, tasks))
		}
	}
	return ""
}

// missingPlace is lacks for the deviation's place: a function, a task or another routine.
func missingPlace(r *replay.Replay, d *traces.Deviation, tasks []string) string {
	names := r.Rig.Machine.Names()
	if _, _, known := names.FindSymbol(d.Name); known && d.Text || slices.Contains(r.Places, d.Name) {
		return ""
	}
	if d.Text {
		var funcs []string
		for i := range r.Rig.Scenario.Texts {
			funcs = append(funcs, r.Rig.Scenario.Texts[i].Name)
		}
		hint := cmp.Or(spelling.DidYouMean(d.Name, append(slices.Clone(funcs), r.Places...)),
			spelling.OrAll(d.Name, funcs))
		return fmt.Sprintf("the scenario has no function called %q; %s", d.Name, hint)
	}
	if _, task := names.TaskNamed(d.Name); task {
		return ""
	}
	near := spelling.Names(d.Name, append(slices.Clone(tasks), r.Places...))
	switch {
	case len(near) > 0 && !slices.Contains(tasks, near[0]):
		return fmt.Sprintf("the run reaches no routine called %q; did you mean %s?", d.Name, spelling.Quoted(near))
	case len(near) > 0:
		return fmt.Sprintf("the run has no task called %q; did you mean %s?", d.Name, spelling.Quoted(near))
	}
	return fmt.Sprintf("the run reaches nothing called %q; its tasks are %s", d.Name, cli.List(tasks))
}

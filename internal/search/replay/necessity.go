package replay

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/properties"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/traces"
)

// A Need is the purpose of one deviation of a trace: what happens in the run without it.
type Need struct {
	Deviation traces.Deviation
	Outcome   smp.Outcome          // of that run
	Property  *properties.Property // broken in that run; nil: none
	Place     string               // symbol and offset, or ""
	Message   string               // the finding's
	Same      bool                 // the file's property still breaks: the deviation isn't needed
	// it breaks only because a CPU stands still, unlike in the file's run (traces.Finding)
	Slow  bool
	Unmet []int  // deviations, from 0, that are then never reached
	Says  string // all of this in words: "without it …"
}

// Necessity runs a trace file once without each of its deviations. The others stay as they are in
// the file; if that run breaks nothing, a second run counts each from the one before it. A
// deviation whose question has changed isn't met, which is reported too. Errors are about the
// file.
func Necessity(f *traces.File) ([]Need, error) {
	rig, err := Open("trace", f)
	if err != nil {
		return nil, err
	}
	defer rig.Close()
	all := f.Schedule
	l := sched.NewLabeller(sched.NewAnchored(all, rig.Machine.Names()), rig.Machine.Names())
	whole := rig.Play(l)
	var links []traces.Deviation
	if len(l.Links()) == len(all) { // otherwise the file drifts, and has no chain
		links = append(links, l.Links()...)
	}
	needs, left := make([]Need, len(all)), manyRuns
	for i := range all {
		a := sched.NewAnchored(slices.Delete(slices.Clone(all), i, i+1), rig.Machine.Names())
		run := rig.Play(a)
		unmet := unmetOf(a, i)
		if err := left.spend(&run); err != nil {
			return nil, err
		}
		if run.Property == nil && links != nil {
			if again := rig.Play(sched.NewChain(slices.Delete(slices.Clone(links), i, i+1),
				rig.Machine.Names())); again.Property != nil {
				run, unmet = again, nil
			}
		}
		n := &needs[i]
		*n = Need{Deviation: f.Schedule[i], Outcome: run.Outcome, Property: run.Property, Message: rig.Message(&run),
			Unmet: unmet}
		if run.Finding.Place != 0 {
			n.Place = rig.Machine.Names().SymbolName(run.Finding.Place)
		}
		n.Same = n.Property != nil && n.Property.ID == f.Property
		n.Slow = n.Same && run.Finding.Slow && !whole.Finding.Slow
		n.say()
	}
	return needs, nil
}

// unmetOf lists the anchors that a replay without anchor number gone didn't reach, by their
// numbers in the whole list.
func unmetOf(a *sched.Anchored, gone int) (list []int) {
	for _, d := range a.Drifts() {
		if d.Kind == sched.Unmet {
			k := d.Index
			if k >= gone {
				k++
			}
			list = append(list, k)
		}
	}
	return list
}

// say describes a need in words.
func (n *Need) say() {
	var s string
	switch {
	case n.Outcome == smp.Refused:
		s = "the run is refused"
	case n.Property == nil:
		s = "nothing is broken"
	case n.Outcome == smp.Stuck || n.Outcome == smp.Exhausted:
		s = n.Message
	default:
		s = n.Property.ID + " " + n.Property.Name + " is broken"
		if n.Same {
			s += " all the same"
		}
		if n.Place != "" {
			s += " at " + n.Place
		}
		if n.Slow {
			s += ", but by a CPU that stands still between two instructions, where no interrupt holds it"
		}
	}
	if n.Property == nil && len(n.Unmet) > 0 {
		var list []string
		for _, k := range n.Unmet {
			list = append(list, fmt.Sprint(k+1))
		}
		if len(list) == 1 {
			s += fmt.Sprintf(", and deviation %s is never reached", list[0])
		} else {
			s += fmt.Sprintf(", and deviations %s are never reached", strings.Join(list, ", "))
		}
	}
	n.Says = "without it " + s
}

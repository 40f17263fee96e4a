package export

import (
	"encoding/json"
	"fmt"
	"io"

	"kpsim/traces"
	"kpsim/traces/view"
)

// A Line is an event as Lines writes it. docs/events.md lists the kinds.
type Line struct {
	Step  int               `json:"step"`  // from 0
	Event uint32            `json:"event"` // its ordinal in the run; the head of the log comes first
	CPU   *int              `json:"cpu"`   // null: no CPU
	Task  *string           `json:"task"`  // null: no task
	Kind  string            `json:"kind"`
	Args  map[string]string `json:"args"` // in hex
	Says  string            `json:"says"`
	Clock uint64            `json:"clock_cycles"` // the clock of its CPU
	// Time is the run's time: at least the CPU's clock, and later than the previous event.
	Time      uint64   `json:"time_cycles"`
	Violation bool     `json:"violation,omitempty"`
	Deviation []string `json:"deviations,omitempty"` // deviations since the previous event
}

// Lines writes one JSON object per line for each event. Errors are those of w.
func Lines(w io.Writer, s *view.Scene, task func(id uint64) string) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	d := 0
	for i := range s.Steps {
		p := &s.Steps[i]
		e := &p.Event
		l := Line{Step: i, Event: e.Seq, Kind: e.Kind.String(), Args: make(map[string]string), Says: p.Says,
			Clock: p.Clock, Time: p.Time, Violation: i == s.Violation}
		if e.CPU != view.Machine {
			cpu := int(e.CPU)
			l.CPU = &cpu
		}
		if e.Task != traces.NoTask {
			name := task(uint64(e.Task))
			l.Task = &name
		}
		for k, v := range e.Args() {
			l.Args[e.Kind.Spec().Args[k].Name] = fmt.Sprintf("%#x", v)
		}
		for ; d < len(s.Deviations) && s.Deviations[d].Step <= i; d++ {
			l.Deviation = append(l.Deviation, s.Deviations[d].String())
		}
		if err := out.Encode(&l); err != nil {
			return err
		}
	}
	return nil
}

package unit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"kpsim/campaign/plan"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/verbs/findings"
)

// proof verifies a scenario.
func (b *Maker) proof(s *plan.Search, u *plan.Unit, stop *atomic.Bool) (r Result, err error) {
	in, err := s.Verify.Input(u.Job)
	if err != nil {
		return r, err
	}
	f := s.Verify.Flags
	c := findings.Verify{
		Scenarios: []string{in.Arg}, Deviations: f.Deviations, Full: f.Full, Counted: f.Counted, By: f.By,
		All:  f.All,
		Runs: f.Runs, Megabytes: f.Megabytes,
		Workers: 1, Fetch: f.Fetch, Memory: f.Memory, Edition: f.Edition, Broken: f.Broken, GoOn: f.GoOn,
		Traces: f.Traces,
		Races:  f.Races,
	}
	c.Kernel.Kernel, c.Kernel.Objects = s.Flags.Kernel.Kernel, slices.Clone(s.Flags.Kernel.Objects)
	var out, errs bytes.Buffer
	shown := plan.Proved{Traces: []plan.Trace{}}
	c.Write = func(path string, data []byte) error {
		shown.Traces = append(shown.Traces, plan.Trace{Path: path, Text: string(data)})
		return nil
	}
	over := make(chan struct{})
	defer close(over)
	go func() {
		for tick := time.NewTicker(50 * time.Millisecond); ; {
			select {
			case <-over:
				tick.Stop()
				return
			case <-tick.C:
				if stop.Load() {
					c.Stop()
				}
			}
		}
	}()
	p := cli.New(&out, &errs)
	if shown.Status, err = c.RunOn(p, []*inputs.Input{in}); err != nil {
		return r, err
	}
	p.Flush()
	if stop.Load() {
		return r, ErrStopped
	}
	if shown.Status == cli.Bug {
		return r, fmt.Errorf("%s", errs.String())
	}
	shown.Out, shown.Err = out.String(), errs.String()
	r.Summary.Runs = 1
	r.Data, err = json.Marshal(&shown)
	return r, err
}

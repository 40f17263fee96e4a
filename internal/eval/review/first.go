package review

import (
	"context"

	"kpsim/internal/scenario"
	"kpsim/internal/ui/cli"
	"kpsim/linux"
)

// A Find is something that only a changed kernel does.
type Find struct {
	Scenario *scenario.Scenario // without an engine: its runs break a property, or its program is answered otherwise
	Property string             // "": the program is serial, and is answered otherwise
	Words    string             // the wording, without numbers, places and names
	Says     string             // in one line
	Trace    string             // the file of its witness; "" if there is none
}

// FirstFind reviews a changed kernel beside another one, and returns the first thing that only it does, nil if it saw
// none. The options are those of kpsim review. After ^C the error is context.Canceled.
func FirstFind(p *cli.Program, before, after *linux.Kernel, options *Review) (*Find, error) {
	c := options
	p.StopAtInterrupt(&c.stop)
	r, err := c.between(p, before, after)
	if c.stop.Load() {
		return nil, context.Canceled
	}
	if err != nil {
		return nil, err
	}
	if err := r.write(); err != nil {
		return nil, err
	}
	for i := range r.gained {
		v := &r.gained[i]
		if v.Witness == nil && len(r.gained) > i+1 {
			continue // one that has a witness says more
		}
		for _, s := range r.searched {
			if s.sc.Name == v.scenario {
				return &Find{Scenario: s.sc, Property: v.Property, Words: v.Words, Says: v.says, Trace: v.trace}, nil
			}
		}
	}
	if len(r.answers) == 0 {
		return nil, nil
	}
	return &Find{Scenario: r.answers[0].Program, Says: r.answers[0].Says, Trace: r.files[0]}, nil
}

// New returns a review with the defaults of the command line.
func New() *Review {
	return &Review{Runs: 150, Budget: 3000, Programs: 50, Small: 3, Slower: 5, Seed: 1, Traces: "traces"}
}

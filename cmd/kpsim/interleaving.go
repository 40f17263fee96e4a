package main

import (
	"fmt"

	"kpsim/properties/harness"
	"kpsim/traces"
)

// interleaving prints where the run went wrong.
func (c *replayCmd) interleaving(p *program, file *traces.File, r *harness.Replay) error {
	for i, d := range file.Schedule {
		fmt.Fprintf(p.out, "  %d  %s\n", i+1, d)
	}
	if r.Property != nil {
		fmt.Fprintln(p.out, finding(r.Property, r.Place, r.Finding.Message))
	}
	return nil
}

package view

import (
	"fmt"
	"strings"

	"kpsim/sim"
	"kpsim/traces"
)

// Choice returns the effect of a deviation as a phrase.
func Choice(d traces.Deviation) string {
	switch d.Kind {
	case sim.Fetch:
		if d.Alt == "fresh" {
			return fmt.Sprintf("%s fetches the newest bytes at %s", d.Mover, d.Place())
		}
		return fmt.Sprintf("%s fetches bytes at %s that are no longer in memory", d.Mover, d.Place())
	case sim.Task:
		return fmt.Sprintf("%s switches to %s", d.Mover, d.Alt)
	case sim.Cost:
		return fmt.Sprintf("%s takes its time at %s", d.Mover, d.Place())
	}
	ipi, pending := strings.CutPrefix(d.Mover, "ipi@")
	answers, taken := strings.CutPrefix(d.Alt, "ipi@")
	switch {
	case taken && d.Alt == d.Mover:
		return fmt.Sprintf("%s takes its IPI in %s", answers, d.Place())
	case taken:
		return fmt.Sprintf("%s takes its IPI while %s stands in %s", answers, d.Mover, d.Place())
	case strings.Contains(d.Alt, "@") && d.Alt == d.Mover:
		return d.Alt + " fires"
	case strings.Contains(d.Alt, "@"):
		return fmt.Sprintf("%s fires while %s stands in %s", d.Alt, d.Mover, d.Place())
	case d.Alt == d.Mover:
		return fmt.Sprintf("%s goes on in %s", d.Alt, d.Place())
	case pending && ipi == d.Alt:
		return fmt.Sprintf("%s goes on in %s before it takes its IPI", d.Alt, d.Place())
	case pending:
		return fmt.Sprintf("%s goes on before %s takes its IPI in %s", d.Alt, ipi, d.Place())
	}
	return fmt.Sprintf("%s goes on while %s stands in %s", d.Alt, d.Mover, d.Place())
}

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
	case sim.Buffer:
		return "stores may be held in this run: other CPUs see them late"
	case sim.Version:
		return fmt.Sprintf("%s meets an older value at %s, or its store goes before one", d.Mover, d.Place())
	case sim.Task:
		return fmt.Sprintf("%s switches to %s", d.Mover, d.Alt)
	case sim.Cost:
		return fmt.Sprintf("%s takes its time at %s", d.Mover, d.Place())
	}
	if cpu, off := strings.CutPrefix(d.Mover, "drain@"); off && d.Alt != d.Mover {
		d.Mover = cpu
		if other, also := strings.CutPrefix(d.Alt, "drain@"); also {
			return fmt.Sprintf("%s's store takes effect, and %s's, made before %s, waits", other, cpu, d.Place())
		}
		if d.Alt == cpu {
			return fmt.Sprintf("%s goes on in %s, and its store waits", cpu, d.Place())
		}
		return fmt.Sprintf("%s, and %s's store, made before %s, waits", moves(d.Alt), cpu, d.Place())
	}
	if cpu, now := strings.CutPrefix(d.Alt, "drain@"); now {
		return fmt.Sprintf("%s's oldest store takes effect while %s stands in %s", cpu, d.Mover, d.Place())
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

// moves says that a mover moves.
func moves(mover string) string {
	if cpu, taken := strings.CutPrefix(mover, "ipi@"); taken {
		return cpu + " takes its IPI"
	}
	if strings.Contains(mover, "@") {
		return mover + " fires"
	}
	return mover + " goes on"
}

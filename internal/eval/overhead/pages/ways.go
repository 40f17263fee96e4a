package pages

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/eval/overhead"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/cli/inputs/drawable"
	"kpsim/sim"
	"kpsim/smp/cycles"
)

// ways are the flags for hits that no figure is of.
type ways struct {
	Editions  []string      `name:"edition" xor:"engine" placeholder:"NAME" help:"What hits cost with the engine of this edition: ${editions}, documented. May be given many times."`
	CPUs      []inputs.Span `name:"cpus" xor:"way" placeholder:"LIST" help:"What hits of one probe by so many CPUs at once cost, as 1,2,4 or 1-8; 64 at most. Without --edition it is of those that differ, without --machine of xeon-e5410/x86_64, without --probe of r."`
	Noise     bool          `xor:"way" help:"Draw hits with jitter, cache misses and ticks, and print how they are spread."`
	NoiseFile cli.FileName  `placeholder:"FILE" help:"How much noise, as the JSON object that --noise --json prints. Default: magnitudes that are assumed."`
	Runs      *int          `range:"2..1000" placeholder:"N" help:"How many runs --noise draws. Default: 20."`
	Hits      *int          `range:"2..1000000" placeholder:"N" help:"How many hits of each. Default: 20000."`
	Seed      *uint64       `range:"0..18446744073709551615" placeholder:"N" help:"What --noise draws from. Default: 1."`
}

// check checks what needs nothing else.
func (c *ways) check() error {
	if !c.Noise {
		for _, f := range [...]struct {
			flag  string
			given bool
		}{{"noise-file", c.NoiseFile != ""}, {"runs", c.Runs != nil}, {"hits", c.Hits != nil},
			{"seed", c.Seed != nil}} {
			if f.given {
				return fmt.Errorf("--%s: without noise nothing is drawn; give --noise too, or leave it out", f.flag)
			}
		}
	}
	var err error
	if c.Editions, err = inputs.Once("edition", "edition", c.Editions, drawable.Editions()); err != nil {
		return err
	}
	if c.CPUs == nil {
		return nil
	}
	_, err = inputs.Numbers("cpus", "numbers of CPUs", c.CPUs, 1, sim.MaxCPUs)
	return err
}

// A pricedHit is a probe on a machine, with the engine of an edition.
type pricedHit struct {
	*pricedMachine
	edition string
	probe   overhead.Probe
}

// shown is the machine, as --json prints it.
func (m *pricedMachine) shown() machineJSON {
	return machineJSON{m.ID(), m.Name, m.Arch, m.MHz}
}

// shown is what is priced, as --json prints it.
func (h *pricedHit) shown() hitJSON {
	return hitJSON{h.pricedMachine.shown(), h.edition, h.probe.Name, h.probe.Says, h.by}
}

// hits returns the probes that are asked for, on machines, with the engines of editions,
// or of none: then that of each machine's figures.
func (c *Table) hits(machines []pricedMachine, editions []string) (list []pricedHit, err error) {
	var has []string
	for i := range machines {
		m := &machines[i]
		of := editions
		if len(of) == 0 {
			of = []string{m.Edition}
		}
		for _, e := range of {
			for _, p := range m.ProbesIn(e) {
				if len(c.Probes) == 0 || slices.Contains(c.Probes, p.Name) {
					list = append(list, pricedHit{m, e, p})
				}
				if !slices.Contains(has, p.Name) {
					has = append(has, p.Name)
				}
			}
		}
	}
	for _, e := range c.Editions {
		if err := c.missing(machines, e); err != nil {
			return nil, err
		}
	}
	if len(list) == 0 {
		var ids []string
		for i := range machines {
			ids = append(ids, machines[i].ID())
		}
		return nil, fmt.Errorf("--probe: what %s costs on %s isn't known; give one of %s, or another machine",
			strings.Join(c.Probes, " or "), strings.Join(ids, " or "), strings.Join(has, ", "))
	}
	return list, nil
}

// missing says which machine or probe that was asked for an edition has no hit of.
func (c *Table) missing(machines []pricedMachine, edition string) error {
	var has []string
	for i := range machines {
		m := &machines[i]
		probes := m.ProbesIn(edition)
		if len(probes) == 0 && (len(machines) == 1 || len(c.Machines) > 0) {
			return fmt.Errorf("--edition: what hits of edition %s cost on %s isn't known, whose costs are of "+
				"edition %s; give a machine with costs of a later one, as %s", edition, m.ID(), m.Edition,
				defaultMachine)
		}
		for _, p := range probes {
			if !slices.Contains(has, p.Name) {
				has = append(has, p.Name)
			}
		}
	}
	for _, q := range c.Probes {
		if !slices.Contains(has, q) {
			return fmt.Errorf("--probe: what %s costs with edition %s isn't known on these machines; give one of %s", q,
				edition, strings.Join(has, ", "))
		}
	}
	return nil
}

// documented returns the documents' figure, nil if they have none.
func (h *pricedHit) documented() *float64 {
	if h.machine == nil || h.edition != h.Edition {
		return nil
	}
	for _, f := range overhead.Figures() {
		if f.Machine == h.machine && f.Probe.Name == h.probe.Name {
			return &f.Usec
		}
	}
	return nil
}

// guessed names the events of a hit that happen in no figure of its machine, so that
// their costs are a guess.
func (h *pricedHit) guessed(hit *overhead.Hit) (names []string) {
	for e, n := range hit.Events {
		if e := cycles.Event(e); n != 0 && h.model != nil && h.model.InFigures(h.machine, e) == 0 {
			names = append(names, e.String())
		}
	}
	return names
}

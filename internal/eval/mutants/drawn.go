package mutants

import (
	"errors"
	"fmt"

	"kpsim/internal/search/mutantsearch"
	"kpsim/internal/ui/cli"
	"kpsim/kprobes/mutants"
)

// drawnEach is the number of runs of each drawn program; those that show new features have more.
const drawnEach = 3

// A drawnRow is what is printed of a mutant that was searched for among drawn programs.
type drawnRow struct {
	Mutant   string `json:"mutant"`
	Scenario string `json:"without"`  // and its variants
	Property string `json:"property"` // "": it wasn't found
	Programs uint64 `json:"programs"` // up to the one that found it
	Most     uint64 `json:"most"`
}

func (r *drawnRow) found() string {
	if r.Property == "" {
		return "not found"
	}
	return r.Property
}

// runDrawn searches for mutants among drawn programs.
func (c *Mutants) runDrawn(p *cli.Program, list []*mutants.Mutant) (int, error) {
	if c.HTML != "" {
		return 0, errors.New("--drawn: it has no HTML page; leave --html out, or print --markdown")
	}
	if len(c.Mutants) == 0 {
		list = mutantsearch.Historical()
	}
	p.StopAtInterrupt(&c.stop)
	cli.ManySmall()
	d := mutantsearch.Drawn{Seed: c.Seed, Programs: c.Drawn, Each: drawnEach, Workers: c.Workers, Cancelled: &c.stop}
	line := p.WatchParts("mutants", len(list), "mutant")
	defer line.Clear()
	if c.Markdown {
		c.drawnHead(p)
	}
	found := 0
	for i, mu := range list {
		p.Doing = "drawn programs, mutant " + mu.Name
		line.Part(mu.Name, 1)
		k, err := d.Kill(mu)
		if err != nil {
			return 0, err
		}
		if k == nil {
			line.Clear()
			fmt.Fprintf(p.Err, "kpsim: interrupted after %d of %s\n", i, cli.Number(len(list), "mutant"))
			return cli.Interrupted, nil
		}
		r := drawnRow{mu.Name, mu.Scenario, k.Property, k.Programs, c.Drawn}
		if r.Property != "" {
			found++
		}
		switch {
		case c.JSON:
			err = p.PrintJSON(&r)
		case c.Markdown:
			_, err = fmt.Fprintf(p.Out, "| %s | %s | %s | %d |\n", r.Mutant, r.Scenario, r.found(), r.Programs)
		default:
			p.Indented("", fmt.Sprintf("%-24s  without %-24s  %-20s  %d", r.Mutant, r.Scenario, r.found(), r.Programs))
		}
		if err != nil {
			return 0, err
		}
	}
	line.Complete()
	total := fmt.Sprintf("%d of %s found among %s each, %s", found, cli.Number(len(list), "mutant"),
		cli.Number(c.Drawn, "drawn program"), cli.Share(uint64(found), uint64(len(list))))
	switch {
	case c.Markdown:
		fmt.Fprintf(p.Out, "\n%s.\n", total)
	case !c.JSON:
		fmt.Fprintln(p.Out, total)
	}
	return cli.OK, nil
}

// drawnHead begins the page that docs/drawn-history.md is.
func (c *Mutants) drawnHead(p *cli.Program) {
	if len(c.Mutants) == 0 {
		fmt.Fprintf(p.Out, `# Historical faults among drawn programs

Written by `+"`kpsim mutants --drawn %d --markdown`"+`. No row is written by hand; a test compares them with the catalogue, and searches for some again.

Each mutant brings back a fault that kernels had ([history.md](history.md)). It is searched for among drawn programs alone: none is derived from the scenario where it shows, nor from a variant of that by name. Seed %d, %d runs of each program or more. Programs: the number of the one that found it, or of all.

`, c.Drawn, c.Seed, drawnEach)
	}
	fmt.Fprint(p.Out, "| mutant | without | found by | programs |\n|---|---|---|--:|\n")
}

package small

import (
	"fmt"
	"path/filepath"
	"strings"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/small"
	"kpsim/internal/ui/cli"
)

// pairs is the result of the pairs of a world, as a JSON object.
type pairs struct {
	World     string     `json:"world"`
	Calls     int        `json:"calls"`
	Pairs     uint64     `json:"pairs"`
	Run       uint64     `json:"run"`
	Schedules uint64     `json:"schedules"`
	Broken    uint64     `json:"broken"`
	Finds     []pairFind `json:"finds"`
}

type pairFind struct {
	Property string   `json:"property"`
	Says     string   `json:"says"`
	Before   []string `json:"before"`
	First    string   `json:"call"`
	Second   string   `json:"beside"`
	Runs     uint64   `json:"schedules"`
	Pairs    uint64   `json:"pairs"`
	File     string   `json:"file"`
}

// beside runs pairs of programs, and prints what they show.
func (c *Small) beside(p *cli.Program) (found bool, err error) {
	worlds := c.Worlds
	if len(worlds) == 0 {
		worlds = small.Names()
	}
	n := 0
	for _, name := range worlds {
		sc, err := small.LoadBeside(name, c.Edition)
		if err != nil {
			return found, err
		}
		if sc == nil || c.stop.Load() {
			continue
		}
		b := &small.Beside{Scenario: sc, Mutant: c.Mutant, Calls: c.Beside, Workers: c.Workers, Cancelled: &c.stop}
		list, err := b.Pairs()
		if err != nil {
			return found, err
		}
		r, err := watched(p, name, b, list)
		if err != nil {
			return found, err
		}
		out := pairs{World: name, Calls: c.Beside, Pairs: r.Pairs, Run: r.Done, Schedules: r.Schedules,
			Broken: r.Broken, Finds: []pairFind{}}
		for _, f := range r.Finds {
			n++
			file := filepath.Join(c.Traces, fmt.Sprintf("beside-%s-%d.star", name, n))
			if err := cli.MakeFolder(c.Traces); err != nil {
				return found, err
			}
			if err := cli.WriteWhole(file, []byte(lang.Print(f.Pair.Scenario())+"\n")); err != nil {
				return found, fmt.Errorf("%s", cli.Cause(err, file))
			}
			out.Finds = append(out.Finds, pairFind{f.Property, f.Says, f.Pair.First, f.Pair.X, f.Pair.Y, f.Runs,
				f.Pairs, file})
		}
		found = found || len(r.Finds) > 0
		if err := c.printPairs(p, &out); err != nil {
			return found, err
		}
	}
	return found, nil
}

// watched runs pairs with a line of progress.
func watched(p *cli.Program, name string, b *small.Beside, list []*small.Pair) (*small.BesideResult, error) {
	p.Doing = "pairs of programs"
	line := p.Watch(name, uint64(len(list)), "pair")
	defer line.Clear()
	line.Part("pairs", uint64(len(list)))
	b.Progress = line.Update
	r, err := b.Run(list)
	if err == nil {
		line.Complete()
	}
	return r, err
}

func (c *Small) printPairs(p *cli.Program, out *pairs) error {
	c.judgePairs(p, out)
	if c.JSON {
		return p.PrintJSON(out)
	}
	rest := ""
	if out.Run < out.Pairs {
		rest = fmt.Sprintf(", %d weren't run", out.Pairs-out.Run)
	}
	p.Indented("", fmt.Sprintf("%-8s  programs of up to %s side by side  %s%s, %d broken  (%s)", out.World,
		cli.Number(out.Calls, "call"), cli.Number(out.Pairs, "pair"), rest, out.Broken,
		cli.Number(out.Schedules, "schedule")))
	for i := range out.Finds {
		f := &out.Finds[i]
		before := ""
		if len(f.Before) > 0 {
			before = ", after " + strings.Join(f.Before, ", ")
		}
		p.Indented(cli.Indent, fmt.Sprintf("%s: %s beside %s%s", f.Property, f.First, f.Second, before))
		p.Indented(cli.Indent+cli.Indent, f.Says)
		if f.Pairs > 1 {
			p.Indented(cli.Indent+cli.Indent, fmt.Sprintf("and %s more", cli.Number(f.Pairs-1, "pair")))
		}
		p.ToType("the pair alone:", c.pairLine(f))
	}
	return nil
}

// pairLine returns the command line that shows a pair alone.
func (c *Small) pairLine(f *pairFind) string {
	words := []string{"verify", f.File, "--deviations", fmt.Sprint(small.Deviations)}
	if c.Mutant != "" {
		words = append(words, "--mutant", c.Mutant)
	}
	return c.Kernel.Line(words...)
}

package kernelinfo

import (
	"cmp"
	"encoding/hex"
	"fmt"

	"kpsim/internal/nearest"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/table"
	"kpsim/linux/closure"
	"kpsim/linux/mutate"
)

// Mutants implements kpsim kernel mutants.
type Mutants struct {
	File cli.FileName `arg:"" help:"A vmlinux, a vmlinuz as distributions ship it, or the release of one that scripts/fetch-kernel put on this computer."`
	Func string       `placeholder:"NAME" help:"Only those of this function."`
	Set  string       `default:"kprobes" enum:"kprobes,jumplabel,staticcall,ftrace,fprobe" help:"Of which set: ${enum}."`
	Draw int          `placeholder:"N" range:"0..1000000" help:"Only so many, drawn; 0: all."`
	Seed uint64       `range:"0..18446744073709551615" default:"1" help:"What --draw draws by."`
	JSON bool         `name:"json" help:"Print one JSON object a line, one for each mutant."`
}

// Help implements kong.HelpProvider.
func (*Mutants) Help() string {
	return "List the faults that can be put into the machine code of a kernel's engine.\n\n" + kernelHelp
}

// A mutant is a line of --json.
type mutant struct {
	Name string `json:"name"`
	Says string `json:"says"`
	Addr uint64 `json:"addr"` // at the kernel's link address
	Old  string `json:"old"`  // bytes, in hexadecimal
	New  string `json:"new"`
}

// Run lists the mutants.
func (c *Mutants) Run(p *cli.Program) (int, error) {
	im, err := image(c.File)
	if err != nil {
		return 0, err
	}
	cut, err := closure.Of(im, c.Set)
	if err != nil {
		return 0, err
	}
	if c.Func != "" && !inside(cut, c.Func) {
		var names []string
		for _, f := range cut.Inside {
			names = append(names, f.Name)
		}
		all := cli.Line(cli.Typed(), "kernel", "closure", "--all", "--set", string(c.Set), cli.AsFile(string(c.File)))
		return 0, fmt.Errorf("--func: no function of %s is called %q in %s; %s", c.Set, c.Func, im.Release,
			cmp.Or(nearest.DidYouMean(c.Func, names), fmt.Sprintf("%s prints the %d that there are", all, len(names))))
	}
	list := mutate.All(cut)
	if c.Draw > 0 {
		list = mutate.Draw(cut, c.Seed, c.Draw)
	}
	table := table.Grid{Head: []string{"mutant", "what it does"}, Text: 2}
	n := 0
	for _, m := range list {
		if f := cut.Function(m.Addr); c.Func != "" && (f == nil || f.Name != c.Func) {
			continue
		}
		n++
		if c.JSON {
			if err := p.PrintJSON(mutant{m.Name, m.Says, m.Addr, hex.EncodeToString(m.Old),
				hex.EncodeToString(m.New)}); err != nil {
				return 0, err
			}
			continue
		}
		table.Add(m.Name, m.Says)
	}
	if !c.JSON {
		table.Print(p, false)
		fmt.Fprintln(p.Out, cli.Number(n, "mutant"))
	}
	return cli.OK, nil
}

func inside(c *closure.Closure, name string) bool {
	for i := range c.Inside {
		if c.Inside[i].Name == name {
			return true
		}
	}
	return false
}

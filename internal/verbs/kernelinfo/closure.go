package kernelinfo

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/table"
	"kpsim/linux"
	"kpsim/linux/closure"
)

// Closure implements kpsim kernel closure.
type Closure struct {
	File  cli.FileName `arg:"" optional:"" help:"A vmlinux, a vmlinuz as distributions ship it, or the release of one that scripts/fetch-kernel put on this computer."`
	Set   string       `default:"kprobes" enum:"kprobes,jumplabel,staticcall,ftrace,fprobe" help:"Of which set: ${enum}."`
	With  string       `placeholder:"RELEASE" help:"Compare with this kernel, of those that --known prints. By default with the nearest."`
	All   bool         `help:"List all functions, too: those that run and those that they call."`
	Known bool         `help:"Print the releases of the kernels that are known."`
	JSON  bool         `name:"json" help:"Print one JSON object."`
}

// Help implements kong.HelpProvider.
func (*Closure) Help() string {
	return "Compare which functions run and which they call with a known kernel: what a port needs.\n\n" + kernelHelp
}

// A difference is the output of --json.
type difference struct {
	Release        string   `json:"release"`
	Set            string   `json:"set"`
	With           string   `json:"with"`
	NewInside      []string `json:"new_inside"`
	GoneInside     []string `json:"gone_inside"`
	NewBoundary    []string `json:"new_boundary"`
	GoneBoundary   []string `json:"gone_boundary"`
	Unserved       []callee `json:"unserved"`
	Missing        []string `json:"missing"`
	Refused        []place  `json:"refused"`
	Indirect       []place  `json:"indirect"`
	Inside         []string `json:"inside"`
	InsideCallees  []callee `json:"boundary"`
	SpecialOnes    []place  `json:"special"`
	ThroughPointer int      `json:"paravirt"`
}

// Run prints the closure, or its difference from a known kernel's.
func (c *Closure) Run(p *cli.Program) (int, error) {
	if c.Known {
		for _, k := range closure.Known() {
			fmt.Fprintln(p.Out, k)
		}
		return cli.OK, nil
	}
	if c.File == "" {
		return 0, fmt.Errorf("give a kernel's file, or --known")
	}
	if err := cli.Optional("--with", "known kernel", c.With, closure.Known()); err != nil {
		return 0, err
	}
	o, err := open(c.File, nil)
	if err != nil {
		return 0, err
	}
	s, err := o.set(c.Set)
	if err != nil {
		return 0, err
	}
	with := c.With
	if with == "" {
		with = closure.Nearest(o.im.Release)
	}
	d := s.c.Compare(c.Set, with)
	if c.JSON {
		return cli.OK, p.PrintJSON(differenceOf(o, s, &d))
	}
	fmt.Fprintf(p.Out, "%s of %s: %d functions, %d instructions; they call %d others, of which %d are served\n", c.Set,
		o.im.Release, s.Functions, s.Instructions, s.Boundary, s.Boundary-len(s.Unserved))
	if o.stops != nil {
		p.Indented("  ", "kpsim doesn't run this kernel: "+o.stops.Error())
	}
	if d.None() {
		fmt.Fprintf(p.Out, "the same functions as in %s\n", with)
	} else {
		fmt.Fprintf(p.Out, "compared with %s:\n", with)
		list(p, "runs, new", d.NewInside)
		list(p, "runs no more", d.GoneInside)
		list(p, "called, new", d.NewOutside)
		list(p, "called no more", d.GoneBeside)
	}
	list(p, "missing, though of the series", s.Missing)
	s.Missing = nil
	s.print(p)
	if c.All {
		printAll(p, s.c)
	}
	return cli.OK, nil
}

func list(p *cli.Program, what string, names []string) {
	if len(names) > 0 {
		p.Indented("    ", fmt.Sprintf("  %s: %s", what, strings.Join(names, " ")))
	}
}

// printAll lists a closure.
func printAll(p *cli.Program, c *closure.Closure) {
	fmt.Fprintln(p.Out)
	inside := table.Grid{Head: []string{"runs", "set", "file", "reached from", "bytes", "instructions"}, Text: 4}
	for _, f := range c.Inside {
		from := f.From
		if from == "" {
			from = "an entry"
		}
		inside.Add(f.Name, f.Set, f.File, from, fmt.Sprint(f.Size), fmt.Sprint(f.Insns))
	}
	inside.Print(p, false)
	fmt.Fprintln(p.Out)
	beside := table.Grid{Head: []string{"is called", "served", "at"}, Text: 3}
	open := c.Unserved(linux.Served)
	for _, b := range c.Boundary {
		served := "yes"
		if slices.ContainsFunc(open, func(u closure.Callee) bool { return u.Addr == b.Addr }) {
			served = "no"
		}
		beside.Add(b.Name, served, few(sites(b.Callers)))
	}
	beside.Print(p, false)
	fmt.Fprintln(p.Out)
	special := table.Grid{Head: []string{"instruction", "at"}, Text: 2}
	for i := 0; i < len(c.Special); {
		j := i
		for j < len(c.Special) && c.Special[j].Text == c.Special[i].Text {
			j++
		}
		special.Add(c.Special[i].Text, few(sites(c.Special[i:j])))
		i = j
	}
	special.Print(p, false)
	fmt.Fprintf(p.Out, "%s through pointers, and %d of paravirt\n", cli.Number(len(c.Indirect), "call"), c.Paravirt)
}

func differenceOf(o *opened, s *setInfo, d *closure.Difference) difference {
	out := difference{
		Release: o.im.Release, Set: s.Set, With: d.With, NewInside: some(d.NewInside), GoneInside: some(d.GoneInside),
		NewBoundary: some(d.NewOutside), GoneBoundary: some(d.GoneBeside),
		Unserved: s.Unserved, Missing: s.Missing, Refused: s.Refused, Indirect: places(s.c.Indirect),
		SpecialOnes: places(s.c.Special), ThroughPointer: s.c.Paravirt,
	}
	for _, f := range s.c.Inside {
		out.Inside = append(out.Inside, f.Name)
	}
	for _, b := range s.c.Boundary {
		out.InsideCallees = append(out.InsideCallees, callee{Name: b.Name, Callers: sites(b.Callers)})
	}
	out.Inside = some(out.Inside)
	return out
}

// some makes an empty list print as [] in JSON.
func some(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func places(all []closure.Site) []place {
	out := []place{}
	for _, s := range all {
		out = append(out, place{site(s), s.Text})
	}
	return out
}

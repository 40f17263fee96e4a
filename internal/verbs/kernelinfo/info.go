package kernelinfo

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/table"
	"kpsim/linux/closure"
)

// Info implements kpsim kernel info.
type Info struct {
	File    cli.FileName   `arg:"" help:"A vmlinux, a vmlinuz as distributions ship it, or the release of one that scripts/fetch-kernel put on this computer."`
	Objects []cli.FileName `placeholder:"FILE,…" help:"Object files, compiled for that kernel, whose functions take the place of its own."`
	JSON    bool           `name:"json" help:"Print one JSON object."`
}

// Help implements kong.HelpProvider.
func (*Info) Help() string {
	return "Say which kernel a file is, what of its configuration matters, and what kpsim can run.\n\n" + kernelHelp
}

// A told is a kernel's description, as printed by --json.
type told struct {
	Release   string    `json:"release"`
	Series    string    `json:"series"`
	Flavour   string    `json:"flavour"` // "": the default flavour
	Banner    string    `json:"banner"`
	BuildID   string    `json:"build_id"`
	Digest    string    `json:"sha256"` // of the file
	Symbols   int       `json:"symbols"`
	Types     bool      `json:"types"`                // the layout of structs is known
	TypesFrom string    `json:"types_from,omitempty"` // "BTF" or "DWARF"
	Lines     bool      `json:"lines"`                // places in the source are known
	Config    []option  `json:"configuration"`
	From      string    `json:"configuration_file"` // "": none was found
	Objects   []string  `json:"objects"`
	Sets      []setInfo `json:"sets"`
}

// Run prints the description.
func (c *Info) Run(p *cli.Program) (int, error) {
	o, err := open(c.File, c.Objects)
	if err != nil {
		return 0, err
	}
	t := told{
		Release: o.im.Release, Series: closure.Series(o.im.Release), Banner: o.im.Banner,
		BuildID: hex.EncodeToString(o.im.BuildID), Digest: hex.EncodeToString(o.im.Digest[:]),
		Symbols: len(o.im.Symbols()), Objects: []string{},
	}
	_, t.Flavour, _ = strings.Cut(closure.Key(o.im.Release), "-")
	_, t.Types = o.im.Types().Size("kprobe")
	t.TypesFrom = o.im.Types().From
	entry, _ := o.im.Symbol("register_kprobe")
	t.Lines = len(o.im.Line(entry.Addr)) > 0
	t.Config, t.From = configuration(o.im)
	for _, f := range c.Objects {
		t.Objects = append(t.Objects, string(f))
	}
	if t.Sets, err = o.sets(); err != nil {
		return 0, err
	}
	if c.JSON {
		return cli.OK, p.PrintJSON(t)
	}
	t.print(p)
	return cli.OK, nil
}

func (t *told) print(p *cli.Program) {
	has := func(on bool, yes, no string) string {
		if on {
			return yes
		}
		return no
	}
	rows := [][2]string{
		{"release", t.Release + has(t.Flavour != "", ", flavour "+t.Flavour, "")},
		{"banner", t.Banner},
		{"build ID", has(t.BuildID != "", t.BuildID, "none")},
		{"SHA-256", t.Digest},
		{"symbols", fmt.Sprint(t.Symbols)},
		{"types", has(t.Types, t.TypesFrom, "none: build it with CONFIG_DEBUG_INFO_BTF")},
		{"lines", has(t.Lines, "DWARF", "none: a vmlinux with debug information has them")},
		{"config", has(t.From != "", t.From, "no file of it; the rest is known from symbols")},
	}
	if len(t.Objects) > 0 {
		rows = append(rows, [2]string{"objects", strings.Join(t.Objects, " ")})
	}
	for _, r := range rows {
		p.Indented("", fmt.Sprintf("%-9s %s", r[0], r[1]))
	}
	var on, off []string
	for _, x := range t.Config {
		switch x.Value {
		case "yes":
			on = append(on, x.Name)
		case "no":
			off = append(off, x.Name)
		default:
			on = append(on, x.Name+"="+x.Value)
		}
	}
	p.Indented("", "          with "+strings.Join(on, " "))
	p.Indented("", "          without "+strings.Join(off, " "))
	fmt.Fprintln(p.Out)
	table := table.Grid{Head: []string{"set", "runs", "functions", "instructions", "boundary", "not served"}, Text: 2}
	for _, s := range t.Sets {
		table.Add(s.Set, has(s.Runs, "yes", "no"), fmt.Sprint(s.Functions), fmt.Sprint(s.Instructions),
			fmt.Sprint(s.Boundary), fmt.Sprint(len(s.Unserved)))
	}
	table.Print(p, false)
	for _, s := range t.Sets {
		if s.Why != "" {
			p.Indented("  ", fmt.Sprintf("%s: %s", s.Set, s.Why))
		}
	}
	for _, s := range t.Sets {
		if s.Runs {
			s.print(p)
		}
	}
}

// print prints what a set lacks.
func (s *setInfo) print(p *cli.Program) {
	if len(s.Unserved) > 0 {
		fmt.Fprintf(p.Out, "\n%s calls these, for which kpsim has no service:\n", s.Set)
		table := table.Grid{Head: []string{"function", "as code", "called at"}, Text: 3}
		for _, u := range s.Unserved {
			table.Add(u.Name, asCode(u.Cost), few(u.Callers))
		}
		table.Print(p, false)
	}
	if len(s.Missing) > 0 {
		p.Indented("  ", fmt.Sprintf("\n%s: other kernels of the series have %s", s.Set, strings.Join(s.Missing, " ")))
	}
	for _, r := range s.Refused {
		fmt.Fprintf(p.Out, "%s: %s: not executed by kpsim\n", r.At, r.What)
	}
}

// asCode says what a callee would add if it ran as compiled.
func asCode(c *closure.Cost) string {
	switch {
	case c.More:
		return fmt.Sprintf("over %d functions", c.Functions)
	case c.Pointers > 0:
		return fmt.Sprintf("%s, %s, and %s through pointers", cli.Number(c.Functions, "function"),
			cli.Number(c.Instructions, "instruction"), cli.Number(c.Pointers, "call"))
	}
	return cli.Number(c.Functions, "function") + ", " + cli.Number(c.Instructions, "instruction")
}

// few returns the first elements of a list, and the number of the others.
func few(all []string) string {
	const most = 3
	if len(all) <= most {
		return strings.Join(all, " ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:most], " "), len(all)-most)
}

// Table implements kpsim kernel table.
type Table struct {
	Files    []cli.FileName `arg:"" help:"Kernels: vmlinux, vmlinuz, or releases."`
	Set      string         `default:"kprobes" enum:"kprobes,jumplabel,staticcall,ftrace,fprobe,all" help:"Of which set: ${enum}."`
	Markdown bool           `help:"Print a table for a page."`
}

// Help implements kong.HelpProvider.
func (*Table) Help() string {
	return "Print the sizes of the sets and their boundaries, a kernel a row.\n\n" + kernelHelp
}

// asked returns the description of one set, or of all.
func (o *opened) asked(set string) ([]setInfo, error) {
	if set == "all" {
		return o.sets()
	}
	s, err := o.set(set)
	if err != nil {
		return nil, err
	}
	return []setInfo{*s}, nil
}

// Run prints a row for each kernel and set.
func (c *Table) Run(p *cli.Program) (int, error) {
	table := table.Grid{Head: []string{"kernel", "preemption", "set", "runs", "functions", "instructions", "boundary",
		"not served"}, Text: 4}
	missing := map[string][]string{}
	for _, f := range c.Files {
		o, err := open(f, nil)
		if err != nil {
			return 0, err
		}
		sets, err := o.asked(c.Set)
		if err != nil {
			return 0, err
		}
		name, preempt := o.im.Release, preemption(o.im.Banner)
		for _, s := range sets {
			runs := "no"
			if s.Runs {
				runs = "yes"
			}
			table.Add(name, preempt, s.Set, runs, fmt.Sprint(s.Functions), fmt.Sprint(s.Instructions),
				fmt.Sprint(s.Boundary), fmt.Sprint(len(s.Unserved)))
			for _, u := range s.Unserved {
				if !slices.Contains(missing[s.Set], u.Name) {
					missing[s.Set] = append(missing[s.Set], u.Name)
				}
			}
			name, preempt = "", ""
		}
	}
	table.Print(p, c.Markdown)
	for _, s := range closure.Top() {
		if list := missing[s]; len(list) > 0 {
			slices.Sort(list)
			if c.Markdown {
				fmt.Fprintf(p.Out, "\nNot served for %s: `%s`.\n", s, strings.Join(list, "`, `"))
				continue
			}
			fmt.Fprintln(p.Out)
			p.Indented("  ", fmt.Sprintf("not served for %s: %s", s, strings.Join(list, " ")))
		}
	}
	return cli.OK, nil
}

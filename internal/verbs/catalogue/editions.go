package catalogue

import (
	"fmt"
	"strings"

	"kpsim/internal/ui/cli"
	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
)

// Editions is kpsim editions.
type Editions struct {
	JSON bool `name:"json" help:"Print one JSON object."`
}

// Help implements kong.HelpProvider.
func (*Editions) Help() string {
	return `Print what each edition of the kernel's document presets.

An edition is one of the kernel's own documents on probes, and the kernels of its time; machine(edition = "4.15") sets all that the table lists, and machine(edition = "4.15", boost = "never") all but one. The first column is the word of machine() that sets a line by itself. Where what holds depends on the build, it is A/B: A built without preemption (preempt = "none" or "voluntary"), B with (dynamic, full, lazy).

Every edition is on the repaired algorithm. What we know its kernels to have done wrong comes back with --as-shipped (explore, verify, fuzz, run, shell), which lists it.

Examples:

  kpsim editions
  kpsim editions --json

Exit status: 0, or 2 for bad input.`
}

// A listedSetting is a line of the table, as printed by --json.
type listedSetting struct {
	Word     string                  `json:"word"`
	Says     string                  `json:"says"`
	Values   []string                `json:"values"`
	Editions map[string]listedPreset `json:"editions"`
}

type listedPreset struct {
	Without string `json:"without_preemption"`
	With    string `json:"with_preemption"`
}

type listedEditions struct {
	Editions []string        `json:"editions"`
	Settings []listedSetting `json:"settings"`
}

func (c *Editions) Run(p *cli.Program) (int, error) {
	var l listedEditions
	for _, e := range rules.AllEditions() {
		l.Editions = append(l.Editions, e.String())
	}
	for i := range era.ByEdition {
		r := &era.ByEdition[i]
		s := listedSetting{Word: r.Word, Says: r.Says, Values: r.Values, Editions: make(map[string]listedPreset)}
		for _, e := range rules.AllEditions() {
			s.Editions[e.String()] = listedPreset{r.Values[r.Preset(e, false)], r.Values[r.Preset(e, true)]}
		}
		l.Settings = append(l.Settings, s)
	}
	if c.JSON {
		return cli.OK, p.PrintJSON(l)
	}
	l.print(p)
	return cli.OK, nil
}

func (l *listedEditions) print(p *cli.Program) {
	rows := [][]string{append([]string{"setting"}, l.Editions...)}
	for _, s := range l.Settings {
		row := []string{s.Word}
		for _, e := range l.Editions {
			row = append(row, s.Editions[e].short())
		}
		rows = append(rows, row)
	}
	width := make([]int, len(l.Editions)+1)
	for _, r := range rows {
		for i, cell := range r {
			width[i] = max(width[i], len(cell))
		}
	}
	for _, r := range rows {
		var line strings.Builder
		for i, cell := range r {
			fmt.Fprintf(&line, "%-*s  ", width[i], cell)
		}
		p.Indented("", strings.TrimRight(line.String(), " "))
	}
	var t table
	for _, s := range l.Settings {
		t.add(s.Word, s.Says+": "+strings.Join(s.Values, ", "))
	}
	t.print(p, "\nWords of machine(): what each decides, and its values")
}

// short formats a preset for a cell: yes and no for True and False.
func (s listedPreset) short() string {
	if s.Without == s.With {
		return yesNo(s.Without)
	}
	return yesNo(s.Without) + "/" + yesNo(s.With)
}

func yesNo(word string) string {
	switch word {
	case "True":
		return "yes"
	case "False":
		return "no"
	}
	return word
}

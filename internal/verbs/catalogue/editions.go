package catalogue

import (
	"fmt"
	"strings"

	"kpsim/internal/ui/cli"
	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
)

type Editions struct {
	JSON bool `name:"json" help:"Print one JSON object."`
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

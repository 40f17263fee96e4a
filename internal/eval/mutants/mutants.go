package mutants

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"kpsim/internal/search/explore"
	"kpsim/internal/search/mutantsearch"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/verdict"
	"kpsim/kprobes/mutants"
	"kpsim/properties"
)

// Mutants is kpsim mutants.
type Mutants struct {
	Mutants  []string `arg:"" optional:"" name:"name" help:"Only these mutants. Default: all there are."`
	Seeds    int      `range:"1..10000" default:"20" placeholder:"N" help:"Searches for each mutant, each with its own seed. Default: 20."`
	Most     uint64   `range:"1..1000000000" default:"100000" placeholder:"N" help:"Schedules of one search, at most: what isn't noticed by then has survived. Default: 100000."`
	Seed     uint64   `range:"0..18446744073709551615" default:"1" placeholder:"N" help:"The first seed; the others follow it. Default: 1."`
	Workers  int      `range:"0..64" default:"0" placeholder:"N" help:"How many searches are made at once; 0 is one a processor. What they find is the same."`
	Barriers bool     `help:"Leave out barriers instead, one at a time, under the weak models of memory, in all scenarios that come to them; names are then those of drop- mutants."`
	Runs     uint64   `range:"1..1000000000" default:"300" placeholder:"N" help:"With --barriers: schedules of each scenario. Default: 300."`
	Drawn    uint64   `range:"0..1000000000" placeholder:"N" help:"Search for them among N drawn programs each instead, without the scenario where they show, and list which are found. Without names: those that bring back a fault which kernels had."`
	Blind    bool     `help:"Shrink no witnesses: that takes most of the time."`
	JSON     bool     `name:"json" xor:"form" help:"Print one JSON object a line."`
	cli.Format
	Markdown bool         `xor:"form" help:"Print a table in Markdown."`
	HTML     cli.FileName `name:"html" xor:"form" placeholder:"FILE" help:"Write a page: the table, plots of how soon they are killed, what each does and who notices; with today's date."`

	stop atomic.Bool
}

// Help implements kong.HelpProvider.
func (*Mutants) Help() string {
	return `Break one step of a protocol after another on purpose, and print which property notices, and how soon.

A mutant leaves out, doubles or swaps one step of a protocol. Each is searched for in the scenario where it shows, and the property that is named for it must notice. A line says which property noticed first, and after how many schedules: the median over the seeds, its interval of at least 95 % (with 6 seeds or more), and the slowest seed. It also says how many deviations the shortest of three shrunk witnesses has.

The exit status is 1 if a property notices that isn't named for the mutant, or if a mutant survives a search and isn't marked equivalent. It is 1, too, if a mutant that is marked equivalent is noticed, if its certificate (every schedule there is) isn't complete, or if more than five are marked. Without names it is 1 if some property notices no mutant.

Examples:

  kpsim mutants
  kpsim mutants no-quiesce lost-kick
  kpsim mutants --seeds 5 --blind
  kpsim mutants --json | jq 'select(.slowest > 5000)'
  kpsim mutants --markdown > docs/mutants.md
  kpsim mutants --html mutants.html
  kpsim mutants --barriers --runs 100
  kpsim mutants --drawn 512 --markdown > docs/drawn-history.md

Exit status: 0, 1 something is wrong with a mutant or a property, 2 bad input, 3 a bug of the simulator, 130 interrupted.`
}

// killedSoon is the number of schedules within which nine in ten mutants must
// be killed.
const killedSoon = 5000

// A mutantRow is what is printed of a mutant.
type mutantRow struct {
	Mutant     string         `json:"mutant"`
	Scenario   string         `json:"scenario"`
	Property   string         `json:"property"`
	By         map[string]int `json:"by"`
	Seeds      int            `json:"seeds"`
	Killed     int            `json:"killed"`
	Most       uint64         `json:"most"`
	Median     uint64         `json:"median"` // 0: more than most, here and below
	Low        uint64         `json:"low"`
	High       uint64         `json:"high"`
	Slowest    uint64         `json:"slowest"`
	Deviations *int           `json:"deviations"` // of the shrunk witness; null: there is none
	Equivalent string         `json:"equivalent,omitempty"`
	Fault      string         `json:"fault,omitempty"`

	source, says string // of the catalogue
}

func (c *Mutants) Run(p *cli.Program) (int, error) {
	hunt := mutantsearch.Search{Seeds: c.Seeds, Seed: c.Seed, Most: c.Most, Workers: c.Workers, Blind: c.Blind,
		Cancelled: &c.stop}
	if c.Formats() != "" && (c.Barriers || c.Drawn > 0) {
		return 0, errors.New("--format: --barriers and --drawn measure and judge nothing; leave it out, or use --json")
	}
	if c.Barriers {
		p.StopAtInterrupt(&c.stop)
		cli.ManySmall()
		return c.runBarriers(p, &hunt)
	}
	list, err := c.check()
	if err != nil {
		return 0, err
	}
	if c.Drawn > 0 {
		return c.runDrawn(p, list)
	}
	p.StopAtInterrupt(&c.stop)
	cli.ManySmall()
	if len(c.Mutants) == 0 {
		p.Ahead(fmt.Sprintf("%s, %s each: a minute or two with 20 seeds", cli.Number(len(list), "mutant"),
			cli.Number(c.Seeds, "seed")))
	}
	c.head(p)
	var rows []mutantRow
	line := p.WatchParts("mutants", len(list), "mutant")
	defer line.Clear()
	for _, mu := range list {
		p.Doing = fmt.Sprintf("scenario %s, mutant %s", mu.Scenario, mu.Name)
		line.Part(mu.Name, 1)
		hunt.Progress = func(runs, violations uint64) { // a search ends at its first violation
			line.Of(violations, uint64(c.Seeds), runs, violations)
		}
		k, err := hunt.Kill(mu)
		if err != nil {
			return 0, err
		}
		if k == nil {
			line.Clear()
			none := ""
			if c.HTML != "" {
				none = "; no page was written"
			}
			fmt.Fprintf(p.Err, "kpsim: interrupted after %d of %s%s\n", len(rows), cli.Number(len(list), "mutant"),
				none)
			return cli.Interrupted, nil
		}
		r := mutantRowOf(k)
		rows = append(rows, r)
		c.judge(p, &r)
		if err := c.print(p, &r); err != nil {
			return 0, err
		}
	}
	line.Complete()
	return c.conclude(p, rows)
}

// check checks the flags, and returns the mutants that are asked for.
func (c *Mutants) check() (list []*mutants.Mutant, err error) {
	if c.HTML != "" {
		if err := c.HTML.CheckPage(); err != nil {
			return nil, err
		}
	}
	for _, name := range c.Mutants {
		if err := cli.Known("mutant", name, mutants.Names()); err != nil {
			return nil, err
		}
	}
	for i := range mutants.All {
		if mu := &mutants.All[i]; len(c.Mutants) == 0 || slices.Contains(c.Mutants, mu.Name) {
			list = append(list, mu)
		}
	}
	return list, nil
}

func mutantRowOf(k *mutantsearch.Kill) mutantRow {
	mu := k.Mutant
	r := mutantRow{
		Mutant: mu.Name, Scenario: mu.Scenario, Property: mu.Property, By: k.By,
		Seeds: k.First.Seeds, Killed: len(k.First.Found), Most: k.First.Bound, Fault: k.Fault(), source: mu.Source,
		says: mu.Says,
	}
	if r.Seeds > 0 {
		r.Median, r.Low, r.High = k.First.Median()
	}
	if r.Seeds > 0 && k.Survived() == 0 {
		r.Slowest = k.First.Found[r.Killed-1]
	}
	if k.Witness != nil {
		n := len(k.Witness.Schedule)
		r.Deviations = &n
	}
	if q := mu.Equivalent; q != nil {
		r.Equivalent = q.Proof
		if v := k.Proof; v != nil && v.Complete && v.Violations == 0 {
			r.Equivalent = fmt.Sprintf("certificate: %s, complete, %d states. %s", mu.Scenario, v.States, q.Proof)
		}
	}
	return r
}

// Widths of the columns.
const (
	mutantWidth   = 22
	whereWidth    = 20
	noticedWidth  = 20
	medianColumn  = 8
	betweenColumn = 16
)

func (c *Mutants) head(p *cli.Program) {
	switch {
	case c.JSON, c.HTML != "":
	case c.Markdown:
		c.pageHead(p)
	case p.Width == 0 || p.Width >= 100:
		fmt.Fprintf(p.Out, "%-*s  %-*s  %-*s  %*s  %*s  %*s  %s\n", mutantWidth, "mutant", whereWidth, "scenario",
			noticedWidth, "noticed by",
			medianColumn, "median", betweenColumn, "95 %", medianColumn, "slowest", "witness")
	}
}

func (c *Mutants) print(p *cli.Program, r *mutantRow) error {
	if c.JSON {
		return p.PrintJSON(r)
	}
	cells := r.cells()
	switch {
	case c.HTML != "" && r.Fault == "":
		return nil
	case c.Markdown:
		fmt.Fprintf(p.Out, "| %s |\n", strings.Join(slices.Insert(cells, 1, r.source), " | "))
	case p.Width > 0 && p.Width < 100:
		p.Indented("", strings.Join(cells, "  "))
	default:
		fmt.Fprintf(p.Out, "%-*s  %-*s  %-*s  %*s  %*s  %*s  %s\n", mutantWidth, cells[0], whereWidth, cells[1],
			noticedWidth, cells[2],
			medianColumn, cells[3], betweenColumn, cells[4], medianColumn, cells[5], cells[6])
	}
	if r.Fault != "" && !c.Markdown {
		p.Indented(cli.Indent, p.Paint(cli.Red, "WRONG")+": "+r.Fault)
		p.ToType("to look at it:", cli.Line(cli.Typed(), "explore", r.Scenario, "--mutant", r.Mutant))
	}
	return nil
}

// judge adds the case of a mutant.
func (c *Mutants) judge(p *cli.Program, r *mutantRow) {
	one := verdict.Case{Group: "mutants", Name: r.Mutant, Says: fmt.Sprintf("in %s: noticed by %s, %d of %s",
		r.Scenario, r.noticed(), r.Killed, cli.Number(r.Seeds, "search"))}
	switch {
	case r.Fault != "":
		one.Outcome, one.Rule, one.Says = verdict.Failed, verdict.Mutant, one.Says+"\n"+r.Fault
		one.Next = cli.Line(cli.Typed(), "explore", r.Scenario, "--mutant", r.Mutant)
	case r.Equivalent != "":
		one.Says = "equivalent: " + r.Equivalent
	}
	p.Judged.Add(one)
}

// cells are what is printed of a mutant.
func (r *mutantRow) cells() []string {
	if r.Equivalent != "" {
		return []string{r.Mutant, r.Scenario, "nobody", "-", "-", "-", "equivalent"}
	}
	between := fmt.Sprintf("%s to %s", r.within(r.Low), r.within(r.High))
	if r.Seeds < explore.MedianSeeds {
		between = "-"
	}
	return []string{r.Mutant, r.Scenario, r.noticed(), r.within(r.Median), between, r.within(r.Slowest), r.witness()}
}

// noticed names the properties that noticed first, the most frequent first,
// with counts if it wasn't always the same one.
func (r *mutantRow) noticed() string {
	var names []string
	for _, q := range properties.All {
		if n := r.By[q.Name]; n > 0 {
			names = append(names, fmt.Sprintf("%s %d", q.Name, n))
		}
	}
	switch len(names) {
	case 0:
		return "nobody"
	case 1:
		name, _, _ := strings.Cut(names[0], " ")
		return name
	}
	return strings.Join(names, ", ")
}

func (r *mutantRow) within(n uint64) string {
	if n == 0 {
		return fmt.Sprintf("> %d", r.Most)
	}
	return fmt.Sprint(n)
}

func (r *mutantRow) witness() string {
	if r.Deviations == nil {
		return "-"
	}
	return cli.Number(*r.Deviations, "deviation")
}

// summary counts the rows.
func (c *Mutants) summary(rows []mutantRow) string {
	killed, soon, marked := 0, 0, 0
	for i := range rows {
		r := &rows[i]
		if r.Equivalent != "" {
			marked++
			continue
		}
		if r.Slowest > 0 {
			killed++
		}
		if r.Slowest > 0 && r.Slowest <= killedSoon {
			soon++
		}
	}
	of := len(rows) - marked
	return fmt.Sprintf("%s, %s each: %d of %d killed within %d schedules by every seed (%s), %d of them within "+
		"%d (%s); %d marked equivalent",
		cli.Number(len(rows), "mutant"), cli.Number(c.Seeds, "seed"), killed, of, c.Most,
		cli.Share(uint64(killed), uint64(of)),
		soon, killedSoon, cli.Share(uint64(soon), uint64(of)), marked)
}

// conclude says what holds of all rows together.
func (c *Mutants) conclude(p *cli.Program, rows []mutantRow) (status int, err error) {
	faults, marked := 0, 0
	by := make(map[string]bool)
	for i := range rows {
		r := &rows[i]
		if r.Fault != "" {
			faults++
		}
		if r.Equivalent != "" {
			marked++
			continue
		}
		by[r.Property] = by[r.Property] || r.By[r.Property] > 0
	}
	var wrong []string
	if len(c.Mutants) == 0 {
		for _, q := range properties.All {
			if !by[q.Name] && !q.OfKernel() {
				wrong = append(wrong, q.ID+" "+q.Name+
					" notices no mutant; write one that it must notice, or take it out of the catalogue")
			}
		}
	}
	if marked > mutants.MostEquivalent {
		wrong = append(wrong, fmt.Sprintf("%d mutants are marked equivalent; there may be %d", marked,
			mutants.MostEquivalent))
	}
	if len(wrong)+faults > 0 {
		status = cli.Against
	}
	for _, w := range wrong {
		p.Judged.Add(verdict.Case{Group: "the catalogue", Name: w, Outcome: verdict.Failed, Rule: verdict.Mutant,
			Says: w})
	}
	if c.JSON {
		for _, w := range wrong {
			fmt.Fprintf(p.Err, "kpsim: %s\n", w)
		}
		return status, nil
	}
	summary := c.summary(rows)
	if c.HTML != "" {
		if err := c.html(p, rows, summary, wrong); err != nil {
			return 0, err
		}
	} else {
		fmt.Fprintln(p.Out)
		p.Indented("", summary)
	}
	for i := range rows {
		if r := &rows[i]; r.Equivalent != "" && c.HTML == "" {
			p.Indented("", "\n"+r.Mutant+": "+r.Equivalent)
		}
		if r := &rows[i]; c.Markdown && r.Fault != "" {
			fmt.Fprintf(p.Out, "\n%s is wrong: %s\n", r.Mutant, r.Fault)
		}
	}
	for _, w := range wrong {
		fmt.Fprintln(p.Out, p.Paint(cli.Red, "WRONG")+": "+w)
	}
	if c.Markdown {
		c.pageEnd(p.Out, rows)
	}
	return status, nil
}

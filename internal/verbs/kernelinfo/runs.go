package kernelinfo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/results"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/table"
	"kpsim/properties"
)

// Runs implements kpsim kernel runs.
type Runs struct {
	Files    []cli.FileName `arg:"" help:"Result files that explore --kernel FILE --out FILE has written."`
	Markdown bool           `help:"Print a table for a page."`
}

// Help implements kong.HelpProvider.
func (*Runs) Help() string {
	return "Print what explorations with kernels have shown, a scenario a row.\n\n" + kernelHelp
}

// An explored sums up all files for one scenario on one kernel.
type explored struct {
	runs   uint64
	broken map[string]uint64 // number of runs that broke a property, by its ID
}

// cell formats the runs and violations for the table.
func (e *explored) cell() string {
	if e == nil {
		return ""
	}
	text := grouped(e.runs)
	for _, id := range slices.Sorted(maps.Keys(e.broken)) {
		text += fmt.Sprintf("; %s %s", id, grouped(e.broken[id]))
	}
	return text
}

// grouped formats a number with thousands separators.
func grouped(n uint64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}

// add adds a scenario from a file.
func (e *explored) add(in *results.Explored) {
	for i := range in.Parts {
		p := &in.Parts[i]
		e.runs += p.Runs
		for name, n := range p.Broken {
			if prop, ok := properties.ByName(name); ok {
				name = prop.ID
			}
			e.broken[name] += n
		}
	}
}

// A shelfmark identifies the runs of a scenario in a file: files with the same shelfmark contain
// the same runs.
type shelfmark struct {
	kernel, scenario, strategy string
	seed                       uint64
	share, shares              int
}

// A seen is the table being built.
type seen struct {
	cells map[[2]string]*explored // by scenario and kernel
	from  map[shelfmark]cli.FileName
}

// Run prints a row for each scenario, and a column for each kernel.
func (c *Runs) Run(p *cli.Program) (int, error) {
	t := seen{map[[2]string]*explored{}, map[shelfmark]cli.FileName{}}
	for _, f := range c.Files {
		if err := t.read(f); err != nil {
			return 0, err
		}
	}
	t.print(p, c.Markdown)
	return cli.OK, nil
}

// read adds a file.
func (t *seen) read(f cli.FileName) error {
	data, err := cli.ReadFile(string(f), cli.MostResult)
	if err != nil {
		return fmt.Errorf("%s; name a result file", cli.Cause(err, string(f)))
	}
	r, err := results.Read(string(f), data)
	if err != nil {
		return err
	}
	if r.Mutant != "" || r.Fetch != "" || r.Memory != "" || len(r.Ignored) > 0 || r.Every {
		return fmt.Errorf("%s: it isn't of the kernel alone: a mutant, a fetch or memory model or properties "+
			"were set; leave it out", f)
	}
	for _, e := range r.Scenarios {
		sc, err := lang.Parse(string(f), []byte(e.Text))
		if err != nil {
			return err
		}
		kernel := sc.Machine.Release()
		if kernel == "" {
			return fmt.Errorf("%s: %s was explored without a kernel; leave it out", f, e.Name)
		}
		mark := shelfmark{kernel, e.Name, r.Strategy, r.Seed, r.Share, r.Shares}
		if other, twice := t.from[mark]; twice {
			return fmt.Errorf("%s and %s have the same runs of %s; leave one out", other, f, e.Name)
		}
		t.from[mark] = f
		at := [2]string{e.Name, kernel}
		if t.cells[at] == nil {
			t.cells[at] = &explored{broken: map[string]uint64{}}
		}
		t.cells[at].add(e)
	}
	return nil
}

// print prints the table, with scenarios that broke something first.
func (t *seen) print(p *cli.Program, markdown bool) {
	var scenarios, kernels []string
	breaks := map[string]bool{}
	all := map[string]*explored{}
	for at, e := range t.cells {
		scenarios, kernels = append(scenarios, at[0]), append(kernels, at[1])
		breaks[at[0]] = breaks[at[0]] || len(e.broken) > 0
		if all[at[1]] == nil {
			all[at[1]] = &explored{}
		}
		all[at[1]].runs += e.runs
	}
	slices.Sort(kernels)
	kernels = slices.Compact(kernels)
	slices.SortFunc(scenarios, func(a, b string) int {
		if breaks[a] != breaks[b] {
			return map[bool]int{true: -1, false: 1}[breaks[a]]
		}
		return cmp.Compare(a, b)
	})
	scenarios = slices.Compact(scenarios)

	table := table.Grid{Head: append([]string{"scenario"}, kernels...), Text: 1 + len(kernels)}
	row := func(name string, cell func(kernel string) string) {
		cells := []string{name}
		for _, k := range kernels {
			cells = append(cells, cell(k))
		}
		table.Add(cells...)
	}
	row("all", func(k string) string { return all[k].cell() })
	for _, s := range scenarios {
		row(s, func(k string) string { return t.cells[[2]string{s, k}].cell() })
	}
	table.Print(p, markdown)
}

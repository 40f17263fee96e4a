package report

import (
	"fmt"

	"kpsim/internal/search/calls"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/table"
)

// printFunctions prints of which of a kernel's functions a run consisted, and for which kpsim stood in.
func printFunctions(p *cli.Program, ran *calls.Ran, json bool) error {
	if json {
		return p.PrintJSON(ran)
	}
	fmt.Fprintf(p.Out, "%d of the %d functions that kpsim executes of %s ran, as they were compiled\n\n",
		len(ran.Functions), ran.Of, ran.Release)
	grid := table.Grid{Head: []string{"function", "set", "source", "instructions run", "of"}, Text: 3}
	for _, f := range ran.Functions {
		grid.Add(f.Name, f.Set, f.Where, fmt.Sprint(f.Ran), fmt.Sprint(f.Of))
	}
	grid.Print(p, false)
	fmt.Fprintf(p.Out, "\nfor %s that they called kpsim stood in, in Go\n\n", cli.Number(len(ran.Served), "function"))
	grid = table.Grid{Head: []string{"function", "first called by", "calls"}, Text: 2}
	for _, s := range ran.Served {
		grid.Add(s.Name, s.From, fmt.Sprint(s.Calls))
	}
	grid.Print(p, false)
	return nil
}

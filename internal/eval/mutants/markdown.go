package mutants

import (
	"fmt"
	"io"
	"strings"
	"time"

	"kpsim/internal/ui/cli"
	"kpsim/kprobes/mutants"
	"kpsim/properties"
)

// pageHead begins the page that docs/mutants.md is; for some mutants alone only the
// table.
func (c *Mutants) pageHead(p *cli.Program) {
	columns := "| mutant | named after | scenario | noticed by | schedules, median | 95 % | slowest of " +
		fmt.Sprint(c.Seeds) + " | witness |\n|---|---|---|---|--:|--:|--:|--:|\n"
	if len(c.Mutants) > 0 {
		fmt.Fprint(p.Out, columns)
		return
	}
	fmt.Fprintf(p.Out, `# What the suite notices

Written by `+"`kpsim mutants --markdown`"+` on %s. No line of it is written by hand; a test compares it with the catalogue.

Each mutant leaves out, doubles or swaps one step of a protocol. It is searched for %d times, from seed %d on, in the scenario where it shows, at most %d schedules each. Noticed by: which property was broken first, and in how many of the searches if it wasn't always the same. Median: of how many schedules the search took; the next column holds the true median with 95 %% or more. Witness: what is left of the shortest of three when they have been shrunk, in deviations from the default schedule. Named after: the row of history that it brings back, the kernels that were shipped with it, or the rule that it breaks.

`, time.Now().UTC().Format(time.DateOnly), c.Seeds, c.Seed, c.Most)
	fmt.Fprint(p.Out, columns)
}

// pageEnd ends it: what each mutant does, how many each property notices, and
// what isn't there.
func (c *Mutants) pageEnd(w io.Writer, rows []mutantRow) {
	if len(c.Mutants) > 0 {
		return
	}
	fmt.Fprint(w, "\n## What they do\n\n")
	for i := range mutants.All {
		fmt.Fprintf(w, "- %s: %s.\n", mutants.All[i].Name, mutants.All[i].Says)
	}
	fmt.Fprint(w, "\n## Who notices\n\n| property | mutants that are its own | searches in which it was first |\n|---|--:|--:|\n")
	for _, q := range properties.All {
		if q.OfKernel() {
			continue
		}
		own, first := shareIn(rows, q.Name)
		fmt.Fprintf(w, "| %s %s | %d | %d |\n", q.ID, q.Name, own, first)
	}
	fmt.Fprint(w, "\n## Rows of history without a mutant\n\n")
	for _, s := range mutants.Absent {
		fmt.Fprintf(w, "- %s. %s\n", s.Row, strings.TrimSpace(s.Why))
	}
}

// shareIn says how many mutants are named for a property, and in how many searches it
// was the first to notice.
func shareIn(rows []mutantRow, property string) (own, first int) {
	for i := range rows {
		r := &rows[i]
		if r.Equivalent == "" && r.Property == property {
			own++
		}
		first += r.By[property]
	}
	return own, first
}

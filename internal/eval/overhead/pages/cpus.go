package pages

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/eval/overhead"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/table"
	"kpsim/sim"
	"kpsim/smp/cycles"
)

// A contendedRow is what hits of one probe by many CPUs cost, as --json prints it.
type contendedRow struct {
	hitJSON
	Returns   string  `json:"returns"`
	Contended string  `json:"contended"`
	CPUs      int     `json:"cpus"`
	Nsec      float64 `json:"ns_per_hit"`
	Cycles    float64 `json:"cycles_per_hit"`
	Rate      float64 `json:"hits_per_s"` // of all CPUs together
	SpeedUp   float64 `json:"speed_up"`   // by the rate of 1 CPU

	Predicted *overhead.Interval `json:"left_out_ns_95"`                // null: a profile's
	Largest   *overhead.Interval `json:"largest_left_out_ns,omitempty"` // a profile's
}

// contention says what CPUs want at the same time, by how return probes keep track of
// calls.
var contention = map[string]string{
	"":       "nothing: no lock is taken, and nothing that is shared is written",
	"global": "one lock over all return probes, held at the entry and while the handlers of a return run",
	"hashed": "a lock of the probe's, held while an instance is taken or given back; and one of 64 buckets " +
		"by task, held while handlers run",
	"freelist": "no lock; one list of free instances, whose head each hit swaps twice: who comes second tries again",
	"rethook":  "no lock; one list of free instances, whose head each hit swaps twice: who comes second tries again",
	"objpool":  "no lock; an array of free instances a CPU, and another CPU's only if that is empty",
}

// contended prints what hits cost with many CPUs.
func (c *Table) contended(p *cli.Program) error {
	cpus, err := inputs.Numbers("cpus", "numbers of CPUs", c.CPUs, 1, sim.MaxCPUs)
	if err != nil {
		return err
	}
	if len(c.Machines) == 0 {
		c.Machines = []string{defaultMachine}
	}
	if len(c.Probes) == 0 {
		c.Probes = []string{"r"}
	}
	tiers, _ := tiersOf(c.Tier)
	machines, err := probeMachines(c.Machines, tiers[0], c.Profile)
	if err != nil {
		return err
	}
	editions := c.Editions
	if len(editions) == 0 {
		editions = differing()
	}
	all, err := c.hits(machines, editions)
	if err != nil {
		return err
	}
	var hits []pricedHit
	for _, h := range all {
		if len(c.Editions) > 0 || h.follows() || h.edition == h.Edition { // the others are all alike
			hits = append(hits, h)
		}
	}
	added := cpus[0] != 1
	if added { // for the speed-up
		cpus = append([]int{1}, cpus...)
	}
	scaled := make([]overhead.Scaled, len(hits)*len(cpus))
	err = inParts(p, "hits by many CPUs", len(scaled), func(i int) error {
		h := &hits[i/len(cpus)]
		s, err := h.probe.Scale(cpus[i%len(cpus):][:1], "", &h.Costs)
		if err == nil {
			scaled[i] = s[0]
		}
		return err
	})
	if err != nil {
		return err
	}
	var rows []contendedRow
	for i := range scaled {
		if s, one := &scaled[i], &scaled[i-i%len(cpus)]; s != one || !added {
			rows = append(rows, hits[i/len(cpus)].contended(s, one))
		}
	}
	return c.printContended(p, rows, hits[0].pricedMachine)
}

// follows reports whether the probe is a return probe.
func (h *pricedHit) follows() bool { return strings.Contains(h.probe.Name, "r") }

// contended makes a row; one is with one CPU.
func (h *pricedHit) contended(s, one *overhead.Scaled) contendedRow {
	r := contendedRow{
		hitJSON: h.shown(), CPUs: s.CPUs, Cycles: s.Cycles, Nsec: s.Cycles / h.MHz * 1e3, Rate: s.Rate * h.MHz * 1e6,
	}
	off := h.margin.around(r.Nsec)
	r.Predicted, r.Largest = off.Predicted, off.Largest
	if h.follows() {
		r.Returns = returnsOf(h.edition)
	}
	r.Contended = contention[r.Returns]
	if one.Rate > 0 {
		r.SpeedUp = s.Rate / one.Rate
	}
	return r
}

func (c *Table) printContended(p *cli.Program, rows []contendedRow, by *pricedMachine) error {
	off := by.margin
	if c.Bench {
		fmt.Fprintf(p.Out, "pkg: kpsim/properties/overhead\ncosts: %s\n", rows[0].Costs)
	}
	g := table.Grid{Head: slices.Concat([]string{"machine", "arch", "edition", "probe", "CPUs", "ns/hit"}, off.head(),
		[]string{"cycles", "M hits/s", "speed-up"}), Text: 4}
	var wants []string             // in the order of their rows
	whose := map[string][]string{} // by what they want
	for i := range rows {
		r := &rows[i]
		switch {
		case c.JSON:
			if err := p.PrintJSON(r); err != nil {
				return err
			}
		case c.Bench:
			fmt.Fprintf(p.Out, "%s/cpus=%d 1 %.1f ns/op %.1f cycles/hit %.0f hits/s\n",
				benchName(r.Machine, r.Edition, r.Probe), r.CPUs, r.Nsec, r.Cycles, r.Rate)
		default:
			g.Add(slices.Concat([]string{r.Name, r.Arch, r.Edition, r.title(), fmt.Sprint(r.CPUs),
				fmt.Sprintf("%.1f", r.Nsec)}, off.cell("%.1f", r.Nsec), []string{fmt.Sprintf("%.0f", r.Cycles),
				fmt.Sprintf("%.3f", r.Rate/1e6), fmt.Sprintf("%.2f", r.SpeedUp)})...)
			if len(whose[r.Contended]) == 0 {
				wants = append(wants, r.Contended)
			}
			if of := r.Edition + " " + r.Probe; !slices.Contains(whose[r.Contended], of) {
				whose[r.Contended] = append(whose[r.Contended], of)
			}
		}
	}
	if c.JSON || c.Bench {
		return nil
	}
	fmt.Fprintf(p.Out, "Hits of one probe by several CPUs at once, by %s. ns/hit: what each CPU spends on a "+
		"hit, waiting too; M hits/s: of all together, the call too.\n\n", costsOf(rows[0].Costs))
	g.Print(p, c.Markdown)
	fmt.Fprintln(p.Out)
	says := off.says()
	if off != nil {
		says += " An error of what a line of cache costs isn't in it."
	}
	p.Indented("", says+" "+overhead.Unfigured(by.own(), cycles.Line))
	fmt.Fprint(p.Out, "\nWhat CPUs want at the same time:\n\n")
	for _, what := range wants {
		fmt.Fprintf(p.Out, "- %s: %s\n", cli.List(whose[what]), what)
	}
	return nil
}

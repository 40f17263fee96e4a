package pages

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/eval/overhead"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/table"
	"kpsim/sim"
	"kpsim/smp/arch/target"
	"kpsim/smp/cycles"
)

// Price is kpsim overhead price.
type Price struct {
	Scenario string `arg:"" name:"file|name" help:"A scenario, built-in or in a file, with a task that patches."`
	costs
	CPUs     []inputs.Span `name:"cpus" placeholder:"LIST" help:"Numbers of CPUs, as 1,2,4 or 2-8; 64 at most. Default: 1,2,4,8, from as many as the patchers need."`
	Runs     int           `range:"2..10000" default:"20" placeholder:"N" help:"Runs of each. Default: 20."`
	Seed     uint64        `range:"0..18446744073709551615" default:"1" placeholder:"N" help:"What is drawn when each CPU begins. Default: 1."`
	JSON     bool          `name:"json" xor:"form" help:"Print one JSON object a line."`
	CSV      bool          `name:"csv" xor:"form" help:"Print comma-separated values: a line for each patch, call and price."`
	Markdown bool          `xor:"form" help:"Print tables in Markdown."`
	Claim    bool          `help:"Below the tables, print a sentence for a mail: what a patch costs on the most CPUs, of what that consists, by whose prices, and which are assumed. --json has it always."`
	HTML     cli.FileName  `name:"html" placeholder:"FILE" xor:"form" help:"Write a page with figures by the number of CPUs, and the tables."`
}

// Help implements kong.HelpProvider.
func (*Price) Help() string {
	return `What a patch of your own costs: by the number of CPUs, and what calls of the patched function cost meanwhile.

The patching tasks of a scenario run on their CPUs, and every other CPU calls the patched functions over and over. Steps by hand that follow each other (write, sync_core, …) are one patch; any other operation (register, label_on, tracer, …) is one by itself. Printed are:

  a patch   cycles and ns until its task goes on, and what they are spent on:
            stores to text, cache lines of other CPUs, sending IPIs,
            serialising, traps, switches of tasks, other code, and waiting;
            and for how long all other CPUs together are interrupted by it
  a call    cycles and ns of a call that ended before the first patch began,
            of one during the patches, and of one after them
  a price   what each event of a patch costs, and where that is from

"drawn 95 %" is Student's interval over runs, which differ in when each CPU begins. It is the sampling error alone: whether the prices are right isn't in it. The schedule is timed: the CPU whose clock is furthest behind goes next. A run that breaks a property is priced, too, and counted.

On a machine of the documents what an IPI, a serialising instruction, a switch of tasks and a cache line cost is assumed. Put your own into a profile: kpsim overhead nominal prints one to change.

Examples:

  kpsim overhead price hook-unsynced
  kpsim overhead price jit.star --cpus 1-16
  kpsim overhead price safe-none --machine xeon-e5410/x86_64 --json
  kpsim overhead price arm64-label --profile my-arm.profile
  kpsim overhead price jit.star --cpus 64 --claim
  kpsim overhead price jit.star --csv > jit.csv
  kpsim overhead price jit.star --html jit.html

Exit status: 0, 2 bad input, 3 a bug of the simulator, 130 interrupted.`
}

// defaultCPUs are the numbers of CPUs if none are given.
var defaultCPUs = []int{1, 2, 4, 8}

// A priced has all that is printed.
type priced struct {
	m       *pricedMachine
	s       *scenario.Scenario
	c       *Price
	steps   string // of patches by hand
	patches []*overhead.Patches
	refused []*overhead.Unpriced // with other numbers of CPUs
	list    []priceRow
}

// A priceRow is a patch, a call or a price, as --json and --csv print it.
type priceRow struct {
	machineJSON
	Costs    string  `json:"tier"` // or profile
	Scenario string  `json:"scenario"`
	Row      string  `json:"row"`  // patch, call or price
	What     string  `json:"what"` // the operation; before, during or after; the event
	CPUs     int     `json:"cpus"`
	N        int     `json:"n"`
	Cycles   float64 `json:"cycles"`
	Low      float64 `json:"cycles_low_95"`
	High     float64 `json:"cycles_high_95"`
	Nsec     float64 `json:"ns"`
	NsecLow  float64 `json:"ns_low_95"`
	NsecHigh float64 `json:"ns_high_95"`

	Parts  map[string]float64 `json:"part_cycles,omitempty"` // of a patch
	Stores float64            `json:"text_stores,omitempty"` // of a patch
	Others float64            `json:"other_cpus_cycles,omitempty"`
	Most   float64            `json:"most_cycles,omitempty"`    // of a call
	Each   float64            `json:"cycles_each,omitempty"`    // of a price
	Count  float64            `json:"count,omitempty"`          // of a price's event in a patch
	Source string             `json:"source"`                   // where the number is from
	Broke  []string           `json:"broke,omitempty"`          // the properties that runs broke
	Bad    int                `json:"broken_runs,omitempty"`    // how many did
	Steps  string             `json:"steps,omitempty"`          // of a patch by hand
	PartOf string             `json:"price_of_patch,omitempty"` // whose price it is
	Claim  string             `json:"claim,omitempty"`          // a patch in a sentence
}

func (c *Price) Run(p *cli.Program) (int, error) {
	if err := c.HTML.CheckPage(string(c.Profile)); err != nil {
		return 0, err
	}
	s, err := inputs.One(lang.LoadUsed, c.Scenario)
	if err != nil {
		return 0, err
	}
	if s.Machine.Engine == "linux" {
		return 0, fmt.Errorf("%s: its engine is a kernel's own code, which kpsim overhead --kernel counts; give a "+
			"scenario of kpsim's engine", s.Name)
	}
	m, err := c.machine(s)
	if err != nil {
		return 0, err
	}
	cpus, err := c.numbers(s)
	if err != nil {
		return 0, err
	}
	all := &priced{c: c, m: m, s: s, steps: overhead.Steps(s)}
	if err := c.measure(p, all, cpus); err != nil {
		return 0, err
	}
	all.rows()
	switch {
	case c.HTML != "":
		return cli.OK, c.page(p, all)
	case c.CSV:
		return cli.OK, all.csv(p)
	case c.JSON:
		for i := range all.list {
			if err := p.PrintJSON(&all.list[i]); err != nil {
				return 0, err
			}
		}
		return cli.OK, nil
	}
	c.print(p, all)
	return cli.OK, nil
}

// measure measures the patches with each number of CPUs. Of numbers that weren't asked for those that the patches have
// no price with are left out, if there are others.
func (c *Price) measure(p *cli.Program, a *priced, cpus []int) error {
	a.patches = make([]*overhead.Patches, len(cpus))
	refused := make([]*overhead.Unpriced, len(cpus))
	err := inParts(p, "patches", len(cpus), func(i int) (err error) {
		a.patches[i], err = overhead.PatcherConfig{Scenario: a.s, CPUs: cpus[i], Runs: c.Runs, Seed: c.Seed,
			Costs: &a.m.Costs}.Measure()
		if c.CPUs == nil && errors.As(err, &refused[i]) {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	a.patches = slices.DeleteFunc(a.patches, func(q *overhead.Patches) bool { return q == nil })
	a.refused = slices.DeleteFunc(refused, func(u *overhead.Unpriced) bool { return u == nil })
	if len(a.patches) == 0 {
		return a.refused[0]
	}
	return nil
}

// pricedAs are the architectures whose events the machines with prices have.
var pricedAs = map[string]string{"x86-64": "x86_64", "i386": "i386", "ppc64le": "ppc64"}

// machine returns whose prices are used: of the scenario's architecture, or the profile.
func (c *Price) machine(s *scenario.Scenario) (*pricedMachine, error) {
	arch := target.Words[s.Machine.Arch]
	as := pricedAs[arch]
	costs := c.costs
	if c.Profile == "" && c.Machine == nil {
		id := map[string]string{"x86_64": defaultMachine, "i386": "xeon-e5410/i386", "ppc64": "power5/ppc64"}[as]
		if id == "" {
			return nil, fmt.Errorf("%s is of %s, and no machine of that has prices; give --profile: "+
				"kpsim overhead nominal --arch %s prints one to put your prices into", s.Name, arch, arch)
		}
		costs.Machine = &id
	}
	m, err := costs.load()
	if err != nil {
		return nil, err
	}
	if m.Arch != arch && m.Arch != as {
		flag := "--machine"
		if c.Profile != "" {
			flag = "--profile"
		}
		return nil, fmt.Errorf("%s: its prices are of %s, and %s is of %s; give prices of that", flag, m.Arch, s.Name,
			arch)
	}
	return m, nil
}

// numbers returns the numbers of CPUs.
func (c *Price) numbers(s *scenario.Scenario) ([]int, error) {
	need := overhead.Patchers(s)
	if need == 0 {
		return nil, overhead.NoPatch(s)
	}
	if c.CPUs == nil {
		list := slices.DeleteFunc(slices.Clone(defaultCPUs), func(n int) bool { return n < need })
		if len(list) == 0 {
			list = []int{need}
		}
		return list, nil
	}
	list, err := inputs.Numbers("cpus", "numbers of CPUs", c.CPUs, 1, sim.MaxCPUs)
	if err != nil {
		return nil, err
	}
	if least := slices.Min(list); least < need {
		return nil, fmt.Errorf("--cpus: the patchers of %s need %d CPUs, and %d is fewer; give numbers from %d on",
			s.Name, need, least, need)
	}
	return list, nil
}

// The sources of what is counted and added up.
const (
	sourceCounted = "counted in runs, times prices"
	sourceClock   = "derived: the CPU's clock in runs"
)

// rows makes them: patches, calls, and the prices of patches on the most CPUs.
func (a *priced) rows() {
	row := func(q *overhead.Patches, kind, what string, n int, cycles overhead.Measure) *priceRow {
		ns := 1e3 / a.m.MHz
		a.list = append(a.list, priceRow{machineJSON: a.m.shown(), Costs: a.m.by, Scenario: a.s.Name, Row: kind,
			What: what, CPUs: q.CPUs, N: n, Cycles: cycles.Value, Low: cycles.Interval.Low,
			High: cycles.Interval.High, Nsec: cycles.Value * ns, NsecLow: cycles.Interval.Low * ns,
			NsecHigh: cycles.Interval.High * ns, Source: sourceClock})
		return &a.list[len(a.list)-1]
	}
	for _, q := range a.patches {
		for _, of := range q.List {
			r := row(q, "patch", of.What, of.N, of.Cycles)
			r.Parts, r.Stores, r.Others = make(map[string]float64), of.Stores, of.Others
			for part, v := range of.Parts {
				r.Parts[overhead.PatchPart(part).String()] = v
			}
			r.Broke, r.Bad = q.Broke, q.Bad
			if of.What == overhead.ByHand {
				r.Steps = a.steps
			}
			r.Claim = a.claim(q, of, r)
		}
	}
	for _, q := range a.patches {
		for _, of := range q.Calls {
			row(q, "call", of.When.String(), of.N, of.Cycles).Most = of.Most
		}
	}
	q := a.patches[len(a.patches)-1]
	for _, of := range q.List {
		for _, e := range cycles.All() {
			if of.Events[e] == 0 {
				continue
			}
			each := float64(a.m.Costs[e]) / cycles.Unit
			v := of.Events[e] * each
			r := row(q, "price", e.String(), of.N, overhead.Measure{Value: v, Interval: overhead.Interval{Low: v,
				High: v}})
			r.Each, r.Count, r.Source, r.PartOf = each, of.Events[e], a.source(e), of.What
		}
	}
}

// source says where the price of an event is from.
func (a *priced) source(e cycles.Event) string {
	if a.m.machine != nil {
		tier, _ := tiersOf(a.m.by)
		return a.m.model.Note(a.m.machine, tier[0], e)
	}
	return a.m.From(e)
}

// of returns the rows of a kind.
func (a *priced) of(kind string) (list []*priceRow) {
	for i := range a.list {
		if a.list[i].Row == kind {
			list = append(list, &a.list[i])
		}
	}
	return list
}

// interval writes one in ns.
func (r *priceRow) interval() string {
	if (overhead.Measure{Value: r.Nsec, Interval: overhead.Interval{Low: r.NsecLow, High: r.NsecHigh}}).Alike() {
		return "all alike"
	}
	return fmt.Sprintf("%.1f to %.1f", r.NsecLow, r.NsecHigh)
}

// patchColumns are a patch's.
func patchColumns() (list table.Columns[*priceRow]) {
	list = table.Columns[*priceRow]{
		{Head: "patch", Value: func(r *priceRow) any { return r.What }},
		{Head: "CPUs", Form: "%d", Value: func(r *priceRow) any { return r.CPUs }},
		{Head: "n", Form: "%d", Value: func(r *priceRow) any { return r.N }},
		{Head: "ns", Form: "%.1f", Value: func(r *priceRow) any { return r.Nsec }},
		{Head: "drawn 95 %", Late: true, Value: func(r *priceRow) any { return r.interval() }},
		{Head: "cycles", Form: "%.0f", Value: func(r *priceRow) any { return r.Cycles }},
	}
	for part := range overhead.PatchParts {
		list = append(list, table.Column[*priceRow]{Head: part.String(), Form: "%.0f",
			Value: func(r *priceRow) any { return r.Parts[part.String()] }})
	}
	return append(list, table.Column[*priceRow]{Head: "other CPUs", Form: "%.0f",
		Value: func(r *priceRow) any { return r.Others }})
}

var callColumns = table.Columns[*priceRow]{
	{Head: "calls", Value: func(r *priceRow) any { return r.What }},
	{Head: "CPUs", Form: "%d", Value: func(r *priceRow) any { return r.CPUs }},
	{Head: "n", Form: "%d", Value: func(r *priceRow) any { return r.N }},
	{Head: "ns", Form: "%.1f", Value: func(r *priceRow) any { return r.Nsec }},
	{Head: "drawn 95 %", Late: true, Value: func(r *priceRow) any { return r.interval() }},
	{Head: "cycles", Form: "%.1f", Value: func(r *priceRow) any { return r.Cycles }},
	{Head: "most cycles", Form: "%.0f", Value: func(r *priceRow) any { return r.Most }},
}

var priceColumns = table.Columns[*priceRow]{
	{Head: "patch", Value: func(r *priceRow) any { return r.PartOf }},
	{Head: "event", Value: func(r *priceRow) any { return r.What }},
	{Head: "from", Value: func(r *priceRow) any { return r.Source }},
	{Head: "count", Form: "%.1f", Value: func(r *priceRow) any { return r.Count }},
	{Head: "each", Form: "%.1f", Value: func(r *priceRow) any { return r.Each }},
	{Head: "cycles", Form: "%.0f", Value: func(r *priceRow) any { return r.Cycles }},
}

// A pricePart is a table and its title.
type pricePart struct {
	title string
	grid  *table.Grid
}

// parts are the tables.
func (a *priced) parts() (list []pricePart) {
	cpus := a.patches[len(a.patches)-1].CPUs
	list = []pricePart{
		{"A patch: ns until its task goes on, and the cycles of it by what they are spent on", patchColumns().
			Grid(a.of("patch"))},
		{"A call of the patched functions, before, during and after all patches", callColumns.Grid(a.of("call"))},
		{fmt.Sprintf("What a patch's events cost with %s, and where the prices are from", cli.Number(cpus, "CPU")),
			priceColumns.Grid(a.of("price"))},
	}
	if len(a.of("call")) == 0 {
		list = slices.Delete(list, 1, 2)
	}
	return list
}

// priceSays says what the intervals and the columns are.
const priceSays = "drawn 95 %: Student's interval in ns over runs, which differ in when each CPU begins; an error of " +
	"the prices isn't in it. all alike: all runs took the same time, and there is no interval. stores to waiting: cycles on the patcher's CPU; a store to text costs a point, and its line apart. other " +
	"CPUs: cycles that all of them together are interrupted or stopped for by a patch. ns and cycles are derived: " +
	"events counted in runs, times prices."

// notes are what holds besides.
func (a *priced) notes() (list []string) {
	if a.c.Claim {
		for _, r := range a.of("patch") {
			if r.CPUs == a.patches[len(a.patches)-1].CPUs {
				list = append(list, r.Claim)
			}
		}
	}
	list = append(list, priceSays)
	if a.steps != "" {
		list = append(list, "by hand: "+a.steps+".")
	}
	if len(a.of("call")) == 0 {
		list = append(list, "No task only calls functions, so no calls are priced.")
	}
	var apart []string
	for _, q := range a.patches {
		if q.Apart {
			apart = append(apart, fmt.Sprint(q.CPUs))
		}
		if q.Bad > 0 {
			list = append(list, fmt.Sprintf("With %s %d of %d runs broke %s: this patcher is wrong, whatever it costs.",
				cli.Number(q.CPUs, "CPU"), q.Bad, q.Runs, strings.Join(q.Broke, ", ")))
		}
	}
	if apart != nil {
		list = append(list, fmt.Sprintf("CPUs %s: the patchers' own CPUs call nothing. A called function waits for a "+
			"patcher, ends its task, or doesn't return.", cli.List(apart)))
	}
	for _, u := range a.refused {
		list = append(list, u.Error()+".")
	}
	return list
}

func (a *priced) title(c *Price) string {
	return fmt.Sprintf("Patches of %s on %s at %g MHz, by %s, in %s (seed %d)", a.s.Name, a.m.ID(), a.m.MHz,
		costsOf(a.m.by), cli.Number(c.Runs, "run"), c.Seed)
}

func (c *Price) print(p *cli.Program, a *priced) {
	fmt.Fprintf(p.Out, "%s.\n", a.title(c))
	for _, part := range a.parts() {
		fmt.Fprintf(p.Out, "\n%s:\n\n", part.title)
		part.grid.Print(p, c.Markdown)
	}
	for _, note := range a.notes() {
		fmt.Fprintln(p.Out)
		p.Indented("", note)
	}
}

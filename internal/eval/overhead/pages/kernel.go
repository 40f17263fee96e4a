package pages

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/eval/overhead"
	"kpsim/internal/eval/overhead/kernelcost"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs/kernels"
	"kpsim/internal/ui/page"
	"kpsim/internal/ui/table"
	"kpsim/linux"
)

// A kernelJSON is a hit or a call of a kernel's own code, as --json prints it.
type kernelJSON struct {
	machineJSON
	Kernel string `json:"kernel"`
	Probe  string `json:"probe"` // "" of a call
	Call   string `json:"call"`  // "" of a hit
	Says   string `json:"says"`
	Why    string `json:"why,omitempty"`

	Documented *float64 `json:"documented_us"`
	Go         *float64 `json:"go_engine_us"`
	GoCode     *float64 `json:"go_engine_instructions"` // by the model
	Usec       float64  `json:"us"`
	Cycles     float64  `json:"cycles"`
	overhead.MachineCode
	Lines int            `json:"cache_lines"`
	Text  int            `json:"text_lines"`
	Data  int            `json:"data_lines"`
	Stack int            `json:"stack_lines"`
	Parts map[string]int `json:"part_instructions"`

	hit *kernelcost.Hit
}

// checkKernel says what of the other flags has no meaning with a kernel's own code.
func (c *Table) checkKernel() error {
	if c.Kernel == "" {
		if len(c.Objects) > 0 {
			return errors.New("--objects: they take the place of a kernel's functions; give the kernel with " +
				"--kernel FILE")
		}
		return nil
	}
	for _, f := range []struct {
		given bool
		name  string
		why   string
	}{
		{c.Profile != "", "--profile", "a profile has no price of an instruction by itself"},
		{c.Provenance, "--provenance", "it is of kpsim's own engine"},
		{c.Prose, "--prose", "it is of kpsim's own engine"},
		{c.Bench, "--bench", "nothing was measured that varies"},
		{c.Noise, "--noise", "it is of kpsim's own engine"},
		{len(c.CPUs) > 0, "--cpus", "a kernel's own code is counted on one CPU"},
		{len(c.Editions) > 0, "--edition", "it is of kpsim's own engine, and a kernel's is what it is"},
		{c.Tier == overhead.Calibrated.String(), "--tier",
			"calibrated costs are of whole hits of kpsim's engine; machine code is priced by the mechanistic ones"},
	} {
		if f.given {
			return fmt.Errorf("%s: %s; leave it or --kernel out", f.name, f.why)
		}
	}
	return nil
}

// kernelReport counts what a kernel's own code executes, and prices it.
func (c *Table) kernelReport(o *overhead.Model) (list []kernelJSON, k *linux.Kernel, err error) {
	files := kernels.Kernel{Kernel: c.Kernel, Objects: c.Objects}
	if k, err = files.Open(); err != nil {
		return nil, nil, err
	}
	machines := c.Machines
	if len(machines) == 0 {
		machines = []string{kernelcost.MachineOf(k)}
	}
	if err := checkMachines(machines, k); err != nil {
		return nil, nil, err
	}
	hits, err := kernelcost.Count(k, "")
	if err != nil {
		return nil, nil, err
	}
	for i := range overhead.Machines {
		m := &overhead.Machines[i]
		if !slices.Contains(machines, m.ID()) {
			continue
		}
		ours, err := goHits(o, m)
		if err != nil {
			return nil, nil, err
		}
		for j := range hits {
			h := &hits[j]
			if len(c.Probes) > 0 && (h.Call || !slices.Contains(c.Probes, h.Kind)) {
				continue
			}
			list = append(list, kernelLine(k, o, m, h, ours[h.Kind]))
		}
	}
	if len(list) == 0 {
		return nil, nil, c.nothing()
	}
	return list, k, nil
}

// checkMachines returns an error if a machine is of another processor than the kernel: what
// isn't executed of a hit is priced by the code of the machine's own kernel.
func checkMachines(machines []string, k *linux.Kernel) error {
	own := kernelcost.MachineOf(k)
	_, of, _ := strings.Cut(own, "/")
	for _, id := range machines {
		if _, is, _ := strings.Cut(id, "/"); is != of {
			return fmt.Errorf("--machine: %s is of %s, and the kernel %s for %s; give one such as %s", id, is,
				k.Image.Release, of, own)
		}
	}
	return nil
}

// A goHit is a figure of the documents, and what kpsim's engine makes of it.
type goHit struct{ documented, usec, instructions float64 }

// goHits are those of a machine, by the probe.
func goHits(o *overhead.Model, m *overhead.Machine) (map[string]*goHit, error) {
	costs, err := o.Profile(m, overhead.Mechanistic)
	if err != nil {
		return nil, err
	}
	all := make(map[string]*goHit)
	for _, f := range overhead.Figures() {
		if f.Machine.ID() != m.ID() {
			continue
		}
		h, err := f.Probe.Measure(costs)
		if err != nil {
			return nil, err
		}
		all[f.Probe.Name] = &goHit{f.Usec, h.Cycles / m.MHz, m.Instructions(&h)}
	}
	return all, nil
}

func kernelLine(k *linux.Kernel, o *overhead.Model, m *overhead.Machine, h *kernelcost.Hit, ours *goHit) kernelJSON {
	l := kernelJSON{
		machineJSON: machineJSON{m.ID(), m.Name, m.Arch, m.MHz}, Kernel: k.ID(), Says: h.Says, Why: h.Why,
		Cycles: h.On(o, m), MachineCode: h.MachineCode, Lines: h.Lines, Text: h.Text, Data: h.Data, Stack: h.Stack,
		Parts: make(map[string]int), hit: h,
	}
	l.Usec = l.Cycles / m.MHz
	if l.Probe = h.Kind; h.Call {
		l.Probe, l.Call = "", h.Kind
	}
	if ours != nil {
		l.Documented, l.Go, l.GoCode = &ours.documented, &ours.usec, &ours.instructions
	}
	for part, n := range h.Parts {
		l.Parts[strings.ReplaceAll(kernelcost.Part(part).String(), " ", "_")] = n
	}
	return l
}

// kernel prints what probes cost in a kernel's own code.
func (c *Table) kernel(p *cli.Program) error {
	o, err := overhead.Fit(overhead.Figures())
	if err != nil {
		return err
	}
	list, k, err := c.kernelReport(o)
	if err != nil {
		return err
	}
	if c.JSON {
		for i := range list {
			if err := p.PrintJSON(&list[i]); err != nil {
				return err
			}
		}
		return nil
	}
	p.Indented("", fmt.Sprintf("%s, its own code: what is executed in a hit, one CPU, warm, by the "+
		"uneventful schedule.", k.Image.Release))
	for i, part := range kernelParts(list) {
		fmt.Fprintln(p.Out)
		p.Indented("", fmt.Sprintf("Table %d. %s", i+1, part.title))
		fmt.Fprintln(p.Out)
		part.grid.Print(p, c.Markdown)
	}
	fmt.Fprintln(p.Out)
	for _, says := range kernelSays(list) {
		if c.Markdown {
			says = "- " + says
		}
		p.Indented("", says)
	}
	return nil
}

// kernelParts are the tables.
func kernelParts(list []kernelJSON) (parts []fitPart) {
	hits := table.Grid{Head: []string{"machine", "probe", "documented µs", "Go engine µs", "own code µs", "cycles",
		"Go engine instr.", "own instr.", "lines"}, Text: 2}
	where := table.Grid{Head: []string{"probe", "engine", "copies", "after the copy", "return", "lines: text", "data",
		"stack", "exceptions", "handlers", "services", "as instr.", "locked", "mispredicts"}, Text: 1}
	calls := table.Grid{Head: []string{"machine", "call", "own code µs", "cycles", "own instr.", "lines", "services",
		"as instr."}, Text: 2}
	n := func(v int) string { return fmt.Sprint(v) }
	first := list[0].Machine
	for i := range list {
		l := &list[i]
		if !l.hit.Counted {
			continue
		}
		if l.Call != "" {
			calls.Add(l.Machine, l.Says, fmt.Sprintf("%.2f", l.Usec), fmt.Sprintf("%.0f", l.Cycles), n(l.Instructions),
				n(l.Lines), n(l.Services), n(l.Served))
			continue
		}
		documented, ours, code := "-", "-", "-"
		if l.Documented != nil {
			documented, ours, code = fmt.Sprintf("%.2f", *l.Documented), fmt.Sprintf("%.3f", *l.Go),
				fmt.Sprintf("%.0f", *l.GoCode)
		}
		hits.Add(l.Machine, kernelTitle(l), documented, ours, fmt.Sprintf("%.3f", l.Usec),
			fmt.Sprintf("%.0f", l.Cycles), code, n(l.Instructions), n(l.Lines))
		if l.Machine == first {
			h := l.hit
			where.Add(kernelTitle(l), n(h.Parts[kernelcost.Engine]), n(h.Parts[kernelcost.Copies]),
				n(h.Parts[kernelcost.Step]), n(h.Parts[kernelcost.Return]),
				n(l.Text), n(l.Data), n(l.Stack), n(l.Exceptions), n(l.Handlers), n(l.Services), n(l.Served),
				n(l.Locked), n(l.Mispredicted))
		}
	}
	if len(hits.Rows) > 0 {
		parts = append(parts, fitPart{title: "A hit: the documents' figure, kpsim's Go engine, and the " +
			"kernel's own code:", grid: &hits},
			fitPart{title: "Where the kernel's own code is executed: instructions, lines of cache, and what is " +
				"priced beside them:", grid: &where})
	}
	if len(calls.Rows) > 0 {
		parts = append(parts, fitPart{title: "Calls, and the work after them:", grid: &calls})
	}
	return parts
}

// kernelTitle is a probe's name, with a mark if there is something to be said of it.
func kernelTitle(l *kernelJSON) string {
	title := l.Says + " (" + l.Probe + ")"
	if l.Why != "" {
		title += " *"
	}
	return title
}

// kernelSays says how the tables are to be read.
func kernelSays(list []kernelJSON) (says []string) {
	var told []string
	for i := range list {
		if l := &list[i]; l.Why != "" && !slices.Contains(told, l.Why) {
			told = append(told, l.Why)
			mark := "* "
			if !l.hit.Counted {
				mark = l.Says + ": not counted: "
			}
			says = append(says, mark+l.Why+".")
		}
	}
	return append(says,
		"Counted: the instructions of the kernel's text, of copies and detours; the lines of 64 bytes that "+
			"they are in or access.",
		"Priced by the model: the entry and exit of exceptions, handlers (both as in the documents' figures), "+
			"and services, the functions that are done in Go: each as its instructions up to the first return.",
		"Costs are the mechanistic ones; lines are in no price. An exception goes without an IST stack. "+
			"Indirect calls go through retpolines where the kernel has them, as it lies on disk.")
}

// kernel has the tables of a kernel's own code, if one was given.
func (o *htmlPage) kernel() (s page.Section, err error) {
	if o.c.Kernel == "" {
		return s, nil
	}
	list, k, err := o.c.kernelReport(o.o)
	if err != nil {
		return s, err
	}
	s = page.Section{ID: "kernel", Title: "A kernel's own code", Blocks: []page.Block{
		page.Text(k.Image.Release +
			", its own code: what is executed in a hit, one CPU, warm, by the uneventful schedule."),
	}}
	for _, part := range kernelParts(list) {
		s.Blocks = append(s.Blocks, part.grid.Page(page.Text(part.title)))
	}
	var says page.List
	for _, text := range kernelSays(list) {
		says = append(says, page.Text(text))
	}
	s.Blocks = append(s.Blocks, says)
	return s, nil
}

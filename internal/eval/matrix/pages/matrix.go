package pages

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"kpsim/internal/eval/matrix"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/verdict"
	"kpsim/smp"
)

// Matrix is kpsim matrix.
type Matrix struct {
	Rows       []string `arg:"" optional:"" name:"row" help:"Rows, as jump/sched/breakpoint, or the beginnings of their names, as jump or jump/sched. None: all of x86."`
	Full       bool     `xor:"bound" help:"For each Never run every schedule there is, by states, or, if those are too many, all of at most 3 deviations. Takes what it takes."`
	Deviations *int     `range:"1..99" xor:"bound" placeholder:"K" help:"Run all schedules of at most K deviations for each Never, and prove nothing else. Default: 2, and every schedule where these are few."`
	Drawn      *uint64  `range:"1..1000000000000" placeholder:"N" help:"How many schedules are drawn for each Never, over all offsets. Default: 40000. Fewer prove less, and the table says so."`
	Seed       uint64   `range:"0..18446744073709551615" default:"1" help:"What they are drawn from."`
	Memory     string   `placeholder:"MODEL" help:"In what order CPUs see each other's accesses to data: ${memories}. Default: sc."`
	FRED       bool     `name:"fred" help:"CPUs return from traps and interrupts as FRED has it, which doesn't serialise."`
	SyncCopies bool     `name:"sync-copies" help:"The engine synchronizes every CPU after it has written a slot or a detour, as no kernel does. With --fred this is what it needs."`
	Workers    int      `range:"0..64" placeholder:"N" help:"How many cells are searched at once. Default: one a processor. Changes no result."`
	Traces     string   `default:"traces" placeholder:"DIR" help:"Where witnesses are written, as NAME.kps."`
	JSON       bool     `name:"json" xor:"form" help:"Print one JSON object a cell."`
	cli.Format
	Markdown bool         `xor:"form" help:"Print the page that docs/matrix.md is, with today's date."`
	Into     string       `xor:"form" placeholder:"PAGE" help:"Put the rows into a page that --markdown has printed. The page has to be of the same adversary."`
	Short    bool         `xor:"form" help:"Print a table as docs/waits.md has it: what the three models of fetch say together."`
	HTML     cli.FileName `name:"html" placeholder:"FILE" xor:"form" help:"Write a page: the table, what each Never stands on, how to see what was broken, and what the documents claim; with today's date."`
	From     []string     `placeholder:"FILE" help:"Cells that --json has printed, of this very search: they aren't searched again. May be given many times."`

	stop atomic.Bool
}

// Help implements kong.HelpProvider.
func (*Matrix) Help() string {
	return `Say which waits and syncs patching needs, under which preemption and fetch.

Which waits and syncs does code patching need? A row is a way to patch: what the optimizer waits for and how text is written, or which sync is left out. A column is a model of preemption and one of instruction fetch. Each cell is a small program of its own that is searched.

Never: no schedule broke anything. Run were all schedules of at most 2 deviations, with the site at each offset in its 8-byte chunk; 40000 drawn schedules; and the schedules that break a neighbouring cell. Where a cell of the row is Sometimes, all schedules of at most 4 deviations were run, too, at the offsets where that cell breaks. The same search broke the row that is known to be wrong.

Never all: the same for every schedule, in cells that have few; --full tries it for all cells. Never 3: for all schedules of at most 3 deviations (--full).

T2/4@0-3,7: Sometimes. Property T2 was broken (its name is below the tables). The shrunk witness has 4 deviations and is written to traces/. The site was at offsets 0 to 3 and 7 at least. A cell names all properties that were found broken. After T3: in runs that had broken T3 before.

blind: nothing was broken, nor in the row that is known to be wrong: this says nothing.

The adversary: ` + matrix.X86.Adversary + `

Rows: jump/WAIT/WRITE, life/WAIT/WRITE, sync/SYNC, raw/WRITE, raw/SYNC, call/breakpoint, call/SYNC, nmi/WRITE, nmi-raw/WRITE; WAIT is none, sched, rcu, tasks or stack-check, WRITE naive, stop_machine or breakpoint, SYNC arm, disarm, unopt, unopt-2, poke-1, poke-2, poke-3 or stop. Under the table stands what the kernel's documents claim, and whether the cells agree. Without a row all 825 cells are searched: some 32 minutes of one core; a row is 15 cells, and as many of the row that is known to be wrong. What is printed doesn't depend on --workers.

Of other processors there are riscv64/label, riscv64/site (of ftrace), riscv64/probe, and the same of arm64 and ppc64le: a table of their own, with all places where the processor's kernels can have the site.

Examples:

  kpsim matrix jump/sched
  kpsim matrix --drawn 8000 raw nmi-raw
  kpsim matrix --json sync/arm
  kpsim matrix --markdown > docs/matrix.md
  kpsim matrix --full raw --into docs/matrix.md
  kpsim matrix riscv64/label arm64/label ppc64le/label
  kpsim matrix jump --json > jump.json
  kpsim matrix --from jump.json --markdown
  kpsim matrix jump --from jump.json --html jump.html

Exit status: 0 all cells are decided, 1 some are blind, 2 bad input, a cell that can't be decided, or a witness that could not be saved, 3 a bug of the simulator, 130 interrupted; what there is is printed.`
}

func (c *Matrix) Run(p *cli.Program) (int, error) {
	rows, err := matrix.Select(c.Rows)
	if err != nil {
		return 0, err
	}
	effort := matrix.Quick
	if c.Full {
		effort = matrix.Full
	}
	if c.Deviations != nil {
		effort.Deviations, effort.States, effort.Deeper = *c.Deviations, 0, 0
	}
	if c.Drawn != nil {
		effort.Drawn = *c.Drawn
	}
	effort.Seed = c.Seed
	if effort.Memory, err = inputs.OptionalMemory(c.Memory); err != nil {
		return 0, err
	}
	effort.FRED, effort.SyncCopies = c.FRED, c.SyncCopies
	if err := effort.CheckSubject(rows[0].Block.Subject); err != nil {
		return 0, err
	}
	if err := effort.Check(); err != nil {
		return 0, err
	}
	if c.Traces == "" {
		return 0, errors.New("--traces: the name is empty; name a folder")
	}
	if c.HTML != "" {
		if err := c.HTML.CheckPage(c.From...); err != nil {
			return 0, err
		}
	}
	known, err := c.known()
	if err != nil {
		return 0, err
	}
	page, err := c.page(effort, rows[0].Block.Subject)
	if err != nil {
		return 0, err
	}
	p.StopAtInterrupt(&c.stop)
	cli.ManySmall()
	if err := cli.MakeFolder(c.Traces); err != nil {
		return 0, err
	}
	p.Doing = "the matrix"
	c.ahead(p, rows, effort)
	line := p.WatchParts("the matrix", matrix.Searched(rows, nil), "cell")
	defer line.Clear()
	m, err := matrix.Run(matrix.Job{Rows: rows, Effort: effort, Workers: c.Workers, Cancelled: &c.stop, Done: line.Far,
		Save: c.save, Known: known})
	if err != nil {
		return 0, err
	}
	if !c.stop.Load() {
		line.Complete()
	}
	line.Clear()
	if err := c.print(p, m, page); err != nil {
		return 0, err
	}
	if len(m.Cells) < m.All {
		fmt.Fprintf(p.Err, "kpsim: interrupted: %d of %d cells\n", len(m.Cells), m.All)
		return cli.Interrupted, nil
	}
	return c.status(p, m), nil
}

// ahead announces the number of cells, and the time that all of them take.
func (c *Matrix) ahead(p *cli.Program, rows []matrix.Row, e matrix.Effort) {
	says := cli.Number(matrix.Searched(rows, nil), "cell")
	of := rows[0].Block.Subject
	all := of.Rows()
	whole := len(rows) == len(all)
	usual := matrix.Quick
	if usual.Seed = c.Seed; e == usual && len(c.From) == 0 {
		workers := cmp.Or(c.Workers, runtime.GOMAXPROCS(0))
		took := (of.Whole / time.Duration(min(workers, runtime.NumCPU()))).Round(time.Minute)
		if whole {
			says += fmt.Sprintf(": some %v; kpsim matrix --help lists the rows, of which fewer can be named", took)
		} else {
			says += fmt.Sprintf("; all %d take some %v", matrix.Searched(all, nil), took)
		}
	}
	if whole && p.Live { // too long to start silently
		fmt.Fprintln(p.Err, says)
		return
	}
	p.Ahead(says)
}

// status reports blind cells and returns the exit status.
func (c *Matrix) status(p *cli.Program, m *matrix.Matrix) int {
	status := cli.OK
	for _, cell := range m.Cells {
		c.judge(p, cell)
		if cell.Blind {
			fmt.Fprintf(p.Err, "kpsim: %s, preemption %s, fetch %s, is blind: the search doesn't break %s "+
				"either; draw more schedules\n", cell.Row, cell.Preempt, cell.Fetch, cell.Canary)
			status = cli.Against
		}
	}
	return status
}

// judge adds the case of a cell. A cell is decided whether it is Never or Sometimes: only a blind one isn't.
func (c *Matrix) judge(p *cli.Program, cell *matrix.Cell) {
	one := verdict.Case{Group: cell.Row, Name: "preemption " + cell.Preempt + ", fetch " + cell.Fetch,
		Says: cell.Short()}
	for _, b := range cell.Broken {
		if one.Trace = b.Trace; one.Trace != "" {
			one.Next = cli.Line(cli.Typed(), "explain", b.Trace)
			break
		}
	}
	if cell.Blind {
		one.Outcome, one.Rule = verdict.Failed, verdict.Blind
		one.Says = fmt.Sprintf("blind: the search doesn't break %s either; draw more schedules", cell.Canary)
	}
	p.Judged.Add(one)
}

// save writes the witness of a cell against a property: the first one under the cell's name, the
// others with the property's name added.
func (c *Matrix) save(cell *matrix.Cell, b *matrix.Broken) error {
	name := inputs.TraceName("matrix-" + cell.Row + "-" + cell.Preempt + "-" + cell.Fetch)
	if c.Memory != "" && c.Memory != smp.SC.String() {
		name += "-" + c.Memory
	}
	if c.FRED {
		name += "-fred"
	}
	if c.SyncCopies {
		name += "-sync-copies"
	}
	if b != cell.Broken[0] {
		name += "-" + b.ID()
	}
	path := filepath.Join(c.Traces, name+".kps")
	if _, err := inputs.WriteTrace(path, b.Witness.File); errors.As(err, new(*inputs.Unreadable)) {
		return fmt.Errorf("--traces: %w", err)
	} else if err != nil {
		return fmt.Errorf("--traces: %s; name a folder that can be written to", cli.Cause(err, path))
	}
	b.Trace = path
	return nil
}

// known reads the cells of --from.
func (c *Matrix) known() (list []*matrix.Cell, err error) {
	for _, path := range c.From {
		b, err := cli.ReadFile(path, cli.MostTrace)
		if err != nil {
			return nil, fmt.Errorf("--from: %s", cli.Cause(err, path))
		}
		cells, err := matrix.ReadCells(b)
		if err != nil {
			return nil, fmt.Errorf("--from: %s: %w", path, err)
		}
		list = append(list, cells...)
	}
	return list, nil
}

// page reads the page of --into, before the search begins.
func (c *Matrix) page(e matrix.Effort, of *matrix.Subject) (string, error) {
	if c.Into == "" {
		return "", nil
	}
	b, err := cli.ReadFile(c.Into, cli.MostTrace)
	if err != nil {
		return "", fmt.Errorf("--into: %s", cli.Cause(err, c.Into))
	}
	if err := e.CheckPage(string(b), of); err != nil {
		return "", fmt.Errorf("--into: %s: %w", c.Into, err)
	}
	return string(b), nil
}

func (c *Matrix) print(p *cli.Program, m *matrix.Matrix, page string) error {
	switch {
	case c.Into != "":
		var b bytes.Buffer
		if err := m.Into(&b, page, cli.Today()); err != nil {
			return fmt.Errorf("--into: %s: %w", c.Into, err)
		}
		return cli.WriteWhole(c.Into, b.Bytes())
	case c.JSON:
		for _, cell := range m.Cells {
			if err := p.PrintJSON(cell); err != nil {
				return err
			}
		}
		return nil
	case c.Short:
		_, err := fmt.Fprint(p.Out, m.Table().Brief(m.Rows))
		return err
	case c.Markdown:
		return m.Markdown(p.Out, cli.Today())
	case c.HTML != "":
		return c.html(p, m)
	}
	if err := m.Text(p.Out); err != nil {
		return err
	}
	for _, cell := range m.Cells {
		if len(cell.Broken) > 0 && cell.Broken[0].Trace != "" {
			fmt.Fprintf(p.Out, "\nTo read how the first one comes about, of those in %s:\n  %s\n", c.Traces,
				cli.Line(cli.Typed(), "explain", cell.Broken[0].Trace))
			break
		}
	}
	return nil
}

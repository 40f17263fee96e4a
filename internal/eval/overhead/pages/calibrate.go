package pages

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"kpsim/internal/eval/overhead"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/table"
	"kpsim/scripts"
	"kpsim/smp/cycles"
)

// Script is kpsim overhead script.
type Script struct{}

// Help implements kong.HelpProvider.
func (*Script) Help() string {
	return `Print the script that measures probes on a machine of yours.

Prints scripts/measure-probes, for machines that have no kpsim. Run there as root, it times hits of probes with tracefs and dd, and prints the file that kpsim overhead calibrate takes. It needs bash, awk, dd, and a kernel with CONFIG_KPROBE_EVENTS on x86; no compiler, no headers, no BPF. It takes its probes away again.

Examples:

  kpsim overhead script > measure-probes
  sudo bash measure-probes > mine.csv
  kpsim overhead script | ssh root@my-box bash -s -- --repeats 31 > mine.csv
  bash measure-probes --help

Exit status: 0, 2 bad input, 3 a bug of the simulator.`
}

// Run prints it.
func (*Script) Run(p *cli.Program) (int, error) {
	_, err := p.Out.Write(scripts.MeasureProbes)
	return cli.OK, err
}

// Calibrate is kpsim overhead calibrate.
type Calibrate struct {
	File    string `arg:"" name:"file.csv" help:"What you have measured: machine,arch,mhz,edition,probe,usec, a figure a line."`
	Machine string `placeholder:"ID" help:"Which machine's profile is printed, if the file has several."`
	Tier    string `placeholder:"TIER" default:"calibrated" help:"calibrated, or mechanistic. Default: calibrated."`
}

// Help implements kong.HelpProvider.
func (*Calibrate) Help() string {
	return `Fit a profile to figures that you have measured, for --profile.

Fits costs to figures of your own and prints them as a file that kpsim overhead --profile reads. The script that kpsim overhead script prints measures such figures. Lines that begin with # are comments. The columns:

  machine  its name; those of one name (in i386 and x86_64, say) are taken to be one core
  arch     i386, x86_64, or with edition 2.6 ppc64
  mhz      its clock
  edition  2.6 or 4.15: which probes there are (j, kr, jr; or b, o, rb, ro), and whose kernel code
  probe    k, b, o, r, rb, ro; j, kr, jr
  usec     microseconds that a hit takes: a call with the probe less one without

Arch and edition decide whose instructions are counted, and what locks and mispredictions typically cost: those of the documents' machine with the same two. The rest is fitted. A comment at each cost says where it is from.

Examples:

  kpsim overhead calibrate mine.csv > mine.profile
  kpsim overhead calibrate --machine my-box/x86_64 mine.csv
  kpsim overhead --profile mine.profile

Exit status: 0, 2 bad input, 3 a bug of the simulator.`
}

func (c *Calibrate) Run(p *cli.Program) (int, error) {
	tiers, err := tiersOf(c.Tier)
	if err != nil {
		return 0, err
	}
	if len(tiers) != 1 {
		return 0, fmt.Errorf("--tier: the name is empty; give calibrated or mechanistic")
	}
	b, err := cli.ReadFile(c.File, cli.MostTrace)
	if err != nil {
		return 0, fmt.Errorf("%s; name a file of figures", cli.Cause(err, c.File))
	}
	figures, err := overhead.ReadFigures(c.File, string(b))
	if err != nil {
		return 0, err
	}
	if len(figures) == 0 {
		return 0, fmt.Errorf("%s: there is no figure in it; add a line as My machine,x86_64,2330,4.15,k,0.99", c.File)
	}
	m, err := c.pick(figures)
	if err != nil {
		return 0, err
	}
	// Figures of another core go.
	figures = slices.DeleteFunc(figures, func(f overhead.Figure) bool { return f.Machine.Name != m.Name })
	o, err := overhead.Fit(figures)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", c.File, err)
	}
	u, err := o.UserProfile(m, tiers[0])
	if err != nil {
		return 0, fmt.Errorf("%s: %w", c.File, err)
	}
	if u.LeftOut, u.Figures, err = o.LargestLeftOut(tiers[0]); err != nil {
		return 0, fmt.Errorf("%s: %w", c.File, err)
	}
	if err := c.head(p, o, m, tiers[0]); err != nil {
		return 0, err
	}
	fmt.Fprint(p.Out, u.Text(func(e cycles.Event) string { return o.Note(m, tiers[0], e) }))
	return cli.OK, nil
}

// pick returns the machine that is asked for.
func (c *Calibrate) pick(figures []overhead.Figure) (*overhead.Machine, error) {
	var ids []string
	for _, f := range figures {
		id := f.Machine.ID()
		if id == c.Machine {
			return f.Machine, nil
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	switch {
	case c.Machine != "":
		return nil, cli.Optional("--machine", "machine of "+c.File, c.Machine, ids)
	case len(ids) > 1:
		return nil, fmt.Errorf("%s has figures of %s; choose one with --machine", c.File, cli.List(ids))
	}
	return figures[0].Machine, nil
}

// head says what the numbers are, and how far off the figures.
func (c *Calibrate) head(p *cli.Program, o *overhead.Model, m *overhead.Machine, t overhead.Tier) error {
	lines, err := o.Table(t)
	if err != nil {
		return err
	}
	left, err := o.LeaveOut(t, overhead.LeftFigure)
	if err != nil {
		return err
	}
	line := func(format string, args ...any) { fmt.Fprintf(p.Out, "# "+format+"\n", args...) }
	line("What probes cost on %s, for kpsim overhead --profile: cycles of each event.", m.ID())
	line("Fitted to %s of its core in %s, %s:", cli.Number(len(lines), "figure"), filepath.Base(c.File), t)
	for i := range lines {
		if l := &lines[i]; l.Machine == m {
			out := "no other figure"
			if !math.IsNaN(left[i]) {
				out = fmt.Sprintf("left out %s %%", table.PerCent(left[i]))
			}
			line("  %-30s %.3f µs measured, %.3f by this (%s %%, %s)", l.Probe.Title(), l.Usec, l.Ours,
				table.PerCent(l.Error), out)
		}
	}
	line("fitted:  %s", termsLine(o.Fitted(m)))
	if t == overhead.Calibrated {
		line("         and more, or less, of %s", termsLine(o.Calibration(m)))
	}
	line("typical: %s; of a %s, nobody has measured it here", termsLine(m.Typical()), m.Like().Name)
	line("counted: the events of a hit, in runs; and instructions, in the code of a kernel of the time of a %s",
		m.Like().ID())
	line("assumed: how these are shared out among the events of a hit; and costs that no figure has")
	if n := o.Numbers(t); n < len(o.Fitted(m)) {
		line("The figures tell only %s apart: the costs of single events mean little.", cli.Number(n, "number"))
	}
	fmt.Fprintln(p.Out)
	return nil
}

func termsLine(terms []overhead.Term) string {
	var parts []string
	for _, t := range terms {
		part := fmt.Sprintf("%s %s", t.Of, table.Signless(fmt.Sprintf("%.3f", t.Each)))
		if t.Mark != "" {
			part += " (" + t.Mark + ")"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// Nominal is kpsim overhead nominal.
type Nominal struct {
	Arch string `default:"x86_64" placeholder:"ARCH" help:"The architecture. Default: x86_64."`
	Name string `default:"My machine" placeholder:"NAME" help:"What tables call the machine. Default: My machine."`
	MHz  int    `name:"mhz" range:"10..100000" default:"2000" placeholder:"MHZ" help:"Its clock. Default: 2000."`
}

// Help implements kong.HelpProvider.
func (*Nominal) Help() string {
	return `Print a profile to change by hand: each event's price in round numbers, all of them assumed.

For machines that no figures are of, as all of arm64 and riscv64, and for readers who can't measure: measuring needs Linux. Replace the prices that you know; the text after a # is printed beside what is priced, so say there where yours is from. The lines that patches depend on most:

  send-ipi     sending an IPI, on the CPU that sends it
  sync_core    a serialising instruction: cpuid or iret on x86, isb on arm64
  breakpoint   delivery of #BP, or of brk, to the handler's first instruction
  trap         delivery of any other exception or interrupt, an IPI too
  iret         the return from either
  cache-line   getting a line that another CPU has written
  point        an access to something shared, a store to text too

Flushing the instruction cache by address has no price of its own: put what it takes into sync_core.

Examples:

  kpsim overhead nominal > mine.profile
  kpsim overhead nominal --arch arm64 --mhz 2400 --name Board > board.profile
  kpsim overhead price arm64-label --profile board.profile

Exit status: 0, 2 bad input.`
}

func (c *Nominal) Run(p *cli.Program) (int, error) {
	u := overhead.NominalProfile(c.Name, c.Arch, float64(c.MHz))
	text := u.Text(func(cycles.Event) string { return overhead.NominalNote })
	if _, err := overhead.ReadProfile("the profile", text); err != nil {
		return 0, fmt.Errorf("--name, --arch: %w", err)
	}
	fmt.Fprintf(p.Out, "# Prices to change by hand, for kpsim overhead --profile and kpsim overhead price: cycles of "+
		"each event.\n# Nothing here was measured.\n\n%s", text)
	return cli.OK, nil
}

package pages

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/eval/overhead"
	"kpsim/internal/eval/overhead/kernelcost"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
)

// Overhead is kpsim overhead.
type Overhead struct {
	Table     Table     `cmd:"" default:"withargs"`
	Fit       Fit       `cmd:""`
	Script    Script    `cmd:""`
	Calibrate Calibrate `cmd:""`
	Pauses    Pauses    `cmd:""`
	Maxactive Maxactive `cmd:""`
	Probes    Probes    `cmd:""`
	Price     Price     `cmd:""`
	Nominal   Nominal   `cmd:""`
}

// Help implements kong.HelpProvider.
func (*Overhead) Help() string {
	return "Say what probes cost: the documents' figures beside ours, and what a hit is spent on.\n\n" + overheadHelp
}

const overheadHelp = `What a hit of a probe costs. The documents end in 27 figures, measured on processors of 2003 to 2008. Here each is the difference between runs of a scenario with and without the probe: what happens in a hit is counted (exceptions, single steps, instructions, locks, copies, steps of the engine), and each event has a price on each machine. The prices are fitted to the figures in two tiers:

  mechanistic   thirteen numbers for all machines together, with what is typical
                of the processors and the counted instructions of kernel code
  calibrated    these and twenty more, four of each machine: 33 numbers for 27
                figures, so it says what the figures say

"left out" is the error for a figure by a fit without it; "machine out" and "arch out" by a fit without all figures of its processor, or of its architecture. "left out 95 %" is the interval of a prediction by the errors of left out figures: the largest of 27. ppc64's events are those of its own engine, of ppc64le; its kernel's instructions are put at x86_64's.

Each hit of a run takes the same time; --noise draws what a machine at work adds, all of which is assumed. Its intervals at 95 % are the sampling error of that alone: Student's t over runs, and for quantiles Woodruff's, by the share of each run. --edition gives the hits of another edition's engine by the same costs; --cpus those of many CPUs at one probe. --prose judges the documents' sentences by the mechanistic costs.

--kernel counts what a kernel's own code executes in each hit, and prices it by the mechanistic costs.

Probes: k kprobe (unoptimized), b boosted kprobe, o optimized kprobe; r, rb, ro return probe on such; j jprobe; kr, jr kprobe or jprobe and return probe. With --kernel also kk two kprobes at one address; f, rf kprobe or return probe at a site of ftrace.

Examples:

  kpsim overhead
  kpsim overhead --machine xeon-e5410/x86_64 --probe k --probe o
  kpsim overhead --tier mechanistic --provenance --machine pentium-m/i386
  kpsim overhead --prose
  kpsim overhead --html overhead.html
  kpsim overhead --edition 2.6 --edition 6.9 --machine xeon-e5410/x86_64
  kpsim overhead --cpus 1,2,4,8,16,32,64
  kpsim overhead --cpus 1-16 --edition 2.6 --probe k,r
  kpsim overhead --kernel vmlinuz
  kpsim overhead --kernel vmlinuz --objects kprobes.o --json | jq .instructions
  kpsim overhead --noise --machine xeon-e5410/x86_64
  kpsim overhead --noise --runs 100 --hits 10000 --seed 7 --probe o
  kpsim overhead --noise --bench > old.txt; benchstat old.txt new.txt
  kpsim overhead --json | jq 'select(.error > 0.05)'
  kpsim overhead fit
  kpsim overhead script > measure-probes; sudo bash measure-probes > mine.csv
  kpsim overhead calibrate mine.csv > mine.profile
  kpsim overhead --profile mine.profile
  kpsim overhead pauses
  kpsim overhead maxactive
  kpsim overhead probes
  kpsim overhead price hook-unsynced
  kpsim overhead nominal --arch arm64 --mhz 2400 > my-arm.profile

The flags of these: kpsim overhead table --help (the word table may be left out).

Exit status: 0, 2 bad input, 3 a bug of the simulator, 130 interrupted.`

// Table is kpsim overhead table.
type Table struct {
	Machines   []string     `name:"machine" placeholder:"ID" help:"Only this machine, as xeon-e5410/x86_64. May be given many times. Default: all."`
	Probes     []string     `name:"probe" placeholder:"NAME" help:"Only this probe, as k. May be given many times. Default: all."`
	Tier       string       `placeholder:"TIER" xor:"costs" help:"Only this tier: calibrated or mechanistic. Default: both, and what hits are spent on by the mechanistic one, as only that knows how a cost is shared out."`
	Profile    cli.FileName `placeholder:"FILE" xor:"costs,prose" help:"What the probes cost on the machine that this file describes; kpsim overhead calibrate writes such."`
	Provenance bool         `xor:"what,lines,way,engine" help:"Print where each cost is from. With --profile: its comments."`
	Prose      bool         `xor:"what,prose,lines,way,engine" help:"Print which of the documents' claims in words hold for which machine, by the mechanistic costs."`
	JSON       bool         `name:"json" xor:"form" help:"Print one JSON object a line."`
	Markdown   bool         `xor:"form" help:"Print tables in Markdown."`
	Bench      bool         `xor:"form,lines" help:"Print Go benchmark lines, which benchstat compares."`
	HTML       cli.FileName `name:"html" placeholder:"FILE" xor:"form,lines,way,engine" help:"Write a page: the table, hits with noise, more CPUs and probes, pauses, and where each cost is from. Some seconds."`

	Kernel  cli.FileName   `placeholder:"FILE" help:"Count what this kernel's own code executes in a hit, instruction by instruction: a vmlinux, or a vmlinuz as distributions ship it. Machine: the Xeon E5410 of its processor, unless --machine is given."`
	Objects []cli.FileName `placeholder:"FILE,…" help:"With --kernel: object files, compiled for that kernel, whose functions take the place of its own."`
	ways
}

// Help implements kong.HelpProvider.
func (*Table) Help() string {
	return "The documents' figures beside ours, and what each hit is spent on. This is what overhead does by itself." +
		"\n\n" + overheadHelp
}

func (c *Table) Run(p *cli.Program) (int, error) {
	if err := c.check(); err != nil {
		return 0, err
	}
	switch {
	case c.HTML != "":
		return cli.OK, c.html(p)
	case c.Kernel != "":
		return cli.OK, c.kernel(p)
	case c.Noise:
		return cli.OK, c.noise(p)
	case len(c.CPUs) > 0:
		return cli.OK, c.contended(p)
	case len(c.Editions) > 0:
		return cli.OK, c.editions(p)
	case c.Profile != "" && c.Provenance:
		return cli.OK, c.profileProvenance(p)
	case c.Profile != "":
		return cli.OK, c.priced(p)
	}
	o, err := overhead.Fit(overhead.Figures())
	if err != nil {
		return 0, err
	}
	switch {
	case c.Provenance:
		return cli.OK, c.provenance(p, o)
	case c.Prose:
		return cli.OK, c.prose(p, o)
	}
	r, err := c.report(o)
	if err != nil {
		return 0, err
	}
	return cli.OK, r.print(p, c)
}

// ProbeIDs are those of the documents.
func ProbeIDs() (probes []string) {
	for _, detours := range []bool{false, true} {
		for _, p := range overhead.Probes(detours) {
			if !slices.Contains(probes, p.Name) {
				probes = append(probes, p.Name)
			}
		}
	}
	return probes
}

// check checks the names that are given.
func (c *Table) check() error {
	if err := c.checkKernel(); err != nil {
		return err
	}
	switch {
	case c.Profile != "" && len(c.Machines) > 0:
		return errors.New("--machine: a profile is of one machine; leave --machine or --profile out")
	case c.Provenance && len(c.Probes) > 0:
		return errors.New("--probe: a cost is the same for all probes; leave --probe or --provenance out")
	case c.Prose && c.Tier == overhead.Calibrated.String():
		return errors.New("--tier: the calibrated costs repeat the figures that claims are of; leave --tier " +
			"out, or give mechanistic")
	case c.Prose && len(c.Probes) > 0:
		return errors.New("--probe: claims compare probes; leave --probe or --prose out")
	}
	if _, err := inputs.Once("machine", "machine", c.Machines, MachineIDs()); err != nil {
		return err
	}
	probes := ProbeIDs()
	if c.Kernel != "" {
		probes = kernelcost.Kinds()
	}
	if _, err := inputs.Once("probe", "probe", c.Probes, probes); err != nil {
		return err
	}
	if _, err := tiersOf(c.Tier); err != nil {
		return err
	}
	return c.ways.check()
}

func TierNames() []string {
	return []string{overhead.Calibrated.String(), overhead.Mechanistic.String()}
}

// tiersOf returns the tier of a name, or both.
func tiersOf(name string) ([]overhead.Tier, error) {
	both := []overhead.Tier{overhead.Calibrated, overhead.Mechanistic}
	if name == "" {
		return both, nil
	}
	for _, t := range both {
		if t.String() == name {
			return []overhead.Tier{t}, nil
		}
	}
	return nil, cli.Optional("--tier", "tier", name, TierNames())
}

func (c *Table) wants(m *overhead.Machine, probe string) bool {
	return (len(c.Machines) == 0 || slices.Contains(c.Machines, m.ID())) &&
		(len(c.Probes) == 0 || probe == "" || slices.Contains(c.Probes, probe))
}

// readProfile reads a user's profile.
func readProfile(name string) (*overhead.UserProfile, error) {
	b, err := cli.ReadFile(name, cli.MostTrace)
	if err != nil {
		return nil, fmt.Errorf("--profile: %s; name a profile", cli.Cause(err, name))
	}
	return overhead.ReadProfile(name, string(b))
}

// nothing says that no figure is left.
func (c *Table) nothing() error {
	return fmt.Errorf("no figure is of %s on %s; kpsim overhead prints all there are", strings.Join(c.Probes, " or "),
		strings.Join(c.Machines, " or "))
}

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/cli"
	"kpsim/internal/cli/inputs"
	"kpsim/internal/eval/overhead"
)

type overheadCmd struct {
	Table     overheadTableCmd     `cmd:"" default:"withargs" help:"The documents' figures beside ours, and what each hit is spent on. This is what overhead does by itself."`
	Fit       overheadFitCmd       `cmd:"" help:"The numbers that are fitted, how far off each figure is, and which can't be right together."`
	Calibrate overheadCalibrateCmd `cmd:"" help:"Fit a profile to figures that you have measured, for --profile."`
	Pauses    overheadPausesCmd    `cmd:"" help:"How long CPUs and probes wait while a jump is written: stop_machine, sync_core, the optimizer."`
	Maxactive overheadMaxactiveCmd `cmd:"" help:"How many calls a return probe misses, by its maxactive and how many tasks call."`
	Probes    overheadProbesCmd    `cmd:"" help:"What a hit costs with up to 100,000 probes in the kernel's table."`
}

const overheadHelp = `What a hit of a probe costs. The documents end in 27 figures, measured on processors of 2003 to 2008. Here each is the difference between runs of a scenario with and without the probe: what happens in a hit is counted (exceptions, single steps, instructions, locks, copies, steps of the engine), and each event has a price on each machine. The prices are fitted to the figures in two tiers:

  calibrated    twenty numbers, four of each machine: it says what the figures say
  mechanistic   thirteen numbers for all machines together, with what is typical
                of the processors and the counted instructions of kernel code

The second can be wrong: "left out" is its error for a figure that it wasn't fitted to. i386 and ppc64 have no engine here: their prices are for what the x86_64 one does.

Each hit of a run takes the same time; --noise draws what a machine at work adds, all of which is assumed. --edition gives the hits of another edition's engine by the same costs; --cpus those of many CPUs at one probe.

Probes: k a kprobe (stepped), b boosted, o optimized; r, rb, ro a return probe on such; j a jprobe; kr, jr a kprobe or jprobe and a return probe.

Examples:

  kpsim overhead
  kpsim overhead --machine xeon-e5410/x86_64 --probe k --probe o
  kpsim overhead --tier mechanistic --provenance --machine pentium-m/i386
  kpsim overhead --prose
  kpsim overhead --html overhead.html
  kpsim overhead --edition 2.6 --edition 6.9 --machine xeon-e5410/x86_64
  kpsim overhead --cpus 1,2,4,8,16,32,64
  kpsim overhead --cpus 1-16 --edition 2.6 --probe k,r
  kpsim overhead --noise --machine xeon-e5410/x86_64
  kpsim overhead --noise --runs 100 --hits 10000 --seed 7 --probe o
  kpsim overhead --noise --bench > old.txt; benchstat old.txt new.txt
  kpsim overhead --json | jq 'select(.error > 0.05)'
  kpsim overhead fit
  kpsim overhead calibrate mine.csv > mine.profile
  kpsim overhead --profile mine.profile
  kpsim overhead pauses
  kpsim overhead maxactive
  kpsim overhead probes

The flags of these: kpsim overhead table --help (the word table may be left out).

Exit status: 0, 2 bad input, 3 a bug of the simulator, 130 interrupted.`

// Help implements kong.HelpProvider.
func (*overheadCmd) Help() string { return overheadHelp }

type overheadTableCmd struct {
	Machines   []string     `name:"machine" placeholder:"ID" help:"Only this machine, as xeon-e5410/x86_64. May be given many times. Default: all."`
	Probes     []string     `name:"probe" placeholder:"NAME" help:"Only this probe, as k. May be given many times. Default: all."`
	Tier       string       `placeholder:"TIER" xor:"costs" help:"Only this tier: calibrated or mechanistic. Default: both, and what hits are spent on by the mechanistic one, as only that knows how a cost is shared out."`
	Profile    cli.FileName `placeholder:"FILE" xor:"costs,what" help:"What the probes cost on the machine that this file describes; kpsim overhead calibrate writes such."`
	Provenance bool         `xor:"what,lines,way,engine" help:"Print where each cost is from."`
	Prose      bool         `xor:"what,lines,way,engine" help:"Print which of the documents' claims in words hold for which machine."`
	JSON       bool         `name:"json" xor:"form" help:"Print one JSON object a line."`
	Markdown   bool         `xor:"form" help:"Print tables in Markdown."`
	Bench      bool         `xor:"form,lines" help:"Print Go benchmark lines, which benchstat compares."`
	HTML       cli.FileName `name:"html" placeholder:"FILE" xor:"form,lines,way,engine" help:"Write a page: the table, hits with noise, more CPUs and probes, pauses, and where each cost is from. Some seconds."`
	overheadWays
}

// Help implements kong.HelpProvider.
func (*overheadTableCmd) Help() string { return overheadHelp }

func (c *overheadTableCmd) run(p *cli.Program) (int, error) {
	if err := c.check(); err != nil {
		return 0, err
	}
	switch {
	case c.HTML != "":
		return cli.OK, c.html(p)
	case c.Noise:
		return cli.OK, c.noise(p)
	case len(c.CPUs) > 0:
		return cli.OK, c.contended(p)
	case len(c.Editions) > 0:
		return cli.OK, c.editions(p)
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

// probeIDs are those of the documents.
func probeIDs() (probes []string) {
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
func (c *overheadTableCmd) check() error {
	switch {
	case c.Profile != "" && len(c.Machines) > 0:
		return errors.New("--machine: a profile is of one machine; leave --machine or --profile out")
	case c.Provenance && len(c.Probes) > 0:
		return errors.New("--probe: a cost is the same for all probes; leave --probe or --provenance out")
	case c.Prose && len(c.Probes) > 0:
		return errors.New("--probe: claims compare probes; leave --probe or --prose out")
	}
	if _, err := inputs.Once("machine", "machine", c.Machines, machineIDs()); err != nil {
		return err
	}
	if _, err := inputs.Once("probe", "probe", c.Probes, probeIDs()); err != nil {
		return err
	}
	if _, err := tiersOf(c.Tier); err != nil {
		return err
	}
	return c.overheadWays.check()
}

func tierNames() []string {
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
	return nil, cli.Optional("--tier", "tier", name, tierNames())
}

func (c *overheadTableCmd) wants(m *overhead.Machine, probe string) bool {
	return (len(c.Machines) == 0 || slices.Contains(c.Machines, m.ID())) && (len(c.Probes) == 0 || probe == "" || slices.Contains(c.Probes, probe))
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
func (c *overheadTableCmd) nothing() error {
	return fmt.Errorf("no figure is of %s on %s; kpsim overhead prints all there are", strings.Join(c.Probes, " or "), strings.Join(c.Machines, " or "))
}

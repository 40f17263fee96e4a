package pages

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"kpsim/internal/eval/overhead"
	"kpsim/internal/search/parallel"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
)

// A pricedMachine is one whose events have costs: of the documents, in a tier, or a
// user's.
type pricedMachine struct {
	*overhead.UserProfile
	by      string            // the tier, or profile
	machine *overhead.Machine // nil: a user's
	model   *overhead.Model
	margin  *margin
}

// own is the user's profile, nil for a machine of the documents.
func (m *pricedMachine) own() *overhead.UserProfile {
	if m.machine != nil {
		return nil
	}
	return m.UserProfile
}

// priceMachines returns the documents' machines of these names, all if no name
// is given, or the one that a profile describes.
func priceMachines(names []string, tier overhead.Tier, profile cli.FileName) (list []pricedMachine, err error) {
	if profile != "" {
		u, err := readProfile(string(profile))
		if err != nil {
			return nil, err
		}
		return []pricedMachine{{UserProfile: u, by: "profile", margin: marginOf(u)}}, nil
	}
	o, err := overhead.Fit(overhead.Figures())
	if err != nil {
		return nil, err
	}
	relative, err := o.Margin(tier)
	if err != nil {
		return nil, err
	}
	for _, m := range o.Machines() {
		if len(names) > 0 && !slices.Contains(names, m.ID()) {
			continue
		}
		u, err := o.UserProfile(m, tier)
		if err != nil {
			return nil, err
		}
		list = append(list, pricedMachine{u, tier.String(), m, o, &margin{relative: relative, figures: len(o.Samples)}})
	}
	return list, nil
}

// probeMachines is priceMachines for what probes cost, which a profile must be of an architecture for.
func probeMachines(names []string, tier overhead.Tier, profile cli.FileName) ([]pricedMachine, error) {
	if profile != "" {
		if _, err := readProbes(string(profile)); err != nil {
			return nil, err
		}
	}
	return priceMachines(names, tier, profile)
}

// readProbes reads a user's profile of an architecture on which the documents measured probes: what the hit of
// another one's probe does isn't modelled.
func readProbes(name string) (*overhead.UserProfile, error) {
	u, err := readProfile(name)
	if err != nil {
		return nil, err
	}
	var known []string
	for i := range overhead.Machines {
		if a := overhead.Machines[i].Arch; !slices.Contains(known, a) {
			known = append(known, a)
		}
	}
	if !slices.Contains(known, u.Arch) {
		return nil, fmt.Errorf("--profile: %s is of %s, and hits have prices on %s alone; patches have them on %s, "+
			"too: kpsim overhead price SCENARIO --profile %s", name, u.Arch, cli.List(known), u.Arch, name)
	}
	return u, nil
}

// MachineIDs are those of the documents.
func MachineIDs() (ids []string) {
	for i := range overhead.Machines {
		ids = append(ids, overhead.Machines[i].ID())
	}
	return ids
}

// defaultMachine is the machine of the documents whose figures are youngest.
const defaultMachine = "xeon-e5410/x86_64"

// costs are the flags of a command that is of one machine.
type costs struct {
	Machine *string      `xor:"machine" placeholder:"ID" help:"Whose costs events have. Default: xeon-e5410/x86_64."`
	Tier    *string      `xor:"tier" placeholder:"TIER" help:"Which costs: calibrated or mechanistic. Default: calibrated."`
	Profile cli.FileName `xor:"machine,tier" placeholder:"FILE" help:"The costs of the machine that this file describes, instead; kpsim overhead calibrate writes such."`
}

// drawn are the flags of a command whose runs are drawn; draws is how many there
// are by default.
type drawn struct {
	Schedule string `default:"timed" placeholder:"HOW" help:"timed: CPUs go on as those of a machine do; what is drawn is when each begins. sticky: they stand still for long, as those of a virtual machine. Default: timed."`
	Runs     int    `range:"1..10000" default:"${draws}" placeholder:"N" help:"Runs of each. Default: ${draws}."`
	Seed     uint64 `range:"0..18446744073709551615" default:"1" placeholder:"N" help:"What they are drawn from. Default: 1."`
}

// check checks the flags that kong doesn't.
func (c *drawn) check() error {
	if err := cli.Known("way to draw schedules", c.Schedule, ScheduleNames()); err != nil {
		return fmt.Errorf("--schedule: %w", err)
	}
	return nil
}

func ScheduleNames() []string { return []string{overhead.Timed, overhead.Sticky} }

// loadProbes is load for what probes cost, which a profile must be of an architecture for.
func (c *costs) loadProbes() (*pricedMachine, error) {
	if c.Profile != "" {
		if _, err := readProbes(string(c.Profile)); err != nil {
			return nil, err
		}
	}
	return c.load()
}

func (c *costs) load() (*pricedMachine, error) {
	names, err := inputs.Once("machine", "machine", []string{value(c.Machine, defaultMachine)}, MachineIDs())
	if err != nil {
		return nil, err
	}
	tiers, err := tiersOf(value(c.Tier, overhead.Calibrated.String()))
	if err != nil {
		return nil, err
	}
	if len(tiers) != 1 {
		return nil, errors.New("--tier: the name is empty; give calibrated or mechanistic")
	}
	list, err := priceMachines(names, tiers[0], c.Profile)
	if err != nil {
		return nil, err
	}
	return &list[0], nil
}

// value is that of a flag, or its default.
func value[T any](flag *T, otherwise T) T {
	if flag == nil {
		return otherwise
	}
	return *flag
}

// costsOf says whose costs they are: of a tier, or a profile's.
func costsOf(by string) string {
	if by == "profile" {
		return "the profile"
	}
	return "the " + by + " costs"
}

// returnsOf returns how return probes of an edition keep track of calls, by the word that
// machine() has for it.
func returnsOf(edition string) string {
	e, _ := rules.ParseEdition(edition)
	for i := range era.Table {
		if r := &era.Table[i]; r.Word == "returns" {
			return r.Values[r.Preset(e, false)]
		}
	}
	return ""
}

// differing returns the editions whose return probes keep track of calls in different
// ways, the oldest of each.
func differing() (editions []string) {
	var seen []string
	for _, e := range rules.AllEditions() {
		if r := returnsOf(e.String()); !slices.Contains(seen, r) {
			seen, editions = append(seen, r), append(editions, e.String())
		}
	}
	return editions
}

// inParts calls f for 0 to n-1 in parallel.
func inParts(p *cli.Program, what string, n int, f func(i int) error) error {
	p.ExitAtInterrupt("nothing was printed")
	cli.ManySmall()
	var done atomic.Uint64
	line := p.Watch(what, uint64(n), "measurement")
	defer line.Clear()
	err := parallel.Each(n, func(i int) error {
		err := f(i)
		line.At(done.Add(1), "")
		return err
	})
	if err == nil {
		line.Complete()
	}
	return err
}

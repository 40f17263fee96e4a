package bench

import (
	"bufio"
	_ "embed"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/blame"
	"kpsim/internal/search/explore"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/kprobes/mutants"
	"kpsim/sched"
)

// Bench is kpsim bench.
type Bench struct {
	Search Search `cmd:""`
}

// Help implements kong.HelpProvider.
func (*Bench) Help() string {
	return `Measure how fast and how well this build searches.

Examples:

  kpsim bench search
  kpsim bench search --seeds 20 --mutants no-quiesce

Exit status: 0, 2 bad input, 3 a bug of the simulator, 130 interrupted.`
}

// Search is kpsim bench search.
type Search struct {
	Scenarios []string      `arg:"" optional:"" name:"file|name" help:"Scenarios with a race: files (NAME.star), or names of built-in ones. None: the mutants, and the harder bug."`
	Seeds     int           `range:"1..10000" default:"100" placeholder:"N" help:"Searches of each strategy for each bug, each with its own seed. Default: 100."`
	Most      uint64        `range:"1..1000000000" default:"20000" placeholder:"N" help:"Schedules of one search, at most. It is given no more than 20 times what the portfolio takes in the median, but at least 1000. Default: 20000."`
	Time      time.Duration `range:"0s..1h" default:"3s" placeholder:"D" help:"For how long each speed is measured; 0s leaves the speeds out. Default: 3s."`
	Mutants   []string      `placeholder:"NAME" help:"Only these mutants."`
	Seed      uint64        `range:"0..18446744073709551615" default:"1" placeholder:"N" help:"The first seed; the others follow it. Default: 1."`
	Workers   int           `range:"0..64" default:"0" placeholder:"N" help:"How many goroutines search; 0 is one a processor. What they find is the same."`
	JSON      bool          `name:"json" help:"Print one JSON object."`

	bugs []bug
	stop atomic.Bool
	line *cli.Progress
}

// Help implements kong.HelpProvider.
func (*Search) Help() string {
	return `Measure how fast the strategies are, and how soon they find each mutant and a harder bug.

Prints first how many whole schedules of safe-none each strategy runs per second. Then it prints how many schedules each strategy needs to the first violation, the median over the seeds and (from 6 seeds on) its 95 % interval, and how many searches found one within their schedules: for each mutant, and for a bug that needs three CPUs in one window of three instructions; or for the scenarios that are named. "portfolio/best" is the portfolio's median divided by that of the best other strategy, with its upper 95 % bound by the bootstrap (5 seeds or more). The medians are the same on every computer; the speeds are those of this computer now.

Examples:

  kpsim bench search
  kpsim bench search --seeds 20 --time 0s --mutants no-grace,cancel-rcu
  kpsim bench search --seed 1000 --mutants cancel-rcu
  kpsim bench search --seeds 40 --time 0s mine.star torn-jump
  kpsim bench search --json

Exit status: 0, 2 bad input, 3 a bug of the simulator, 130 interrupted.`
}

// hardBug is the scenario of the harder bug.
//
//go:embed three-in-a-window.star
var hardBug []byte

// A bug is what the strategies search for.
type bug struct {
	name     string // of the mutant, or of the scenario
	mutant   string // "": the scenario has the race itself
	scenario *scenario.Scenario
}

// A searched is the output of --json.
type searched struct {
	Machine string      `json:"machine"`
	Seeds   int         `json:"seeds"`
	Seed    uint64      `json:"seed"` // the first
	Speeds  []speedRow  `json:"speeds"`
	Bugs    []searchRow `json:"bugs"`
}

type speedRow struct {
	Strategy string    `json:"strategy"`
	Points   float64   `json:"points_per_schedule"`
	Rate     []float64 `json:"schedules_per_second"` // on 1 core, on 2, …
}

type searchRow struct {
	Bug      string         `json:"bug"` // a mutant, or a scenario
	Scenario string         `json:"scenario"`
	Most     uint64         `json:"most"`
	Medians  []medianCell   `json:"medians"` // by strategy, in their order
	Best     string         `json:"best"`    // the best strategy but the portfolio; "" if none finds it
	Ratio    *explore.Ratio `json:"portfolio_to_best"`
}

type medianCell struct {
	Strategy string         `json:"strategy"`
	Median   *uint64        `json:"median"`      // null: more than most
	Low      *uint64        `json:"low"`         // of its 95 % interval, by order statistics; null: there is none
	High     *uint64        `json:"high"`        // null: more than most, or there is none
	Runs     []uint64       `json:"runs"`        // of each search, the fewest first; most+1: it found nothing
	Found    int            `json:"found"`       // the number of searches that found it
	Share    *[2]float64    `json:"found_share"` // 95 % interval of their share (Wilson); null: seeds change nothing
	By       map[string]int `json:"by"`          // the properties that were broken first
}

func (c *Search) Run(p *cli.Program) (int, error) {
	if err := c.load(); err != nil {
		return 0, err
	}
	p.StopAtInterrupt(&c.stop)
	c.watch(p)
	defer c.line.Clear()
	r := searched{Machine: machineName(), Seeds: c.Seeds, Seed: c.Seed, Speeds: []speedRow{}, Bugs: []searchRow{}}
	if !c.JSON {
		fmt.Fprintln(p.Out, r.Machine)
	}
	if err := c.speeds(p, &r); err != nil {
		return 0, err
	}
	if !c.JSON && !c.stop.Load() {
		c.head(p)
	}
	for i := range c.bugs {
		if err := c.search(p, &r, &c.bugs[i]); err != nil {
			return 0, err
		}
	}
	if c.stop.Load() {
		c.line.Clear()
		fmt.Fprintf(p.Err, "kpsim: interrupted; %s of %d are printed, and whole\n", cli.Number(len(r.Bugs), "row"),
			len(c.bugs))
		return cli.Interrupted, nil
	}
	c.line.Complete()
	if c.JSON {
		return cli.OK, p.PrintJSON(r)
	}
	return cli.OK, nil
}

// watch begins the progress line: the speed of each strategy on one core and on two, and its finds for each bug.
func (c *Search) watch(p *cli.Program) {
	speeds := 0
	if c.Time > 0 {
		speeds = 2
	}
	c.line = p.WatchParts("measuring", (speeds+len(c.bugs))*len(searching()), "measurement")
}

// load lists the bugs that are asked for.
func (c *Search) load() error {
	for _, name := range c.Mutants {
		if err := cli.Known("mutant", name, mutants.Names()); err != nil {
			return fmt.Errorf("--mutants: %w", err)
		}
	}
	if len(c.Scenarios) > 0 {
		list, err := inputs.Load(c.Scenarios)
		if err != nil {
			return err
		}
		for _, j := range list {
			c.bugs = append(c.bugs, bug{j.Name, "", j.Scenario})
		}
	} else if len(c.Mutants) == 0 {
		hard, err := lang.Load("three-in-a-window.star", hardBug, nil)
		if err != nil {
			return err
		}
		c.bugs = append(c.bugs, bug{hard.Name, "", hard})
	}
	for i := range mutants.All {
		mu := &mutants.All[i]
		if everything := len(c.Mutants)+len(c.Scenarios) == 0; !everything && !slices.Contains(c.Mutants, mu.Name) {
			continue
		}
		sc, err := library.Load(mu.Scenario)
		if err != nil {
			return err
		}
		c.bugs = append(c.bugs, bug{mu.Name, mu.Name, sc})
	}
	return nil
}

// searching are the strategies that are compared, the portfolio first.
func searching() (names []string) {
	for _, s := range sched.All {
		if s.Name != "default" {
			names = append(names, s.Name)
		}
	}
	return names
}

// speeds measures whole schedules a second of safe-none.
func (c *Search) speeds(p *cli.Program, r *searched) error {
	if c.Time == 0 {
		return nil
	}
	sc, err := library.Load("safe-none")
	if err != nil {
		return err
	}
	if !c.JSON {
		fmt.Fprintf(p.Out, "\nWhole schedules of safe-none a second, all monitors and the digest on\n\n  %-12s %8s %10s %10s\n", "strategy", "points", "1 core", "2 cores")
	}
	for _, name := range searching() {
		row := speedRow{Strategy: name}
		for cores := range 2 {
			if c.stop.Load() {
				return nil
			}
			c.line.Part(fmt.Sprintf("%s on %s", name, cli.Number(cores+1, "core")), 1)
			s, err := explore.MeasureSpeed(sc, name, cores+1, c.Time, &c.stop)
			if err != nil {
				return err
			}
			if c.stop.Load() { // it ran for less than its time
				return nil
			}
			row.Points = float64(s.Points) / float64(max(s.Runs, 1))
			row.Rate = append(row.Rate, float64(s.Runs)/s.Took.Seconds())
		}
		r.Speeds = append(r.Speeds, row)
		if !c.JSON {
			fmt.Fprintf(p.Out, "  %-12s %8.1f %10.0f %10.0f\n", name, row.Points, row.Rate[0], row.Rate[1])
		}
	}
	return nil
}

const (
	bugWidth    = 22
	medianWidth = 10
)

func (c *Search) head(p *cli.Program) {
	fmt.Fprintf(p.Out, "\nSchedules to the first violation, median of %s\n\n", cli.Number(c.Seeds, "seed"))
	line := fmt.Sprintf("  %-*s", bugWidth, "bug")
	for _, name := range searching() {
		line += fmt.Sprintf(" %*s", medianWidth, name)
	}
	if line += "  portfolio/best, its upper 95 % bound"; !c.narrow(p) {
		fmt.Fprintln(p.Out, line)
	}
}

// narrow reports whether the table is too wide for the terminal. Then each bug has lines of its own.
func (c *Search) narrow(p *cli.Program) bool {
	return p.Width > 0 && p.Width < 4+bugWidth+len(searching())*(medianWidth+1)+len("  portfolio/best, its "+
		"upper 95 % bound")
}

// The most that a search gets, once the portfolio's result is known.
const (
	mostTimes = 20
	mostLeast = 1000
)

// search makes one row.
func (c *Search) search(p *cli.Program, r *searched, b *bug) error {
	row := searchRow{Bug: b.name, Scenario: b.scenario.Name, Most: c.Most}
	line, cells := fmt.Sprintf("  %-*s", bugWidth, b.name), []string{}
	ends := fmt.Sprintf("  %-*s", bugWidth, "  95 %")
	finds := fmt.Sprintf("  %-*s", bugWidth, "  found")
	var portfolio, best *explore.Standings
	for _, name := range searching() {
		c.line.Part(b.name+", "+name, 1)
		race := explore.Tournament{
			Progress: func(runs, violations uint64) { // a search ends at its first violation
				c.line.Of(violations, uint64(c.Seeds), runs, violations)
			},
			Scenario: b.scenario, Mutant: b.mutant, Seeds: c.Seeds, Seed: c.Seed, Most: row.Most, Workers: c.Workers,
			Cancelled: &c.stop,
			New: func(q sched.Params) sched.Strategy {
				s, _ := sched.New(name, q) // it is a known strategy
				return s
			},
		}
		lap, err := race.Run()
		if err != nil {
			return err
		}
		if c.stop.Load() {
			return nil
		}
		found := 0
		for _, n := range lap.By {
			found += n
		}
		median := lap.Median()
		one, cell := medianCell{Strategy: name, Median: &median, Runs: lap.Runs, Found: found, By: lap.By},
			fmt.Sprint(median)
		if median > row.Most {
			one.Median, cell = nil, fmt.Sprintf("> %d", row.Most)
		}
		line += fmt.Sprintf(" %*s", medianWidth, cell)
		if interval := one.bound(lap, row.Most); interval != "" {
			ends += fmt.Sprintf(" %*s", medianWidth, interval)
			cell += " (" + interval + ")"
		}
		if !sched.Seedless(name) {
			low, high := blame.Wilson(found, c.Seeds)
			one.Share = &[2]float64{low, high}
		}
		finds += fmt.Sprintf(" %*s", medianWidth, fmt.Sprintf("%d/%d", found, c.Seeds))
		row.Medians = append(row.Medians, one)
		cells = append(cells, fmt.Sprintf("%s %s, found %d/%d", name, cell, found, c.Seeds))
		if portfolio == nil {
			portfolio = lap
			row.Most = min(c.Most, max(mostTimes*lap.Median(), mostLeast))
		} else if lap.Median() <= row.Most && (best == nil || lap.Median() < best.Median()) {
			best, row.Best = lap, name
		}
	}
	if best != nil {
		ratio := explore.Compare(portfolio, best)
		row.Ratio = &ratio
		high := "-"
		if ratio.Bounded() {
			high = fmt.Sprintf("%.2f", ratio.High)
		}
		line += fmt.Sprintf("  %.2f, %s", ratio.Times, high)
		cells = append(cells, fmt.Sprintf("portfolio/best %.2f, its upper 95 %% bound %s", ratio.Times, high))
	}
	r.Bugs = append(r.Bugs, row)
	switch {
	case c.JSON:
	case c.narrow(p):
		p.Indented("  ", b.name+": "+cli.List(cells))
	case c.Seeds < explore.MedianSeeds:
		fmt.Fprintln(p.Out, line)
	default:
		fmt.Fprintf(p.Out, "%s\n%s\n%s  within %s\n", line, ends, finds, cli.Number(row.Most, "schedule"))
	}
	if best == nil && portfolio.Median() > row.Most && b.mutant == "" {
		c.line.Clear()
		fmt.Fprintf(p.Err, "kpsim: %s: half of the searches or more found nothing, by any strategy: %s\n", b.name,
			b.advice())
	}
	return nil
}

// advice says what to do where a scenario's race is found by no strategy.
func (b *bug) advice() string {
	if b.scenario.Expect.Sometimes {
		return "give them more schedules (--most)"
	}
	return "it expects none; name one with a race, or give a mutant"
}

// bound sets the interval of the median, and prints it; "" if the searches are too few for one.
func (m *medianCell) bound(lap *explore.Standings, most uint64) string {
	f := lap.First("", most)
	switch {
	case f.Seeds < explore.MedianSeeds:
		return ""
	case sched.Seedless(m.Strategy): // the searches are one search
		return "any seed"
	}
	_, low, high := f.Median()
	switch {
	case low == 0:
		return fmt.Sprintf("> %d", most)
	case high == 0:
		m.Low = &low
		return fmt.Sprintf("≥ %d", low)
	}
	m.Low, m.High = &low, &high
	return fmt.Sprintf("%d-%d", low, high)
}

// machineName names the computer of the figures.
func machineName() string {
	return fmt.Sprintf("%s, %d of its processors, %s, %s/%s", processor(), runtime.GOMAXPROCS(0), runtime.Version(),
		runtime.GOOS, runtime.GOARCH)
}

// processor returns the processor's name, if the system tells it.
func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "a processor that isn't named"
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if key, value, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "a processor that isn't named"
}

package findings

import (
	"fmt"
	"math/bits"
	"strconv"

	"github.com/alecthomas/kong"

	"kpsim/internal/search/explore"
	"kpsim/internal/ui/cli"
)

// A selfCheck is how many runs are repeated: 0 none, selfCheckEach some of each scenario.
type selfCheck uint64

const (
	selfCheckEach selfCheck = 1<<64 - 1
	selfChecked             = 200 // of each scenario
	selfCheckMost           = 1_000_000_000_000
)

// IsBool implements kong.BoolMapperValue: the flag needs no value.
func (*selfCheck) IsBool() bool { return true }

// Decode implements kong.BoolMapperValue.
func (n *selfCheck) Decode(ctx *kong.DecodeContext) error {
	*n = selfCheckEach
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		return nil
	}
	v := fmt.Sprint(ctx.Scan.Pop().Value)
	k, err := strconv.ParseUint(v, 10, 64)
	if err != nil || k == 0 || k > selfCheckMost {
		return fmt.Errorf("expected how many runs to play again, 1 to %d, but got %q", selfCheckMost, v)
	}
	*n = selfCheck(k)
	return nil
}

// flag returns the flag as given on the command line.
func (n selfCheck) flag() string {
	if n == selfCheckEach {
		return "--self-check"
	}
	return fmt.Sprintf("--self-check=%d", uint64(n))
}

// of returns how many runs of a scenario are repeated, out of all that are explored.
func (n selfCheck) of(runs, all uint64) uint64 {
	if n == selfCheckEach {
		return min(runs, selfChecked)
	}
	hi, lo := bits.Mul64(uint64(n), runs)
	q, r := bits.Div64(hi, lo, all) // runs is at most all, so q is at most n
	if r > 0 {
		q++
	}
	return q
}

// allRuns returns how many runs are explored in all scenarios.
func allRuns(jobs []*job) (all uint64) {
	for _, j := range jobs {
		all += j.runs
	}
	return all
}

// watch begins the progress line, which counts all runs, including those of --self-check.
func (c *Explore) watch(p *cli.Program, jobs []*job) {
	total, all := uint64(0), allRuns(jobs)
	for _, j := range jobs {
		spec := c.spec(j)
		if total += spec.Own(); c.SelfCheck != 0 {
			total += c.SelfCheck.of(j.runs, all)
		}
	}
	c.progress = p.Watch("exploring", total, "run")
}

// checkSelf repeats runs, if the user asked for it.
func (c *Explore) checkSelf(p *cli.Program, jobs []*job) error {
	if c.SelfCheck == 0 {
		return nil
	}
	all := allRuns(jobs)
	for i, j := range jobs {
		n := c.SelfCheck.of(j.runs, all)
		c.doing(p, j, c.Mutant)
		c.progress.Part(fmt.Sprintf("self-check %d/%d %s", i+1, len(jobs), j.Name), n)
		spec := c.spec(j)
		spec.Runs, spec.Progress = n, c.progress.Update
		checked, err := explore.SelfCheck(spec)
		if err != nil && !c.stop.Load() {
			return j.FileFirst(err)
		}
		j.checked = checked
	}
	return nil
}

package findings

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/cause"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/properties"
	"kpsim/traces"
)

// A trace stays on disk when its scenario is fixed, because it may still be wanted: it may be
// committed, or be used for comparison. It therefore records the program in which it was
// found. If that isn't today's, explore and the commands that show a trace say so.

// An existingTrace is an existing trace at a path where a search would have written a trace, if it had
// broken the trace's property. It may also be at a path of explore when verify runs, or the
// reverse, if it belongs to another version of the scenario.
type existingTrace struct {
	Trace string `json:"trace"`
	Says  string `json:"says"`
	next  string // the next command to type
}

// existingTraces looks for traces of a scenario that a search hasn't written; written lists those that
// it has. own is the name of the command's own traces. other is the name used by the other of
// explore and verify, whose traces are reported only if they belong to another version of the
// scenario.
func (c *Explore) existingTraces(j *job, own, other string, written []string) (list []existingTrace) {
	if c.shares > 1 || c.stop.Load() {
		return nil
	}
	for _, name := range []string{own, other} {
		mine := []string{name}
		for _, q := range properties.All {
			mine = append(mine, name+"-"+q.Name)
		}
		for _, n := range slices.Clone(mine) {
			for i := 2; name == own && i < 2+cause.FurtherMost; i++ {
				mine = append(mine, fmt.Sprintf("%s-%d", n, i))
			}
		}
		for _, n := range mine {
			path := filepath.Join(c.Traces, n+".kps")
			if slices.Contains(written, path) {
				continue
			}
			file := traceOf(path, j.Name)
			if file == nil || name == other &&
				slices.Contains([]string{"", j.Source}, file.Remark(inputs.OriginSource)) {
				continue
			}
			list = append(list, c.describeExisting(j, path, file))
		}
	}
	return list
}

// traceOf reads a trace; nil if there is none, or none of this scenario.
func traceOf(path, scenario string) *traces.File {
	if !inputs.IsFile(path) {
		return nil
	}
	data, err := cli.ReadFile(path, cli.MostTrace)
	if err != nil {
		return nil
	}
	file, err := traces.Parse(path, data)
	if err != nil {
		return nil // replay says what is wrong with it
	}
	if s, err := lang.ParseFrom(path, []byte(file.Scenario), file.ScenarioLine); err != nil || s.Name != scenario {
		return nil
	}
	return file
}

// existingTrace describes the origin of an existing trace, as far as it is known.
func (c *Explore) describeExisting(j *job, path string, file *traces.File) existingTrace {
	line := c.Kernel.Line("replay", path)
	if s, err := lang.ParseFrom(path, []byte(file.Scenario), file.ScenarioLine); err == nil && !s.Machine.Guest() {
		line = cli.Line(cli.Typed(), "replay", path) // of kpsim's own engine, whatever this search is of
	}
	o := existingTrace{Trace: path, next: "to look at it:  " + line}
	switch source := file.Remark(inputs.OriginSource); {
	case source == "":
		o.Says = "isn't one of these runs, but of an earlier exploration: it breaks " + file.Property
	case source != j.Source:
		o.Says = fmt.Sprintf("is of an earlier version of %s, and says nothing of this one", j.Arg)
		o.next = "if nobody wants it any more:  " + cli.Line("rm", path)
	default:
		o.Says = fmt.Sprintf("is of another search, and was left as it is: %sit breaks %s", c.differences(j, file),
			file.Property)
	}
	return o
}

// differences lists how the run of a trace differs from this exploration's: found with seed 7, …
func (c *Explore) differences(j *job, file *traces.File) string {
	var list []string
	switch m := file.Remark(traces.OriginMutant); {
	case m == c.Mutant:
	case m == "":
		list = append(list, "no mutant")
	default:
		list = append(list, "mutant "+m)
	}
	if f := file.Remark(traces.OriginFetch); f != c.Fetch && f != "" {
		list = append(list, "fetch "+f)
	}
	if words := strings.Fields(strings.ReplaceAll(file.Remark("strategy"), ",", " ")); len(words) > 0 &&
		words[0] != c.Strategy && slices.Contains(inputs.StrategyNames(), words[0]) {
		list = append(list, "strategy "+words[0])
	}
	if s := file.Remark("seed"); s != "" && s != fmt.Sprint(c.Seed) {
		list = append(list, "seed "+s)
	} else if n, err := strconv.ParseUint(file.Remark("run"), 10, 64); err == nil && n >= j.runs {
		list = append(list, fmt.Sprintf("%d runs or more", n+1))
	}
	if list == nil {
		return ""
	}
	return "found with " + strings.Join(list, ", ") + ", "
}

// reportExisting reports such traces. The report depends on which files exist, so it isn't for
// standard output.
func reportExisting(p *cli.Program, list []existingTrace) {
	for _, o := range list {
		fmt.Fprintf(p.Err, "kpsim: %s %s; %s\n", o.Trace, o.Says, o.next)
	}
}

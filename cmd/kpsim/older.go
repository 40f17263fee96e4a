package main

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"kpsim/internal/cli"
	"kpsim/internal/scenario"
	"kpsim/properties"
	"kpsim/traces"
)

// A trace stays when its scenario is cured, for it may be wanted: somebody has committed it,
// or compares. So it says which program it was found in, and whoever explores, or looks at
// the trace, is told if that isn't today's.

// The lines of a trace's origin that say which program the scenario was, before it was
// shrunk: the name of its file, which a built-in one doesn't have, and a checksum.
const (
	originFile   = "scenario file"
	originSource = "scenario checksum"
)

// checksum is that of a scenario's program and of the object files that it opens, in order.
type checksum []byte

// see adds a file. Who has checked it out with other line ends has the same.
func (c *checksum) see(data []byte) {
	h := fnv.New128a()
	h.Write(*c)
	h.Write(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")))
	*c = h.Sum(nil)
}

func (c *checksum) opening(open func(string) ([]byte, error)) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		data, err := open(name)
		if err == nil {
			c.see(data)
		}
		return data, err
	}
}

func (c checksum) String() string { return fmt.Sprintf("%x", []byte(c)) }

// foundIn notes in a trace which program it was found in.
func (j *job) foundIn(file *traces.File) {
	if j.source == "" {
		return
	}
	if !slices.Contains(scenario.BuiltinNames(), j.arg) {
		file.Origin = append(file.Origin, traces.Remark{Key: originFile, Value: filepath.Base(j.arg)})
	}
	file.Origin = append(file.Origin, traces.Remark{Key: originSource, Value: j.source})
}

// An older is a trace that lies where explore would have written one, had it found what that
// breaks.
type older struct {
	Trace string `json:"trace"`
	Says  string `json:"says"`
	next  string // the line to type
}

// olders looks for the traces of a scenario that an exploration hasn't written: written are
// those that it has.
func (c *exploreCmd) olders(j *job, written []string) (list []older) {
	if c.shares > 1 || c.stop.Load() {
		return nil
	}
	name := traceName(j.Name)
	mine := []string{name}
	for _, q := range properties.All {
		mine = append(mine, name+"-"+q.Name)
	}
	for _, n := range mine {
		path := filepath.Join(c.Traces, n+".kps")
		if slices.Contains(written, path) || !isFile(path) {
			continue
		}
		data, err := cli.ReadFile(path, cli.MostTrace)
		if err != nil {
			continue
		}
		file, err := traces.Parse(path, data)
		if err != nil {
			continue // replay says what it lacks
		}
		if s, err := scenario.Parse(path, []byte(file.Scenario)); err == nil && s.Name == j.Name {
			list = append(list, c.older(j, path, file))
		}
	}
	return list
}

// older says how a trace that is there came about, as far as that is known.
func (c *exploreCmd) older(j *job, path string, file *traces.File) older {
	o := older{Trace: path, next: "to look at it:  " + cli.Line(cli.Typed(), "replay", path)}
	switch source := file.Remark(originSource); {
	case source == "":
		o.Says = "isn't one of these runs, but of an earlier exploration: it breaks " + file.Property
	case source != j.source:
		o.Says = fmt.Sprintf("is of an earlier version of %s, and says nothing of this one", j.arg)
		o.next = "if nobody wants it any more:  " + cli.Line("rm", path)
	default:
		o.Says = fmt.Sprintf("isn't one of these runs: %sit breaks %s", c.otherwise(j, file), file.Property)
	}
	return o
}

// otherwise says what of how a trace was found isn't so in this exploration: found with
// seed 7, …
func (c *exploreCmd) otherwise(j *job, file *traces.File) string {
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

// tellOlder tells of such a trace. It depends on what lies about, and so isn't for standard
// output.
func tellOlder(p *cli.Program, list []older) {
	for _, o := range list {
		fmt.Fprintf(p.Err, "kpsim: %s %s; %s\n", o.Trace, o.Says, o.next)
	}
}

// edited returns the name of a trace's scenario if that is built in and another program by
// now, "" if it is the same or isn't known. Of one that was in a file explore says so: a trace
// opens nothing but itself.
func edited(path string, file *traces.File) string {
	source := file.Remark(originSource)
	if source == "" || file.Remark(originFile) != "" {
		return ""
	}
	s, err := scenario.Parse(path, []byte(file.Scenario))
	if err != nil || !slices.Contains(scenario.BuiltinNames(), s.Name) {
		return ""
	}
	if _, now, err := loadSource(byHand, s.Name); err != nil || now == source {
		return ""
	}
	return s.Name
}

// tellEdited says, behind what was printed of a trace, that its scenario is another one now.
func tellEdited(p *cli.Program, path string, file *traces.File) {
	if name := edited(path, file); name != "" {
		fmt.Fprintf(p.Err, "kpsim: %s shows an earlier version of %s than is there now; to explore the one of now:  %s\n", path, name, cli.Line(cli.Typed(), "explore", name))
	}
}

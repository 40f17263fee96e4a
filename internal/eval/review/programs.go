package review

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/gen"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/change"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
)

// A program is a kpsim built from a checkout, with that checkout's engine in Go.
type program struct {
	file string
	flag string // the flag that named it
	is   string // its version and commit, as it reports them
}

// A ran is the result of a program's exploration of a scenario.
type ran struct {
	runs   uint64
	broken map[string]uint64 // number of runs that broke each property
	traces map[string]string
	shows  map[string]bool // kinds of event, and fates of probes
}

// runPrograms compares two programs. After ^C, a program's failure isn't reported as its fault.
func (c *Review) runPrograms(p *cli.Program) (int, error) {
	status, err := c.programs(p)
	if err != nil && c.stop.Load() {
		c.line.Clear()
		return c.interrupted(p, nil)
	}
	return status, err
}

// programs compares two programs by their --json output.
func (c *Review) programs(p *cli.Program) (int, error) {
	if c.Kernel.Kernel != "" || c.Before != "" || len(c.Objects) > 0 {
		return 0, errors.New("--before-program: two programs are compared by their own engines; leave it or " +
			"the kernels out")
	}
	if c.For > 0 {
		return 0, errors.New("--for: with two programs the report comes when all has run; give fewer --runs, or " +
			"name scenarios")
	}
	self := c.Program
	if self == "" {
		exe, err := os.Executable()
		if err != nil {
			return 0, fmt.Errorf("--program: %w; give the file", err)
		}
		self = cli.FileName(exe)
	}
	p.StopAtInterrupt(&c.stop)
	after, before := program{file: string(self), flag: "--program"},
		program{file: string(c.BeforeProgram), flag: "--before-program"}
	r := &found{c: c, code: new(change.Code), ofPrograms: true}
	for i, q := range []*program{&before, &after} {
		if err := q.known(c); err != nil {
			return 0, err
		}
		r.sides[i] = filepath.Base(q.file) + ", " + q.is
	}
	names, err := c.common(r, &before, &after)
	if err != nil {
		return 0, err
	}
	if err := cli.MakeFolder(c.Traces); err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "kpsim-review-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	drawn, err := c.write(dir)
	if err != nil {
		return 0, err
	}
	r.odds.Comparisons = uint64(len(names) + len(drawn))
	c.line = p.WatchParts("review", sides*(len(names)+len(drawn))+sides, "step")
	err = c.beside(p, r, &before, &after, names, drawn, dir)
	if c.stop.Load() {
		c.line.Clear()
		return c.interrupted(p, nil)
	}
	if err == nil {
		c.line.Complete()
	}
	c.line.Clear()
	if err != nil {
		return 0, err
	}
	return r.end(p)
}

// known asks a program for its version.
func (q *program) known(c *Review) error {
	const give = "give a kpsim that was built in the other checkout: go build -o kpsim-before ./cmd/kpsim"
	if info, err := os.Stat(q.file); err != nil {
		return fmt.Errorf("%s: %s; %s", q.flag, cli.Cause(err, q.file), give)
	} else if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return fmt.Errorf("%s: %s is no program; %s", q.flag, q.file, give)
	}
	file, err := filepath.Abs(q.file)
	if err != nil {
		return fmt.Errorf("%s: %w", q.flag, err)
	}
	q.file = file
	var is struct {
		Version, Commit string
		Format          *int `json:"schedule_format"`
	}
	if err := q.lines(c, nil, func(line []byte) error { return json.Unmarshal(line, &is) }, "version",
		"--json"); err != nil || is.Format == nil {
		return fmt.Errorf("%s: %s isn't a kpsim that says its version; %s", q.flag, q.file, give)
	}
	if q.is = strings.TrimSpace(is.Version + " " + is.Commit); q.is == "" {
		q.is = "of no known commit"
	}
	return nil
}

const (
	lineMost  = 64 << 20        // bytes of a line printed by a program
	firstWait = 5 * time.Second // time for a program to stop after it was told to
)

// lines runs a program and passes each line of its output to take. Exit statuses 0 and 1 are
// successes.
func (q *program) lines(c *Review, env []string, take func(line []byte) error, args ...string) error {
	ctx, end := cli.Until(&c.stop)
	defer end()
	cmd := exec.CommandContext(ctx, q.file, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = firstWait
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s := bufio.NewScanner(out)
	s.Buffer(nil, lineMost)
	var wrong error
	for s.Scan() {
		if wrong == nil {
			wrong = take(s.Bytes())
		}
	}
	err = cmd.Wait()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		switch {
		case exit.ExitCode() == cli.Against:
			err = nil
		// from a terminal, which interrupts this process too
		case exit.ExitCode() == cli.Interrupted, exit.String() == "signal: interrupt":
			c.stop.Store(true)
		}
	}
	if err != nil {
		first, _, _ := strings.Cut(errs.String(), "\n")
		return fmt.Errorf("%s: %s %s: %w: %s", q.flag, filepath.Base(q.file), args[0], err,
			strings.TrimPrefix(first, "kpsim: "))
	}
	return errors.Join(wrong, s.Err())
}

// common returns the scenarios to run: the named ones, or those that both programs have.
func (c *Review) common(r *found, before, after *program) (names []string, err error) {
	if len(c.Scenarios) > 0 {
		return c.Scenarios, nil
	}
	var lists [sides][]string
	for i, q := range []*program{before, after} {
		var all struct{ Scenarios []struct{ Name string } }
		if err := q.lines(c, nil, func(line []byte) error { return json.Unmarshal(line, &all) }, "list",
			"--json"); err != nil {
			return nil, err
		}
		for _, s := range all.Scenarios {
			lists[i] = append(lists[i], s.Name)
		}
	}
	for i, list := range lists {
		for _, name := range list {
			switch {
			case !slices.Contains(lists[1-i], name):
				r.left = append(r.left, left{name, "only " + [...]string{"the one before", "the changed one"}[i] +
					" has it"})
			case i == 0:
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return nil, errors.New("the two programs have no scenario in common; name files")
	}
	return names, nil
}

// write writes drawn and kept programs as scenarios.
func (c *Review) write(dir string) (files []string, err error) {
	list, err := c.kept(gen.On{})
	if err != nil {
		return nil, err
	}
	if len(c.Scenarios) == 0 {
		for i := range c.Programs {
			sc, _ := gen.Of(&gen.Recipe{Seed: gen.First(c.Seed) + uint64(i)}, gen.On{Few: true})
			sc.Name = fmt.Sprintf("drawn-%d", gen.First(c.Seed)+uint64(i))
			list = append(list, sc)
		}
	}
	for i, sc := range list {
		one := *sc
		one.Expect = scenario.Expect{}
		path := filepath.Join(dir, fmt.Sprintf("%d-%s.star", i, inputs.TraceName(sc.Name)))
		if err := os.WriteFile(path, []byte(lang.Print(&one)+"\n"), 0o600); err != nil {
			return nil, err
		}
		files = append(files, path)
	}
	return files, nil
}

// explored makes a program search scenarios. Each line is the result for a property.
func (q *program) explored(c *Review, env []string, runs uint64, traces string, names []string) (map[string]*ran,
	error) {
	all := make(map[string]*ran)
	args := []string{"explore", "--json", "--runs", fmt.Sprint(runs), "--seed", fmt.Sprint(c.Seed), "--traces", traces,
		"--workers", fmt.Sprint(max(c.Workers, 0))}
	if c.Workers == 0 {
		args = args[:len(args)-2]
	}
	err := q.lines(c, env, func(line []byte) error {
		var row struct {
			Scenario, Property string
			Runs, Violations   uint64
			Trace              *string
			Each               []struct {
				Name                                string
				Registered, Refused, Hit, Optimized bool
			} `json:"each_probe"`
			Statistics struct{ Events []string }
		}
		if err := json.Unmarshal(line, &row); err != nil || row.Scenario == "" {
			return err
		}
		a := all[row.Scenario]
		if a == nil {
			a = &ran{runs: row.Runs, broken: make(map[string]uint64), traces: make(map[string]string),
				shows: make(map[string]bool)}
			all[row.Scenario] = a
			if env != nil { // otherwise it is shown again
				c.line.Part(row.Scenario, 1)
			}
		}
		if row.Violations > 0 {
			a.broken[row.Property] = row.Violations
			if row.Trace != nil {
				a.traces[row.Property] = *row.Trace
			}
		}
		for _, e := range row.Statistics.Events {
			a.shows["an event "+e] = true
		}
		for _, e := range row.Each {
			for what, is := range map[string]bool{"is registered": e.Registered, "is refused": e.Refused,
				"is hit": e.Hit, "is optimized": e.Optimized} {
				if is {
					a.shows[e.Name+" "+what] = true
				}
			}
		}
		return nil
	}, append(args, names...)...)
	return all, err
}

// beside makes both programs' runs.
func (c *Review) beside(p *cli.Program, r *found, before, after *program, names, drawn []string, dir string) error {
	var shown [sides]map[string]*ran
	env := []string{"GOCOVERDIR=" + filepath.Join(dir, "covered")}
	if err := os.Mkdir(filepath.Join(dir, "covered"), 0o700); err != nil {
		return err
	}
	for i, q := range []*program{before, after} {
		to := c.Traces
		if i == 0 {
			to = filepath.Join(c.Traces, "before")
		}
		p.Doing = q.file
		shown[i] = make(map[string]*ran)
		for _, some := range []struct {
			names []string
			runs  uint64
		}{{names, c.Runs}, {drawn, max(c.Runs/drawnShare, 1)}} {
			if len(some.names) == 0 {
				continue
			}
			all, err := q.explored(c, env, some.runs, to, some.names)
			if err != nil {
				return err
			}
			maps.Copy(shown[i], all)
		}
	}
	if len(shown[1]) == 0 {
		return errors.New("nothing was run")
	}
	files := make(map[string]string) // drawn programs
	for _, f := range drawn {
		sc, err := inputs.One(inputs.ByHand, f)
		if err == nil {
			files[sc.Name] = f
		}
	}
	for _, name := range slices.Sorted(maps.Keys(shown[1])) {
		was, now := shown[0][name], shown[1][name]
		if was == nil {
			r.dies = append(r.dies, left{name, "the program before said nothing of it"})
			continue
		}
		r.rows = append(r.rows, row{name: name, before: change.Run{Runs: was.runs, Violations: sum(was.broken)},
			after: change.Run{Runs: now.runs, Violations: sum(now.broken)}})
		r.runsAfter += now.runs
		what := name
		if f := files[name]; f != "" {
			what = f
		}
		for _, s := range c.Scenarios { // a file that was named
			if sc, err := inputs.One(inputs.ByHand, s); err == nil && sc.Name == name {
				what = s
			}
		}
		if err := c.differ(r, after, before, name, what, was, now, false); err != nil {
			return err
		}
		if err := c.differ(r, before, after, name, what, now, was, true); err != nil {
			return err
		}
	}
	if err := c.priced(r, before, after); err != nil {
		return err
	}
	return r.coveredBy(c, filepath.Join(dir, "covered"))
}

// rareTimes is the factor by which the other program gets more runs, if few runs of one break
// something.
const rareTimes = 64

// differ compares the results now of one program with the results was of the other. The other
// runs more if the difference is small enough for chance. lost means that one is the program
// before the change.
func (c *Review) differ(r *found, one, other *program, name, what string, was, now *ran, lost bool) error {
	longer := map[uint64]*ran{1: was}
	more := func(times uint64) (*ran, error) {
		if longer[times] == nil {
			c.line.Aside(name)
			all, err := other.explored(c, nil, now.runs*times, filepath.Join(c.Traces, "again"), []string{what})
			if err != nil {
				return nil, err
			}
			if longer[times] = all[name]; longer[times] == nil {
				return nil, fmt.Errorf("%s: nothing was said of %s", other.flag, name)
			}
		}
		return longer[times], nil
	}
	for _, property := range slices.Sorted(maps.Keys(now.broken)) {
		v := difference{scenario: name, Break: change.Break{Property: property, Runs: now.runs,
			Violations: now.broken[property]}}
		for _, times := range []uint64{1, change.BaseTimes, rareTimes} {
			base, err := more(times)
			if err != nil {
				return err
			}
			if v.BaseRuns, v.Base = base.runs, base.broken[property]; r.odds.Worse(&v.Break) || !v.Open() {
				break
			}
		}
		if v.trace = now.traces[property]; v.trace != "" {
			v.says, v.sentences = one.explains(c, v.trace)
			v.replay = cli.Line(one.file, "replay", v.trace)
		}
		switch worse := r.odds.Worse(&v.Break); {
		case worse && lost:
			r.lost = append(r.lost, v)
		case worse:
			r.gained = append(r.gained, v)
		case lost:
		case v.Open():
			r.unsure = append(r.unsure, v)
		default:
			r.both = append(r.both, v)
		}
	}
	for _, says := range slices.Sorted(maps.Keys(now.shows)) {
		if was.shows[says] {
			continue
		}
		base, err := more(change.BaseTimes)
		if err != nil {
			return err
		}
		if !base.shows[says] {
			r.behaviours = append(r.behaviours,
				behaviour{name, lost, change.End{Says: says, Of: now.runs, None: base.runs}})
		}
	}
	return nil
}

// explains asks a program to explain one of its traces.
func (q *program) explains(c *Review, trace string) (says string, sentences []string) {
	var e struct {
		Property, Place, Message string
		Story                    []struct{ Text string }
	}
	if err := q.lines(c, nil, func(line []byte) error { return json.Unmarshal(line, &e) }, "explain", "--json",
		"--runs", "1", trace); err != nil {
		return err.Error(), nil
	}
	if says = e.Property; e.Place != "" {
		says += " at " + e.Place
	}
	for _, s := range e.Story {
		sentences = append(sentences, s.Text)
	}
	return says + ": " + e.Message, sentences
}

package findings

import (
	"errors"
	"fmt"
	"path/filepath"

	"kpsim/internal/search/explore"
	"kpsim/internal/search/proof"
	"kpsim/internal/search/shrink"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/cli/inputs/kernels"
)

// Verify is kpsim verify.
type Verify struct {
	Scenarios  []string `arg:"" name:"file|name" help:"Scenario files (NAME.star), or names of built-in scenarios, such as safe-none."`
	Deviations *int     `range:"0..99" placeholder:"K" help:"Run every schedule of at most K deviations from the default run. Default: ${bound}."`
	Full       bool     `help:"Run every schedule there is. Of schedules that reach the same state only one goes on from there."`
	Counted    bool     `help:"With --full by states: also count all schedules, with no two merged. Takes two to three times the runs."`
	By         string   `enum:"states,classes" default:"states" placeholder:"WHAT" help:"When two schedules count as one. states: they reach the same state. classes: they differ only in the order of steps that commute."`
	All        bool     `help:"Go on after a violation."`
	Runs       uint64   `range:"0..1000000000000" placeholder:"N" help:"Stop after N schedules; the result is then not complete. Default: no limit."`
	Megabytes  int      `json:"Memory" default:"2048" range:"1..1048576" placeholder:"MB" help:"Stop when the recorded states take this many megabytes, as the program counts them; the result is then not complete. Default: 2048."`
	Workers    int      `range:"0..64" placeholder:"N" help:"With --full, or with --by classes, but not both: how many schedules are run at once. Default: one a processor. Changes no result."`
	Fetch      string   `placeholder:"MODEL" help:"What a CPU fetches of text that changes: ${fetches}. Instead of the scenario's; nothing is expected then."`
	Memory     string   `json:"MemoryModel,omitempty" placeholder:"MODEL" help:"In what order CPUs see each other's accesses to data: ${memories}. Instead of the scenario's; nothing is expected then."`
	Edition    string   `placeholder:"NAME" help:"Run the scenarios in an edition of the kernel's document: ${editions}, documented. Instead of all that they say of the engine; nothing is expected then."`
	kernels.Kernel
	inputs.Broken
	inputs.GoOn
	Traces string `default:"traces" placeholder:"DIR" help:"The folder for witnesses, NAME-verify.kps. Those of explore, NAME.kps, stay."`
	Claim  bool   `help:"Below each certificate, print a sentence for a commit message: machine, tasks, interrupts, models. --json has it always."`
	Races  bool   `help:"With --full --by classes: print which places had the most races."`
	cli.Form

	// Write, if not nil, receives the traces instead of the file system.
	Write func(path string, data []byte) error `kong:"-" json:"-"`

	base Explore // base runs schedules with the same checks and preparations.
}

// Help implements kong.HelpProvider.
func (*Verify) Help() string {
	return `Run every schedule of a kind: what holds then is proved.

explore draws schedules; verify runs all of them. If no schedule breaks a property, it prints a certificate: "Never, complete for ≤ K deviations under fetch model M", or with --full "Never, complete under fetch model M". Without --full a schedule with more than K deviations may still break something. docs/proofs.md explains each number of the line.

A deviation is a choice that the default run doesn't make: another CPU moves, an interrupt comes, a fetch sees older bytes. Deviations are tried after each step that another CPU may observe; between two such steps the place makes no difference. A schedule is pruned when it reaches a state that an earlier one reached with the same default mover and at least as many deviations left. Schedules with fewer deviations come first, so a witness has the fewest that suffice. It is written to traces/NAME-verify.kps; explore's traces stay.

--full allows any number of deviations. A schedule ends where it reaches a state (of machine, kernel, engine and monitors) that another one has reached: what can follow was run, or will be. CPUs are switched only after a step that conflicts with a step of another CPU; elsewhere the switch makes no difference. With two CPUs, the coherent fetch model and no NMI, a short interrupt is one step, since no other CPU can tell. The local variables of a routine can't be read; a state has the values that the routine has read instead. For one in 256 states that are reached again, verify checks that runs continue identically from both. Two steps that commute are tried in one order only, if the other order leads to known states. With --counted both orders are tried, which counts all schedules. Text that reads the clock, or bytes of its stack that it hasn't written, is refused.

--by classes doesn't merge states. Schedules that differ only in the order of commuting steps form a class, and one of each class is run; with --full that is dynamic partial-order reduction. There are many more classes than states, so this takes ten times as long or more; it is an independent check of the same answer. --ignore and --all-properties let a schedule go on after a violation, as in explore; --all-properties runs all schedules of at most K deviations (--all).

--runs N ends the search after N schedules. The line then says how far it got, and "not complete". docs/ci.md has a script for git bisect that tells this from a race.

Examples:

  kpsim verify safe-none
  kpsim verify --deviations 3 safe-none safe-full
  kpsim verify --full safe-none safe-full
  kpsim verify --full --claim safe-none
  kpsim verify --deviations 4 mine.star
  kpsim verify --full --by classes mine.star
  kpsim verify --mutant no-quiesce safe-none
  kpsim verify --deviations 3 --all-properties --mutant no-sync-arm safe-none

Exit status: 0 as expected, 1 something against expectation or not complete, 2 bad input or a witness that could not be saved (it is printed all the same), 3 a bug of the simulator, 130 interrupted.`
}

// DeviationsDefault is the bound on deviations without --deviations.
const DeviationsDefault = 2

func (c *Verify) Run(p *cli.Program) (int, error) {
	list, err := c.Load()
	if err != nil {
		return 0, err
	}
	c.announceLength(p, len(list))
	return c.RunOn(p, list)
}

// announceLength prints what is run if that will take long. The number of schedules isn't known in
// advance.
func (c *Verify) announceLength(p *cli.Program, scenarios int) {
	if c.Runs == 0 && c.Deviations != nil && *c.Deviations > DeviationsDefault+1 {
		p.Ahead(fmt.Sprintf("%s, every schedule of at most %d deviations: each deviation more takes some 10 to "+
			"20 times as long; ^C ends it, and says how far it came",
			cli.Number(scenarios, "scenario"), *c.Deviations))
	}
}

// Load checks the flags and loads the scenarios.
func (c *Verify) Load() ([]*inputs.Input, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	return inputs.Load(c.Scenarios)
}

// RunOn verifies loaded scenarios. If Write is set, they may come from another computer.
func (c *Verify) RunOn(p *cli.Program, list []*inputs.Input) (int, error) {
	if err := c.check(); err != nil {
		return 0, err
	}
	jobs, err := c.base.prepareAll(p, list, c.Scenarios)
	if err != nil {
		return 0, err
	}
	status := cli.OK
	c.base.progress = p.WatchParts("verifying", len(jobs), "scenario")
	defer c.base.progress.Clear()
	for i, j := range jobs {
		c.base.progress.Part(fmt.Sprintf("%d/%d %s", i+1, len(jobs), j.Name), 1)
		row, err := c.verify(p, j)
		if err != nil {
			return 0, err
		}
		c.judged(p, j, row)
		if err := c.print(p, j, row); err != nil {
			return 0, err
		}
		if row.Unsaved != "" {
			p.Unsaved(row.Unsaved, row.remedy)
			if status == cli.OK {
				status = cli.BadInput
			}
		}
		if c.base.stop.Load() {
			fmt.Fprintf(p.Err, "kpsim: interrupted; %s is not complete\n", j.Name)
			return cli.Interrupted, nil
		}
		if i == len(jobs)-1 {
			c.base.progress.Complete()
		}
		if row.Expected != nil && !*row.Expected || len(row.Broken) == 0 && !row.Complete {
			status = cli.Against
		}
	}
	return status, nil
}

// check checks the flags that kong doesn't check.
func (c *Verify) check() error {
	switch {
	case c.Full && c.Deviations != nil:
		return errors.New("--full runs all schedules, whatever their deviations; leave --deviations out")
	case c.Counted && !(c.Full && c.By == "states"):
		return errors.New("--counted: only --full by states counts the schedules that there are; give " +
			"--full, and no --by classes")
	case c.Races && !(c.Full && c.By == "classes"):
		return errors.New("--races: only --full --by classes looks for races; give those too")
	}
	c.base = Explore{Seed: 1, Strategy: explore.DefaultStrategy, Workers: c.Workers, Fetch: c.Fetch, Memory: c.Memory,
		Edition: c.Edition, Kernel: c.Kernel, Broken: c.Broken, GoOn: c.GoOn, Traces: c.Traces,
		elsewhere: c.Write != nil}
	err := c.base.check()
	c.Broken, c.GoOn = c.base.Broken, c.base.GoOn
	return err
}

// megabytesDefault and megabytesMost are the default and the limit of --megabytes.
const megabytesDefault, megabytesMost = 2048, 1 << 20

// deviationsMost exceeds any bound that can be reached.
const deviationsMost = 99

// A verifyRow is the printed result of verify for a scenario.
type verifyRow struct {
	Scenario    string `json:"scenario"`
	Observation string `json:"observation"`
	Certificate string `json:"certificate"` // "" if there is none
	Claim       string `json:"claim,omitempty"`
	Fetch       string `json:"fetch"`
	MemoryModel string `json:"memory,omitempty"` // empty for sc
	Full        bool   `json:"full"`
	// Deviations: every schedule with at most this number was run. -1 means not even the default
	// one, or --full.
	Deviations int  `json:"deviations"`
	Complete   bool `json:"complete"` // all were run, and no run exceeded its budget
	extent
	Broken map[string]uint64 `json:"broken,omitempty"`
	// After counts, for each property in Broken, the schedules that had broken another property before.
	After    map[string]uint64 `json:"after_another,omitempty"`
	Expected *bool             `json:"expected"`
	Reason   string            `json:"reason,omitempty"`
	Traces   []string          `json:"traces,omitempty"`
	Racing   []proof.Racing    `json:"racing,omitempty"`
	Unsaved  string            `json:"unsaved,omitempty"`     // why a trace isn't written
	Texts    []string          `json:"trace_texts,omitempty"` // what the unwritten traces would hold

	Shipped *inputs.Shipped `json:"as_shipped,omitempty"`

	Older []existingTrace `json:"older_traces,omitempty"`

	witnesses []*shrink.Witness
	remedy    string   // the remedy for Unsaved
	paths     []string // paths of the witnesses' traces; "": it could not be saved
	far       uint64   // millionths of the known schedules, if it isn't complete
}

// An extent is how far a proof got: what was run, and what was merged.
type extent struct {
	Runs     uint64 `json:"runs"`
	Pruned   uint64 `json:"pruned"`
	Cut      uint64 `json:"out_of_budget"`
	Restarts uint64 `json:"restarts"`
	Depth    int    `json:"depth"`
	Points   uint64 `json:"points"`
	By       string `json:"by"`
	States   int    `json:"states,omitempty"` // distinct states
	// Circles counts schedules that reach a state again: they never end.
	Circles uint64 `json:"circles,omitempty"`
	Checked uint64 `json:"merges_checked,omitempty"`     // out of the pruned
	Filled  bool   `json:"memory_full,omitempty"`        // memory was full, so the result isn't complete
	Without string `json:"schedules_unmerged,omitempty"` // the number of schedules
}

// verify verifies one scenario.
func (c *Verify) verify(p *cli.Program, j *job) (*verifyRow, error) {
	c.base.doing(p, j, c.Mutant)
	p.Again = c.line(j, c.Deviations, "--workers", "1")
	pr := proof.Proof{
		Spec: explore.Spec{Scenario: j.Scenario, Mutant: c.Mutant, Runs: c.Runs, Workers: c.Workers, Seed: 1,
			Cancelled: &c.base.stop, Ignore: c.Ignored, Past: c.Past()},
		Memory: c.Megabytes << 20, Full: c.Full, Counted: c.Counted, Classes: c.By == "classes", All: c.All ||
			c.AllProperties, Deviations: DeviationsDefault,
	}
	if c.Deviations != nil {
		pr.Deviations = *c.Deviations
	}
	bound := pr.Deviations
	row := &verifyRow{Scenario: j.Name, Fetch: j.Machine.Fetch.String(),
		MemoryModel: inputs.WeakMemory(j.Machine.Memory),
		Full:        c.Full}
	row.By = c.By
	pr.Watch = func(runs, violations, done uint64) {
		if c.Full || c.By == "states" { // elsewhere each of several searches calls it with its own progress
			row.far = done
		}
	}
	pr.Back = func(runs, violations, done uint64) {
		if c.Runs > 0 { // whichever limit is reached first ends it
			done = max(done, uint64(1_000_000*float64(min(runs, c.Runs))/float64(c.Runs)))
		}
		c.base.progress.Share(done, runs, violations)
	}
	v, err := proof.Verify(pr)
	if err != nil {
		return nil, j.FileFirst(err)
	}
	c.fillIn(row, v)
	c.judge(j, row, bound)
	var written []string
	for i, w := range v.Witnesses {
		name := verifyTrace(j.Name)
		if i > 0 {
			name += "-" + w.Property.Name
		}
		path := filepath.Join(c.Traces, name+".kps")
		j.FoundIn(w.File)
		written = append(written, path)
		text, err := inputs.TraceText(path, w.File)
		write := cli.WriteWhole
		if c.Write != nil {
			write = c.Write
		}
		if err == nil {
			err = write(path, text)
		}
		if err != nil {
			row.Unsaved, row.remedy = inputs.Unsaved(err, path)
			row.Texts, path = append(row.Texts, string(text)), ""
		} else {
			row.Traces = append(row.Traces, path)
		}
		row.paths = append(row.paths, path)
	}
	if c.Write == nil {
		row.Older = c.base.existingTraces(j, verifyTrace(j.Name), inputs.TraceName(j.Name), written)
	}
	return row, nil
}

// verifyTrace returns the name of the trace that verify writes for a scenario. Explore's trace
// lies beside it: it is another witness, with fewer or more deviations, and may be wanted.
func verifyTrace(scenario string) string { return inputs.TraceName(scenario) + "-verify" }

// line returns the command that verifies a scenario in the same way. bound, if not nil,
// replaces the bound, without --full.
func (c *Verify) line(j *job, bound *int, more ...string) string {
	words := cli.WithFlags(append([]string{cli.Typed(), "verify", j.Arg}, more...), "--full", c.Full && bound == nil,
		"--counted", c.Full && bound == nil && c.Counted, "--by", cli.Unless(c.By, "states"), "--deviations", bound,
		"--all", c.All, "--megabytes", cli.Unless(c.Megabytes, megabytesDefault), "--fetch", c.Fetch,
		"--memory", c.Memory, "--edition", c.Edition, "--mutant", c.Mutant)
	return cli.Line(append(append(words, c.Kernel.Words()...), c.GoOn.Words()...)...)
}

// advice returns the next command to type if nothing was found and the result isn't final, ""
// otherwise.
func (c *Verify) advice(j *job, r *verifyRow) string {
	more := r.Deviations + 1
	switch bound := DeviationsDefault; {
	case len(r.Broken) > 0 || r.Expected != nil && *r.Expected || c.base.stop.Load():
		return ""
	case r.Points == 0:
		return cli.Line(cli.Typed(), "list") + "   # names scenarios to begin from"
	case r.Filled && 2*c.Megabytes <= megabytesMost:
		c.Megabytes *= 2
		defer func() { c.Megabytes /= 2 }()
		return c.line(j, c.Deviations) + "   # twice the memory"
	case c.Full && !r.Complete:
		return c.line(j, &bound) + fmt.Sprintf("   # only those of at most %s", cli.Number(bound, "deviation"))
	case c.Runs > 0 && !r.Complete:
		return c.line(j, c.Deviations, "--runs", fmt.Sprint(10*c.Runs)) + "   # 10 times these schedules"
	case !c.Full && r.Complete && j.Expect.Sometimes && more <= deviationsMost:
		if r.Deviations == 0 { // nothing follows from one schedule
			return c.line(j, &more)
		}
		return c.line(j, &more) + oneMore
	case r.Expected != nil:
		return c.base.line(j, c.Mutant) + fmt.Sprintf("   # %d schedules, drawn", j.runs)
	}
	return ""
}

// oneMore says by what factor one more deviation multiplies the number of schedules: 7 to 22
// from the first to the second and from the second to the third, in seven scenarios of the
// library.
const oneMore = "   # some 10 to 20 times these schedules"

// models names the models that were searched under.
func (r *verifyRow) models() string {
	if r.MemoryModel == "" {
		return "fetch model " + r.Fetch
	}
	return "fetch model " + r.Fetch + " and memory model " + r.MemoryModel
}

func (c *Verify) fillIn(r *verifyRow, v *proof.Verified) {
	r.Deviations, r.Complete = v.Done, v.Complete && v.Cut == 0
	r.Runs, r.Pruned, r.Cut, r.Restarts, r.Depth, r.Points = v.Runs, v.Pruned, v.Cut, v.Restarts, v.Depth, v.Points
	r.Filled = v.Filled
	r.States, r.Circles, r.Checked = v.States, v.Circles, v.Checked
	if c.Counted && v.Complete {
		r.Without = v.Without.String()
	}
	r.Broken, r.After, r.Racing, r.witnesses = v.Broken, v.After, v.Racing, v.Witnesses
	r.Observation = inputs.Never
	if v.Violations > 0 {
		r.Observation = inputs.Sometimes
		return
	}
	if v.Cut > 0 || v.Points == 0 {
		return // what comes after the budget was not seen; and without a run nothing is shown
	}
	switch {
	case v.Complete && r.Full:
		r.Certificate = fmt.Sprintf("%s, complete under %s", inputs.Never, r.models())
	case !r.Full && v.Done >= 0:
		r.Certificate = fmt.Sprintf("%s, complete for ≤ %s under %s", inputs.Never, cli.Number(v.Done, "deviation"),
			r.models())
	}
}

// judge compares the result with what the scenario expects.
func (c *Verify) judge(j *job, r *verifyRow, bound int) {
	expect := func(ok bool, reason string) {
		if r.Expected = &ok; !ok {
			r.Reason = reason
		}
	}
	e := &j.Expect
	switch why := c.base.overridden(); {
	case why != "":
		r.Reason = why
	case c.base.stop.Load():
		r.Reason = "interrupted"
	case e.Sometimes && r.Broken[e.Property] > 0:
		expect(len(r.Broken) == 1, "expected "+e.Property+" alone")
	case e.Sometimes && r.Certificate == "" || e.Sometimes && !r.Full:
		r.Reason = "expected " + inputs.Sometimes + "; that may need more deviations, or more schedules"
	case e.Sometimes:
		expect(false, "expected "+inputs.Sometimes)
	case len(r.Broken) > 0:
		expect(false, "expected "+inputs.Never)
	case r.Points == 0:
		expect(false, "no schedule has a choice: this shows nothing")
	case j.NothingPatched() != "":
		expect(false, j.NothingPatched())
	default:
		reason := "not complete"
		if !c.Full {
			reason += " for ≤ " + cli.Number(bound, "deviation")
		}
		if r.Filled {
			reason += fmt.Sprintf(": --megabytes %d is full", c.Megabytes)
		}
		expect(r.Complete, reason)
	}
}

// Stop ends a verification that another goroutine makes.
func (c *Verify) Stop() { c.base.stop.Store(true) }

// Words returns the command as it was typed, without the flags that say where it writes.
func (c *Verify) Words() []string {
	words := cli.WithFlags(append([]string{"verify"}, c.Scenarios...), "--full", c.Full, "--counted", c.Counted,
		"--all", c.All, "--races", c.Races, "--deviations", c.Deviations, "--by", cli.Unless(c.By, "states"),
		"--runs", c.Runs, "--megabytes", cli.Unless(c.Megabytes, megabytesDefault), "--fetch", c.Fetch,
		"--memory", c.Memory, "--edition", c.Edition, "--mutant", c.Mutant)
	return append(append(words, c.Kernel.Words()...), c.GoOn.Words()...)
}

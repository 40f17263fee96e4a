package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"kpsim/campaign/board"
	"kpsim/campaign/desk"
	"kpsim/campaign/gate"
	"kpsim/campaign/hub"
	"kpsim/campaign/plan"
	"kpsim/internal/ui/cli"
)

// campaignArg names a campaign.
type campaignArg struct {
	ID        string `arg:"" optional:"" name:"campaign" help:"Its ID, as start prints it. Default: the last one."`
	hub.Where `embed:""`
}

// open connects to the server and finds the campaign.
func (c *campaignArg) open(ctx context.Context) (b gate.Client, s *board.State, done func(), err error) {
	if b, done, err = join(ctx, &c.Where); err != nil {
		return b, nil, nil, err
	}
	defer func() {
		if err != nil {
			done()
		}
	}()
	if c.ID != "" {
		s, err = b.State(ctx, c.ID)
		if errors.Is(err, board.ErrNone) {
			err = fmt.Errorf("there is no campaign %s; kpsim-campaign status lists them", c.ID)
		}
		return b, s, done, err
	}
	list, err := b.States(ctx)
	if err == nil && len(list) == 0 {
		err = errors.New("there is no campaign yet; kpsim-campaign start begins one")
	}
	if err != nil {
		return b, nil, done, err
	}
	return b, slices.MaxFunc(list, func(a, b *board.State) int { return a.Began.Compare(b.Began) }), done, nil
}

type statusCmd struct {
	campaignArg
	All   bool `help:"A line for each campaign there is."`
	Watch bool `help:"Print the status again and again until the campaign ends."`
	JSON  bool `name:"json" help:"Print one JSON object."`
}

func (c *statusCmd) Run(p *cli.Program) (int, error) {
	ctx, stop := interruptible(p)
	defer stop()
	b, s, done, err := c.open(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	if c.All {
		list, err := b.States(ctx)
		if err != nil {
			return 0, err
		}
		for _, s := range list {
			if c.JSON {
				err = p.PrintJSON(s)
			} else if s.State == board.Damaged {
				_, err = fmt.Fprintf(p.Out, "%-24s %s\n", s.ID, s.State)
			} else {
				_, err = fmt.Fprintf(p.Out, "%-24s %-9s priority %d, began %s\n",
					s.ID, s.State, s.Priority, s.Began.Format(time.DateTime))
			}
			if err != nil {
				return 0, err
			}
		}
		return cli.OK, nil
	}
	if c.Watch {
		if s, err = wait(ctx, p, b, s.ID); err != nil {
			return 0, err
		}
	}
	if s.State == board.Damaged {
		return 0, fmt.Errorf("%s: its state is damaged; kpsim-campaign status --all lists the others", s.ID)
	}
	t, err := b.LatestStatus(ctx, s.ID)
	for n := 0; n < 30 && errors.Is(err, board.ErrNone) && s.State != board.Cancelled; n++ { // it has just begun
		time.Sleep(100 * time.Millisecond)
		t, err = b.LatestStatus(ctx, s.ID)
	}
	if errors.Is(err, board.ErrNone) {
		return 0, fmt.Errorf("%s is %s, and has no status yet; does kpsim-campaign serve run?", s.ID,
			s.State)
	}
	if err != nil {
		return 0, err
	}
	if t.State = s.State; c.JSON {
		return cli.OK, p.PrintJSON(t)
	}
	printStatus(p, t)
	return cli.OK, nil
}

// printStatus prints a status for people.
func printStatus(p *cli.Program, t *board.Status) {
	fmt.Fprintf(p.Out, "%s  %s\n", oneLine(t), t.State)
	for _, s := range t.Searches {
		fmt.Fprintf(p.Out, "\n%s: %d of %d units\n", s.Title, s.Done, s.Units)
		for _, e := range s.Scenarios {
			broken := ""
			for name, n := range e.Broken {
				broken += fmt.Sprintf(", %s broken by %d", name, n)
			}
			if e.Done < e.Units || broken != "" {
				p.Indented("  ", fmt.Sprintf("%s: %d of %d runs%s", e.Scenario, e.Runs, e.RunsPlanned, broken))
			}
		}
	}
	for _, f := range t.Finds {
		fmt.Fprintf(p.Out, "\nfind %s: %s breaks %s: %s\n", f.Cause.Cause, f.Scenario, f.Property, f.Message)
		for _, s := range f.Story {
			p.Indented(cli.Indent, s)
		}
	}
	for _, w := range t.Workers {
		fmt.Fprintf(p.Out, "worker %s: %s, %d made, now %s\n", w.Name, cli.Number(w.Cores, "core"), w.Units,
			w.CurrentUnit)
		for _, l := range w.Missing {
			p.Indented(cli.Indent, "lacks "+l)
		}
	}
	if t.DroppedHeartbeats > 0 {
		fmt.Fprintf(p.Out, "%d messages of workers were dropped: more than 16384 names, or malformed\n",
			t.DroppedHeartbeats)
	}
	if t.Skipped > 0 {
		fmt.Fprintf(p.Out, "%s skipped: no unit of the plan has that name\n", cli.Number(t.Skipped, "result"))
	}
	for _, x := range t.Troubles {
		fmt.Fprintf(p.Out, "trouble %s on %s: %s\n", x.Unit.Key(), x.Worker, x.Why)
	}
}

type resultsCmd struct {
	campaignArg
	Traces  string `placeholder:"DIR" help:"Where witnesses are written. Default: the folder that the campaign names."`
	Nightly bool   `help:"Report what is new, gone or slower since the previous campaign of that name."`
	Wait    bool   `help:"Wait for its end."`
	JSON    bool   `name:"json" help:"Print one JSON object a line."`
}

func (c *resultsCmd) Run(p *cli.Program) (int, error) {
	ctx, stop := interruptible(p)
	defer stop()
	b, s, done, err := c.open(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	if s.Open() && !c.Wait {
		return 0, fmt.Errorf("%s is %s; wait for its end with --wait, or look at kpsim-campaign status %s",
			s.ID, s.State, s.ID)
	}
	camp, err := b.Campaign(ctx, s)
	if errors.Is(err, board.ErrNone) {
		return 0, fmt.Errorf("%s was forgotten; kpsim-campaign run --keep keeps what it has", s.ID)
	}
	if err != nil {
		return 0, err
	}
	if i := slices.IndexFunc(camp.Searches, func(s *plan.Search) bool { return !s.Local() }); i >= 0 && c.Traces == "" {
		return 0, fmt.Errorf("%s writes its traces to %q, which isn't below this folder; name a folder with --traces",
			s.ID, camp.Searches[i].Flags.Traces)
	}
	if err := desk.Files(ctx, b, camp, defaultDir()); err != nil {
		return 0, err
	}
	return finish(ctx, p, b, camp, c.Traces, c.JSON, c.Nightly)
}

type findsCmd struct {
	hub.Where `embed:""`
	Traces    string `placeholder:"DIR" help:"Write the smallest witness of each there, as CAUSE.kps."`
	JSON      bool   `name:"json" help:"Print one JSON object a line."`
}

func (c *findsCmd) Run(p *cli.Program) (int, error) {
	ctx, stop := interruptible(p)
	defer stop()
	b, done, err := join(ctx, &c.Where)
	if err != nil {
		return 0, err
	}
	defer done()
	list, damaged, err := b.Causes(ctx)
	if err != nil {
		return 0, err
	}
	if damaged > 0 {
		fmt.Fprintf(p.Err, "kpsim-campaign: %s left out: they are damaged\n", cli.Number(damaged, "find"))
	}
	if c.Traces != "" {
		if err := cli.MakeFolder(c.Traces); err != nil {
			return 0, err
		}
	}
	for _, f := range list {
		if err := f.Check(); err != nil { // the cause names a file
			return 0, err
		}
		if c.Traces != "" && f.Trace != "" {
			path := filepath.Join(c.Traces, f.Cause+".kps")
			if err := cli.WriteWhole(path, []byte(f.Trace)); err != nil {
				return 0, errors.New(cli.Cause(err, path))
			}
		}
		if c.JSON {
			err = p.PrintJSON(f)
		} else {
			_, err = fmt.Fprintf(p.Out, "%s  %s breaks %s, %s, since %s: %s\n",
				f.Cause, f.Scenario, f.Property, cli.Number(f.Deviations, "deviation"), f.First, f.Message)
		}
		if err != nil {
			return 0, err
		}
	}
	return cli.OK, nil
}

type pauseCmd struct{ campaignArg }

func (c *pauseCmd) Run(p *cli.Program) (int, error) {
	return c.changeState(p, board.Paused)
}

type resumeCmd struct{ campaignArg }

func (c *resumeCmd) Run(p *cli.Program) (int, error) {
	return c.changeState(p, board.Running)
}

type cancelCmd struct{ campaignArg }

func (c *cancelCmd) Run(p *cli.Program) (int, error) {
	return c.changeState(p, board.Cancelled)
}

// changeState changes a campaign's state.
func (c *campaignArg) changeState(p *cli.Program, state string) (int, error) {
	ctx, stop := interruptible(p)
	defer stop()
	b, s, done, err := c.open(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	if err := b.Change(ctx, s.ID, state); err != nil {
		return 0, err
	}
	fmt.Fprintf(p.Out, "%s is %s\n", s.ID, state)
	return cli.OK, nil
}

type forgetCmd struct{ campaignArg }

func (c *forgetCmd) Run(p *cli.Program) (int, error) {
	if c.ID == "" {
		return 0, errors.New("name the campaign to forget")
	}
	ctx, stop := interruptible(p)
	defer stop()
	b, s, done, err := c.open(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	return cli.OK, b.Forget(ctx, s.ID)
}

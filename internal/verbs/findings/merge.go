package findings

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/search/explore"
	"kpsim/internal/search/results"
	"kpsim/internal/ui/cli"
)

// Merge is kpsim merge.
type Merge struct {
	Files  []string `arg:"" name:"file" help:"Result files that explore --shard I/N --out FILE has written, one for each share."`
	Traces string   `default:"traces" placeholder:"DIR" help:"Where witnesses are written, as NAME.kps."`
	cli.Form
}

// Help implements kong.HelpProvider.
func (*Merge) Help() string {
	return `Merge the result files of a search that was divided among computers.

Prints what explore would have printed for all runs on one computer, and writes the same witnesses. Each file has all that its share has seen. A canary counts as found if any share found it. Merge shrinks the witnesses, and makes the searches over seeds for the first witness, since both need all shares. The shares must have the same scenarios, strategy, seed and number of runs, and come from the same kpsim; none may be missing.

Examples:

  kpsim explore --shard 1/2 --out 1.json --runs 1000000 mine.star     # on one computer
  kpsim explore --shard 2/2 --out 2.json --runs 1000000 mine.star     # on another
  kpsim merge 1.json 2.json

Exit status: as of explore.`
}

func (c *Merge) Run(p *cli.Program) (int, error) {
	if c.Traces == "" {
		return 0, errors.New("--traces: the name is empty; name a folder")
	}
	var list []*results.File
	for _, name := range c.Files {
		data, err := cli.ReadFile(name, cli.MostResult)
		if err != nil {
			return 0, fmt.Errorf("%s; name a result file", cli.Cause(err, name))
		}
		r, err := results.Read(name, data)
		if err != nil {
			return 0, err
		}
		list = append(list, r)
	}
	all, missing, err := results.Join(c.Files, list)
	if missing > 0 {
		return 0, fmt.Errorf("%w; to make it:  %s", err, c.shareCommand(list[0], missing))
	}
	if err != nil {
		return 0, err
	}

	x := &Explore{Traces: c.Traces, Form: c.Form}
	return x.report(p, all, cli.Line(append([]string{cli.Typed(), "merge"}, c.Files...)...),
		func(spec explore.Spec, i int) error {
			for _, r := range list { // before any of it is used
				if err := r.Check(spec, r.Scenarios[i]); err != nil {
					return err
				}
			}
			return nil
		})
}

// shareCommand returns the command that makes a share.
func (c *Merge) shareCommand(r *results.File, share int) string {
	words := []string{cli.Typed(), "explore"}
	for _, e := range r.Scenarios {
		words = append(words, cli.AsFile(e.Arg))
	}
	words = cli.WithFlags(words, "--strategy", cli.Unless(r.Strategy, explore.DefaultStrategy),
		"--seed", cli.Unless(r.Seed, 1), "--fetch", r.Fetch, "--memory", r.Memory, "--edition", r.Edition,
		"--mutant", r.Mutant, "--runs", r.Runs, "--unbiased", r.Unbiased, "--ignore", strings.Join(r.Ignored, ","),
		"--all-properties", r.Every)
	if slices.ContainsFunc(r.Scenarios,
		func(e *results.Explored) bool { return strings.Contains(e.Text, `, image = "`) }) {
		words = append(words, "--kernel", "FILE")
	}
	if r.SelfCheck > 0 {
		words = append(words, selfCheck(r.SelfCheck).flag())
	}
	return cli.Line(append(words, "--shard", fmt.Sprintf("%d/%d", share, r.Shares), "--out", "FILE")...)
}

package desk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"kpsim/campaign/board"
	"kpsim/campaign/gate"
	"kpsim/campaign/plan"
	"kpsim/campaign/unit"
	"kpsim/internal/ui/cli"
)

// reportProofs prints what kpsim verify would have printed, and writes its traces.
func reportProofs(ctx context.Context, p *cli.Program, b gate.Client, c *plan.Campaign, search int) (int, error) {
	s := c.Searches[search]
	if err := cli.MakeFolder(s.Flags.Traces); err != nil {
		return 0, err
	}
	worst := cli.OK
	for i := range s.Verify.Scenarios {
		u := plan.Unit{Campaign: c.ID, Search: search, Job: i, Kind: plan.Proof}
		data, err := b.Data(ctx, &u)
		if err != nil && !errors.Is(err, board.ErrNone) && !errors.Is(err, board.ErrDamaged) {
			return 0, err
		}
		if len(data) == 0 {
			fmt.Fprintf(p.Err, "kpsim-campaign: %s was set aside\n", s.Verify.Scenarios[i].Name)
			worst = cli.Bug
			continue
		}
		shown, base, err := unit.Proved(s.Verify.Scenarios[i].Name, data)
		if err != nil {
			fmt.Fprintf(p.Err, "kpsim-campaign: %s left out: its result is false: %s\n",
				s.Verify.Scenarios[i].Name, plan.Clean(err.Error(), board.MostWhy, false))
			worst = cli.Bug
			continue
		}
		for _, t := range shown.Traces {
			path := filepath.Join(s.Flags.Traces, base)
			if err := cli.WriteWhole(path, []byte(t.Text)); err != nil {
				return 0, errors.New(cli.Cause(err, path))
			}
		}
		if _, err := io.WriteString(p.Err, shown.Err); err != nil {
			return 0, err
		}
		if _, err := io.WriteString(p.Out, shown.Out); err != nil {
			return 0, err
		}
		worst = worse(worst, shown.Status)
	}
	return worst, nil
}

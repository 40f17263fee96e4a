package desk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"kpsim/campaign/board"
	"kpsim/campaign/plan"
	"kpsim/internal/cli"
)

// reportProofs prints what kpsim verify would have printed, and writes its traces.
func reportProofs(ctx context.Context, p *cli.Program, b *board.Board, c *plan.Campaign, search int) (int, error) {
	s := c.Searches[search]
	if err := cli.MakeFolder(s.Flags.Traces); err != nil {
		return 0, err
	}
	worst := cli.OK
	for i := range s.Verify.Scenarios {
		u := plan.Unit{Campaign: c.ID, Search: search, Job: i, Kind: plan.Proof}
		data, err := b.Data(ctx, &u)
		if err != nil {
			return 0, err
		}
		if len(data) == 0 {
			fmt.Fprintf(p.Err, "kpsim-campaign: %s was set aside\n", s.Verify.Scenarios[i].Name)
			worst = cli.Bug
			continue
		}
		var shown plan.Proved
		if err := json.Unmarshal(data, &shown); err != nil {
			return 0, fmt.Errorf("unit %s: %w", u.Key(), err)
		}
		for _, t := range shown.Traces {
			path := filepath.Join(s.Flags.Traces, filepath.Base(t.Path))
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

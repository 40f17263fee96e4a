package desk

import (
	"context"

	"kpsim/campaign/board"
	"kpsim/campaign/gate"
	"kpsim/campaign/plan"
)

// Files makes sure that a campaign's kernels are where its report opens them.
func Files(ctx context.Context, b gate.Client, c *plan.Campaign, dir string) error {
	for _, s := range c.Searches {
		if err := board.LocalFiles(ctx, b, s, dir); err != nil {
			return err
		}
	}
	return nil
}

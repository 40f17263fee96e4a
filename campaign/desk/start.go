package desk

import (
	"context"
	"errors"
	"fmt"

	"kpsim/campaign/board"
	"kpsim/campaign/gate"
	"kpsim/campaign/plan"
)

// CheckName checks the name of a campaign.
func CheckName(name string) error {
	if !board.IsName(name) {
		return fmt.Errorf("--name %q: use at most 40 of a to z, digits, _ and single hyphens; begin with a letter or "+
			"digit, don't end with a hyphen", name)
	}
	return nil
}

// Start stores a campaign and the files that it needs, starts it, and returns its state.
func Start(ctx context.Context, client gate.Client, c *plan.Campaign) (*board.State, error) {
	if err := CheckName(c.Name); err != nil {
		return nil, err
	}
	if len(c.Searches) == 0 {
		return nil, errors.New("the campaign has nothing to do")
	}
	return client.Start(ctx, c)
}

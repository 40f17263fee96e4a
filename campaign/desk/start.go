package desk

import (
	"context"
	"errors"
	"fmt"

	"kpsim/campaign/board"
	"kpsim/campaign/gate"
	"kpsim/campaign/plan"
)

// CheckName says whether campaigns may have a name.
func CheckName(name string) error {
	if !board.IsName(name) {
		return fmt.Errorf("--name %q: a name is of a to z, digits, _ and single -, at most 40 of them", name)
	}
	return nil
}

// Start puts a campaign on the board, with the files that it needs, and returns its ID.
func Start(ctx context.Context, b gate.Client, c *plan.Campaign) (*board.State, error) {
	if err := CheckName(c.Name); err != nil {
		return nil, err
	}
	if len(c.Searches) == 0 {
		return nil, errors.New("the campaign has nothing to do")
	}
	return b.Start(ctx, c)
}

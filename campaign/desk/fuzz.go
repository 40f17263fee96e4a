package desk

import (
	"context"
	"errors"
	"fmt"

	"kpsim/campaign/board"
	"kpsim/campaign/gate"
	"kpsim/campaign/plan"
	"kpsim/internal/search/fuzz"
	"kpsim/internal/ui/cli"
	"kpsim/internal/verbs/findings"
)

// reportFuzz folds the islands of a fuzzing session in their order, and prints their finds: the same report, however
// many workers made them.
func reportFuzz(ctx context.Context, p *cli.Program, b gate.Client, c *plan.Campaign, search int) (int, error) {
	s := c.Searches[search]
	session := findings.Fuzz{Traces: s.Flags.Traces, Form: s.Flags.Form}
	session.Kernel.Kernel, session.Kernel.Objects = s.Flags.Kernel.Kernel, s.Flags.Kernel.Objects
	if err := session.Begin(s.Fuzz); err != nil {
		return 0, err
	}
	for !session.Done() {
		round, number := session.Folded()
		u := plan.Unit{Campaign: c.ID, Search: search, Kind: plan.Island, From: int(round), To: int(number)}
		data, err := b.Data(ctx, &u)
		if errors.Is(err, board.ErrNone) {
			return 0, fmt.Errorf("%s: island %d of round %d has no result", c.ID, number, round)
		}
		if err != nil {
			return 0, err
		}
		i, err := fuzz.ReadIsland(data)
		if err != nil {
			return 0, fmt.Errorf("unit %s: %w", u.Key(), err)
		}
		if err := session.FoldAndReport(p, i); err != nil {
			return 0, fmt.Errorf("unit %s: %w", u.Key(), err)
		}
	}
	return session.End(p, cli.Line(s.Words()...))
}

package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats.go"

	"kpsim/campaign/board"
	"kpsim/campaign/plan"
	"kpsim/internal/ui/cli"
)

// A Client sends the requests of users. Many goroutines may use it.
type Client struct{ Conn *nats.Conn }

// Ready waits until a coordinator answers.
func (c Client) Ready(ctx context.Context) error {
	return board.Retry(ctx, func(ctx context.Context) error {
		short, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		_, err := ask(short, c.Conn, "client.states", &idAsk{}, nil, new([]*board.State))
		if err != nil && errors.Is(c.Conn.LastError(), nats.ErrPermissionViolation) {
			return refuse("its key isn't that of a client, client.nk")
		}
		return err
	})
}

// States returns all campaigns, by ID, without their results.
func (c Client) States(ctx context.Context) (all []*board.State, err error) {
	for after := ""; ; after = all[len(all)-1].ID {
		list, _, err := askUntilAnswered[[]*board.State](ctx, c.Conn, "client.states", &idAsk{after}, nil)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 || list[len(list)-1].ID <= after {
			return all, nil
		}
		all = append(all, list...)
	}
}

// State returns a campaign's state, or ErrNone.
func (c Client) State(ctx context.Context, id string) (*board.State, error) {
	s, _, err := askUntilAnswered[*board.State](ctx, c.Conn, "client.state", &idAsk{id}, nil)
	if errors.Is(err, board.ErrNone) {
		return nil, fmt.Errorf("campaign %s: %w", id, err)
	}
	return s, err
}

// LatestStatus returns a campaign's last published status; ErrNone if there is none yet.
func (c Client) LatestStatus(ctx context.Context, id string) (*board.Status, error) {
	s, _, err := askUntilAnswered[*board.Status](ctx, c.Conn, "client.status", &idAsk{id}, nil)
	return s, err
}

// Start stores a campaign and the files that it needs, and starts it.
func (c Client) Start(ctx context.Context, p *plan.Campaign) (*board.State, error) {
	for _, s := range p.Searches {
		for i := range s.Blobs() {
			b := s.Kernel
			if i > 0 {
				b = &s.Objects[i-1]
			}
			if err := c.send(ctx, b); err != nil {
				return nil, err
			}
		}
	}
	s, _, err := askUntilAnswered[*board.State](ctx, c.Conn, "client.begin",
		&beginAsk{p.Name, p.Build, p.Priority}, nil)
	if err != nil {
		return nil, err
	}
	p.ID, p.Previous = s.ID, s.Previous
	data, err := p.Marshal()
	if err != nil {
		return nil, err
	}
	digest, err := board.Save(ctx, bytes.NewReader(data), c.put)
	if err != nil {
		return nil, err
	}
	s, _, err = askUntilAnswered[*board.State](ctx, c.Conn, "client.run", &runAsk{s.ID, digest}, nil)
	return s, err
}

// send sends the pieces of a file that the server doesn't have.
func (c Client) send(ctx context.Context, b *plan.Blob) error {
	if err := b.Check(); err != nil {
		return err
	}
	if !board.IsFile(b.Path, b) {
		return fmt.Errorf("%s: it has changed since it was read; start again", b.Path)
	}
	r, err := os.Open(b.Path)
	if err != nil {
		return errors.New(cli.Cause(err, b.Path))
	}
	defer r.Close()
	if b.List, err = board.Save(ctx, r, c.put); err != nil {
		return fmt.Errorf("%s could not be sent: %w", b.Path, err)
	}
	return nil
}

// put sends a piece, unless the server has it.
func (c Client) put(ctx context.Context, data []byte) error {
	var done emptyBody
	if len(data) > 4<<10 {
		_, err := ask(ctx, c.Conn, "client.has", &fileAsk{board.DigestOf(data)}, nil, &done)
		if !errors.Is(err, board.ErrNone) {
			return err
		}
	}
	_, err := ask(ctx, c.Conn, "client.put", &emptyBody{}, data, &done)
	return err
}

// Change pauses, continues or cancels a campaign.
func (c Client) Change(ctx context.Context, id, to string) error {
	_, _, err := askUntilAnswered[*board.State](ctx, c.Conn, "client.change", &changeAsk{id, to}, nil)
	return err
}

// Forget removes the results of a campaign's units.
func (c Client) Forget(ctx context.Context, id string) error {
	_, _, err := askUntilAnswered[emptyBody](ctx, c.Conn, "client.forget", &idAsk{id}, nil)
	return err
}

// Piece implements board.Pieces.
func (c Client) Piece(ctx context.Context, digest string) ([]byte, error) {
	_, data, err := askUntilAnswered[emptyBody](ctx, c.Conn, "client.file", &fileAsk{digest}, nil)
	return data, err
}

// Campaign returns the plan of a campaign; ErrNone if it was forgotten.
func (c Client) Campaign(ctx context.Context, s *board.State) (*plan.Campaign, error) {
	return board.Campaign(ctx, c, s.ID, s.Plan)
}

// A Result is a unit's result, as it comes from the board.
type Result struct {
	Unit        plan.Unit
	Took        time.Duration
	AsideReason string // why the unit was set aside
	Data        []byte
}

// Results calls f for all results of a campaign, in the order of arrival. bad says why a result is damaged: then only
// the unit's key is known, and it may belong to no unit.
func (c Client) Results(ctx context.Context, id string, f func(r *Result, key string, bad error) error) error {
	return results(ctx, c.Conn, "client", &resultsAsk{Key: id}, func(p *board.Packed, data []byte, bad error) error {
		u, err := board.UnitOf(p.Key)
		if err != nil {
			bad = err
		}
		return f(&Result{u, p.Took, p.AsideReason, data}, p.Key, bad)
	})
}

// Data returns a unit's data; nil if the unit was set aside.
func (c Client) Data(ctx context.Context, u *plan.Unit) (data []byte, err error) {
	err = results(ctx, c.Conn, "client", &resultsAsk{Key: u.Key(), One: true},
		func(_ *board.Packed, d []byte, bad error) error {
			if data = d; bad != nil {
				return fmt.Errorf("%w: %w", board.ErrDamaged, bad)
			}
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("unit %s: %w", u.Key(), err)
	}
	return data, nil
}

// Differing returns the troubles of a campaign that report two results of a unit.
func (c Client) Differing(ctx context.Context, id string) (all []board.Trouble, err error) {
	for after := uint64(0); ; {
		d, _, err := askUntilAnswered[differingAnswer](ctx, c.Conn, "client.differing", &listAsk{id, after}, nil)
		if err != nil {
			return nil, err
		}
		if all = append(all, d.List...); d.Last <= after {
			return all, nil
		}
		after = d.Last
	}
}

// Causes returns all buckets of finds, by name, and how many are unreadable.
func (c Client) Causes(ctx context.Context) (all []*board.Cause, damaged int, err error) {
	for after := ""; ; after = all[len(all)-1].Cause {
		f, _, err := askUntilAnswered[causesAnswer](ctx, c.Conn, "client.causes", &idAsk{after}, nil)
		if err != nil {
			return nil, 0, err
		}
		if damaged = f.Damaged; len(f.List) == 0 || f.List[len(f.List)-1].Cause <= after {
			return all, damaged, nil
		}
		all = append(all, f.List...)
	}
}

package desk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"kpsim/campaign/board"
	"kpsim/campaign/plan"
	"kpsim/internal/cli"
)

var nameOK = regexp.MustCompile(`^[a-z0-9]([a-z0-9_]|-[a-z0-9_])*$`)

// CheckName says whether campaigns may have a name.
func CheckName(name string) error {
	if len(name) > 40 || !nameOK.MatchString(name) {
		return fmt.Errorf("--name %q: a name is of a to z, digits, _ and single -, at most 40 of them", name)
	}
	return nil
}

// Start puts a campaign on the board, with the files that it needs, and returns its ID.
func Start(ctx context.Context, b *board.Board, c *plan.Campaign) (*board.State, error) {
	if err := CheckName(c.Name); err != nil {
		return nil, err
	}
	if len(c.Searches) == 0 {
		return nil, errors.New("the campaign has nothing to do")
	}
	for _, s := range c.Searches {
		for _, f := range s.Blobs() {
			if err := send(ctx, b, &f); err != nil {
				return nil, err
			}
		}
	}
	for {
		states, err := b.States(ctx)
		if err != nil {
			return nil, err
		}
		s := &board.State{Name: c.Name, Build: c.Build, Priority: c.Priority, State: board.Starting, Began: time.Now().UTC()}
		s.ID, s.Against = next(states, c.Name)
		err = b.Begin(ctx, s)
		if errors.Is(err, jetstream.ErrKeyExists) {
			continue // another one was quicker
		}
		if err != nil {
			return nil, err
		}
		c.ID, c.Against = s.ID, s.Against
		data, err := c.Marshal()
		if err != nil {
			return nil, err
		}
		if err := board.Retry(ctx, func(ctx context.Context) error { return b.PutBytes(ctx, "campaign/"+c.ID, data) }); err != nil {
			return nil, err
		}
		return b.Change(ctx, s.ID, func(s *board.State) bool {
			s.State = board.Running
			return true
		})
	}
}

// next returns the ID of a name's next campaign, and of the last one that has ended.
func next(states []*board.State, name string) (id, last string) {
	n, lastN := 0, 0
	for _, s := range states {
		if s.Name != name {
			continue
		}
		k, err := strconv.Atoi(strings.TrimPrefix(s.ID, name+"-"))
		if err != nil {
			continue
		}
		n = max(n, k)
		if s.State == board.Ended && k > lastN {
			lastN, last = k, s.ID
		}
	}
	return fmt.Sprintf("%s-%d", name, n+1), last
}

// send sends a file, unless it is there.
func send(ctx context.Context, b *board.Board, f *plan.Blob) error {
	there, size, err := b.Has(ctx, board.FileName(f.Digest))
	if err != nil || there && size == uint64(f.Size) {
		return err
	}
	r, err := os.Open(f.Path)
	if err != nil {
		return errors.New(cli.Cause(err, f.Path))
	}
	defer r.Close()
	if err := b.Put(ctx, board.FileName(f.Digest), r); err != nil {
		return fmt.Errorf("%s could not be sent: %w", f.Path, err)
	}
	return nil
}

package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"kpsim/campaign/board"
	"kpsim/campaign/plan"
	"kpsim/campaign/unit"
)

// A takeAsk asks for a unit.
type takeAsk struct {
	Build string        `json:"build"`
	Needs string        `json:"needs"`
	ID    string        `json:"id"`   // by which the worker cancels the request
	Wait  time.Duration `json:"wait"` // how long to wait for a unit
}

// An Assignment is a unit that was handed out.
type Assignment struct {
	Unit   plan.Unit     `json:"unit"`
	Ticket string        `json:"ticket"`
	Plan   string        `json:"plan"` // the digest of its campaign's list
	Lease  time.Duration `json:"lease"`
}

// mostWait bounds how long a worker waits for a unit.
const mostWait = 8 * time.Second

var (
	needsForm = regexp.MustCompile(`^(go|k[0-9a-f]{16})$`)
	idForm    = regexp.MustCompile(`^[0-9A-Za-z]{10,40}$`)
)

// take hands out a unit.
func (g *Gate) take(ctx context.Context, q *takeAsk, _ []byte) (any, []byte, error) {
	if !board.IsBuild(q.Build) || !needsForm.MatchString(q.Needs) || !idForm.MatchString(q.ID) {
		return nil, nil, refuse("the request for a unit can't be read")
	}
	c, err := g.consumer(ctx, q.Build, q.Needs)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, min(max(q.Wait, 10*time.Millisecond), mostWait))
	defer cancel()
	g.mu.Lock()
	g.waiting[q.ID] = cancel
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		delete(g.waiting, q.ID)
		g.mu.Unlock()
	}()
	for {
		m, err := c.Next(jetstream.FetchContext(ctx))
		switch {
		case ctx.Err() != nil && m == nil:
			return nil, nil, board.ErrNone
		case errors.Is(err, jetstream.ErrConsumerNotFound), errors.Is(err, jetstream.ErrConsumerDeleted):
			g.mu.Lock()
			delete(g.consumers, [2]string{q.Build, q.Needs})
			g.mu.Unlock()
			return nil, nil, board.ErrNone
		case err != nil || m == nil:
			return nil, nil, errLater
		}
		t, err := g.handOut(m, c.CachedInfo().Config.AckWait)
		if t != nil || err != nil {
			return t, nil, err
		}
	}
}

// cancelTake cancels a request for a unit.
func (g *Gate) cancelTake(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if cancel := g.waiting[id]; cancel != nil {
		cancel()
	}
}

// maxDeliveries is how often a unit is handed out; after that, it is assumed to kill its workers.
const maxDeliveries = 10

// handOut makes a worker's answer from a message, or nil if the message is no unit.
func (g *Gate) handOut(m jetstream.Msg, lease time.Duration) (*Assignment, error) {
	// the worker may have given up, but the unit has been handed out
	ctx, cancel := context.WithTimeout(g.ctx, 5*time.Second)
	defer cancel()
	var u plan.Unit
	meta, err := m.Metadata()
	if err != nil || json.Unmarshal(m.Data(), &u) != nil {
		_ = m.TermWithReason("it is no unit")
		return nil, nil
	}
	if meta.NumDelivered > 1 {
		there, err := g.b.Delivered(ctx, &u)
		switch {
		case err != nil:
			_ = m.NakWithDelay(time.Second)
			return nil, errLater
		case there:
			_ = m.Ack()
			return nil, nil
		case meta.NumDelivered > maxDeliveries:
			why := fmt.Sprintf("it was handed out %d times, and its workers ended without a word", meta.NumDelivered-1)
			_ = g.b.Fail(ctx, &board.Trouble{Unit: u, Worker: "a coordinator", Why: why, Lost: true,
				Delivery: meta.NumDelivered})
			_ = m.NakWithDelay(lease)
			return nil, nil
		}
	}
	digest, err := g.planOf(ctx, u.Campaign)
	if err != nil {
		_ = m.NakWithDelay(time.Second)
		return nil, errLater
	}
	t, err := g.seal(&ticket{Key: u.Key(), Delivery: meta.NumDelivered, Ack: m.Reply()})
	if err != nil {
		return nil, err
	}
	return &Assignment{Unit: u, Ticket: t, Plan: digest, Lease: lease}, nil
}

// mostKept bounds the cache of campaigns and consumers; a missing entry is read again.
const mostKept = 1000

// planOf returns the digest of a campaign's plan, which never changes once it runs.
func (g *Gate) planOf(ctx context.Context, id string) (string, error) {
	g.mu.Lock()
	digest := g.plans[id]
	g.mu.Unlock()
	if digest != "" {
		return digest, nil
	}
	s, _, err := g.b.State(ctx, id)
	if err != nil {
		return "", err
	}
	if s.Plan == "" {
		return "", board.ErrNone
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.plans) >= mostKept {
		clear(g.plans)
	}
	g.plans[id] = s.Plan
	return s.Plan, nil
}

func (g *Gate) consumer(ctx context.Context, build, needs string) (jetstream.Consumer, error) {
	of := [2]string{build, needs}
	g.mu.Lock()
	c := g.consumers[of]
	g.mu.Unlock()
	if c != nil {
		return c, nil
	}
	c, err := g.b.Work(ctx, build, needs, 0)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil, board.ErrNone
	}
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.consumers) >= mostKept {
		clear(g.consumers)
	}
	g.consumers[of] = c
	return c, nil
}

// A pieceAsk delivers a piece of a result that is too large for a message.
type pieceAsk struct {
	Ticket string `json:"ticket"`
	N      int    `json:"n"`
}

func (g *Gate) putLarge(ctx context.Context, q *pieceAsk, data []byte) (any, []byte, error) {
	t, err := g.open(q.Ticket)
	if err != nil {
		return nil, nil, err
	}
	if q.N < 0 || q.N >= board.MostPieces || len(data) > board.MostPiece {
		return nil, nil, refuse("piece %d, of %d bytes: a result has %d pieces at most", q.N, len(data),
			board.MostPieces)
	}
	return emptyBody{}, nil, g.b.PutLarge(ctx, t.Key, t.Delivery, q.N, data)
}

// A deliverAsk delivers a result, or reports that its pieces were delivered.
type deliverAsk struct {
	Ticket string        `json:"ticket"`
	Digest string        `json:"digest"`
	Size   int64         `json:"size"`
	Took   time.Duration `json:"took"`
	Worker string        `json:"worker"`
	Pieces int           `json:"pieces"`
}

// mostTook is longer than any unit takes.
const mostTook = 366 * 24 * time.Hour

// deliver stores a result after checking that it fits the unit.
func (g *Gate) deliver(ctx context.Context, q *deliverAsk, data []byte) (any, []byte, error) {
	t, err := g.open(q.Ticket)
	if err != nil {
		return nil, nil, err
	}
	p := &board.Packed{
		Key: t.Key, Digest: q.Digest, Size: q.Size, Took: min(max(q.Took, 0), mostTook),
		Worker: plan.Clean(q.Worker, board.MostName, false),
		Pieces: q.Pieces, Delivery: t.Delivery, Data: data,
	}
	s, err := g.checkResult(ctx, t, p)
	if errors.Is(err, board.ErrRefused) {
		trouble := &board.Trouble{Unit: t.unit, Worker: p.Worker, Why: "its result isn't valid: " + err.Error(),
			Delivery: t.Delivery}
		if err := g.b.Fail(ctx, trouble); err != nil {
			return nil, nil, err
		}
		g.acknowledge(t, nak(time.Second))
	}
	if err != nil {
		return nil, nil, err
	}
	err = g.b.Deliver(ctx, p, s)
	if d := new(board.Differ); errors.As(err, &d) {
		err = g.b.Fail(ctx, &board.Trouble{Unit: t.unit, Worker: p.Worker, Why: d.Error(), Differ: true,
			Delivery: t.Delivery})
	}
	if err != nil {
		return nil, nil, err
	}
	g.acknowledge(t, "+ACK") // if that is lost, the unit is delivered again, and the result is found there
	return emptyBody{}, nil, nil
}

// checkResult checks a result, and returns its counts.
func (g *Gate) checkResult(ctx context.Context, t *ticket, p *board.Packed) (*unit.Summary, error) {
	size := p.Size
	if p.Pieces > 0 {
		size = board.MostResult
	}
	done, err := g.acquireBig(ctx, size)
	if err != nil {
		return nil, err
	}
	defer done()
	if p.Pieces == 0 && len(p.Data) > board.MostPiece {
		return nil, refuse("a message of %d bytes", len(p.Data))
	}
	var lost error // the board doesn't answer
	data, err := p.Assemble(func(n int) (data []byte, err error) {
		data, err = g.b.Large(ctx, t.Key, t.Delivery, n)
		if err != nil && !errors.Is(err, board.ErrNone) {
			lost = err
		}
		return data, err
	})
	switch {
	case lost != nil:
		return nil, lost
	case err != nil:
		return nil, refuse("%v", err)
	}
	s, err := unit.Check(&t.unit, data)
	if err != nil {
		return nil, refuse("%s", plan.Clean(err.Error(), board.MostWhy, false))
	}
	return &s, nil
}

// acknowledge acknowledges a unit's message to the server.
func (g *Gate) acknowledge(t *ticket, what string) { _ = g.b.Conn.Publish(t.Ack, []byte(what)) }

// openAndAcknowledge opens a ticket, acknowledges its unit's message, and sends an empty answer.
func (g *Gate) openAndAcknowledge(ticket, what string) (any, []byte, error) {
	t, err := g.open(ticket)
	if err == nil {
		g.acknowledge(t, what)
	}
	return emptyBody{}, nil, err
}

func nak(after time.Duration) string { return fmt.Sprintf(`-NAK {"delay": %d}`, after) }

// A failAsk says that a unit failed.
type failAsk struct {
	Ticket string `json:"ticket"`
	Worker string `json:"worker"`
	Why    string `json:"why"`
	Log    string `json:"log"`
}

func (g *Gate) fail(ctx context.Context, q *failAsk, _ []byte) (any, []byte, error) {
	t, err := g.open(q.Ticket)
	if err != nil {
		return nil, nil, err
	}
	return emptyBody{}, nil,
		g.b.Fail(ctx, &board.Trouble{Unit: t.unit, Worker: q.Worker, Why: q.Why, Log: q.Log, Delivery: t.Delivery})
}

// A ticketAsk gives a unit back, or reports that it is being made.
type ticketAsk struct {
	Ticket string        `json:"ticket"`
	After  time.Duration `json:"after"`
}

func (g *Gate) giveBack(_ context.Context, q *ticketAsk, _ []byte) (any, []byte, error) {
	return g.openAndAcknowledge(q.Ticket, nak(min(max(q.After, 0), time.Minute)))
}

func (g *Gate) renew(_ context.Context, q *ticketAsk, _ []byte) (any, []byte, error) {
	return g.openAndAcknowledge(q.Ticket, "+WPI")
}

// A resultsAsk asks for results that a unit depends on: for one, or for all after a place whose unit's key begins
// with the given one.
type resultsAsk struct {
	Ticket string `json:"ticket,omitempty"`
	Key    string `json:"key"`
	One    bool   `json:"one"`
	After  uint64 `json:"after"`
}

func (g *Gate) resultsToWorker(ctx context.Context, q *resultsAsk, _ []byte) (any, []byte, error) {
	t, err := g.open(q.Ticket)
	if err != nil {
		return nil, nil, err
	}
	if !t.mayRead(q.Key, q.One) {
		return nil, nil, refuse("%s doesn't depend on that unit", t.Key)
	}
	return g.results(ctx, q, nil)
}

// mayRead reports whether a unit depends on a result, or on all whose key begins so.
func (t *ticket) mayRead(key string, one bool) bool {
	u := &t.unit
	if !one {
		return u.Kind == plan.Witness && key == fmt.Sprintf("%s.%d.%d.%s", u.Campaign, u.Search, u.Job, plan.Runs)
	}
	of, err := board.UnitOf(key)
	return err == nil && of.Campaign == u.Campaign && of.Search == u.Search &&
		(u.Kind == plan.Witness && of.Kind == plan.Runs && of.Job == u.Job ||
			(u.Kind == plan.Island || u.Kind == plan.Witness) && of.Kind == plan.Island)
}

// A largeAsk asks for a piece of a result.
type largeAsk struct {
	Ticket   string `json:"ticket,omitempty"`
	Key      string `json:"key"`
	Delivery uint64 `json:"delivery"`
	N        int    `json:"n"`
}

func (g *Gate) largeToWorker(ctx context.Context, q *largeAsk, _ []byte) (any, []byte, error) {
	t, err := g.open(q.Ticket)
	if err != nil {
		return nil, nil, err
	}
	if !t.mayRead(q.Key, true) {
		return nil, nil, refuse("%s doesn't depend on that unit", t.Key)
	}
	return g.large(ctx, q, nil)
}

// A fileAsk asks for a piece of a file.
type fileAsk struct {
	Digest string `json:"digest"`
}

func (g *Gate) file(ctx context.Context, q *fileAsk, _ []byte) (any, []byte, error) {
	data, err := g.b.Piece(ctx, q.Digest)
	return emptyBody{}, data, err
}

// campaignOf is the campaign of a key, or of the beginning of a key.
func campaignOf(key string) string {
	id, _, _ := strings.Cut(key, ".")
	return id
}

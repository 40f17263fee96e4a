package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"kpsim/campaign/board"
	"kpsim/campaign/plan"
	"kpsim/campaign/unit"
)

// A Worker sends the requests of workers. Many goroutines may use it.
type Worker struct{ Conn *nats.Conn }

// Take asks for a unit, and waits for one at most for the time wait. Without one it returns ErrNone.
func (w Worker) Take(ctx context.Context, build, needs string, wait time.Duration) (*Assignment, error) {
	q := &takeAsk{Build: build, Needs: needs, ID: nuid.Next(), Wait: wait}
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait+2*time.Second)
	type taken struct {
		t   *Assignment
		err error
	}
	answer := make(chan taken, 1)
	go func() {
		defer cancel()
		t := new(Assignment)
		_, err := ask(asking, w.Conn, "worker.take", q, nil, t)
		answer <- taken{t, err}
	}()
	select {
	case a := <-answer:
		return a.t, a.err
	case <-ctx.Done():
	}
	_ = w.Conn.Publish("worker.untake", []byte(q.ID)) // if this is lost, the request times out
	go func() {
		if a := <-answer; a.err == nil { // the unit was on its way
			w.GiveBack(a.t, 0)
		}
	}()
	return nil, ctx.Err()
}

// Renew reports that a unit is being made, so that it isn't handed out again.
func (w Worker) Renew(t *Assignment) { w.sendOnly("worker.working", &ticketAsk{Ticket: t.Ticket}) }

// GiveBack gives a unit back, to be handed out again after a while.
func (w Worker) GiveBack(t *Assignment, after time.Duration) {
	w.sendOnly("worker.back", &ticketAsk{Ticket: t.Ticket, After: after})
}

// sendOnly sends a request whose answer doesn't matter: if it is lost, the lease ends.
func (w Worker) sendOnly(subject string, q any) {
	if m, err := pack(q, nil); err == nil {
		_ = w.Conn.Publish(subject, m)
	}
}

// Fail reports how a unit failed. It goes on trying until the context ends.
func (w Worker) Fail(ctx context.Context, t *Assignment, worker, why, log string) error {
	q := &failAsk{Ticket: t.Ticket, Worker: worker, Why: plan.Clean(why, board.MostWhy, false),
		Log: plan.Clean(log, board.MostLog, true)}
	_, _, err := askUntilAnswered[emptyBody](ctx, w.Conn, "worker.fail", q, nil)
	return err
}

// Deliver delivers a unit's result. It goes on trying until the context ends. ErrRefused: the coordinator refuses the
// result, and hands out the unit again.
func (w Worker) Deliver(ctx context.Context, t *Assignment, r *unit.Result, worker string) error {
	if len(r.Data) > board.MostResult {
		return refuse("its result has %d bytes; at most %d are delivered", len(r.Data), board.MostResult)
	}
	q := &deliverAsk{Ticket: t.Ticket, Digest: board.DigestOf(r.Data), Size: int64(len(r.Data)), Took: r.Took,
		Worker: worker}
	packed := board.Pack(r.Data)
	if len(packed) > board.MostPiece {
		for ; len(packed) > 0; q.Pieces++ {
			n := min(len(packed), board.MostPiece)
			if _, _, err := askUntilAnswered[emptyBody](ctx, w.Conn, "worker.piece", &pieceAsk{t.Ticket, q.Pieces},
				packed[:n]); err != nil {
				return err
			}
			packed = packed[n:]
		}
	}
	_, _, err := askUntilAnswered[emptyBody](ctx, w.Conn, "worker.deliver", q, packed)
	return err
}

// Piece implements board.Pieces.
func (w Worker) Piece(ctx context.Context, digest string) ([]byte, error) {
	_, data, err := askUntilAnswered[emptyBody](ctx, w.Conn, "worker.file", &fileAsk{digest}, nil)
	return data, err
}

// Results calls f for the results that a unit depends on whose key begins with key.
func (w Worker) Results(ctx context.Context, t *Assignment, key string, f func(u *plan.Unit, data []byte) error) error {
	return results(ctx, w.Conn, "worker", &resultsAsk{Ticket: t.Ticket, Key: key},
		func(p *board.Packed, data []byte, _ error) error {
			u, err := board.UnitOf(p.Key)
			if err != nil {
				return nil // not a result; the report mentions it
			}
			return f(&u, data)
		})
}

// Data returns the result of a unit that another one depends on.
func (w Worker) Data(ctx context.Context, t *Assignment, u *plan.Unit) (data []byte, err error) {
	err = results(ctx, w.Conn, "worker", &resultsAsk{Ticket: t.Ticket, Key: u.Key(), One: true},
		func(_ *board.Packed, d []byte, bad error) error {
			if data = d; bad != nil {
				return fmt.Errorf("%w: %w", board.ErrDamaged, bad)
			}
			return nil
		})
	return data, err
}

// results calls f for results, with their data, or with what is wrong with them.
func results(ctx context.Context, nc *nats.Conn, role string, q *resultsAsk,
	f func(p *board.Packed, data []byte, bad error) error) error {
	for {
		list, data, err := askUntilAnswered[[]result](ctx, nc, role+".results", q, nil)
		if err != nil {
			return err
		}
		for _, r := range list {
			if r.Packed == nil || r.Bytes < 0 || r.Bytes > len(data) {
				return fmt.Errorf("results: %w", board.ErrDamaged)
			}
			r.Data, data = data[:r.Bytes:r.Bytes], data[r.Bytes:]
			q.After = r.Seq
			var lost error // the coordinator doesn't answer
			whole, bad := r.Assemble(func(n int) ([]byte, error) {
				_, piece, err := askUntilAnswered[emptyBody](ctx, nc, role+".large",
					&largeAsk{q.Ticket, r.Key, r.Delivery, n}, nil)
				if err != nil && !errors.Is(err, board.ErrNone) {
					lost = err
				}
				return piece, err
			})
			if lost != nil {
				return lost
			}
			if err := f(r.Packed, whole, bad); err != nil {
				return err
			}
		}
		if q.One || len(list) == 0 {
			return nil
		}
	}
}

// Needs asks for the offers. A coordinator that doesn't lead doesn't answer.
func (w Worker) Needs(ctx context.Context, build string) (list []board.Offer, err error) {
	m, err := w.Conn.RequestWithContext(ctx, board.NeedsSubject, []byte(build))
	if err != nil {
		return nil, err
	}
	return list, json.Unmarshal(m.Data, &list)
}

// SendHeartbeat reports that a worker is there.
func (w Worker) SendHeartbeat(a *board.Heartbeat) {
	if data, err := json.Marshal(a); err == nil {
		_ = w.Conn.Publish(board.HeartbeatSubject, data) // it is sent again soon
	}
}

// News calls f when there may be a new offer.
func (w Worker) News(f func()) (stop func(), err error) {
	sub, err := w.Conn.Subscribe(board.NewsSubject, func(*nats.Msg) { f() })
	if err != nil {
		return nil, err
	}
	return func() { _ = sub.Unsubscribe() }, nil
}

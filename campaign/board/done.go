package board

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"kpsim/campaign/plan"
	"kpsim/campaign/unit"
)

// The headers of a result.
const (
	headSummary = "Kpsim-Summary"
	headPacked  = "Kpsim-Result"
)

// A Differ is the error that two results of a unit differ.
type Differ struct{ Unit, Ours, Theirs string }

func (d *Differ) Error() string {
	return fmt.Sprintf("unit %s was made twice, with two results: %.12s and %.12s; kpsim isn't deterministic here, or "+
		"one of two computers is broken", d.Unit, d.Theirs, d.Ours)
}

// Deliver stores a unit's result, unless there is one. An existing result must be the same, or the error is a
// *Differ. The caller has checked the result, taken the summary from it, and stored the pieces of a large one.
func (b *Board) Deliver(ctx context.Context, p *Packed, s *unit.Summary) error {
	sum, err := json.Marshal(s)
	if err != nil {
		return err
	}
	head, err := json.Marshal(p)
	if err != nil {
		return err
	}
	m := nats.NewMsg("done." + p.Key)
	m.Header.Set(headSummary, string(sum))
	m.Header.Set(headPacked, string(head))
	if p.Pieces == 0 {
		m.Data = p.Data
	}
	_, err = b.js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
	if err = asExists(err); !errors.Is(err, errExists) {
		return err
	}
	before, err := b.Result(ctx, p.Key)
	if err != nil {
		return err
	}
	if before.Digest != p.Digest && p.AsideReason == "" && before.AsideReason == "" {
		return &Differ{p.Key, p.Digest, before.Digest}
	}
	return nil
}

// SetAside counts a unit as made, without a result.
func (b *Board) SetAside(ctx context.Context, u *plan.Unit, why, by string) error {
	why = plan.Clean(why, MostWhy, false)
	p := &Packed{Key: u.Key(), AsideReason: why, Worker: by, Digest: DigestOf(nil)}
	return Retry(ctx, func(ctx context.Context) error { return b.Deliver(ctx, p, &unit.Summary{AsideReason: why}) })
}

// PutLarge stores a piece of a result that is too large for a message.
func (b *Board) PutLarge(ctx context.Context, key string, delivery uint64, n int, data []byte) error {
	err := b.publishOnce(ctx, largeSubject(key, delivery, n), data)
	if errors.Is(err, errExists) { // the answer was lost; or the pieces differ, which the digest of the whole shows
		return nil
	}
	return err
}

func largeSubject(key string, delivery uint64, n int) string {
	return fmt.Sprintf("large.%s.%d.%d", key, delivery, n)
}

// Large returns a stored piece.
func (b *Board) Large(ctx context.Context, key string, delivery uint64, n int) ([]byte, error) {
	if _, err := UnitOf(key); err != nil {
		return nil, ErrNone
	}
	return lastMessage(ctx, b.large, largeSubject(key, delivery, n))
}

// Assemble returns a result; it fetches the pieces of a large one.
func (p *Packed) Assemble(piece func(n int) ([]byte, error)) ([]byte, error) {
	if p.AsideReason != "" {
		return nil, nil
	}
	packed := p.Data
	if p.Pieces < 0 || p.Pieces > MostPieces {
		return nil, ErrDamaged
	}
	for n := range p.Pieces {
		data, err := piece(n)
		if err != nil {
			return nil, err
		}
		if len(data) > MostPiece {
			return nil, ErrDamaged
		}
		packed = append(packed, data...)
	}
	return p.Unpack(packed)
}

// Result returns the result of a unit, or ErrNone.
func (b *Board) Result(ctx context.Context, key string) (*Packed, error) {
	m, err := b.done.GetLastMsgForSubject(ctx, "done."+key)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, err
	}
	return packedOf(m.Header, m.Data, m.Sequence)
}

// packedOf reads the message of a result.
func packedOf(h nats.Header, data []byte, seq uint64) (*Packed, error) {
	p := new(Packed)
	if err := json.Unmarshal([]byte(h.Get(headPacked)), p); err != nil {
		return nil, ErrDamaged
	}
	p.Data, p.Seq = data, seq
	return p, nil
}

// Data returns a unit's data.
func (b *Board) Data(ctx context.Context, u *plan.Unit) (data []byte, err error) {
	err = Retry(ctx, func(ctx context.Context) error {
		p, err := b.Result(ctx, u.Key())
		if err == nil {
			data, err = p.Assemble(func(n int) ([]byte, error) { return b.Large(ctx, p.Key, p.Delivery, n) })
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("unit %s: %w", u.Key(), err)
	}
	return data, nil
}

// Delivered reports whether a unit has its result.
func (b *Board) Delivered(ctx context.Context, u *plan.Unit) (bool, error) {
	_, err := b.done.GetLastMsgForSubject(ctx, "done."+u.Key())
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Refuse removes a unit's result that turned out to be false, so that the unit is made again.
func (b *Board) Refuse(ctx context.Context, u *plan.Unit) error {
	return b.done.Purge(ctx, jetstream.WithPurgeSubject("done."+u.Key()))
}

// The most that Page returns at once, in results and in bytes.
const (
	pageResults = 500
	pageBytes   = 384 << 10
)

// Page returns results in the order of arrival, from the place after on: those of a campaign, or of the units whose
// key begins with key. It returns none when there are no more.
func (b *Board) Page(ctx context.Context, key string, after uint64) (list []*Packed, err error) {
	size := 0
	err = b.page(ctx, b.done, "done."+key+".>", after, pageResults, func(m jetstream.Msg, seq uint64) bool {
		p, bad := packedOf(m.Headers(), m.Data(), seq)
		if bad != nil || p.Key != strings.TrimPrefix(m.Subject(), "done.") {
			// the caller sees that it isn't a result
			p = &Packed{Key: strings.TrimPrefix(m.Subject(), "done."), Seq: seq}
		}
		if size += len(p.Data) + 512; size > pageBytes && len(list) > 0 {
			return false
		}
		list = append(list, p)
		return true
	})
	return list, err
}

// page calls f for messages of a stream from the place after on, at most limit, until f returns false.
func (b *Board) page(ctx context.Context, s jetstream.Stream, filter string, after uint64, limit int,
	f func(m jetstream.Msg, seq uint64) bool) error {
	c, err := s.CreateConsumer(ctx, jetstream.ConsumerConfig{
		FilterSubject: filter, AckPolicy: jetstream.AckNonePolicy,
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       after + 1,
		InactiveThreshold: 30 * time.Second, MemoryStorage: true, Replicas: 1,
	})
	if err != nil {
		return err
	}
	info := c.CachedInfo()
	defer func() { _ = b.forgetConsumer(s, info.Name) }() // the server deletes an idle consumer by itself if this fails
	n := min(int(min(info.NumPending, uint64(limit))), limit)
	for n > 0 {
		batch, err := c.Fetch(n, jetstream.FetchContext(ctx))
		if err != nil {
			return err
		}
		got := 0
		for m := range batch.Messages() {
			meta, err := m.Metadata()
			if err != nil {
				return err
			}
			if got++; !f(m, meta.Sequence.Stream) {
				return nil
			}
		}
		if err := batch.Error(); err != nil {
			return err
		}
		if n -= got; got == 0 {
			return ctx.Err()
		}
	}
	return nil
}

func (b *Board) forgetConsumer(s jetstream.Stream, name string) error {
	return b.Conn.Publish("$JS.API.CONSUMER.DELETE."+s.CachedInfo().Config.Name+"."+name, nil)
}

// A Done is the summary of a unit's result.
type Done struct {
	Unit    plan.Unit
	Summary unit.Summary
	Took    time.Duration
	Worker  string
}

// pending counts the messages that messages would pass to f now.
func pending(ctx context.Context, s jetstream.Stream, config jetstream.OrderedConsumerConfig) (uint64, error) {
	config.HeadersOnly = true
	c, err := s.OrderedConsumer(ctx, config)
	if err != nil {
		return 0, err
	}
	i, err := c.Info(ctx)
	if err != nil {
		return 0, err
	}
	return i.NumPending, nil
}

// Follow calls f for all results of a campaign, without their data: first for those stored, then it calls caughtUp
// once, then f for each new one, until the context ends or f returns an error. It skips messages that aren't results.
func (b *Board) Follow(ctx context.Context, id string, caughtUp func(), f func(d *Done) error) error {
	config := jetstream.OrderedConsumerConfig{FilterSubjects: []string{"done." + id + ".>"}, HeadersOnly: true}
	n, err := pending(ctx, b.done, config)
	if err != nil {
		return err
	}
	if n == 0 {
		caughtUp()
	}
	seen := uint64(0)
	return messages(ctx, b.done, config, func(m jetstream.Msg) (bool, error) {
		if d, ok := doneOf(m); ok {
			if err := f(d); err != nil {
				return false, err
			}
		}
		if seen++; seen == n {
			caughtUp()
		}
		return true, nil
	})
}

// messages calls f for the messages of a stream, stored and new ones, until f has enough or the context ends.
func messages(ctx context.Context, s jetstream.Stream, config jetstream.OrderedConsumerConfig,
	f func(m jetstream.Msg) (more bool, err error)) error {
	config.MaxResetAttempts = -1 // a server may be away for long
	c, err := s.OrderedConsumer(ctx, config)
	if err != nil {
		return err
	}
	it, err := c.Messages()
	if err != nil {
		return err
	}
	defer it.Stop()
	defer context.AfterFunc(ctx, it.Stop)()
	for {
		m, err := it.Next()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return err
		}
		if more, err := f(m); err != nil || !more {
			return err
		}
	}
}

func doneOf(m jetstream.Msg) (*Done, bool) {
	u, err := UnitOf(strings.TrimPrefix(m.Subject(), "done."))
	if err != nil {
		return nil, false
	}
	p, err := packedOf(m.Headers(), nil, 0)
	if err != nil {
		return nil, false
	}
	d := &Done{Unit: u, Worker: p.Worker, Took: p.Took}
	return d, json.Unmarshal([]byte(m.Headers().Get(headSummary)), &d.Summary) == nil
}

// parseKey reads a key made by Unit.Key.
func parseKey(key string, u *plan.Unit) error {
	p := strings.Split(key, ".")
	if len(p) != 6 {
		return fmt.Errorf("%q names no unit", plan.Clean(key, 80, false))
	}
	u.Campaign, u.Kind = p[0], plan.Kind(p[3])
	for _, f := range []struct {
		at *int
		s  string
	}{{&u.Search, p[1]}, {&u.Job, p[2]}, {&u.From, p[4]}, {&u.To, p[5]}} {
		n, err := strconv.Atoi(f.s)
		if err != nil {
			return fmt.Errorf("%q names no unit", plan.Clean(key, 80, false))
		}
		*f.at = n
	}
	return nil
}

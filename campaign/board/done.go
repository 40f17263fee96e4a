package board

import (
	"context"
	"crypto/sha256"
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
	headDigest  = "Kpsim-Digest"
	headObject  = "Kpsim-Object"
	headTook    = "Kpsim-Took-Ms"
	headWorker  = "Kpsim-Worker"
)

// A Differ is an error that says that two results of a unit differ.
type Differ struct{ Unit, Ours, Theirs string }

func (d *Differ) Error() string {
	return fmt.Sprintf("unit %s was made twice, with two results: %.12s and %.12s; kpsim isn't deterministic here, or one of two computers is broken", d.Unit, d.Theirs, d.Ours)
}

// Deliver stores a unit's result, unless there is one. If there is it must be the same: a
// *Differ says that it isn't. It goes on trying until the context ends.
func (b *Board) Deliver(ctx context.Context, u *plan.Unit, r *unit.Result, worker string) error {
	head, err := json.Marshal(&r.Summary)
	if err != nil {
		return err
	}
	m := nats.NewMsg("done." + u.Key())
	m.Data = b.pack.EncodeAll(r.Data, nil)
	digest := fmt.Sprintf("%x", sha256.Sum256(r.Data))
	m.Header.Set(headSummary, string(head))
	m.Header.Set(headDigest, digest)
	m.Header.Set(headTook, strconv.FormatInt(r.Took.Milliseconds(), 10))
	m.Header.Set(headWorker, worker)
	if len(m.Data) > mostInline {
		name := "done/" + u.Key() + "/" + digest[:16]
		if err := Retry(ctx, func(ctx context.Context) error {
			_, err := b.files.PutBytes(ctx, name, m.Data)
			return err
		}); err != nil {
			return err
		}
		m.Data = nil
		m.Header.Set(headObject, name)
	}
	err = Retry(ctx, func(ctx context.Context) error {
		_, err := b.js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
		if api := new(jetstream.APIError); errors.As(err, &api) && strings.Contains(api.Description, "maximum messages per subject") {
			return errTwice
		}
		return err
	})
	if !errors.Is(err, errTwice) {
		return err
	}
	var before *jetstream.RawStreamMsg
	if err := Retry(ctx, func(ctx context.Context) (err error) {
		before, err = b.done.GetLastMsgForSubject(ctx, m.Subject)
		return err
	}); err != nil {
		return err
	}
	if d := before.Header.Get(headDigest); d != digest && r.Summary.Aside == "" && summaryOf(before.Header).Aside == "" {
		return &Differ{u.Key(), digest, d}
	}
	return nil
}

func summaryOf(h nats.Header) (s unit.Summary) {
	_ = json.Unmarshal([]byte(h.Get(headSummary)), &s) // what can't be read counts nothing
	return s
}

// Delivered reports whether a unit has its result.
func (b *Board) Delivered(ctx context.Context, u *plan.Unit) (bool, error) {
	_, err := b.done.GetLastMsgForSubject(ctx, "done."+u.Key())
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	return err == nil, err
}

// A Done is what is told of a unit's result.
type Done struct {
	Unit    plan.Unit
	Summary unit.Summary
	Took    time.Duration
	Worker  string
	Data    []byte // nil if it wasn't asked for
}

// Results calls f for all results of a campaign, or of those units whose key begins so, in the
// order in which they came, and returns when there are no more.
func (b *Board) Results(ctx context.Context, key string, f func(d *Done) error) error {
	filter := "done." + key + ".>"
	n, err := pending(ctx, b.done, jetstream.OrderedConsumerConfig{FilterSubjects: []string{filter}})
	if err != nil || n == 0 {
		return err
	}
	seen := uint64(0)
	return b.consume(ctx, filter, false, func(m jetstream.Msg) (bool, error) {
		d, err := b.doneOf(ctx, m, true)
		if err != nil {
			return false, err
		}
		seen++
		return seen < n, f(d)
	})
}

// Data returns what a unit has shown.
func (b *Board) Data(ctx context.Context, u *plan.Unit) (data []byte, err error) {
	err = Retry(ctx, func(ctx context.Context) error {
		m, err := b.done.GetLastMsgForSubject(ctx, "done."+u.Key())
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return ErrNone
		}
		if err != nil {
			return err
		}
		packed := m.Data
		if name := m.Header.Get(headObject); name != "" {
			if packed, err = b.files.GetBytes(ctx, name); err != nil {
				return err
			}
		}
		data, err = b.unpack.DecodeAll(packed, nil)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("unit %s: %w", u.Key(), err)
	}
	return data, nil
}

// pending counts the messages that messages would call f for now.
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

// Follow calls f for all results of a campaign, without their data: those that are there, after
// which it calls there once, and those that come, until the context ends or f returns an error.
func (b *Board) Follow(ctx context.Context, id string, there func(), f func(d *Done) error) error {
	filter := "done." + id + ".>"
	n, err := pending(ctx, b.done, jetstream.OrderedConsumerConfig{FilterSubjects: []string{filter}})
	if err != nil {
		return err
	}
	if n == 0 {
		there()
	}
	seen := uint64(0)
	return b.consume(ctx, filter, true, func(m jetstream.Msg) (bool, error) {
		d, err := b.doneOf(ctx, m, false)
		if err != nil {
			return false, err
		}
		if err := f(d); err != nil {
			return false, err
		}
		if seen++; seen == n {
			there()
		}
		return true, nil
	})
}

func (b *Board) consume(ctx context.Context, filter string, headers bool, f func(m jetstream.Msg) (more bool, err error)) error {
	return messages(ctx, b.done, jetstream.OrderedConsumerConfig{FilterSubjects: []string{filter}, HeadersOnly: headers}, f)
}

// messages calls f for the messages of a stream, those that are there and those that come, until f
// has enough or the context ends.
func messages(ctx context.Context, s jetstream.Stream, config jetstream.OrderedConsumerConfig, f func(m jetstream.Msg) (more bool, err error)) error {
	config.MaxResetAttempts = -1 // a server may be gone for long
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

func (b *Board) doneOf(ctx context.Context, m jetstream.Msg, whole bool) (*Done, error) {
	d := &Done{Worker: m.Headers().Get(headWorker), Summary: summaryOf(m.Headers())}
	if err := parseKey(strings.TrimPrefix(m.Subject(), "done."), &d.Unit); err != nil {
		return nil, err
	}
	ms, _ := strconv.ParseInt(m.Headers().Get(headTook), 10, 64)
	d.Took = time.Duration(ms) * time.Millisecond
	if !whole {
		return d, nil
	}
	data := m.Data()
	if name := m.Headers().Get(headObject); name != "" {
		err := Retry(ctx, func(ctx context.Context) (err error) {
			data, err = b.files.GetBytes(ctx, name)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(data) == 0 {
		return d, nil
	}
	var err error
	if d.Data, err = b.unpack.DecodeAll(data, nil); err != nil {
		return nil, fmt.Errorf("unit %s: its result is damaged: %w", d.Unit.Key(), err)
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256(d.Data)); sum != m.Headers().Get(headDigest) {
		return nil, fmt.Errorf("unit %s: its result is damaged: its digest is another one", d.Unit.Key())
	}
	return d, nil
}

// parseKey reads what Unit.Key has made.
func parseKey(key string, u *plan.Unit) error {
	p := strings.Split(key, ".")
	if len(p) != 6 {
		return fmt.Errorf("%q names no unit", key)
	}
	u.Campaign, u.Kind = p[0], plan.Kind(p[3])
	for _, f := range []struct {
		at *int
		s  string
	}{{&u.Search, p[1]}, {&u.Job, p[2]}, {&u.From, p[4]}, {&u.To, p[5]}} {
		n, err := strconv.Atoi(f.s)
		if err != nil {
			return fmt.Errorf("%q names no unit", key)
		}
		*f.at = n
	}
	return nil
}

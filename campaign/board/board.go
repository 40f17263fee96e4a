package board

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The names in JetStream.
const (
	streamWork    = "WORK"
	streamDone    = "DONE"
	streamTrouble = "TROUBLE"
	bucketState   = "CAMPAIGNS"
	bucketStatus  = "STATUS"
	bucketFinds   = "FINDS"
	bucketLead    = "LEAD"
	bucketSecret  = "SECRET"
	streamPieces  = "PIECES"
	streamLarge   = "LARGE"
)

// LeadTTL is how long a coordinator leads without renewing its claim.
const LeadTTL = 10 * time.Second

// duplicateWindow is how long the server remembers a published message, to drop a second copy.
const duplicateWindow = 2 * time.Minute

// A Board is a connection to the streams and buckets. It may be used by many goroutines.
type Board struct {
	Conn *nats.Conn
	js   jetstream.JetStream

	Campaigns, Status, Finds, Lead, secret jetstream.KeyValue

	work, done, trouble, pieces, large jetstream.Stream
}

// Make creates the streams and buckets that don't exist yet, each with the given number of
// replicas. Several processes may call it.
func Make(ctx context.Context, nc *nats.Conn, replicas int) (*Board, error) {
	b, err := board(nc)
	if err != nil {
		return nil, err
	}
	replicas = max(replicas, 1)
	for _, c := range b.streams() {
		c.config.Replicas, c.config.Duplicates = replicas, duplicateWindow
		if *c.dest, err = b.stream(ctx, c.config); err != nil {
			return nil, fmt.Errorf("stream %s: %w", c.config.Name, err)
		}
	}
	for _, k := range b.buckets() {
		*k.dest, err = resendUntilAnswered(ctx, func(ctx context.Context) (jetstream.KeyValue, error) {
			return b.js.CreateOrUpdateKeyValue(ctx,
				jetstream.KeyValueConfig{Bucket: k.name, Replicas: replicas, TTL: k.ttl, History: 1})
		})
		if err != nil {
			return nil, fmt.Errorf("bucket %s: %w", k.name, err)
		}
	}
	return b, nil
}

func (b *Board) stream(ctx context.Context, c jetstream.StreamConfig) (jetstream.Stream, error) {
	return resendUntilAnswered(ctx, func(ctx context.Context) (jetstream.Stream, error) {
		return b.js.CreateOrUpdateStream(ctx, c)
	})
}

// requestTimeout is how long to wait before a request to make something is sent again.
const requestTimeout = time.Second

// resendUntilAnswered calls f until the server answers. If several servers of a cluster request the same thing at
// once, only one gets an answer.
func resendUntilAnswered[T any](ctx context.Context, f func(ctx context.Context) (T, error)) (T, error) {
	for {
		short, cancel := context.WithTimeout(ctx, requestTimeout)
		made, err := f(short)
		cancel()
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return made, err
		}
	}
}

// Join opens the streams and buckets that a coordinator has made.
func Join(ctx context.Context, nc *nats.Conn) (*Board, error) {
	b, err := board(nc)
	if err != nil {
		return nil, err
	}
	var asked []func() error // run in parallel: each needs a round trip
	for _, s := range b.streams() {
		asked = append(asked, func() (err error) {
			if *s.dest, err = b.js.Stream(ctx, s.config.Name); err != nil {
				return fmt.Errorf("stream %s: %w", s.config.Name, err)
			}
			return nil
		})
	}
	for _, k := range b.buckets() {
		asked = append(asked, func() (err error) {
			if *k.dest, err = b.js.KeyValue(ctx, k.name); err != nil {
				return fmt.Errorf("bucket %s: %w", k.name, err)
			}
			return nil
		})
	}
	errs := make([]error, len(asked))
	var all sync.WaitGroup
	for i, ask := range asked {
		all.Go(func() { errs[i] = ask() })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

// Secret returns the secret that signs tickets. The first coordinator makes it; the coordinators of a cluster share
// it.
func (b *Board) Secret(ctx context.Context) (secret []byte, err error) {
	err = Retry(ctx, func(ctx context.Context) error {
		e, err := b.secret.Get(ctx, "ticket")
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			secret = []byte(rand.Text() + rand.Text())
			_, err = b.secret.Create(ctx, "ticket", secret)
			return err
		}
		if err == nil {
			secret = e.Value()
		}
		return err
	})
	return secret, err
}

func board(nc *nats.Conn) (b *Board, err error) {
	b = &Board{Conn: nc}
	if b.js, err = jetstream.New(nc); err != nil {
		return nil, err
	}
	return b, nil
}

type stream struct {
	dest   *jetstream.Stream
	config jetstream.StreamConfig
}

// streams lists the streams. Where a subject holds one message, the first one published stays.
func (b *Board) streams() []stream {
	onePerSubject := func(name, subjects string) jetstream.StreamConfig {
		return jetstream.StreamConfig{Name: name, Subjects: []string{subjects}, AllowDirect: true, MaxMsgsPerSubject: 1,
			Discard: jetstream.DiscardNew, DiscardNewPerSubject: true}
	}
	return []stream{
		{&b.work, jetstream.StreamConfig{Name: streamWork, Subjects: []string{"work.>"},
			Retention:   jetstream.WorkQueuePolicy,
			Compression: jetstream.S2Compression}},
		{&b.done, onePerSubject(streamDone, "done.>")},
		{&b.trouble, jetstream.StreamConfig{Name: streamTrouble, Subjects: []string{"trouble.>"}}},
		{&b.pieces, onePerSubject(streamPieces, "piece.*")},
		{&b.large, onePerSubject(streamLarge, "large.>")},
	}
}

type bucket struct {
	dest *jetstream.KeyValue
	name string
	ttl  time.Duration
}

func (b *Board) buckets() []bucket {
	return []bucket{{&b.Campaigns, bucketState, 0}, {&b.Status, bucketStatus, 0}, {&b.Finds, bucketFinds, 0},
		{&b.Lead, bucketLead, LeadTTL}, {&b.secret, bucketSecret, 0}}
}

// Retry calls f until it succeeds, with growing pauses, or until the context ends. It also stops at an error that
// waiting can't cure.
func Retry(ctx context.Context, f func(ctx context.Context) error) error {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		each, cancel := context.WithTimeout(ctx, 10*time.Second)
		err := f(each)
		cancel()
		if err == nil || ctx.Err() != nil || errors.Is(err, errExists) || errors.Is(err, ErrNone) ||
			errors.Is(err, ErrDamaged) || errors.Is(err, ErrRefused) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (last: %w)", ctx.Err(), err)
		case <-time.After(pause):
		}
	}
}

// ErrNone says that something requested doesn't exist.
var ErrNone = errors.New("not found")

// ErrDamaged says that the stored bytes differ from the ones that were sent.
var ErrDamaged = errors.New("the stored data is damaged")

// ErrRefused says that a coordinator refuses the request.
var ErrRefused = errors.New("refused")

// errExists says that the unit has a result already.
var errExists = errors.New("already stored")

package board

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
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
	storeFiles    = "FILES"
)

// LeadFor is for how long a coordinator leads that says nothing more.
const LeadFor = 10 * time.Second

// twice is within what time a message that is published twice is dropped.
const twice = 2 * time.Minute

// mostInline is how large a result may be that is part of its message, in bytes, compressed. The
// usual server takes a mebibyte.
const mostInline = 512 << 10

// A Board is a connection to all of that. It may be used by many goroutines.
type Board struct {
	Conn *nats.Conn
	js   jetstream.JetStream

	Campaigns, Status, Finds, Lead jetstream.KeyValue

	work, done, trouble jetstream.Stream
	files               jetstream.ObjectStore
	pack                *zstd.Encoder
	unpack              *zstd.Decoder
}

// Make makes what isn't there yet, with so many replicas. It may be called by several processes.
func Make(ctx context.Context, nc *nats.Conn, replicas int) (*Board, error) {
	b, err := board(nc)
	if err != nil {
		return nil, err
	}
	replicas = max(replicas, 1)
	b.work, err = b.stream(ctx, jetstream.StreamConfig{Name: streamWork, Subjects: []string{"work.>"}, Retention: jetstream.WorkQueuePolicy, Replicas: replicas, Duplicates: twice, Compression: jetstream.S2Compression})
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", streamWork, err)
	}
	b.done, err = b.stream(ctx, jetstream.StreamConfig{
		Name: streamDone, Subjects: []string{"done.>"}, Replicas: replicas, Duplicates: twice, AllowDirect: true,
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, // the first one counts
	})
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", streamDone, err)
	}
	b.trouble, err = b.stream(ctx, jetstream.StreamConfig{Name: streamTrouble, Subjects: []string{"trouble.>"}, Replicas: replicas, Duplicates: twice})
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", streamTrouble, err)
	}
	for _, k := range b.buckets() {
		*k.at, err = soon(ctx, func(ctx context.Context) (jetstream.KeyValue, error) {
			return b.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: k.name, Replicas: replicas, TTL: k.ttl, History: 1})
		})
		if err != nil {
			return nil, fmt.Errorf("bucket %s: %w", k.name, err)
		}
	}
	b.files, err = soon(ctx, func(ctx context.Context) (jetstream.ObjectStore, error) {
		return b.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: storeFiles, Replicas: replicas})
	})
	if err != nil {
		return nil, fmt.Errorf("object store %s: %w", storeFiles, err)
	}
	return b, nil
}

func (b *Board) stream(ctx context.Context, c jetstream.StreamConfig) (jetstream.Stream, error) {
	return soon(ctx, func(ctx context.Context) (jetstream.Stream, error) { return b.js.CreateOrUpdateStream(ctx, c) })
}

// answer is after what time a request to make something is sent again.
const answer = time.Second

// soon asks for something to be made, and asks again if there is no answer: of several servers of a
// cluster that ask for the same at once only one is answered.
func soon[T any](ctx context.Context, f func(ctx context.Context) (T, error)) (T, error) {
	for {
		short, cancel := context.WithTimeout(ctx, answer)
		made, err := f(short)
		cancel()
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return made, err
		}
	}
}

// Join uses what a coordinator has made.
func Join(ctx context.Context, nc *nats.Conn) (*Board, error) {
	b, err := board(nc)
	if err != nil {
		return nil, err
	}
	var asked []func() error // all at once: each is a question to the server
	for _, s := range []struct {
		at   *jetstream.Stream
		name string
	}{{&b.work, streamWork}, {&b.done, streamDone}, {&b.trouble, streamTrouble}} {
		asked = append(asked, func() (err error) {
			if *s.at, err = b.js.Stream(ctx, s.name); err != nil {
				return fmt.Errorf("stream %s: %w", s.name, err)
			}
			return nil
		})
	}
	for _, k := range b.buckets() {
		asked = append(asked, func() (err error) {
			if *k.at, err = b.js.KeyValue(ctx, k.name); err != nil {
				return fmt.Errorf("bucket %s: %w", k.name, err)
			}
			return nil
		})
	}
	asked = append(asked, func() (err error) {
		if b.files, err = b.js.ObjectStore(ctx, storeFiles); err != nil {
			return fmt.Errorf("object store %s: %w", storeFiles, err)
		}
		return nil
	})
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

func board(nc *nats.Conn) (b *Board, err error) {
	b = &Board{Conn: nc}
	if b.js, err = jetstream.New(nc); err != nil {
		return nil, err
	}
	if b.pack, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)); err != nil {
		return nil, err
	}
	b.unpack, err = zstd.NewReader(nil, zstd.WithDecoderMaxMemory(1<<30))
	return b, err
}

type bucket struct {
	at   *jetstream.KeyValue
	name string
	ttl  time.Duration
}

func (b *Board) buckets() []bucket {
	return []bucket{{&b.Campaigns, bucketState, 0}, {&b.Status, bucketStatus, 0}, {&b.Finds, bucketFinds, 0}, {&b.Lead, bucketLead, LeadFor}}
}

// Retry calls f until it succeeds, with longer and longer pauses, or until the context ends. What
// can't become better by waiting ends it too.
func Retry(ctx context.Context, f func(ctx context.Context) error) error {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		each, cancel := context.WithTimeout(ctx, 10*time.Second)
		err := f(each)
		cancel()
		if err == nil || ctx.Err() != nil || errors.Is(err, errTwice) || errors.Is(err, ErrNone) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (last: %w)", ctx.Err(), err)
		case <-time.After(pause):
		}
	}
}

// ErrNone says that something isn't there.
var ErrNone = errors.New("it isn't there")

// errTwice says that a unit has its result.
var errTwice = errors.New("it is there already")

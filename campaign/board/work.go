package board

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"kpsim/campaign/plan"
)

// Work returns the consumer from which workers of a build take units, if they have what needs names. Make makes it,
// with the lease after which a unit is handed out again; lease 0 doesn't make one.
func (b *Board) Work(ctx context.Context, build, needs string, lease time.Duration) (jetstream.Consumer, error) {
	name := build + "-" + needs
	if lease == 0 {
		return b.js.Consumer(ctx, streamWork, name)
	}
	return b.work.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: name, FilterSubject: "work." + build + "." + needs + ".>", AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: lease, MaxDeliver: -1, MaxAckPending: 100_000, MaxWaiting: 100_000,
	})
}

// Enqueue queues units to be made. epoch distinguishes units that are handed out again on purpose.
func (b *Board) Enqueue(ctx context.Context, build, needs string, epoch int, list []plan.Unit) error {
	var acks []jetstream.PubAckFuture
	for i := range list {
		u := &list[i]
		body, err := json.Marshal(u)
		if err != nil {
			return err
		}
		ack, err := b.js.PublishAsync("work."+build+"."+needs+"."+u.Key(), body,
			jetstream.WithMsgID(strconv.Itoa(epoch)+"."+u.Key()))
		if err != nil {
			return err
		}
		acks = append(acks, ack)
	}
	for _, a := range acks {
		select {
		case <-a.Ok():
		case err := <-a.Err():
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// QueuedKeys returns the keys of a campaign's units that are queued or being made.
func (b *Board) QueuedKeys(ctx context.Context, id string) (keys []string, err error) {
	info, err := b.work.Info(ctx, jetstream.WithSubjectFilter("work.*.*."+id+".>"))
	if err != nil {
		return nil, err
	}
	for subject := range info.State.Subjects {
		if p := strings.SplitN(subject, ".", 4); len(p) == 4 {
			keys = append(keys, p[3])
		}
	}
	return keys, nil
}

// AnyQueued reports whether any unit of a campaign is queued or being made. It costs less than
// QueuedKeys if there are many.
func (b *Board) AnyQueued(ctx context.Context, id string) (bool, error) {
	_, err := b.work.GetMsg(ctx, 1, jetstream.WithGetMsgSubject("work.*.*."+id+".>"))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Withdraw removes a campaign's units from the queue.
func (b *Board) Withdraw(ctx context.Context, id string) error {
	return b.work.Purge(ctx, jetstream.WithPurgeSubject("work.*.*."+id+".>"))
}

// A Trouble is how a unit failed.
type Trouble struct {
	Unit     plan.Unit `json:"unit"`
	Worker   string    `json:"worker"`
	Why      string    `json:"why"`
	Log      string    `json:"log"`
	Lost     bool      `json:"lost"`     // its workers ended, or lost their connection, again and again
	Differ   bool      `json:"differ"`   // it has two results
	Delivery uint64    `json:"delivery"` // how often it had been handed out
}

// The limits of a failure's description and of a worker's name, in bytes.
const (
	MostWhy  = 1 << 10
	MostLog  = 64 << 10
	MostName = 100
)

// Fail records how a unit failed, once for each delivery.
func (b *Board) Fail(ctx context.Context, t *Trouble) error {
	t.Worker, t.Why, t.Log = plan.Clean(t.Worker, MostName, false), plan.Clean(t.Why, MostWhy, false),
		plan.Clean(t.Log, MostLog, true)
	body, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return Retry(ctx, func(ctx context.Context) error {
		_, err := b.js.Publish(ctx, "trouble."+t.Unit.Key(), body,
			jetstream.WithMsgID(fmt.Sprintf("%s.%d.%t", t.Unit.Key(), t.Delivery, t.Differ)))
		return err
	})
}

// Troubles calls f for each trouble of a campaign, stored and new ones, until the context ends.
func (b *Board) Troubles(ctx context.Context, id string, f func(t *Trouble)) error {
	config := jetstream.OrderedConsumerConfig{FilterSubjects: []string{"trouble." + id + ".>"}}
	return messages(ctx, b.trouble, config, func(m jetstream.Msg) (bool, error) {
		if t, ok := troubleOf(m); ok {
			f(t)
		}
		return true, nil
	})
}

// Differing returns the troubles of a campaign that report two results of a unit, from the place after on, and the
// place of the last trouble read. The caller goes on until that is 0.
func (b *Board) Differing(ctx context.Context, id string, after uint64) (list []Trouble, last uint64, err error) {
	err = b.page(ctx, b.trouble, "trouble."+id+".>", after, pageResults, func(m jetstream.Msg, seq uint64) bool {
		if t, ok := troubleOf(m); ok && t.Differ {
			t.Log = ""
			list = append(list, *t)
		}
		last = seq
		return len(list) < pageResults/4
	})
	return list, last, err
}

// troubleOf reads a trouble, which must belong to the unit that its subject names.
func troubleOf(m jetstream.Msg) (*Trouble, bool) {
	t := new(Trouble)
	if json.Unmarshal(m.Data(), t) != nil || "trouble."+t.Unit.Key() != m.Subject() {
		return nil, false
	}
	return t, true
}

package gate

import (
	"context"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"kpsim/campaign/board"
)

// The number of requests handled at once, for each role: neither can starve the other.
const (
	mostTakes   = 20_000 // cores of workers that wait for a unit
	mostWorkers = 128    // other requests of workers
	mostClients = 64
	mostBig     = 4 // results and plans of more than big bytes
	big         = 1 << 20
)

// A Gate answers workers and clients.
type Gate struct {
	b      *board.Board
	secret []byte
	ctx    context.Context
	end    context.CancelFunc
	subs   []*nats.Subscription
	bigs   chan struct{}

	mu        sync.Mutex // guards the rest
	consumers map[[2]string]jetstream.Consumer
	waiting   map[string]context.CancelFunc // requests for a unit, by the name that the worker gave them
	plans     map[string]string             // the digest of the plan, by campaign
}

// Serve answers requests until Stop.
func Serve(ctx context.Context, b *board.Board) (*Gate, error) {
	g := &Gate{b: b, bigs: make(chan struct{}, mostBig), consumers: make(map[[2]string]jetstream.Consumer),
		waiting: make(map[string]context.CancelFunc), plans: make(map[string]string)}
	var err error
	if g.secret, err = b.Secret(ctx); err != nil {
		return nil, err
	}
	g.ctx, g.end = context.WithCancel(context.WithoutCancel(ctx))
	takes, workers, clients := make(chan struct{}, mostTakes), make(chan struct{}, mostWorkers),
		make(chan struct{}, mostClients)
	for _, s := range []struct {
		subject string
		slots   chan struct{}
		f       handler
	}{
		{"worker.take", takes, handle(g.take)},
		{"worker.piece", workers, handle(g.putLarge)},
		{"worker.deliver", workers, handle(g.deliver)},
		{"worker.fail", workers, handle(g.fail)},
		{"worker.working", workers, handle(g.renew)},
		{"worker.back", workers, handle(g.giveBack)},
		{"worker.results", workers, handle(g.resultsToWorker)},
		{"worker.large", workers, handle(g.largeToWorker)},
		{"worker.file", workers, handle(g.file)},
		{"client.states", clients, handle(g.states)},
		{"client.state", clients, handle(g.state)},
		{"client.status", clients, handle(g.status)},
		{"client.begin", clients, handle(g.begin)},
		{"client.put", clients, handle(g.put)},
		{"client.has", clients, handle(g.has)},
		{"client.run", clients, handle(g.run)},
		{"client.change", clients, handle(g.change)},
		{"client.forget", clients, handle(g.forget)},
		{"client.results", clients, handle(g.results)},
		{"client.large", clients, handle(g.large)},
		{"client.differing", clients, handle(g.differing)},
		{"client.causes", clients, handle(g.causes)},
		{"client.file", clients, handle(g.file)},
	} {
		if err := g.subscribe(s.subject, s.slots, s.f); err != nil {
			g.Stop()
			return nil, err
		}
	}
	// each coordinator receives it
	sub, err := b.Conn.Subscribe("worker.untake", func(m *nats.Msg) { g.cancelTake(string(m.Data)) })
	if err != nil {
		g.Stop()
		return nil, err
	}
	g.subs = append(g.subs, sub)
	return g, b.Conn.Flush()
}

// Stop stops answering. Requests that wait for a unit are given up.
func (g *Gate) Stop() {
	for _, s := range g.subs {
		_ = s.Unsubscribe() // the connection may be closed
	}
	g.end()
}

// A handler answers a question.
type handler func(ctx context.Context, m []byte) []byte

// handle makes a handler of a function of the question and its data.
func handle[Q any](f func(ctx context.Context, q *Q, data []byte) (any, []byte, error)) handler {
	return func(ctx context.Context, m []byte) []byte {
		q := new(Q)
		data, err := unpack(m, q)
		if err != nil {
			return answerOf(nil, nil, refuse("the request can't be read"))
		}
		return answerOf(f(ctx, q, data))
	}
}

// subscribe answers requests on a subject, as many at once as there are slots; others are put off.
func (g *Gate) subscribe(subject string, slots chan struct{}, f handler) error {
	respond := func(m *nats.Msg, data []byte) {
		if m.Reply != "" && len(data) > 0 {
			_ = m.Respond(data) // otherwise it is asked again
		}
	}
	sub, err := g.b.Conn.QueueSubscribe(subject, "gate", func(m *nats.Msg) {
		select {
		case slots <- struct{}{}:
		default:
			respond(m, answerOf(nil, nil, errLater))
			return
		}
		go func() {
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(g.ctx, answerTimeout)
			defer cancel()
			respond(m, f(ctx, m.Data))
		}()
	})
	if err == nil {
		g.subs = append(g.subs, sub)
	}
	return err
}

// acquireBig holds one of few slots for a request that uses much memory.
func (g *Gate) acquireBig(ctx context.Context, size int64) (done func(), err error) {
	if size <= big {
		return func() {}, nil
	}
	select {
	case g.bigs <- struct{}{}:
		return func() { <-g.bigs }, nil
	case <-ctx.Done():
		return nil, errLater
	}
}

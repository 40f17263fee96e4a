package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"kpsim/campaign/board"
	"kpsim/campaign/lead"
	"kpsim/campaign/plan"
	"kpsim/campaign/unit"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/parallel"
)

// Options are how a worker works.
type Options struct {
	Name    string
	Build   string
	Cores   int
	Dir     string        // where files that units need are kept
	Kernels bool          // it may fetch and run kernels
	Idle    time.Duration // it ends when there was nothing to do for so long; 0: never
	Longest time.Duration // a unit that takes longer counts as failed; 0: LongestDefault

	Make func(c *plan.Campaign, u *plan.Unit) (unit.Result, error) // makes units instead of a unit.Bench; for tests
}

// A Worker makes units. Run's goroutines use it.
type Worker struct {
	b    *board.Board
	o    Options
	stop atomic.Bool
	done atomic.Uint64 // units
	last atomic.Int64  // when there was something to do, Unix nanoseconds

	asking    sync.Mutex   // held while it is asked what there is, and fetched; guards have and tried
	mu        sync.Mutex   // guards the rest
	offers    []lead.Offer // those that this worker can serve
	lacks     []string
	have      map[string]error // what was fetched, or why not
	tried     map[string]time.Time
	campaigns map[string]*plan.Campaign
	consumers map[string]jetstream.Consumer
	doing     []string // by core
	sessions  unit.Sessions
	changed   chan struct{}
}

// LongestDefault is how long a unit may take if nothing is said. Proofs may take hours.
const LongestDefault = 12 * time.Hour

// New makes a worker.
func New(b *board.Board, o Options) *Worker {
	if o.Longest == 0 {
		o.Longest = LongestDefault
	}
	w := &Worker{
		b: b, o: o, have: make(map[string]error), tried: make(map[string]time.Time), campaigns: make(map[string]*plan.Campaign),
		consumers: make(map[string]jetstream.Consumer), doing: make([]string, o.Cores), changed: make(chan struct{}, 1),
	}
	w.last.Store(time.Now().UnixNano())
	return w
}

// aliveEvery is how often a worker says that it is there.
const aliveEvery = 4 * time.Second

// A worker asks what there is to be had when it is told that there is something new. Beside that it
// asks the first times that it says that it is there, and then each askEvery-th time.
const soonAgain, askEvery = 10, 5

// Run works until the context ends, or until there was nothing to do for long enough. Units that
// were begun then are left to others.
func (w *Worker) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { w.stop.Store(true) })()
	news, err := w.b.Conn.Subscribe("needs.new", func(*nats.Msg) { w.ask(ctx) })
	if err != nil {
		return err
	}
	defer news.Unsubscribe()
	defer func() { w.say(true) }()
	var all sync.WaitGroup
	all.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			if n%askEvery == 0 || n < soonAgain || w.wants() {
				w.ask(ctx)
			}
			w.say(false)
			idle := time.Since(time.Unix(0, w.last.Load()))
			if w.o.Idle > 0 && idle > w.o.Idle {
				cancel()
			}
			pause := aliveEvery
			if n < soonAgain { // at once, when all begins together
				pause = 200 * time.Millisecond
			}
			sleep(ctx, pause+rand.N(pause/8))
		}
	})
	for i := range w.o.Cores {
		all.Go(func() { w.core(ctx, i) })
	}
	ended := make(chan struct{})
	go func() {
		all.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-ended:
	case <-time.After(patience): // a unit hangs
	}
	return nil
}

// patience is how long a worker that is to end waits for its units to stop.
const patience = 10 * time.Second

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// say says that the worker is there.
func (w *Worker) say(bye bool) {
	w.mu.Lock()
	a := board.Alive{Name: w.o.Name, Build: w.o.Build, Cores: w.o.Cores, Units: w.done.Load(), Needs: []string{}, Lacks: w.lacks, Bye: bye}
	for _, o := range w.offers {
		a.Needs = append(a.Needs, o.Needs)
	}
	for _, d := range w.doing {
		if d != "" {
			a.Doing = d
		}
	}
	w.mu.Unlock()
	data, err := json.Marshal(&a)
	if err == nil {
		_ = w.b.Conn.Publish("alive.worker", data) // said again soon
	}
}

// wants reports whether there is nothing that the worker can make, or something that it can't.
func (w *Worker) wants() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.offers) == 0 || len(w.lacks) > 0
}

// answer is how long a worker waits for a coordinator's answer. One that doesn't lead gives none.
const answer = 400 * time.Millisecond

// ask asks what there is to be had.
func (w *Worker) ask(ctx context.Context) {
	w.asking.Lock()
	defer w.asking.Unlock()
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	m, err := w.b.Conn.RequestWithContext(ctx, "needs.ask", []byte(w.o.Build))
	if err != nil {
		return
	}
	var list []lead.Offer
	if json.Unmarshal(m.Data, &list) != nil {
		return
	}
	var can []lead.Offer
	var lacks []string
	for _, o := range list {
		if err := w.get(&o); err != nil {
			lacks = append(lacks, err.Error())
			continue
		}
		can = append(can, o)
	}
	w.mu.Lock()
	w.offers, w.lacks = can, lacks
	w.mu.Unlock()
}

// none is how long a core waits for something to do before it looks again for what.
const none = 100 * time.Millisecond

// core takes units and makes them.
func (w *Worker) core(ctx context.Context, i int) {
	bench := unit.Bench{Sessions: &w.sessions}
	defer func() { bench.Close() }()
	for turn := i; ctx.Err() == nil; turn++ {
		w.mu.Lock()
		offers := w.offers
		w.mu.Unlock()
		if len(offers) == 0 {
			sleep(ctx, none)
			continue
		}
		o := &offers[turn%len(offers)]
		c, err := w.consumer(ctx, o.Needs)
		if err != nil {
			sleep(ctx, none)
			continue
		}
		wait := 5 * time.Second
		if len(offers) > 1 {
			wait = none
		}
		short, cancel := context.WithTimeout(ctx, wait)
		m, err := c.Next(jetstream.FetchContext(short))
		cancel()
		switch {
		case ctx.Err() != nil && m == nil:
		case err != nil || m == nil:
			if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrConsumerDeleted) {
				w.mu.Lock()
				delete(w.consumers, o.Needs)
				w.mu.Unlock()
			}
			if !errors.Is(err, nats.ErrTimeout) && !errors.Is(err, context.DeadlineExceeded) {
				sleep(ctx, none)
			}
		default:
			w.last.Store(time.Now().UnixNano())
			w.make(ctx, m, c.CachedInfo().Config.AckWait, &bench, i)
			w.last.Store(time.Now().UnixNano())
		}
	}
}

func (w *Worker) consumer(ctx context.Context, needs string) (jetstream.Consumer, error) {
	w.mu.Lock()
	c := w.consumers[needs]
	w.mu.Unlock()
	if c != nil {
		return c, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c, err := w.b.Work(ctx, w.o.Build, needs, 0)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.consumers[needs] = c
	w.mu.Unlock()
	return c, nil
}

// lost is how often a unit is handed out; then its workers are taken to die of it.
const lost = 10

// make makes a unit and delivers what it has shown.
func (w *Worker) make(ctx context.Context, m jetstream.Msg, lease time.Duration, bench *unit.Bench, core int) {
	again := func(after time.Duration) { _ = m.NakWithDelay(after) } // if that is lost, the lease ends
	var u plan.Unit
	meta, err := m.Metadata()
	if err != nil || json.Unmarshal(m.Data(), &u) != nil {
		_ = m.TermWithReason("it is no unit")
		return
	}
	if meta.NumDelivered > 1 {
		short, cancel := context.WithTimeout(ctx, 5*time.Second)
		there, err := w.b.Delivered(short, &u)
		cancel()
		switch {
		case err != nil:
			again(time.Second)
			return
		case there:
			_ = m.Ack()
			return
		case meta.NumDelivered > lost:
			why := fmt.Sprintf("it was handed out %d times, and its workers ended without a word", meta.NumDelivered-1)
			_ = w.b.Fail(ctx, &board.Trouble{Unit: u, Worker: w.o.Name, Why: why, Lost: true}, meta.NumDelivered)
			again(lease)
			return
		}
	}
	w.now(core, u.Key())
	defer w.now(core, "")
	renewing, ended := context.WithCancel(context.Background())
	defer ended()
	go func() {
		tick := time.NewTicker(max(lease/3, 50*time.Millisecond))
		defer tick.Stop()
		late := time.NewTimer(w.o.Longest)
		defer late.Stop()
		for {
			select {
			case <-renewing.Done():
				return
			case <-late.C: // another one may try; what this one shows in the end is delivered all the same
				why := fmt.Sprintf("it isn't made after %v", w.o.Longest)
				_ = w.b.Fail(ctx, &board.Trouble{Unit: u, Worker: w.o.Name, Why: why}, meta.NumDelivered)
				return
			case <-tick.C:
				_ = m.InProgress() // else it is handed out again
			}
		}
	}()
	r, err := w.do(ctx, &u, bench)
	switch {
	case errors.Is(err, unit.ErrStopped) || w.stop.Load():
		again(0)
		return
	case errors.Is(err, errBoard):
		again(time.Second)
		return
	case err != nil:
		t := &board.Trouble{Unit: u, Worker: w.o.Name, Why: err.Error()}
		if crash := new(parallel.Crash); errors.As(err, &crash) {
			t.Why, t.Log = "a bug of the simulator: "+crash.Error(), string(crash.Stack)
		}
		_ = w.b.Fail(ctx, t, meta.NumDelivered)
		again(time.Second)
		return
	}
	err = w.b.Deliver(ctx, &u, &r, w.o.Name)
	if d := new(board.Differ); errors.As(err, &d) {
		err = w.b.Fail(ctx, &board.Trouble{Unit: u, Worker: w.o.Name, Why: d.Error(), Differ: true}, meta.NumDelivered)
	}
	if err == nil {
		w.done.Add(1)
		_ = m.Ack() // if that is lost, it is seen to be there
	}
}

func (w *Worker) now(core int, what string) {
	w.mu.Lock()
	w.doing[core] = what
	w.mu.Unlock()
}

// errBoard says that the board didn't answer: that isn't the unit's fault.
var errBoard = errors.New("the board doesn't answer")

func (w *Worker) do(ctx context.Context, u *plan.Unit, bench *unit.Bench) (unit.Result, error) {
	c, err := w.campaign(ctx, u.Campaign)
	if err != nil {
		return unit.Result{}, fmt.Errorf("%w: %w", errBoard, err)
	}
	if w.o.Make != nil {
		return w.o.Make(c, u)
	}
	return bench.Do(c, u, source{ctx, w.b}, &w.stop)
}

// campaigns are few; those kept are the last ones.
const campaignsKept = 8

func (w *Worker) campaign(ctx context.Context, id string) (*plan.Campaign, error) {
	w.mu.Lock()
	defer w.mu.Unlock() // the others wait for it, too
	if c := w.campaigns[id]; c != nil {
		return c, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	c, err := w.b.Campaign(ctx, id)
	if err != nil {
		return nil, err
	}
	if c.Build != w.o.Build {
		return nil, fmt.Errorf("campaign %s is of build %s, and this is %s", id, c.Build, w.o.Build)
	}
	for _, s := range c.Searches {
		if (s.Fuzz != nil || s.Verify != nil) && slices.ContainsFunc(w.offers, func(o lead.Offer) bool { return o.Needs == s.Needs() }) {
			if err := w.b.Here(ctx, s, w.o.Dir); err != nil {
				return nil, err
			}
		}
	}
	if len(w.campaigns) >= campaignsKept {
		clear(w.campaigns)
	}
	w.campaigns[id] = c
	return c, nil
}

// A source has what units before have shown, from the board.
type source struct {
	ctx context.Context
	b   *board.Board
}

// Parts implements unit.Source.
func (s source) Parts(u *plan.Unit) (parts []explore.Part, err error) {
	add := func(data []byte) error {
		var list []explore.Part
		if len(data) == 0 { // it was set aside
			return nil
		}
		if err := json.Unmarshal(data, &list); err != nil {
			return err
		}
		parts = append(parts, list...)
		return nil
	}
	if u.From != plan.All {
		runs := *u
		runs.Kind = plan.Runs
		data, err := s.b.Data(s.ctx, &runs)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errBoard, err)
		}
		return parts, add(data)
	}
	err = s.b.Results(s.ctx, fmt.Sprintf("%s.%d.%d.%s", u.Campaign, u.Search, u.Job, plan.Runs), func(d *board.Done) error { return add(d.Data) })
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBoard, err)
	}
	return explore.InOrder(parts), nil
}

// Island implements unit.Source.
func (s source) Island(campaign string, search, round, number int) ([]byte, error) {
	u := plan.Unit{Campaign: campaign, Search: search, Kind: plan.Island, From: round, To: number}
	data, err := s.b.Data(s.ctx, &u)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBoard, err)
	}
	return data, nil
}

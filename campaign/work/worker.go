package work

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"kpsim/campaign/board"
	"kpsim/campaign/gate"
	"kpsim/campaign/plan"
	"kpsim/campaign/unit"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/parallel"
)

// Options say how a worker works.
type Options struct {
	Name    string
	Build   string
	Cores   int
	Dir     string        // where files that units need are kept
	Kernels bool          // it may fetch and run kernels
	Idle    time.Duration // the worker ends after being idle for this long; 0: never
	Longest time.Duration // a unit that takes longer counts as failed; 0: LongestDefault

	Make func(c *plan.Campaign, u *plan.Unit) (unit.Result, error) // replaces unit.Maker in tests
}

// A Worker makes units. Run's goroutines use it.
type Worker struct {
	g         gate.Worker
	o         Options
	stop      atomic.Bool
	unitsMade atomic.Uint64 // units
	lastBusy  atomic.Int64  // when there was something to do last, Unix nanoseconds

	asking       sync.Mutex    // held while offers are asked for and fetched; guards have and tried
	mu           sync.Mutex    // guards the rest
	offers       []board.Offer // those that this worker can serve
	lacks        []string
	fetched      map[string]error // nil for what was fetched, or why it couldn't be
	tried        map[string]time.Time
	campaigns    map[string]*plan.Campaign
	currentUnits []string // by core
	sessions     unit.Sessions
}

// LongestDefault is how long a unit may take by default. Proofs may take hours.
const LongestDefault = 12 * time.Hour

// New makes a worker.
func New(nc *nats.Conn, o Options) *Worker {
	if o.Longest == 0 {
		o.Longest = LongestDefault
	}
	w := &Worker{
		g: gate.Worker{Conn: nc}, o: o, fetched: make(map[string]error), tried: make(map[string]time.Time),
		campaigns:    make(map[string]*plan.Campaign),
		currentUnits: make([]string, o.Cores),
	}
	w.lastBusy.Store(time.Now().UnixNano())
	return w
}

// heartbeatEvery is how often a worker says that it is there.
const heartbeatEvery = 4 * time.Second

// A worker asks for offers when a coordinator announces something new. It also asks with each of
// its first soonAgain signs of life, and then with each askEvery-th.
const firstAsks, askEvery = 10, 5

// Run works until the context ends, or until the worker was idle for long enough. Units begun by then are left to
// others.
func (w *Worker) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { w.stop.Store(true) })()
	stop, err := w.g.News(func() { w.ask(ctx) })
	if err != nil {
		return err
	}
	defer stop()
	defer func() { w.sendHeartbeat(true) }()
	var all sync.WaitGroup
	all.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			if n%askEvery == 0 || n < firstAsks || w.shouldAsk() {
				w.ask(ctx)
			}
			w.sendHeartbeat(false)
			idle := time.Since(time.Unix(0, w.lastBusy.Load()))
			if w.o.Idle > 0 && idle > w.o.Idle {
				cancel()
			}
			pause := heartbeatEvery
			if n < firstAsks { // often at first, when everything starts at once
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

// sendHeartbeat sends a sign of life.
func (w *Worker) sendHeartbeat(bye bool) {
	w.mu.Lock()
	a := board.Heartbeat{Name: w.o.Name, Build: w.o.Build, Cores: w.o.Cores, Units: w.unitsMade.Load(),
		Needs:   []string{},
		Missing: w.lacks, Leaving: bye}
	for _, o := range w.offers {
		a.Needs = append(a.Needs, o.Needs)
	}
	for _, d := range w.currentUnits {
		if d != "" {
			a.CurrentUnit = d
		}
	}
	w.mu.Unlock()
	w.g.SendHeartbeat(&a)
}

// shouldAsk reports whether the worker should ask again: it can make no offer, or lacks something for one.
func (w *Worker) shouldAsk() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.offers) == 0 || len(w.lacks) > 0
}

// answerTimeout is how long a worker waits for a coordinator's answer. One that doesn't lead gives none.
const answerTimeout = 400 * time.Millisecond

// ask fetches the offers.
func (w *Worker) ask(ctx context.Context) {
	w.asking.Lock()
	defer w.asking.Unlock()
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	list, err := w.g.Needs(ctx, w.o.Build)
	if err != nil {
		return
	}
	var can []board.Offer
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

// idlePause is how long an idle core waits before it looks for offers again.
const idlePause = 100 * time.Millisecond

// core takes units and makes them.
func (w *Worker) core(ctx context.Context, i int) {
	maker := unit.Maker{Sessions: &w.sessions}
	defer func() { maker.Close() }()
	for turn := i; ctx.Err() == nil; turn++ {
		w.mu.Lock()
		offers := w.offers
		w.mu.Unlock()
		if len(offers) == 0 {
			sleep(ctx, idlePause)
			continue
		}
		o := &offers[turn%len(offers)]
		wait := 5 * time.Second
		if len(offers) > 1 {
			wait = idlePause
		}
		asked := time.Now()
		t, err := w.g.Take(ctx, w.o.Build, o.Needs, wait)
		switch {
		case err == nil:
			w.lastBusy.Store(time.Now().UnixNano())
			w.make(ctx, t, &maker, i)
			w.lastBusy.Store(time.Now().UnixNano())
		case time.Since(asked) < idlePause: // there was nothing to wait for
			sleep(ctx, idlePause)
		}
	}
}

// make makes a unit and delivers its result.
func (w *Worker) make(ctx context.Context, t *gate.Assignment, maker *unit.Maker, core int) {
	u := &t.Unit
	w.setCurrent(core, u.Key())
	defer w.setCurrent(core, "")
	renewing, ended := context.WithCancel(context.Background())
	defer ended()
	go func() {
		tick := time.NewTicker(max(t.Lease/3, 50*time.Millisecond))
		defer tick.Stop()
		late := time.NewTimer(w.o.Longest)
		defer late.Stop()
		for {
			select {
			case <-renewing.Done():
				return
			case <-late.C: // another worker may try; this one's late result is delivered all the same
				_ = w.g.Fail(ctx, t, w.o.Name, fmt.Sprintf("it isn't finished after %v", w.o.Longest), "")
				return
			case <-tick.C:
				w.g.Renew(t) // otherwise it is handed out again
			}
		}
	}()
	r, err := w.do(ctx, t, maker)
	switch {
	case errors.Is(err, unit.ErrStopped) || w.stop.Load():
		w.g.GiveBack(t, 0)
		return
	case errors.Is(err, errBoard):
		w.g.GiveBack(t, time.Second)
		return
	case err == nil:
		if err = w.g.Deliver(ctx, t, &r, w.o.Name); err == nil {
			w.unitsMade.Add(1)
			return
		}
		if !errors.Is(err, board.ErrRefused) {
			return // the context ended; the lease will, too
		}
	}
	why, log := err.Error(), ""
	if crash := new(parallel.Crash); errors.As(err, &crash) {
		why, log = "a bug of the simulator: "+crash.Error(), string(crash.Stack)
	}
	_ = w.g.Fail(ctx, t, w.o.Name, why, log)
	w.g.GiveBack(t, time.Second)
}

func (w *Worker) setCurrent(core int, what string) {
	w.mu.Lock()
	w.currentUnits[core] = what
	w.mu.Unlock()
}

// errBoard: the board didn't answer. That isn't the unit's fault.
var errBoard = errors.New("the board doesn't answer")

func (w *Worker) do(ctx context.Context, t *gate.Assignment, maker *unit.Maker) (unit.Result, error) {
	c, err := w.campaign(ctx, t)
	if err != nil {
		return unit.Result{}, fmt.Errorf("%w: %w", errBoard, err)
	}
	if w.o.Make != nil {
		return w.o.Make(c, &t.Unit)
	}
	return maker.Do(c, &t.Unit, source{ctx, w.g, t}, &w.stop)
}

// campaignsKept bounds the cache of campaigns; it keeps the last ones.
const campaignsKept = 8

func (w *Worker) campaign(ctx context.Context, t *gate.Assignment) (*plan.Campaign, error) {
	id := t.Unit.Campaign
	w.mu.Lock()
	defer w.mu.Unlock() // the other cores wait for it, too
	if c := w.campaigns[t.Plan]; c != nil {
		return c, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	c, err := board.Campaign(ctx, w.g, id, t.Plan)
	if err != nil {
		return nil, err
	}
	if c.Build != w.o.Build {
		return nil, fmt.Errorf("campaign %s is of build %s, and this is %s", id, c.Build, w.o.Build)
	}
	for _, s := range c.Searches {
		if (s.Fuzz != nil || s.Verify != nil) && slices.ContainsFunc(w.offers, func(o board.Offer) bool {
			return o.Needs == s.Needs()
		}) {
			if err := board.LocalFiles(ctx, w.g, s, w.o.Dir); err != nil {
				return nil, err
			}
		}
	}
	if len(w.campaigns) >= campaignsKept {
		clear(w.campaigns)
	}
	w.campaigns[t.Plan] = c
	return c, nil
}

// A source has the results of earlier units.
type source struct {
	ctx context.Context
	g   gate.Worker
	t   *gate.Assignment
}

// Parts implements unit.Source.
func (s source) Parts(u *plan.Unit) (parts []explore.Part, err error) {
	add := func(of *plan.Unit, data []byte) {
		// otherwise it was set aside, or is false: the report says so
		if list, err := unit.Parts(of, data); err == nil {
			parts = append(parts, list...)
		}
	}
	if u.From != plan.All {
		runs := *u
		runs.Kind = plan.Runs
		data, err := s.g.Data(s.ctx, s.t, &runs)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errBoard, err)
		}
		add(&runs, data)
		return parts, nil
	}
	key := fmt.Sprintf("%s.%d.%d.%s", u.Campaign, u.Search, u.Job, plan.Runs)
	err = s.g.Results(s.ctx, s.t, key, func(of *plan.Unit, data []byte) error { add(of, data); return nil })
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBoard, err)
	}
	return explore.InOrder(parts), nil
}

// Island implements unit.Source.
func (s source) Island(campaign string, search, round, number int) ([]byte, error) {
	u := plan.Unit{Campaign: campaign, Search: search, Kind: plan.Island, From: round, To: number}
	data, err := s.g.Data(s.ctx, s.t, &u)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBoard, err)
	}
	return data, nil
}

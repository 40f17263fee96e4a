package lead

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"kpsim/campaign/board"
	"kpsim/campaign/plan"
	"kpsim/campaign/unit"
)

// Options say how campaigns are led.
type Options struct {
	Name     string        // this coordinator's
	Dir      string        // where kernels that a fuzzing session needs are kept
	Lease    time.Duration // a unit is handed out again when its worker was silent for this long
	Announce func(e *Event)
	Tick     time.Duration // 0: a fifth of a second
}

// An Event is announced to the user.
type Event struct {
	Kind     string            `json:"kind"` // "find", "aside", "ended"
	Campaign string            `json:"campaign"`
	Find     *board.FindStatus `json:"find,omitempty"`
	Trouble  *board.Trouble    `json:"trouble,omitempty"`
	Status   *board.Status     `json:"status,omitempty"`
}

// failures is how often a unit may fail before it is set aside.
const failures = 3

// A Lead coordinates. One goroutine, Run's, uses it.
type Lead struct {
	b                 *board.Board
	o                 Options
	events            chan func()
	campaigns         map[string]*running
	workers           map[string]*worker
	coresFor          map[[2]string]int // cache, by build and need: the number of cores of workers
	consumers         map[string]bool   // consumers that exist, by build and need
	droppedHeartbeats uint64            // heartbeats of workers that were dropped
	leadRevision      uint64            // revision of this coordinator's key; 0: it doesn't lead
	rivalRevision     uint64            // revision of the key by which another coordinator leads
	rivalSince        time.Time         // when this coordinator first saw that revision
	began             time.Time
}

// New makes a coordinator.
func New(b *board.Board, o Options) *Lead {
	if o.Tick == 0 {
		o.Tick = 200 * time.Millisecond
	}
	if o.Announce == nil {
		o.Announce = func(*Event) {}
	}
	return &Lead{b: b, o: o, events: make(chan func(), 1024), campaigns: make(map[string]*running),
		workers: make(map[string]*worker), coresFor: make(map[[2]string]int), consumers: make(map[string]bool),
		began: time.Now()}
}

// Run coordinates until the context ends.
func (l *Lead) Run(ctx context.Context) error {
	sub, err := l.b.Conn.Subscribe(board.HeartbeatSubject, func(m *nats.Msg) {
		a := readHeartbeat(m.Data)
		l.events <- func() { l.recordHeartbeat(a) }
	})
	if err != nil {
		return err
	}
	defer sub.Unsubscribe()
	ask, err := l.b.Conn.Subscribe(board.NeedsSubject, func(m *nats.Msg) {
		l.events <- func() {
			if l.leadRevision > 0 && board.IsBuild(string(m.Data)) { // a coordinator that doesn't lead knows no offers
				m.Respond(l.offers(string(m.Data)))
			}
		}
	})
	if err != nil {
		return err
	}
	defer ask.Unsubscribe()
	var lastSlow time.Time // when the rare tasks were done last
	states, err := l.b.Conn.Subscribe(board.StateSubject, func(*nats.Msg) {
		l.events <- func() { lastSlow = time.Time{} }
	})
	if err != nil {
		return err
	}
	defer states.Unsubscribe()

	tick := time.NewTicker(l.o.Tick)
	defer tick.Stop()
	n := 0
	var due <-chan time.Time // fires when it is time for the step that events ask for
	for {
		select {
		case <-ctx.Done():
			l.resign()
			return ctx.Err()
		case f := <-l.events:
			f()
			for k := len(l.events); k > 0; k-- {
				(<-l.events)()
			}
			if due == nil {
				due = time.After(pace)
			}
		case <-due:
			due = nil
			l.step(ctx)
		case <-tick.C:
			if time.Since(lastSlow) > board.LeadTTL/4 {
				lastSlow = time.Now()
				l.claim(ctx)
				l.load(ctx)
				l.sweep(ctx)
			}
			l.step(ctx)
			if n++; n%3 == 0 {
				l.publishStatuses(ctx)
			}
		}
	}
}

// pace is how long events gather before a step: with thousands of workers it is cheaper to hand out many units at
// once.
const pace = 5 * time.Millisecond

// serverTimeout bounds each request to the server on the goroutine of Run.
const serverTimeout = 3 * time.Second

// load looks for campaigns that were started, paused or cancelled.
func (l *Lead) load(ctx context.Context) {
	short, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	states, err := l.b.States(short)
	if err != nil {
		return
	}
	for _, s := range states {
		r := l.campaigns[s.ID]
		switch {
		case r != nil:
			if r.state.State != s.State {
				r.changed = true
				l.announceOffers(s.Build)
				if s.State == board.Cancelled {
					l.cancel(short, r)
				}
			}
			r.state = s
		case s.Open():
			c, err := board.Campaign(short, l.b, s.ID, s.Plan)
			if err != nil || c.Build != s.Build {
				continue // the plan may still be on its way; an unreadable plan has no status
			}
			r := newRunning(c, s)
			if keys, err := l.b.QueuedKeys(short, s.ID); err == nil {
				for _, k := range keys {
					r.out.add(k, r.needsOf(k))
				}
			}
			l.campaigns[s.ID] = r
			l.announceOffers(s.Build)
			within, stop := context.WithCancel(ctx)
			r.stop = stop
			go l.follow(within, r)
			for _, f := range r.fuzz {
				go l.fold(within, r, f)
			}
		}
	}
}

func (l *Lead) cancel(ctx context.Context, r *running) {
	r.out.clear()
	_ = l.b.Withdraw(ctx, r.c.ID) // the remaining units would be made for nothing
	l.leave(r)
}

// leave forgets a campaign that has ended or was cancelled.
func (l *Lead) leave(r *running) {
	r.stop()
	delete(l.campaigns, r.c.ID)
}

// follow sends a campaign's results to Run's goroutine.
func (l *Lead) follow(ctx context.Context, r *running) {
	send := func(f func()) {
		select {
		case l.events <- f:
		case <-ctx.Done():
		}
	}
	go func() {
		for ctx.Err() == nil {
			_ = l.b.Troubles(ctx, r.c.ID, func(t *board.Trouble) { send(func() { l.recordFailure(ctx, r, t) }) })
			pause(ctx)
		}
	}()
	for ctx.Err() == nil {
		_ = l.b.Follow(ctx, r.c.ID, func() { send(func() { r.caughtUp = true }) }, func(d *board.Done) error {
			send(func() { l.takeResult(ctx, r, d) })
			return nil
		})
		pause(ctx) // Follow starts over; results that were counted are skipped
	}
}

func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(500 * time.Millisecond):
	}
}

// takeResult takes a unit's result.
func (l *Lead) takeResult(ctx context.Context, r *running, d *board.Done) {
	if !r.take(d) {
		return
	}
	r.emptyChecks, r.stalledSince = 0, time.Time{}
	if len(d.Summary.Finds) > 0 {
		r.filing++
		go l.fileFinds(ctx, r, d.Unit)
	}
}

// fileFinds puts a witness's finds into their buckets. The campaign doesn't end before that.
func (l *Lead) fileFinds(ctx context.Context, r *running, u plan.Unit) {
	defer func() {
		select {
		case l.events <- func() { r.filing-- }:
		case <-ctx.Done():
		}
	}()
	data, err := l.b.Data(ctx, &u)
	var finds []unit.Find
	if err == nil {
		finds, err = unit.Finds(data)
	}
	if err != nil {
		return
	}
	for i := range finds {
		c, err := l.b.AddFind(ctx, &finds[i], r.c.ID, r.c.Build)
		if err != nil {
			return
		}
		select {
		case l.events <- func() { l.recordCause(r, c) }:
		case <-ctx.Done():
		}
	}
}

// recordCause records a cause, and announces it once per campaign.
func (l *Lead) recordCause(r *running, c *board.Cause) {
	f := board.FindStatus{Cause: *c, New: c.First == r.c.ID}
	f.Trace = "" // the bucket has the trace
	f.Message, f.Story = plan.Clean(f.Message, mostMessage, true), short(f.Story)
	r.changed = true
	if i := slices.Index(r.causes, c.Find.Cause); i >= 0 {
		r.finds[i] = f
		return
	}
	if len(r.causes) >= causesMost { // further causes are in their buckets only
		return
	}
	r.causes, r.finds = append(r.causes, c.Find.Cause), append(r.finds, f)
	if l.leadRevision > 0 {
		l.o.Announce(&Event{Kind: "find", Campaign: r.c.ID, Find: &f})
	}
}

// recordFailure records a unit's failure, and sets the unit aside after enough of them.
func (l *Lead) recordFailure(ctx context.Context, r *running, t *board.Trouble) {
	key := t.Unit.Key()
	if !r.c.Has(&t.Unit) {
		r.skipped++
		return
	}
	if t.Differ { // the unit has two results
		if !r.differs[key] {
			r.differs[key] = true
			r.changed = true
			r.trouble(*t)
			l.o.Announce(&Event{Kind: "aside", Campaign: r.c.ID, Trouble: t})
		}
		return
	}
	if r.failed[key] == nil {
		r.failed[key] = make(map[uint64]bool)
	}
	if r.failed[key][t.Delivery] { // the stream of troubles was read again
		return
	}
	r.failed[key][t.Delivery] = true
	r.changed = true
	r.trouble(*t)
	if n := len(r.failed[key]); n < failures && !t.Lost || n > failures {
		return
	}
	l.o.Announce(&Event{Kind: "aside", Campaign: r.c.ID, Trouble: t})
	why := t.Why
	go func() { _ = l.b.SetAside(ctx, &t.Unit, why, l.o.Name) }()
}

// For each core unitsPerCore units are queued, and spareUnits more, so that no core waits for the coordinator.
// queueLimit is the limit, however many cores workers claim to have.
const unitsPerCore, spareUnits, queueLimit = 2, 32, 1 << 16

// step hands out units and ends campaigns.
func (l *Lead) step(ctx context.Context) {
	if l.leadRevision == 0 {
		return
	}
	var list []*running
	for _, r := range l.campaigns {
		if r.state.State == board.Running && r.caughtUp {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *running) int {
		if a.state.Priority != b.state.Priority {
			return b.state.Priority - a.state.Priority
		}
		return strings.Compare(a.c.ID, b.c.ID)
	})
	queued := make(map[string]int)
	for _, r := range l.campaigns {
		for needs, n := range r.out.count {
			queued[r.c.Build+"-"+needs] += n
		}
	}
	for _, r := range list {
		if r.ended() {
			l.end(ctx, r)
			continue
		}
		for _, needs := range r.remainingNeeds() {
			queue := r.c.Build + "-" + needs
			room := min(unitsPerCore*l.cores(r.c.Build, needs)+spareUnits, queueLimit) - queued[queue]
			// in this order: without a consumer, queued units aren't offered
			if !l.consumer(ctx, r.c.Build, needs) || room <= 0 {
				continue
			}
			units := r.pick(room, needs)
			if len(units) == 0 {
				continue
			}
			queued[queue] += len(units)
			short, cancel := context.WithTimeout(ctx, serverTimeout)
			if err := l.b.Enqueue(short, r.c.Build, needs, r.epoch, units); err != nil {
				r.reissue() // some units may not have been queued
			}
			cancel()
			r.changed = true
		}
	}
}

// needsOf returns what a queued unit needs.
func (r *running) needsOf(key string) string {
	var search int
	if p := strings.SplitN(key, ".", 3); len(p) == 3 {
		fmt.Sscan(p[1], &search)
	}
	if search < 0 || search >= len(r.needOf) {
		return ""
	}
	return r.needOf[search]
}

// consumer makes sure that there is a consumer for what is handed out.
func (l *Lead) consumer(ctx context.Context, build, needs string) bool {
	if l.consumers[build+"-"+needs] {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	if _, err := l.b.Work(ctx, build, needs, l.o.Lease); err != nil {
		return false
	}
	l.consumers[build+"-"+needs] = true
	l.announceOffers(build)
	return true
}

// announceOffers announces to workers that there may be a new offer. They also ask now and then.
func (l *Lead) announceOffers(build string) { _ = l.b.Conn.Publish(board.NewsSubject, []byte(build)) }

// sweep forgets silent workers, and hands out lost units again.
func (l *Lead) sweep(ctx context.Context) {
	for name, w := range l.workers {
		if time.Since(w.heard) > silenceLimit {
			delete(l.workers, name)
			clear(l.coresFor)
		}
	}
	short, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	for _, r := range l.campaigns {
		if r.state.State != board.Running || !r.caughtUp || l.leadRevision == 0 || r.out.len() == 0 {
			continue
		}
		any, err := l.b.AnyQueued(short, r.c.ID)
		if err != nil {
			continue
		}
		if r.emptyChecks++; any {
			r.emptyChecks = 0
		}
		if !l.allIdle(r) {
			r.stalledSince = time.Time{}
		} else if r.stalledSince.IsZero() {
			r.stalledSince = time.Now()
		}
		switch {
		case r.emptyChecks > 3: // leased units are neither queued nor delivered: a server has lost them
		// units are queued, and the server gives them to no worker
		case !r.stalledSince.IsZero() && time.Since(r.stalledSince) > l.o.Lease+silenceLimit:
		default:
			continue
		}
		r.emptyChecks, r.stalledSince = 0, time.Time{}
		r.reissue()
	}
}

// end ends a campaign.
func (l *Lead) end(ctx context.Context, r *running) {
	short, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	r.state.State = board.Ended
	status := l.status(r)
	if err := l.b.PublishStatus(short, status); err != nil {
		r.state.State = board.Running
		return // the next step tries again
	}
	current, err := l.b.Change(short, r.c.ID, func(s *board.State) bool {
		if s.State != board.Running {
			return false
		}
		s.State, s.ScenarioEnds, s.Causes = board.Ended, r.scenarioEnds(), r.causes
		return true
	})
	if err != nil && !errors.Is(err, board.ErrNone) {
		r.state.State = board.Running
		return
	}
	if current != nil {
		r.state = current
	}
	_ = l.b.Withdraw(short, r.c.ID) // canaries that aren't needed
	l.leave(r)
	l.o.Announce(&Event{Kind: "ended", Campaign: r.c.ID, Status: status})
}

package lead

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"kpsim/campaign/board"
	"kpsim/campaign/plan"
	"kpsim/internal/search/fuzz"
	"kpsim/internal/ui/cli"
	"kpsim/internal/verbs/findings"
)

// A fuzzing is a fuzzing session that a campaign divides. A goroutine of its own folds the islands and sends the
// results to Run's.
type fuzzing struct {
	search  int
	rounds  *findings.FuzzRounds
	arrived map[[2]int]bool // islands that have a result
	arrival chan struct{}   // signals that another result has arrived
	made    int
	sum     islandTotals

	round, number int         // the first island that isn't folded yet
	nextIsland    [2]int      // round and number of the next island to hand out
	claims        []plan.Unit // witnesses to be handed out
	claimed       int
	witnessed     map[string]bool
	programs      uint64
	runs          uint64
	coverage      *board.Coverage
	finished      bool
	failure       string // why folding can't go on; "": it can
}

type islandTotals struct {
	seconds    float64
	violations uint64
	setAside   int
}

func newFuzzing(search int, s *plan.Search) *fuzzing {
	return &fuzzing{search: search, rounds: s.Fuzz, arrived: make(map[[2]int]bool), arrival: make(chan struct{}, 1),
		witnessed: make(map[string]bool)}
}

// take counts an island's result, or a witness. It returns false if it was counted before.
func (f *fuzzing) take(d *board.Done) bool {
	if d.Unit.Kind == plan.Witness {
		if f.witnessed[d.Unit.Key()] {
			return false
		}
		f.witnessed[d.Unit.Key()] = true
		return true
	}
	at := [2]int{d.Unit.From, d.Unit.To}
	if d.Unit.Kind != plan.Island || f.arrived[at] || at[0] < f.round {
		return false
	}
	f.arrived[at] = true
	f.made++
	f.sum.seconds += d.Took.Seconds()
	f.sum.violations += d.Summary.Violations
	if d.Summary.AsideReason != "" {
		f.sum.setAside++
	}
	select {
	case f.arrival <- struct{}{}:
	default:
	}
	return true
}

// ended reports whether the session needs no more units.
func (f *fuzzing) ended() bool {
	return (f.finished || f.failure != "") && len(f.claims) == 0 && len(f.witnessed) >= f.claimed
}

// pick returns up to limit units to hand out next: islands of the round that is being folded, and of the next
// one.
func (f *fuzzing) pick(r *running, limit int) (list []plan.Unit) {
	for len(f.claims) > 0 && len(list) < limit {
		if u := f.claims[0]; !f.witnessed[u.Key()] {
			list = append(list, u)
		}
		f.claims = f.claims[1:]
	}
	for !f.finished && f.failure == "" && len(list) < limit && f.nextIsland[0] <= f.round+1 {
		u := plan.Unit{Campaign: r.c.ID, Search: f.search, Kind: plan.Island, From: f.nextIsland[0],
			To: f.nextIsland[1]}
		if f.nextIsland[1]++; uint64(f.nextIsland[1]) == f.rounds.Islands {
			f.nextIsland = [2]int{f.nextIsland[0] + 1, 0}
		}
		if !f.arrived[[2]int{u.From, u.To}] && u.From >= f.round && !r.out.has(u.Key()) {
			list = append(list, u)
		}
	}
	return list
}

// reissue hands out again all islands without a result.
func (f *fuzzing) reissue() { f.nextIsland = [2]int{f.round, 0} }

// A foldResult is the result of folding an island.
type foldResult struct {
	round, number  int // all earlier islands are folded
	claims         []findings.FuzzClaim
	from           [2]int // the island of the claims
	coverage       board.Coverage
	programs, runs uint64
	finished       bool
	refused        error // the island is false, and is made again
	failure        error
}

// maxRefused is how many false islands of a session are made again.
const maxRefused = 100

// fold folds a session's islands as they arrive, and sends the results.
func (l *Lead) fold(ctx context.Context, r *running, f *fuzzing) {
	send := func(n foldResult) {
		select {
		case l.events <- func() { l.takeFold(r, f, &n) }:
		case <-ctx.Done():
		}
	}
	s := *r.c.Searches[f.search] // a copy, because other goroutines read the campaign's
	flags := findings.Explore{}
	flags.Kernel.Kernel, flags.Kernel.Objects = s.Flags.Kernel.Kernel, slices.Clone(s.Flags.Kernel.Objects)
	s.Flags = &flags
	var session findings.Fuzz
	err := board.LocalFiles(ctx, l.b, &s, l.o.Dir)
	if err == nil {
		session.Kernel.Kernel, session.Kernel.Objects = s.Flags.Kernel.Kernel, s.Flags.Kernel.Objects
		err = session.Begin(f.rounds)
	}
	if err != nil {
		send(foldResult{failure: err})
		return
	}
	quiet := cli.New(io.Discard, io.Discard)
	for refused := 0; ctx.Err() == nil; {
		round, number := session.Folded()
		u := plan.Unit{Campaign: r.c.ID, Search: f.search, Kind: plan.Island, From: int(round), To: int(number)}
		short, cancel := context.WithTimeout(ctx, 10*time.Second)
		delivered, err := l.b.Delivered(short, &u)
		cancel()
		if err != nil || !delivered {
			select {
			case <-f.arrival:
			case <-ctx.Done():
			case <-time.After(2 * time.Second):
			}
			continue
		}
		data, err := l.b.Data(ctx, &u)
		if err != nil {
			continue
		}
		n := foldResult{from: [2]int{u.From, u.To}}
		i, err := fuzz.ReadIsland(data)
		if err == nil {
			n.claims, err = session.Count(quiet, i)
		}
		if err != nil && refused < maxRefused {
			if l.b.Refuse(ctx, &u) != nil {
				pause(ctx)
				continue
			}
			refused++
			send(foldResult{from: n.from, refused: err})
			continue
		}
		round, number = session.Folded()
		n.round, n.number, n.failure, n.finished = int(round), int(number), err, session.Done()
		n.programs, n.runs = session.Total()
		c := session.Coverage()
		n.coverage = board.Coverage{Features: c.Features, Estimated: c.Estimated, New: float64(c.New) / 1000,
			Blocks: c.Blocks, BlocksAll: c.BlocksAll, Kept: c.Kept}
		send(n)
		if n.finished || err != nil {
			return
		}
	}
}

// takeFold takes the result of folding.
func (l *Lead) takeFold(r *running, f *fuzzing, n *foldResult) {
	r.changed = true
	if n.refused != nil {
		u := plan.Unit{Campaign: r.c.ID, Search: f.search, Kind: plan.Island, From: n.from[0], To: n.from[1]}
		r.trouble(board.Trouble{Unit: u, Worker: l.o.Name,
			Why: "its result is false, and it is made again: " + plan.Clean(n.refused.Error(), board.MostWhy, false)})
		delete(f.arrived, n.from)
		f.made--
		r.epoch++ // a new epoch, so that the server doesn't drop the unit as a duplicate
		f.reissue()
		return
	}
	if n.failure != nil {
		f.failure = n.failure.Error()
		r.trouble(board.Trouble{Unit: plan.Unit{Campaign: r.c.ID, Search: f.search, Kind: plan.Island, From: n.from[0],
			To: n.from[1]}, Worker: l.o.Name, Why: fmt.Sprintf("the session can't go on: %v", n.failure)})
		return
	}
	f.round, f.number, f.finished, f.programs, f.runs = n.round, n.number, n.finished, n.programs, n.runs
	f.coverage = &n.coverage
	for at := range f.arrived {
		if at[0] < f.round-1 {
			delete(f.arrived, at)
		}
	}
	for k, c := range n.claims {
		f.claimed++
		f.claims = append(f.claims,
			plan.Unit{Campaign: r.c.ID, Search: f.search, Job: k, Kind: plan.Witness, From: n.from[0], To: n.from[1],
				Claim: &c})
	}
}

// status fills in the session's progress. The number of islands is known if the session ends after a number of
// programs.
func (f *fuzzing) status(s *board.SearchStatus) {
	s.Done = f.made
	s.Units = f.made
	if each := f.rounds.Islands * f.rounds.Size; f.rounds.Programs > 0 {
		s.Units = max(f.made, int((f.rounds.Programs+each-1)/each*f.rounds.Islands))
	}
	s.Scenarios = append(s.Scenarios, board.ScenarioStatus{
		Scenario: "drawn programs", Units: s.Units, Done: s.Done, Runs: f.runs, Violations: f.sum.violations,
	})
}

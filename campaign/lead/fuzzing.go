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
	search int
	rounds *findings.FuzzRounds
	come   map[[2]int]bool // islands that have a result
	news   chan struct{}   // another result has arrived
	made   int
	sum    summed

	round, number int         // the first island that isn't folded yet
	asked         [2]int      // the next one to be handed out
	claims        []plan.Unit // witnesses to be handed out
	claimed       int
	witnessed     map[string]bool
	programs      uint64
	runs          uint64
	coverage      *board.Coverage
	enough        bool
	wrong         string // why folding can't go on
}

type summed struct {
	seconds    float64
	violations uint64
	aside      int
}

func newFuzzing(search int, s *plan.Search) *fuzzing {
	return &fuzzing{search: search, rounds: s.Fuzz, come: make(map[[2]int]bool), news: make(chan struct{}, 1),
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
	if d.Unit.Kind != plan.Island || f.come[at] || at[0] < f.round {
		return false
	}
	f.come[at] = true
	f.made++
	f.sum.seconds += d.Took.Seconds()
	f.sum.violations += d.Summary.Violations
	if d.Summary.Aside != "" {
		f.sum.aside++
	}
	select {
	case f.news <- struct{}{}:
	default:
	}
	return true
}

// ended reports whether the session needs no more units.
func (f *fuzzing) ended() bool {
	return (f.enough || f.wrong != "") && len(f.claims) == 0 && len(f.witnessed) >= f.claimed
}

// pick returns at most most units to be handed out next: islands of the round that is being folded, and of the next
// one.
func (f *fuzzing) pick(r *running, most int) (list []plan.Unit) {
	for len(f.claims) > 0 && len(list) < most {
		if u := f.claims[0]; !f.witnessed[u.Key()] {
			list = append(list, u)
		}
		f.claims = f.claims[1:]
	}
	for !f.enough && f.wrong == "" && len(list) < most && f.asked[0] <= f.round+1 {
		u := plan.Unit{Campaign: r.c.ID, Search: f.search, Kind: plan.Island, From: f.asked[0], To: f.asked[1]}
		if f.asked[1]++; uint64(f.asked[1]) == f.rounds.Islands {
			f.asked = [2]int{f.asked[0] + 1, 0}
		}
		if !f.come[[2]int{u.From, u.To}] && u.From >= f.round && !r.out.has(u.Key()) {
			list = append(list, u)
		}
	}
	return list
}

// reissue hands out again all islands without a result.
func (f *fuzzing) reissue() { f.asked = [2]int{f.round, 0} }

// A learnt is the result of folding an island.
type learnt struct {
	round, number  int // all before it are folded
	claims         []findings.FuzzClaim
	from           [2]int // of the claims
	coverage       board.Coverage
	programs, runs uint64
	enough         bool
	refused        error // the island is false: it is made again
	wrong          error
}

// refusedMost is how many false islands of a session are made again.
const refusedMost = 100

// fold folds a session's islands as they arrive, and sends the results.
func (l *Lead) fold(ctx context.Context, r *running, f *fuzzing) {
	send := func(n learnt) {
		select {
		case l.events <- func() { l.learn(r, f, &n) }:
		case <-ctx.Done():
		}
	}
	s := *r.c.Searches[f.search] // other goroutines read the campaign's
	flags := findings.Explore{}
	flags.Kernel.Kernel, flags.Kernel.Objects = s.Flags.Kernel.Kernel, slices.Clone(s.Flags.Kernel.Objects)
	s.Flags = &flags
	var session findings.Fuzz
	err := board.Here(ctx, l.b, &s, l.o.Dir)
	if err == nil {
		session.Kernel.Kernel, session.Kernel.Objects = s.Flags.Kernel.Kernel, s.Flags.Kernel.Objects
		err = session.Begin(f.rounds)
	}
	if err != nil {
		send(learnt{wrong: err})
		return
	}
	quiet := cli.New(io.Discard, io.Discard)
	for refused := 0; ctx.Err() == nil; {
		round, number := session.Folded()
		u := plan.Unit{Campaign: r.c.ID, Search: f.search, Kind: plan.Island, From: int(round), To: int(number)}
		short, cancel := context.WithTimeout(ctx, 10*time.Second)
		there, err := l.b.Delivered(short, &u)
		cancel()
		if err != nil || !there {
			select {
			case <-f.news:
			case <-ctx.Done():
			case <-time.After(2 * time.Second):
			}
			continue
		}
		data, err := l.b.Data(ctx, &u)
		if err != nil {
			continue
		}
		n := learnt{from: [2]int{u.From, u.To}}
		i, err := fuzz.ReadIsland(data)
		if err == nil {
			n.claims, err = session.Count(quiet, i)
		}
		if err != nil && refused < refusedMost {
			if l.b.Refuse(ctx, &u) != nil {
				pause(ctx)
				continue
			}
			refused++
			send(learnt{from: n.from, refused: err})
			continue
		}
		round, number = session.Folded()
		n.round, n.number, n.wrong, n.enough = int(round), int(number), err, session.Done()
		n.programs, n.runs = session.Total()
		c := session.Coverage()
		n.coverage = board.Coverage{Features: c.Features, Estimated: c.Estimated, New: float64(c.New) / 1000,
			Blocks: c.Blocks, BlocksAll: c.BlocksAll, Kept: c.Kept}
		send(n)
		if n.enough || err != nil {
			return
		}
	}
}

// learn takes the result of folding.
func (l *Lead) learn(r *running, f *fuzzing, n *learnt) {
	r.changed = true
	if n.refused != nil {
		u := plan.Unit{Campaign: r.c.ID, Search: f.search, Kind: plan.Island, From: n.from[0], To: n.from[1]}
		r.trouble(board.Trouble{Unit: u, Worker: l.o.Name,
			Why: "its result is false, and it is made again: " + plan.Clean(n.refused.Error(), board.MostWhy, false)})
		delete(f.come, n.from)
		f.made--
		r.epoch++ // otherwise it would be dropped as one that was handed out before
		f.reissue()
		return
	}
	if n.wrong != nil {
		f.wrong = n.wrong.Error()
		r.trouble(board.Trouble{Unit: plan.Unit{Campaign: r.c.ID, Search: f.search, Kind: plan.Island, From: n.from[0],
			To: n.from[1]}, Worker: l.o.Name, Why: fmt.Sprintf("the session can't go on: %v", n.wrong)})
		return
	}
	f.round, f.number, f.enough, f.programs, f.runs = n.round, n.number, n.enough, n.programs, n.runs
	f.coverage = &n.coverage
	for at := range f.come {
		if at[0] < f.round-1 {
			delete(f.come, at)
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

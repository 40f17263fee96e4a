package unit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"kpsim/campaign/plan"
	"kpsim/internal/search/fuzz"
	"kpsim/internal/ui/cli"
	"kpsim/internal/verbs/findings"
)

// Sessions are the fuzzing sessions that a process takes part in. Its cores share them: each session knows the
// results of all islands before those being made.
type Sessions struct {
	mu  sync.Mutex
	all map[string]*session
}

// A session is a fuzzing session with its lock.
type session struct {
	mu   sync.Mutex // held while islands are folded
	fuzz findings.Fuzz
}

// quiet is a Program that prints nothing.
func quiet() *cli.Program { return cli.New(io.Discard, io.Discard) }

// sessionsKept is how many sessions a process keeps: they are large.
const sessionsKept = 4

// session returns a search's session, and begins one if there is none.
func (ss *Sessions) session(s *plan.Search, u *plan.Unit) (*session, error) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	key := fmt.Sprintf("%s.%d", u.Campaign, u.Search)
	if one := ss.all[key]; one != nil {
		return one, nil
	}
	if ss.all == nil || len(ss.all) >= sessionsKept {
		ss.all = make(map[string]*session)
	}
	one, err := newSession(s)
	if err == nil {
		ss.all[key] = one
	}
	return one, err
}

func newSession(s *plan.Search) (*session, error) {
	one := &session{}
	one.fuzz.Kernel.Kernel, one.fuzz.Kernel.Objects = s.Flags.Kernel.Kernel, slices.Clone(s.Flags.Kernel.Objects)
	return one, one.fuzz.Begin(s.Fuzz)
}

// foldUntil folds islands until those of a round can be made: that needs all islands up to the last but one round.
func (one *session) foldUntil(s *plan.Search, u *plan.Unit, data Source) error {
	one.mu.Lock()
	defer one.mu.Unlock()
	for {
		round, number := one.fuzz.Folded()
		if round+1 >= uint64(u.From) {
			return nil
		}
		b, err := data.Island(u.Campaign, u.Search, int(round), int(number))
		if err != nil {
			return err
		}
		i, err := fuzz.ReadIsland(b)
		if err != nil {
			return err
		}
		if err := one.fuzz.Fold(i); err != nil {
			return err
		}
	}
}

// island makes an island of a fuzzing campaign.
func (b *Maker) island(s *plan.Search, u *plan.Unit, data Source, stop *atomic.Bool) (r Result, err error) {
	if u.From < 0 || u.To < 0 || uint64(u.To) >= s.Fuzz.Islands {
		return r, fmt.Errorf("there is no island %d", u.To)
	}
	one, err := b.Sessions.session(s, u)
	if err != nil {
		return r, err
	}
	if err := one.foldUntil(s, u, data); err != nil {
		return r, err
	}
	if stop.Load() {
		return r, ErrStopped
	}
	i, err := one.fuzz.Island(quiet(), uint64(u.From), uint64(u.To))
	if errors.Is(err, fuzz.ErrStopped) {
		return r, ErrStopped
	}
	if err != nil {
		return r, err
	}
	r.Summary.island(i)
	r.Data = i.Marshal()
	return r, nil
}

// island counts an island's programs.
func (s *Summary) island(i *fuzz.Island) {
	for k := range i.Programs {
		p := &i.Programs[k]
		s.Runs, s.Points, s.Violations = s.Runs+p.Runs, s.Points+p.Points, s.Violations+p.Violations
		if !p.Refused {
			s.Programs++
		}
	}
}

// claimWitness makes the witness of an island's claim.
func (b *Maker) claimWitness(s *plan.Search, u *plan.Unit) (r Result, err error) {
	one, err := b.Sessions.session(s, u)
	if err != nil {
		return r, err
	}
	w, scenario, err := one.fuzz.Witness(quiet(), u.Claim)
	if err != nil {
		return r, err
	}
	f, err := FindOf(w, scenario, engineOfFuzz(s))
	if err != nil {
		return r, err
	}
	r.Summary.Finds = []Find{*f}
	r.Data, err = json.Marshal(r.Summary.Finds)
	r.Summary.Finds[0].Trace = ""
	return r, err
}

func engineOfFuzz(s *plan.Search) string {
	if s.Kernel != nil {
		return s.Kernel.Name + " " + s.Needs()
	}
	if s.Fuzz.Mutant != "" {
		return "kpsim's own, " + s.Fuzz.Mutant
	}
	return "kpsim's own"
}

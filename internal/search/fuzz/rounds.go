package fuzz

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"kpsim/internal/scenario/gen"
	"kpsim/internal/search/parallel"
	"kpsim/sim"
)

// Rounds say how a session is divided, so that computers that share nothing but results can
// run it: in rounds of islands. An island is a small session of its own. It begins with what
// all rounds but the one before its own have shown, so that a round can begin while the last
// islands of the one before are still running: rounds 0 and 1 begin with nothing.
type Rounds struct {
	Islands  uint64       // of a round; 0: the session isn't divided
	Programs uint64       // of an island
	Start    []gen.Recipe // the first programs are of these recipes
}

// What rounds may ask for: a program's number is below 1<<60.
const (
	islandsMost  = 1 << 16 // of a round
	programsMost = 1 << 12 // of an island
	roundsMost   = 1 << 32
)

func (r *Rounds) check() error {
	switch {
	case r.Islands == 0 && (r.Programs > 0 || len(r.Start) > 0):
		return errors.New("a session without islands has no rounds")
	case r.Islands > 0 && (r.Islands > islandsMost || r.Programs == 0 || r.Programs > programsMost):
		return fmt.Errorf("a round has 1 to %d islands, each of 1 to %d programs", islandsMost, programsMost)
	}
	return nil
}

// A mark is what a session had learnt when so many rounds were folded. It doesn't change.
type mark struct {
	rounds uint64
	state
}

// marksMost is how many marks are kept: the islands of the round that is being folded, of the
// one before it and of the one after it can be made.
const marksMost = 3

// islandStream is where the streams of random numbers begin that islands are planned with.
const islandStream = 1 << 62

// An islander plans the programs of an island: one after the other, each from what the island
// began with and from what its own programs before have shown.
type islander struct {
	state
	session *Session
	program uint64 // the number of the next one, among those of all islands
	plan    uint64 // a hash of what was planned
}

// island begins to plan an island.
func (s *Session) island(round, number uint64) (*islander, error) {
	switch {
	case s.Rounds.Islands == 0:
		return nil, errors.New("the session isn't divided into rounds")
	case round >= roundsMost || number >= s.Rounds.Islands:
		return nil, fmt.Errorf("island %d of round %d: a round has %d islands", number, round, s.Rounds.Islands)
	}
	from := max(round, 1) - 1
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.marks[len(s.marks)-1].rounds
	i := slices.IndexFunc(s.marks, func(m *mark) bool { return m.rounds == from })
	switch {
	case i < 0 && from > last:
		return nil, fmt.Errorf("island %d of round %d: it is planned from the %d rounds before the last, and "+
			"%d are folded", number, round, from, last)
	case i < 0:
		return nil, fmt.Errorf("island %d of round %d: it is too old: %d rounds are folded", number, round, last)
	}
	all := round*s.Rounds.Islands + number
	is := &islander{state: s.marks[i].clone(), session: s, program: all * s.Rounds.Programs}
	is.rand.Seed(s.Seed, islandStream+all)
	return is, nil
}

// next plans a program. The seeds of those that aren't made from others are the session's
// first and those after it: each island has its own.
func (is *islander) next() *Program {
	var p *Program
	if start := is.session.Rounds.Start; is.program < uint64(len(start)) {
		p = &Program{Recipe: start[is.program], how: again}
	} else {
		is.Next = is.session.Seed + is.program
		p = is.drawn()
	}
	p.number = is.program
	is.program++
	is.plan = sim.Mix(is.plan ^ sim.Mix(p.Recipe.Hash()+uint64(p.how)))
	return p
}

// Island runs an island in the goroutine that calls. Its result depends on the specification,
// the rounds that it is planned from and its number, and changes nothing in the session: Fold
// does. Several goroutines may call it, also while Fold is called. doing, if not nil, is
// called before each program.
//
// It can be made when all rounds but the one before its own are folded, and until the round
// after its own is. Errors are about that, or the tool's; ErrStopped if Spec.Stop was set. A
// panic is a *parallel.Crash.
func (s *Session) Island(round, number uint64, doing func(r *gen.Recipe)) (*Island, error) {
	is, err := s.island(round, number)
	if err != nil {
		return nil, err
	}
	job := 0
	defer func() {
		if v := recover(); v != nil {
			panic(&parallel.Crash{Value: v, Stack: debug.Stack(), Job: job})
		}
	}()
	w := &runner{spec: &s.Spec, known: is.known, reach: is.reach}
	made := &Island{Round: round, Number: number}
	for ; job < int(s.Rounds.Programs); job++ {
		p := is.next()
		if doing != nil {
			doing(&p.Recipe)
		}
		if s.stopped() {
			return nil, ErrStopped
		}
		if err := w.run(p); err != nil {
			return nil, err
		}
		made.Programs = append(made.Programs, is.write(p))
		is.take(p)
	}
	made.Plan = is.plan
	return made, nil
}

// Read returns the programs of an island that was made here or elsewhere. The error says what
// in it can't be: that the runs are what it says only running them again can tell. It may be
// called when Island may be.
func (s *Session) Read(i *Island) ([]*Program, error) {
	is, err := s.island(i.Round, i.Number)
	if err != nil {
		return nil, err
	}
	if uint64(len(i.Programs)) != s.Rounds.Programs {
		return nil, fmt.Errorf("island %d of round %d: it has %d programs, not %d", i.Number, i.Round, len(i.Programs),
			s.Rounds.Programs)
	}
	var list []*Program
	for n := range i.Programs {
		p := is.next()
		if err := is.read(p, &i.Programs[n]); err != nil {
			return nil, fmt.Errorf("island %d of round %d, program %d: %w", i.Number, i.Round, n, err)
		}
		is.take(p)
		list = append(list, p)
	}
	if is.plan != i.Plan {
		return nil, fmt.Errorf("island %d of round %d: its programs aren't those that are planned here: "+
			"another version, other flags or other results before it", i.Number, i.Round)
	}
	return list, nil
}

// Folded says which island is folded next.
func (s *Session) Folded() (round, number uint64) {
	return s.folds / max(s.Rounds.Islands, 1), s.folds % max(s.Rounds.Islands, 1)
}

// Fold takes what an island has shown, and returns its programs. Islands are folded by round
// and number; what a session has learnt then is the same whichever computers made them.
// believe, if not nil, looks at the programs first; its error, like any other, leaves the
// session as it was. One goroutine calls Fold.
func (s *Session) Fold(i *Island, believe func(list []*Program) error) ([]*Program, error) {
	list, err := s.Read(i)
	if err != nil {
		return nil, err
	}
	if round, number := s.Folded(); i.Round != round || i.Number != number {
		return nil, fmt.Errorf("island %d of round %d: island %d of round %d is folded next", i.Number, i.Round, number,
			round)
	}
	if believe != nil {
		if err := believe(list); err != nil {
			return nil, fmt.Errorf("island %d of round %d: %w", i.Number, i.Round, err)
		}
	}
	for _, p := range list {
		if p.Kept = false; p.from != nil { // of the island's own copy
			if p.from = s.keptAs(p.from.number); p.from != nil {
				p.from.used++
			}
		}
		s.take(p)
	}
	s.folds++
	s.Next = s.Seed + s.folds*s.Rounds.Programs
	if s.folds%s.Rounds.Islands == 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.marks = append(s.marks, &mark{s.folds / s.Rounds.Islands, s.state.clone()})
		if len(s.marks) > marksMost {
			s.marks = slices.Delete(s.marks, 0, 1)
		}
	}
	return list, nil
}

// keptAs returns the program of that number, nil if it isn't kept any more: it was forgotten,
// or shows nothing new beside those of other islands.
func (s *state) keptAs(number uint64) *kept {
	for _, k := range s.kept {
		if k.number == number {
			return k
		}
	}
	return nil
}

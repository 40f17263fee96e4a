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

// Rounds describes how a session is divided into rounds of islands, for computers that share only
// results. An island is a small session of its own. It starts from the results of all rounds
// except the one before its own, so that a round can begin while the last islands of the previous
// one are still running. Rounds 0 and 1 start from nothing.
type Rounds struct {
	Islands  uint64       // per round; 0: the session isn't divided
	Programs uint64       // per island
	Start    []gen.Recipe // recipes of the first programs
}

// Limits of Rounds: a program's number is below 1<<60.
const (
	islandsMost  = 1 << 16 // per round
	programsMost = 1 << 12 // per island
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

// A mark is a session's state after a number of folded rounds. It is immutable.
type mark struct {
	rounds uint64
	state
}

// marksMost is the number of marks kept. Islands can be made of the round being folded, the one
// before it and the one after it.
const marksMost = 3

// islandStream is the first of the random streams used for planning islands.
const islandStream = 1 << 62

// An islander plans the programs of an island one after another, from the island's starting state
// and from the results of its own earlier programs.
type islander struct {
	state
	session *Session
	program uint64 // number of the next program, counted over all islands
	plan    uint64 // hash of the programs planned so far
}

// island starts planning an island.
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

// next plans a program. New seeds continue from the session's first seed; each island has its own
// range.
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

// Island runs an island in the calling goroutine. The result depends only on the specification,
// the rounds that the island starts from, and its number. It doesn't change the session; Fold
// does. Several goroutines may call Island, also during Fold. doing, if not nil, is called before
// each program.
//
// An island can be made once all rounds except the one before its own are folded, and until the
// round after its own is. Errors are about that, or faults of kpsim; ErrStopped is returned if
// Spec.Stop was set. A panic is a *parallel.Crash.
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

// Read returns the programs of an island made here or elsewhere. It returns an error for
// impossible contents; whether the runs are as stated can only be checked by repeating them. Read
// may be called whenever Island may.
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

// Folded returns the island to be folded next.
func (s *Session) Folded() (round, number uint64) {
	return s.folds / max(s.Rounds.Islands, 1), s.folds % max(s.Rounds.Islands, 1)
}

// Fold adds the results of an island to the session and returns its programs. Islands are folded
// by round and number, so the session's state doesn't depend on which computers made them.
// believe, if not nil, examines the programs first; if it or Fold returns an error, the session
// is unchanged. Only one goroutine may call Fold.
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
		if p.Kept = false; p.from != nil { // the parent in the island's own copy
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

// keptAs returns the kept program of that number. It returns nil if the program was forgotten, or
// shows nothing new besides the programs of other islands.
func (s *state) keptAs(number uint64) *kept {
	for _, k := range s.kept {
		if k.number == number {
			return k
		}
	}
	return nil
}

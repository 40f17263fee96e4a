package small

import (
	"fmt"
	"sync/atomic"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/search/fuzz"
	"kpsim/internal/search/twoengines"
	"kpsim/linux"
	"kpsim/properties"
)

// Calls returns how many calls programs have at most by default: on kpsim's engine those of four take
// some twenty seconds of two cores, on a kernel's own engine those of three.
func Calls(kernel bool) int {
	if kernel {
		return 3
	}
	return 4
}

// A Session searches worlds, each once with the optimizer running after each call and once where
// programs ask. All programs of one call come first, then all of two, and so on.
type Session struct {
	Worlds    []string       // of Names; none: all
	Edition   string         // of kpsim's own engine; "": the newest
	Mutant    string         // "": none
	Ignored   properties.Set // what may be broken
	Kernel    *linux.Kernel
	Base      *linux.Kernel // the kernel without a change: what differs there alike isn't counted
	Calls     int           // the most calls of a program
	Asked     int           // the most where programs ask for the optimizer; 0: Calls
	Workers   int
	Cancelled *atomic.Bool

	// Progress, if not nil, is called from time to time, by several goroutines, with all programs
	// run so far and how many of them differ.
	Progress func(ran, differ uint64)

	// Level, if not nil, is called when all programs of that many calls have run.
	Level func(calls int)

	Left []string // worlds that the kernel doesn't serve, after Begin

	searches []*Search
	_        struct{}
}

// Begin prepares the session and returns how many programs it has, about. Errors are about the input.
func (s *Session) Begin() (programs uint64, err error) {
	worlds := s.Worlds
	if len(worlds) == 0 {
		worlds = Names()
	}
	for _, name := range worlds {
		for _, settled := range []bool{true, false} {
			search := &Search{Settled: settled, Mutant: s.Mutant, Ignored: s.Ignored, Workers: s.Workers,
				Cancelled: s.Cancelled}
			plain, err := Load(name, s.Edition)
			if err != nil {
				return 0, err
			}
			if plain == nil {
				continue
			}
			search.plain = plain
			if search.Scenario, err = s.world(name, s.Kernel); err != nil {
				return 0, err
			}
			if search.Scenario == nil {
				if !settled {
					s.Left = append(s.Left, name)
				}
				continue
			}
			if s.Base != nil {
				if search.Base, err = s.world(name, s.Base); err != nil {
					return 0, err
				}
			}
			some, err := search.Begin()
			if err != nil {
				return 0, err
			}
			if !some {
				continue
			}
			programs += search.Count(s.most(search))
			s.searches = append(s.searches, search)
		}
	}
	return programs, nil
}

// world loads a world for a kernel, or for kpsim's own engine if that is nil. It is nil if the kernel
// doesn't have what the world is about, and no world was asked for.
func (s *Session) world(name string, k *linux.Kernel) (*scenario.Scenario, error) {
	sc, err := Load(name, s.Edition)
	if err != nil || k == nil {
		return sc, err
	}
	err = served(sc, k)
	if err == nil {
		err = onlinux.Set(sc, k)
	}
	if err != nil {
		if len(s.Worlds) == 0 {
			return nil, nil
		}
		return nil, fmt.Errorf("world %s: %w", name, err)
	}
	return sc, nil
}

// Run runs the programs. It ends early if it is cancelled.
func (s *Session) Run() error {
	done, differ := make([]atomic.Uint64, len(s.searches)), make([]atomic.Uint64, len(s.searches))
	for i, x := range s.searches {
		x.Progress = func(ran, differs uint64) {
			done[i].Store(ran)
			differ[i].Store(differs)
			if s.Progress == nil {
				return
			}
			var a, b uint64
			for k := range done {
				a, b = a+done[k].Load(), b+differ[k].Load()
			}
			s.Progress(a, b)
		}
	}
	ended := make([]bool, len(s.searches))
	for n := 1; n <= s.Calls; n++ {
		for i, x := range s.searches {
			if ended[i] || n > s.most(x) || s.Cancelled != nil && s.Cancelled.Load() {
				continue
			}
			more, err := x.Next()
			if err != nil {
				return err
			}
			ended[i] = !more
		}
		if s.Level != nil {
			s.Level(n)
		}
	}
	if s.Kernel == nil {
		return nil
	}
	for _, x := range s.searches {
		if s.Base == nil {
			if err := s.know(x); err != nil {
				return err
			}
		}
		for _, f := range x.result.Finds {
			f.Scenario.Machine, f.Serial.Machine = x.plain.Machine, x.plain.Machine
			if s.Base == nil && f.Known == "" {
				_, f.Known = fuzz.Otherwise(s.Kernel, f.Serial, s.Mutant)
			}
		}
	}
	return nil
}

// know names the finds that a known difference of kernels explains: kpsim's engine with its mutant
// differs in the same way.
func (s *Session) know(x *Search) error {
	if len(x.result.Finds) == 0 {
		return nil
	}
	sc := *x.plain
	sc.Machine.Preempt = x.Scenario.Machine.Preempt
	if err := twoengines.SetOurs(&sc, s.Kernel); err != nil {
		return nil // that edition lacks something of this world: nothing is known
	}
	w, err := New(&sc, x.Settled)
	if err != nil {
		return err
	}
	w.jumps = nil // kernels say nothing of them either
	for _, d := range twoengines.Known {
		if d.Mutant == "" {
			continue
		}
		e, err := newEngine(w, d.Mutant, s.Ignored)
		if err != nil {
			return err
		}
		for _, f := range x.result.Finds {
			t := newTree(w, len(f.program), nil, nil)
			for _, op := range f.program {
				t.push(&w.ops[op])
			}
			if f.Known == "" && len(t.program) == len(f.program) && e.take(t).like(f.differs) {
				f.Known = d.Name
			}
		}
		e.close()
	}
	return nil
}

// most returns the most calls of a search's programs.
func (s *Session) most(x *Search) int {
	if s.Asked > 0 && !x.Settled && x.world.wait >= 0 {
		return s.Asked
	}
	return s.Calls
}

// Results returns what each search has shown.
func (s *Session) Results() (list []*Result) {
	for _, x := range s.searches {
		list = append(list, x.Result())
	}
	return list
}

// Causes returns the finds, each kind once: those that are known by their name, others by what
// differs and in which call.
func (r *Result) Causes() (list []*Find) {
	for _, f := range r.Finds {
		alike := func(g *Find) bool {
			return g.Known == f.Known && (f.Known != "" || g.What == f.What && g.After == f.After)
		}
		i := 0
		for i < len(list) && !alike(list[i]) {
			i++
		}
		if i == len(list) {
			one := *f
			list = append(list, &one)
			continue
		}
		list[i].Programs += f.Programs
	}
	return list
}

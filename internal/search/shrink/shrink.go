package shrink

import (
	"slices"
	"strings"

	"kpsim/internal/scenario"
	"kpsim/internal/search/rig"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/traces"
)

// A shrinker makes a violating run smaller, as long as it is the same violation
// (cause): first its deviations, then its scenario, then it moves deviations to
// where they read simpler, until nothing of it gets any further. It knows
// one rig, which it changes with the scenario.
type shrinker struct {
	rig       *rig.Rig
	ear       *ear
	mutant    string
	seed      uint64         // of the strategies by which it is told anew
	ignored   properties.Set // what its runs go on after
	effort    *effort
	from      *Found // nil: a trace file
	cause     cause
	slow      bool               // the run that was found needs a CPU that stands still
	interrupt bool               // the violation must go on passing through an interrupt
	found     int                // deviations of the run that was found
	reduced   []traces.Deviation // of the run, as short as its scenario was left alone
	cur       attempt
	right     bool // the right engine is at hand: runs have a mutant
	trusted   bool // the twin of the current scenario finds what is said of it (twin.go)
	tried     bool // an edit was made of which the twin has tried some orders
	cut       bool // an edit was made after which that isn't sure
}

// An attempt is a run that shows the violation.
type attempt struct {
	run     rig.Run
	place   string             // of the finding
	anchors []traces.Deviation // the deviations, counted from the start
	links   []traces.Deviation // and each from the one before
	cost    cost
}

// newShrinker starts from a run of an exploration.
func newShrinker(o Origin, f *Found, e *effort) (*shrinker, error) {
	p, after, rec, err := f.Recording()
	if err != nil {
		return nil, err
	}
	rig, err := rig.NewIgnoring(o.Scenario, o.Mutant, after, 0)
	if err != nil {
		return nil, err
	}
	s := &shrinker{rig: rig, ear: listen(rig), mutant: o.Mutant, right: o.Mutant != "", seed: o.Seed, ignored: after,
		effort: e, from: f}
	exact := sched.NewExact(rec)
	if o.Past { // it went on after the finding
		s.start(sched.Shorter{Exact: exact})
	} else {
		s.start(exact)
	}
	if s.cur.run.Property != p || s.cur.run.Digest != f.Digest && !o.Past {
		sim.Bug("run %d of %s had digest %#x, played again %#x", f.Number, o.Scenario.Name, f.Digest, s.cur.run.Digest)
	}
	return s, nil
}

func (s *shrinker) close() { s.rig.Close() }

// start takes the run that the strategy makes for the one to shrink.
func (s *shrinker) start(strategy sched.Strategy) {
	a := s.play(s.rig, s.ear, strategy)
	s.cur, s.found = a, len(a.anchors)
	s.cause = s.ear.cause(a.run)
	s.slow = a.run.Finding.Slow
	s.interrupt = s.rig.Scenario.Needs == scenario.NeedsInterrupt && throughInterrupt(a.anchors)
}

// play makes one run, and pays for it.
func (s *shrinker) play(rig *rig.Rig, h *ear, strategy sched.Strategy) attempt {
	l := sched.NewLabeller(strategy, rig.Machine.Names())
	h.reset()
	run := rig.Play(l)
	s.pay(run)
	a := attempt{run: run, anchors: append([]traces.Deviation(nil), l.Anchors()...),
		links: append([]traces.Deviation(nil), l.Links()...)}
	if run.Finding.Place != 0 {
		a.place = rig.Machine.Names().SymbolName(run.Finding.Place)
	}
	a.cost = costOfAll(rig, &a)
	return a
}

func (s *shrinker) pay(run rig.Run) {
	s.effort.spent++
	s.effort.runs--
	s.effort.questions -= int64(run.Counts.Points)
	if run.Outcome == smp.Exhausted { // it goes round in circles, and may ask nothing there
		s.effort.questions -= int64(run.Counts.Boundaries)
	}
	s.effort.told()
}

// same says that an attempt, the last run of a rig, shows the violation.
func (s *shrinker) same(a *attempt, h *ear) bool {
	return a.run.Property == s.cause.property && (s.slow || !a.run.Finding.Slow) &&
		h.cause(a.run) == s.cause && (!s.interrupt || throughInterrupt(a.anchors))
}

// try takes a run for the current one if it shows the violation and ok has
// nothing against it.
func (s *shrinker) try(strategy sched.Strategy, ok func(*attempt) bool) bool {
	if s.effort.none() {
		return false
	}
	a := s.play(s.rig, s.ear, strategy)
	if !s.same(&a, s.ear) || !ok(&a) {
		return false
	}
	s.cur = a
	return true
}

func (s *shrinker) anchored(list []traces.Deviation) sched.Strategy {
	return sched.NewAnchored(list, s.rig.Machine.Names())
}

func (s *shrinker) chain(links []traces.Deviation) sched.Strategy {
	return sched.NewChain(links, s.rig.Machine.Names())
}

// fewer accepts what has fewer deviations than now.
func (s *shrinker) fewer(a *attempt) bool { return len(a.anchors) < len(s.cur.anchors) }

// within lets f spend at most so many runs and questions.
func (s *shrinker) within(runs int, questions int64, f func() bool) bool {
	kept, held := max(s.effort.runs-runs, 0), max(s.effort.questions-questions, 0)
	s.effort.runs, s.effort.questions = s.effort.runs-kept, s.effort.questions-held
	changed := f()
	s.effort.runs, s.effort.questions = s.effort.runs+kept, s.effort.questions+held
	return changed
}

// finish shrinks until nothing gets smaller, or the effort is spent.
func (s *shrinker) finish() {
	if s.retell() {
		s.reduceFirst()
	}
	if !s.leadsBack() {
		return
	}
	for changed := true; changed && !s.effort.none(); {
		changed = s.coalesce()
		changed = s.reduce() || changed
		changed = s.drop(false) || changed
		changed = s.gather() || changed
		changed = s.drop(true) || changed
		changed = s.edit() || changed
		changed = s.exchange() || changed
		changed = s.slide() || changed
		changed = changed || s.dropUnmet()
	}
}

// leadsBack says whether the labels of the current run lead to it again. If
// they don't (two tasks of one name), it is kept as it was found.
func (s *shrinker) leadsBack() bool {
	was := s.cur.run.Digest
	return s.try(s.anchored(s.cur.anchors), func(a *attempt) bool { return a.run.Digest == was })
}

// reduce drops deviations while the others stay at their places, by their count
// from the start: first those behind the violation's last one, then by ddmin.
func (s *shrinker) reduce() bool {
	n := len(s.cur.anchors)
	for lo, hi := 0, n; lo < hi && n > 1; { // some prefix is enough
		mid := (lo + hi) / 2
		if s.try(s.anchored(s.cur.anchors[:min(mid, len(s.cur.anchors))]), s.fewer) {
			hi = min(mid, len(s.cur.anchors))
		} else {
			lo = mid + 1
		}
	}
	var best *attempt
	breaks := func(list []traces.Deviation) bool {
		if s.effort.none() {
			return false
		}
		a := s.play(s.rig, s.ear, s.anchored(list))
		if !s.same(&a, s.ear) {
			return false
		}
		best = &a
		return true
	}
	sched.Minimise(s.cur.anchors, breaks, s.effort.runs)
	if best != nil && s.fewer(best) {
		s.cur = *best
	}
	return len(s.cur.anchors) < n
}

// drop drops single deviations, and pairs (to another CPU and back), while the
// others follow: each is looked for after the one before it or, which takes a
// run for each of them, where what led to it looks most like before.
func (s *shrinker) drop(align bool) (changed bool) {
	for size := 1; size <= 2; size++ {
		for i := len(s.cur.links) - size; i >= 0; i-- {
			if s.try(s.chain(slices.Delete(slices.Clone(s.cur.links), i, i+size)), s.fewer) ||
				align && s.align(s.rig, s.ear, nil, i, i+size, s.fewer) {
				changed, i = true, len(s.cur.links)-size+1
			}
		}
	}
	return changed
}

// throughInterrupt says whether a schedule goes through an interrupt: one of
// its deviations fires a source, delays an IPI, or takes the turn from a CPU
// that is in an interrupt's handler.
func throughInterrupt(list []traces.Deviation) bool {
	for _, a := range list {
		if a.Kind != sim.Step {
			continue
		}
		source, _, at := strings.Cut(a.Alt, "@")
		if at && slices.Contains(interrupts, source) || strings.HasPrefix(a.Mover, "ipi@") {
			return true
		}
		if name, _, handler := strings.Cut(a.Name, " handler"); handler && !a.Text && slices.Contains(handlers, name) {
			return true
		}
	}
	return false
}

// interrupts are the kinds of source that interrupt, as their names begin, and
// handlers whose routine is an interrupt's, as smp names them.
var (
	interrupts = []string{"timer", "nmi", "preempt"}
	handlers   = []string{"timer", "nmi", "reschedule", "call-function"}
)

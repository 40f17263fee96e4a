package shrink

import (
	"slices"
	"strings"

	"kpsim/internal/scenario"
	"kpsim/internal/search/rig"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/traces"
)

// A shrinker makes a violating run smaller as long as it stays the same violation (cause): first
// its deviations, then its scenario, then the places of its deviations, until no step helps. It
// uses one rig, which it changes with the scenario.
type shrinker struct {
	rig       *rig.Rig
	ear       *ear
	mutant    string
	seed      uint64   // for the strategies of retell
	goOn      rig.GoOn // violations after which runs go on
	effort    *effort
	from      *Found // nil: a trace file
	cause     cause
	slow      bool               // the original run needs a CPU that stands still
	interrupt bool               // the violation must still pass through an interrupt
	found     int                // deviations of the original run
	reduced   []traces.Deviation // of the run in the original scenario, as short as it became
	cur       attempt
	right     bool // the correct engine is available: runs have a mutant
	trusted   bool // the twin of the current scenario meets its expectations (twin.go)
	tried     bool // an edit was made for which the twin tried only some orders
	cut       bool // an edit was made whose expectations may not hold
}

// An attempt is a run that shows the violation.
type attempt struct {
	run     rig.Run
	place   string             // of the finding
	anchors []traces.Deviation // deviations counted from the start
	links   []traces.Deviation // the same, each counted from the one before
	cost    cost
}

// newShrinker starts from a run that a search found.
func newShrinker(o Origin, f *Found, e *effort) (*shrinker, error) {
	p, after, rec, err := f.Recording()
	if err != nil {
		return nil, err
	}
	goOn := rig.GoOn{Ignored: after, Known: o.Known}
	rig, err := rig.NewGoingOn(o.Scenario, o.Mutant, goOn)
	if err != nil {
		return nil, err
	}
	s := &shrinker{rig: rig, ear: listen(rig), mutant: o.Mutant, right: o.Mutant != "", seed: o.Seed, goOn: goOn,
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

// start makes the run of the strategy the current one.
func (s *shrinker) start(strategy sched.Strategy) {
	a := s.play(s.rig, s.ear, strategy)
	s.cur, s.found = a, len(a.anchors)
	s.cause = s.ear.cause(a.run)
	s.slow = a.run.Finding.Slow
	s.interrupt = s.rig.Scenario.Needs == scenario.NeedsInterrupt && throughInterrupt(a.anchors)
}

// play makes one run and charges it to the effort.
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
	if run.Outcome == smp.Exhausted { // it loops, possibly without asking a question
		s.effort.questions -= int64(run.Counts.Boundaries)
	}
	s.effort.told()
}

// same reports whether an attempt, the last run of a rig, shows the violation.
func (s *shrinker) same(a *attempt, h *ear) bool {
	return a.run.Property == s.cause.property && (s.slow || !a.run.Finding.Slow) &&
		h.cause(a.run) == s.cause && (!s.interrupt || throughInterrupt(a.anchors))
}

// try makes a run the current one if it shows the violation and ok accepts it.
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

// fewer accepts an attempt with fewer deviations than the current one.
func (s *shrinker) fewer(a *attempt) bool { return len(a.anchors) < len(s.cur.anchors) }

// within runs f with at most the given numbers of runs and questions.
func (s *shrinker) within(runs int, questions int64, f func() bool) bool {
	kept, held := max(s.effort.runs-runs, 0), max(s.effort.questions-questions, 0)
	s.effort.runs, s.effort.questions = s.effort.runs-kept, s.effort.questions-held
	changed := f()
	s.effort.runs, s.effort.questions = s.effort.runs+kept, s.effort.questions+held
	return changed
}

// finish shrinks until nothing gets smaller or the effort is spent.
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

// leadsBack reports whether the labels of the current run lead to it again. If they don't (two
// tasks of one name), the run is kept as it was found.
func (s *shrinker) leadsBack() bool {
	was := s.cur.run.Digest
	return s.try(s.anchored(s.cur.anchors), func(a *attempt) bool { return a.run.Digest == was })
}

// reduce drops deviations while the others keep their places, counted from the start: first those
// after the last one that the violation needs, then by ddmin.
func (s *shrinker) reduce() bool {
	n := len(s.cur.anchors)
	for lo, hi := 0, n; lo < hi && n > 1; { // find the shortest prefix that is enough
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

// drop drops single deviations, and pairs (to another CPU and back), while the others follow.
// Each of those is searched for after the one before it or, with align, where its past is most
// similar; that takes one run for each.
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

// throughInterrupt reports whether a schedule passes through an interrupt: one of its deviations
// fires a source, delays an IPI, or takes the turn from a CPU in an interrupt handler.
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

// interrupts lists prefixes of the interrupting sources' names; handlers lists the routines that
// handle an interrupt, as smp names them.
var (
	interrupts = []string{"timer", "nmi", "preempt"}
	handlers   = []string{"timer", "nmi", "reschedule", "call-function"}
)

package change

import (
	"fmt"
	"maps"
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/rig"
	"kpsim/internal/search/twoengines"
	"kpsim/kprobes/kpev"
	"kpsim/smp"
	"kpsim/smp/fetch"
	"kpsim/smp/kapi"
	"kpsim/traces"
)

// A look counts the runs that reached each place, and the ways in which runs ended. It implements
// explore.Look and traces.Sink.
type look struct {
	rig     *rig.Rig
	places  []Place
	reached []uint64 // runs by place
	ends    map[string]uint64
	said    map[answer]string // answers in words
	now     []answer          // answers of the current run
}

// An answer is a result of the API given to a task, or the final state of a probe: task is then
// atEnd, and c has one bit each for registered, disabled, and missed hits.
type answer struct {
	task, verb uint8
	probe      uint64
	c          uint64
}

const atEnd = 0xff

// newLook returns a function that makes looks for the places.
func newLook(places []Place) func() explore.Look {
	return func() explore.Look {
		return &look{places: places, reached: make([]uint64, len(places)), ends: make(map[string]uint64),
			said: make(map[answer]string)}
	}
}

// Begin implements explore.Look.
func (l *look) Begin(r *rig.Rig) {
	l.rig, l.now = r, l.now[:0]
	r.Log.Subscribe(l, kpev.ApiReturn)
	for i := range l.places {
		l.forget(r, &l.places[i])
	}
}

func (l *look) forget(r *rig.Rig, p *Place) {
	for _, a := range p.Addrs {
		r.Machine.Memory().Forget(a)
	}
}

// Event implements traces.Sink.
func (l *look) Event(e *traces.Event) *traces.Finding {
	l.add(answer{e.Task, uint8(e.A), e.B, e.C})
	return nil
}

// add adds an answer of the run, without duplicates.
func (l *look) add(a answer) {
	if !slices.Contains(l.now, a) {
		l.now = append(l.now, a)
	}
}

// Took implements explore.Look.
func (l *look) Took(r *rig.Rig, run *rig.Run) {
	if run.Outcome == smp.Passed {
		for i := range r.Scenario.Probes {
			s := r.Engine().Status(i)
			var c uint64
			for bit, is := range [...]bool{s.Registered, s.Registered && s.Disabled, s.Missed+s.NoInstance > 0} {
				if is {
					c |= 1 << bit
				}
			}
			l.add(answer{task: atEnd, probe: uint64(i), c: c})
		}
	}
	for _, a := range l.now {
		text, ok := l.said[a]
		if !ok {
			text = l.says(a)
			l.said[a] = text
		}
		l.ends[text]++
	}
	l.now = l.now[:0]
	m := r.Machine.Memory()
	for i := range l.places {
		p := &l.places[i]
		for _, a := range p.Addrs {
			if m.Executed(a) {
				l.reached[i]++
				break
			}
		}
	}
	for i := range l.places { // last, since an instruction may belong to several places
		l.forget(r, &l.places[i])
	}
}

// End implements explore.Look.
func (l *look) End(r *rig.Rig) {
	r.Log.Unsubscribe(l, kpev.ApiReturn)
	l.rig = nil
}

// says returns an answer in words.
func (l *look) says(a answer) string {
	sc := l.rig.Scenario
	name := sc.Probes[a.probe].Name
	if a.task != atEnd {
		who := "a task of its own"
		for i, t := range l.rig.Tasks() {
			if t.ID == kapi.TaskID(a.task) {
				who = sc.Tasks[i].Name
			}
		}
		return twoengines.Answered(who, a.verb, name, a.c)
	}
	text := fmt.Sprintf("in the end %s isn't registered", name)
	if a.c&1 != 0 {
		text = fmt.Sprintf("in the end %s is registered", name)
		if a.c&2 != 0 {
			text += ", disabled"
		}
	}
	if a.c&4 != 0 {
		text += ", and hits of it were missed"
	}
	return text
}

// joined adds up the looks of all shards.
func joined(list []explore.Look, places []Place) (reached []uint64, ends map[string]uint64) {
	reached, ends = make([]uint64, len(places)), make(map[string]uint64)
	for _, x := range list {
		l := x.(*counter).inner.(*look)
		for i := range reached {
			reached[i] += l.reached[i]
		}
		for text, n := range l.ends {
			ends[text] += n
		}
	}
	return reached, ends
}

// An End is an answer or final state that some runs of one kernel had and none of the other's.
type End struct {
	Says string
	Runs uint64 // runs of the kernel Of that ended so
	Of   uint64
	None uint64 // runs of the other kernel, none of which did
}

// fewEnds is the minimum number of runs that must show an End; fewer may be chance.
const fewEnds = 12

// onlyEnds returns the ends that only map a has, by text.
func onlyEnds(a, b map[string]uint64) (texts []string) {
	for _, text := range slices.Sorted(maps.Keys(a)) {
		if a[text] >= fewEnds && b[text] == 0 {
			texts = append(texts, text)
		}
	}
	return texts
}

// A Beside searches a scenario on two kernels.
type Beside struct {
	Before, After Search // the same scenario, each with the other's kernel as Base
	Places        []Place
	Stats         struct{ Before, After Run }

	// Unreached: the first fifth of the runs didn't reach the change, and no more were made. The other kernel
	// ran only if something was broken.
	Unreached bool
	Long      bool // runs are so long that fewer were made

	Gained, Lost []Break // broken only by After, or far more often; broken only by Before
	Both         []Break
	Unsure       []Break  // broken by few runs of After
	Reached      []uint64 // runs of After that reached each place
	New, Gone    []End
}

// A Run counts the runs of a kernel.
type Run struct {
	Runs       uint64 `json:"runs"`
	Violations uint64 `json:"violations"` // of these, runs that broke something
}

// Compare makes both searches. The error says that one of the kernels can't run the scenario, or
// that the input is wrong.
func Compare(sc *scenario.Scenario, s Search, places []Place) (*Beside, error) {
	b := &Beside{Places: places}
	s.Scenario = sc
	b.After = s
	b.Before = s
	b.Before.Base, b.Before.Kernel = s.Kernel, s.Base
	b.After.Look, b.Before.Look = newLook(places), newLook(nil)
	after, err := b.first()
	if err != nil {
		return nil, err
	}
	reached, now := joined(after.Looks, places)
	b.Reached, b.Stats.After = reached, Run{after.Runs, after.Violations}
	if b.Unreached && after.Violations == 0 {
		return b, nil // both kernels ran the same code, and it broke nothing
	}
	before, err := b.Before.some(b.Before.Runs)
	if err != nil {
		return nil, err
	}
	_, was := joined(before.Looks, nil)
	b.Stats.Before = Run{before.Runs, before.Violations}
	b.After.shared, b.After.without = after, before
	found, err := b.After.Run()
	if err != nil {
		return nil, err
	}
	b.Gained, b.Both, b.Unsure = found.Worse, found.Known, found.Unsure
	b.Before.shared, b.Before.without = before, after
	b.Before.Sure = func(string) bool { return true } // a lost violation needs no confirmation
	if found, err = b.Before.Run(); err != nil {
		return nil, err
	}
	b.Lost = found.Worse
	if b.New, err = b.After.ends(now, was, after); err != nil {
		return nil, err
	}
	b.Gone, err = b.Before.ends(was, now, before)
	return b, err
}

const (
	unreachedShare = 5 // scenarios whose first runs don't reach changed code get one fifth of the runs
	leastFirst     = 10

	// Most scenarios ask 1,000 to 50,000 questions in a run. A scenario with more than longRun, a
	// tenth of a second, gets fewer runs, so that it doesn't take as long as all others.
	longRun   = 100_000
	leastRuns = 16

	// A scenario in which CPUs may run stale bytes gets more runs if they are short: a missing sync
	// shows where a fetch, a store and an interrupt coincide.
	shortRun   = 10_000
	staleTimes = 4
)

// first makes the runs with the change: fewer if they are long or don't reach changed code.
func (b *Beside) first() (*explore.Result, error) {
	one, err := b.After.some(1)
	if err != nil {
		return nil, err
	}
	if each := one.Counts.Points; each > longRun {
		runs := min(b.After.Runs, max(leastRuns, b.After.Runs*longRun/each))
		b.Long = runs < b.After.Runs
		b.After.Runs, b.Before.Runs = runs, runs
	}
	if few := max(b.After.Runs/unreachedShare, leastFirst); len(b.Places) > 0 && few < b.After.Runs {
		first, err := b.After.some(few)
		if err != nil {
			return nil, err
		}
		reached, _ := joined(first.Looks, b.Places)
		if b.Unreached = !slices.ContainsFunc(reached, func(n uint64) bool { return n > 0 }); b.Unreached {
			b.After.Runs, b.Before.Runs = few, few
			return first, nil
		}
	}
	if b.After.Scenario.Machine.Fetch != fetch.Coherent && one.Counts.Points < shortRun {
		b.After.Runs *= staleTimes
		b.Before.Runs *= staleTimes
	}
	return b.After.some(b.After.Runs)
}

// some makes the given number of runs on the search's kernel.
func (s *Search) some(runs uint64) (*explore.Result, error) {
	return s.explore(s.Scenario, s.Kernel, s.Mutant, runs, s.Seed)
}

// ends returns the ends that only a search's kernel has shown, and its base doesn't show in many
// more runs.
func (s *Search) ends(now, was map[string]uint64, with *explore.Result) (list []End, err error) {
	texts := onlyEnds(now, was)
	if len(texts) == 0 || s.Cancelled != nil && s.Cancelled.Load() {
		return nil, nil
	}
	base, err := s.explore(s.Scenario, s.Base, "", s.Runs*BaseTimes, s.Seed)
	if err != nil {
		return nil, err
	}
	_, more := joined(base.Looks, nil)
	for _, text := range texts {
		if more[text] == 0 {
			list = append(list, End{Says: text, Runs: now[text], Of: with.Runs, None: base.Runs})
		}
	}
	return list, nil
}

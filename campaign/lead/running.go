package lead

import (
	"slices"
	"time"

	"kpsim/campaign/board"
	"kpsim/campaign/plan"
	"kpsim/campaign/unit"
)

// A running is a campaign as far as its coordinator knows.
type running struct {
	c     *plan.Campaign
	state *board.State
	need  []string // by search: what workers must have for it
	there bool     // all results that there were are counted
	stop  func()   // ends the goroutines that follow it
	kept  int      // witnesses whose finds are on their way to their buckets
	jobs  []*job
	of    map[[2]int]*job  // by search and scenario
	fuzz  map[int]*fuzzing // by search
	prove map[int]*proving // likewise
	next  int              // the job of which units are handed out
	epoch int              // raised when units have to be handed out again

	out     outs
	failed  map[string]map[uint64]bool // by a unit's key: the deliveries that failed
	differs map[string]bool            // by a unit's key: it has two results
	skipped int                        // messages that are of no unit of the plan
	record
	total   unit.Summary
	seconds float64   // of a core
	idle    int       // checks at which nothing lay there to be made
	waits   time.Time // since when all workers have had nothing to do, although units are out; zero: they have
	changed bool      // since its status was told
	rate    rate
}

// A record is what was found, and what went wrong.
type record struct {
	causes       []string // of what was found, in that order
	finds        []board.FindStatus
	troubles     []board.Trouble // the last ones
	troubleCount int
}

// A job is a scenario of a search.
type job struct {
	search, job int
	units       int
	made        bits // units of runs that have a result
	next        int
	sum         unit.Summary
	seconds     float64
	aside       int

	canaries    bits
	canaryNext  int
	canaryFound bool
	told        map[string]bool // properties of which a witness was asked for
	asked       []plan.Unit     // witnesses to hand out
	last        bool            // the one of all runs was asked for
	lastMade    bool
	witnessMade map[string]bool
}

// bits is a set of small numbers.
type bits struct {
	words []uint64
	n     int
}

func (b *bits) has(i int) bool {
	return i>>6 < len(b.words) && b.words[i>>6]&(1<<(i&63)) != 0
}

// add adds a number, and reports whether it wasn't there.
func (b *bits) add(i int) bool {
	for i>>6 >= len(b.words) {
		b.words = append(b.words, 0)
	}
	if b.has(i) {
		return false
	}
	b.words[i>>6] |= 1 << (i & 63)
	b.n++
	return true
}

func newRunning(c *plan.Campaign, state *board.State) *running {
	r := &running{c: c, state: state, out: newOuts(), failed: make(map[string]map[uint64]bool),
		differs: make(map[string]bool), of: make(map[[2]int]*job), fuzz: make(map[int]*fuzzing),
		prove: make(map[int]*proving), changed: true}
	for i, s := range c.Searches {
		r.need = append(r.need, s.Needs())
		if s.Fuzz != nil {
			r.fuzz[i] = newFuzzing(i, s)
		}
		if s.Verify != nil {
			r.prove[i] = &proving{search: i, of: s.Verify}
		}
		for k := range s.Scenarios {
			j := &job{search: i, job: k, units: s.Units(k), told: make(map[string]bool),
				witnessMade: make(map[string]bool)}
			r.jobs, r.of[[2]int{i, k}] = append(r.jobs, j), j
		}
	}
	return r
}

func (r *running) search(j *job) *plan.Search { return r.c.Searches[j.search] }

// jobOf returns the job of a unit, nil if there is none.
func (r *running) jobOf(u *plan.Unit) *job { return r.of[[2]int{u.Search, u.Job}] }

// take counts a unit's result. It returns false if it was counted before, or isn't one of the
// campaign.
func (r *running) take(d *board.Done) bool {
	u := &d.Unit
	if !r.c.Has(u) {
		r.skipped++
		r.changed = true
		return false
	}
	r.out.drop(u.Key())
	if f := r.fuzz[u.Search]; f != nil {
		if !f.take(d) {
			return false
		}
		r.count(d)
		return true
	}
	if v := r.prove[u.Search]; v != nil {
		if !v.take(d) {
			return false
		}
		r.count(d)
		return true
	}
	j := r.jobOf(u)
	if j == nil {
		return false
	}
	s := r.search(j)
	n := u.From / s.Bundle[j.job]
	switch u.Kind {
	case plan.Runs:
		if n < 0 || n >= j.units || !j.made.add(n) {
			return false
		}
		j.add(&d.Summary)
		j.seconds += d.Took.Seconds()
		r.ask(j, u, &d.Summary)
	case plan.Canary:
		if n < 0 || n >= j.units || !j.canaries.add(n) {
			return false
		}
		j.canaryFound = j.canaryFound || d.Summary.Found
	case plan.Witness:
		if j.witnessMade[u.Key()] {
			return false
		}
		j.witnessMade[u.Key()] = true
		j.lastMade = j.lastMade || u.From == plan.All
	default:
		return false
	}
	if d.Summary.Aside != "" {
		j.aside++
	}
	r.count(d)
	return true
}

// count counts a result for the campaign.
func (r *running) count(d *board.Done) {
	s := d.Summary
	if d.Unit.Kind == plan.Canary { // of another engine
		s.Runs, s.Points = 0, 0
	}
	add(&r.total, &s)
	r.seconds += d.Took.Seconds()
	r.changed = true
}

func (j *job) add(s *unit.Summary) { add(&j.sum, s) }

func add(to, s *unit.Summary) {
	to.Runs, to.Points, to.Violations, to.Programs = to.Runs+s.Runs, to.Points+s.Points, to.Violations+
		s.Violations, to.Programs+s.Programs
	for name, n := range s.Broken {
		if to.Broken == nil {
			to.Broken = make(map[string]uint64)
		}
		to.Broken[name] += n
	}
}

// ask asks for a witness of what a unit has shown and no other before, if there are many units:
// then it would be long before all runs are made.
func (r *running) ask(j *job, u *plan.Unit, s *unit.Summary) {
	news := false
	for name := range s.Broken {
		news = news || !j.told[name]
		j.told[name] = true
	}
	if news && j.units > 1 {
		w := *u
		w.Kind = plan.Witness
		j.asked = append(j.asked, w)
	}
}

// runsMade reports whether all runs of a job are made.
func (j *job) runsMade() bool { return j.made.n == j.units }

// wantsCanary reports whether a canary has to be looked for.
func (r *running) wantsCanary(j *job) bool {
	return r.search(j).Canary[j.job] != "" && j.sum.Violations == 0 && j.runsMade() && !j.canaryFound &&
		j.canaries.n < j.units
}

// ended reports whether all of a job is made.
func (r *running) jobEnded(j *job) bool {
	return j.runsMade() && !r.wantsCanary(j) && (j.sum.Violations == 0 || j.lastMade)
}

// ended reports whether all of the campaign is made.
func (r *running) ended() bool {
	for _, f := range r.fuzz {
		if !f.ended() {
			return false
		}
	}
	for _, v := range r.prove {
		if !v.ended() {
			return false
		}
	}
	return r.there && r.kept == 0 && !slices.ContainsFunc(r.jobs, func(j *job) bool { return !r.jobEnded(j) })
}

// pick returns the units to be handed out next, at most most, for workers that have what is
// needed.
func (r *running) pick(most int, needs string) (list []plan.Unit) {
	give := func(u plan.Unit) {
		r.out.add(u.Key(), needs)
		list = append(list, u)
	}
	for i := range r.c.Searches {
		if f := r.fuzz[i]; f != nil && r.need[i] == needs {
			for _, u := range f.pick(r, most-len(list)) {
				give(u)
			}
		}
		if v := r.prove[i]; v != nil && r.need[i] == needs {
			for _, u := range v.pick(r, most-len(list)) {
				give(u)
			}
		}
	}
	for _, j := range r.jobs[:min(r.next+1, len(r.jobs))] { // what follows from runs that are made
		if r.need[j.search] != needs {
			continue
		}
		if j.runsMade() && j.sum.Violations > 0 && !j.last {
			j.last = true
			j.asked = append(j.asked,
				plan.Unit{Campaign: r.c.ID, Search: j.search, Job: j.job, Kind: plan.Witness, From: plan.All,
					To: plan.All})
		}
		for len(j.asked) > 0 && len(list) < most {
			u := j.asked[0]
			if j.asked = j.asked[1:]; !j.witnessMade[u.Key()] {
				give(u)
			}
		}
		// Most canaries are found by the first unit. So each that hasn't found it lets two more begin.
		for r.wantsCanary(j) && j.canaryNext < min(j.units, 2*j.canaries.n+1) && len(list) < most {
			n := j.canaryNext
			if j.canaryNext++; !j.canaries.has(n) {
				give(r.search(j).Unit(r.c.ID, j.search, j.job, plan.Canary, n))
			}
		}
	}
	for k := r.next; k < len(r.jobs) && len(list) < most; k++ {
		j := r.jobs[k]
		if r.need[j.search] != needs {
			continue
		}
		for j.next < j.units && len(list) < most {
			n := j.next
			j.next++
			if u := r.search(j).Unit(r.c.ID, j.search, j.job, plan.Runs, n); !j.made.has(n) && !r.out.has(u.Key()) {
				give(u)
			}
		}
	}
	for r.next < len(r.jobs)-1 && r.jobs[r.next].next >= r.jobs[r.next].units {
		r.next++
	}
	return list
}

// again has all units handed out again that have no result.
func (r *running) again() {
	r.epoch++
	r.next = 0
	r.out.clear()
	for _, f := range r.fuzz {
		f.again()
	}
	for _, v := range r.prove {
		v.next = 0
	}
	for _, j := range r.jobs {
		j.next, j.canaryNext, j.last = 0, 0, j.lastMade
		j.asked = nil
	}
}

// needs lists what workers must have to make what is left.
func (r *running) needs() (list []string) {
	for i, n := range r.need {
		if f := r.fuzz[i]; f != nil && !f.ended() && !slices.Contains(list, n) {
			list = append(list, n)
		}
		if v := r.prove[i]; v != nil && !v.ended() && !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	for _, j := range r.jobs {
		if n := r.need[j.search]; !slices.Contains(list, n) && !r.jobEnded(j) {
			list = append(list, n)
		}
	}
	return list
}

// shown is what campaigns are compared by.
func (r *running) shown() (list []board.ScenarioEnd) {
	for _, j := range r.jobs {
		list = append(list, board.ScenarioEnd{
			Search: j.search, Scenario: r.search(j).Scenarios[j.job].Name, Runs: j.sum.Runs,
			Violations: j.sum.Violations,
			Broken:     j.sum.Broken, Seconds: j.seconds, Aside: j.aside,
		})
	}
	return list
}

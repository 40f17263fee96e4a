package lead

import (
	"slices"
	"time"

	"kpsim/campaign/board"
	"kpsim/campaign/plan"
	"kpsim/campaign/unit"
)

// A running is the coordinator's view of a running campaign.
type running struct {
	c        *plan.Campaign
	state    *board.State
	needOf   []string // by search: what workers must have to make its units
	caughtUp bool     // all results stored before this coordinator started are counted
	stop     func()   // ends the goroutines that follow it
	filing   int      // witnesses whose finds are being written to their buckets
	jobs     []*job
	jobBy    map[[2]int]*job  // by search and scenario
	fuzz     map[int]*fuzzing // by search
	prove    map[int]*proving // by search
	next     int              // index of the job whose units are being handed out
	epoch    int              // raised when units are handed out again

	out     leases
	failed  map[string]map[uint64]bool // by a unit's key: the deliveries that failed
	differs map[string]bool            // by a unit's key: it has two results
	skipped int                        // results whose unit isn't in the plan
	record
	total        unit.Summary
	seconds      float64   // CPU time
	emptyChecks  int       // consecutive checks that found no queued unit
	stalledSince time.Time // since when all workers are idle although units are leased; zero: not so
	changed      bool      // since its status was last published
	rate         rate
}

// A record is what was found, and what went wrong.
type record struct {
	causes       []string // of the finds, in order of discovery
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
	setAside    int

	canaries    bits
	canaryNext  int
	canaryFound bool
	seenBroken  map[string]bool // properties that some unit has broken
	asked       []plan.Unit     // witnesses to hand out
	finalAsked  bool            // the witness of all runs is queued or handed out
	finalMade   bool
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
	r := &running{c: c, state: state, out: newLeases(), failed: make(map[string]map[uint64]bool),
		differs: make(map[string]bool), jobBy: make(map[[2]int]*job), fuzz: make(map[int]*fuzzing),
		prove: make(map[int]*proving), changed: true}
	for i, s := range c.Searches {
		r.needOf = append(r.needOf, s.Needs())
		if s.Fuzz != nil {
			r.fuzz[i] = newFuzzing(i, s)
		}
		if s.Verify != nil {
			r.prove[i] = &proving{search: i, proofs: s.Verify}
		}
		for k := range s.Scenarios {
			j := &job{search: i, job: k, units: s.Units(k), seenBroken: make(map[string]bool),
				witnessMade: make(map[string]bool)}
			r.jobs, r.jobBy[[2]int{i, k}] = append(r.jobs, j), j
		}
	}
	return r
}

func (r *running) search(j *job) *plan.Search { return r.c.Searches[j.search] }

// jobOf returns the job of a unit, nil if there is none.
func (r *running) jobOf(u *plan.Unit) *job { return r.jobBy[[2]int{u.Search, u.Job}] }

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
		j.finalMade = j.finalMade || u.From == plan.All
	default:
		return false
	}
	if d.Summary.AsideReason != "" {
		j.setAside++
	}
	r.count(d)
	return true
}

// count counts a result for the campaign.
func (r *running) count(d *board.Done) {
	s := d.Summary
	if d.Unit.Kind == plan.Canary { // a canary's runs are those of a mutant
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

// ask queues a witness of unit u if u broke a property that no earlier unit of the job broke. A job
// of one unit needs none: the witness of all its runs follows at once.
func (r *running) ask(j *job, u *plan.Unit, s *unit.Summary) {
	isNew := false
	for name := range s.Broken {
		isNew = isNew || !j.seenBroken[name]
		j.seenBroken[name] = true
	}
	if isNew && j.units > 1 {
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

// jobEnded reports whether everything of a job is made.
func (r *running) jobEnded(j *job) bool {
	return j.runsMade() && !r.wantsCanary(j) && (j.sum.Violations == 0 || j.finalMade)
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
	return r.caughtUp && r.filing == 0 && !slices.ContainsFunc(r.jobs, func(j *job) bool { return !r.jobEnded(j) })
}

// pick returns up to limit units to hand out next, of the searches that need exactly needs.
func (r *running) pick(limit int, needs string) (list []plan.Unit) {
	give := func(u plan.Unit) {
		r.out.add(u.Key(), needs)
		list = append(list, u)
	}
	for i := range r.c.Searches {
		if f := r.fuzz[i]; f != nil && r.needOf[i] == needs {
			for _, u := range f.pick(r, limit-len(list)) {
				give(u)
			}
		}
		if v := r.prove[i]; v != nil && r.needOf[i] == needs {
			for _, u := range v.pick(r, limit-len(list)) {
				give(u)
			}
		}
	}
	for _, j := range r.jobs[:min(r.next+1, len(r.jobs))] { // units that follow from finished runs
		if r.needOf[j.search] != needs {
			continue
		}
		if j.runsMade() && j.sum.Violations > 0 && !j.finalAsked {
			j.finalAsked = true
			j.asked = append(j.asked,
				plan.Unit{Campaign: r.c.ID, Search: j.search, Job: j.job, Kind: plan.Witness, From: plan.All,
					To: plan.All})
		}
		for len(j.asked) > 0 && len(list) < limit {
			u := j.asked[0]
			if j.asked = j.asked[1:]; !j.witnessMade[u.Key()] {
				give(u)
			}
		}
		// Most canaries are found by the first unit. So each unit that doesn't
		// find the canary releases two more.
		for r.wantsCanary(j) && j.canaryNext < min(j.units, 2*j.canaries.n+1) && len(list) < limit {
			n := j.canaryNext
			if j.canaryNext++; !j.canaries.has(n) {
				give(r.search(j).Unit(r.c.ID, j.search, j.job, plan.Canary, n))
			}
		}
	}
	for k := r.next; k < len(r.jobs) && len(list) < limit; k++ {
		j := r.jobs[k]
		if r.needOf[j.search] != needs {
			continue
		}
		for j.next < j.units && len(list) < limit {
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

// reissue makes pick hand out every unit without a result again.
func (r *running) reissue() {
	r.epoch++
	r.next = 0
	r.out.clear()
	for _, f := range r.fuzz {
		f.reissue()
	}
	for _, v := range r.prove {
		v.next = 0
	}
	for _, j := range r.jobs {
		j.next, j.canaryNext, j.finalAsked = 0, 0, j.finalMade
		j.asked = nil
	}
}

// remainingNeeds lists what workers must have to make the remaining units.
func (r *running) remainingNeeds() (list []string) {
	for i, n := range r.needOf {
		if f := r.fuzz[i]; f != nil && !f.ended() && !slices.Contains(list, n) {
			list = append(list, n)
		}
		if v := r.prove[i]; v != nil && !v.ended() && !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	for _, j := range r.jobs {
		if n := r.needOf[j.search]; !slices.Contains(list, n) && !r.jobEnded(j) {
			list = append(list, n)
		}
	}
	return list
}

// scenarioEnds returns the results by which campaigns are compared.
func (r *running) scenarioEnds() (list []board.ScenarioEnd) {
	for _, j := range r.jobs {
		list = append(list, board.ScenarioEnd{
			Search: j.search, Scenario: r.search(j).Scenarios[j.job].Name, Runs: j.sum.Runs,
			Violations: j.sum.Violations,
			Broken:     j.sum.Broken, Seconds: j.seconds, SetAside: j.setAside,
		})
	}
	return list
}

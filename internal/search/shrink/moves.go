package shrink

import (
	"cmp"
	"slices"
	"strings"

	"kpsim/internal/scenario/edit"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/rig"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/traces"
)

// A cost is the effort of reading a schedule. Its fields are ordered by weight, heaviest first.
type cost struct {
	slow       int // 1: a CPU must stand still
	deviations int
	inside     int // deviations that are neither at a function's first instruction nor in a routine
	times      int // what a reader has to count: the sum of all Occ beyond 1
	others     int // sum of the alternatives' ranks
}

func (a cost) less(b cost) bool {
	return cmp.Or(cmp.Compare(a.slow, b.slow), cmp.Compare(a.deviations, b.deviations), cmp.Compare(a.inside, b.inside),
		cmp.Compare(a.times, b.times), cmp.Compare(a.others, b.others)) < 0
}

// costOf returns the cost of one deviation.
func costOf(r *rig.Rig, d *traces.Deviation) cost {
	c := cost{deviations: 1, times: d.Occ - 1, others: rank(d)}
	if _, function := r.Func(d.Name); d.Text && !(function && d.Off == 0) {
		c.inside = 1
	}
	return c
}

// rank orders the alternatives of a question: CPUs by number, then IPIs, then timers, then other
// sources; for versions of text, the freshest first.
func rank(d *traces.Deviation) int {
	if d.Kind != sim.Step {
		return len(d.Alt) // orders "older 2" before "older 10"; a task's name doesn't matter
	}
	kind, cpu, ok := strings.Cut(d.Alt, "@")
	if !ok {
		kind, cpu = "", d.Alt
	}
	n := 0
	for _, c := range strings.TrimPrefix(cpu, "cpu") {
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + int(c-'0')
	}
	base := map[string]int{"": 0, "ipi": 1, "timer": 2, "preempt": 3, "nmi": 4}
	return base[kind]*sim.MaxCPUs + n
}

func costOfAll(r *rig.Rig, a *attempt) (sum cost) {
	if a.run.Finding.Slow {
		sum.slow = 1
	}
	for i := range a.anchors {
		c := costOf(r, &a.anchors[i])
		sum.deviations += c.deviations
		sum.inside += c.inside
		sum.times += c.times
		sum.others += c.others
	}
	return sum
}

// before reports whether a is better to show than b.
func (a *attempt) before(b *attempt) bool { return a.cost.less(b.cost) }

// simpler accepts an attempt that is simpler to read than the current one.
func (s *shrinker) simpler(a *attempt) bool { return a.before(&s.cur) }

// survey makes a run and returns all of its questions.
func (s *shrinker) survey(rig *rig.Rig, h *ear, strategy sched.Strategy) ([]sched.Visit, attempt) {
	l := sched.NewLabeller(strategy, rig.Machine.Names())
	l.All = true
	a := s.play(rig, h, l)
	return l.Visits(), a
}

// align searches for the current deviations, except numbers from to end-1, in another run of the
// current rig or of an edited scenario. It places each at the question of its name whose past is
// most similar. If that run shows the violation, it becomes the current one.
func (s *shrinker) align(rig *rig.Rig, h *ear, rename func(string) string, from, end int, ok func(*attempt) bool) bool {
	if s.effort.none() {
		return false
	}
	was, _ := s.survey(s.rig, s.ear, s.anchored(s.cur.anchors))
	if rename != nil {
		for i := range was {
			was[i].Mover = rename(was[i].Mover)
			if was[i].Kind == sim.Step {
				was[i].Alt = rename(was[i].Alt)
			}
		}
	}
	var links []traces.Deviation
	for i, n := 0, 0; i < len(was); i++ {
		if was[i].Pick == 0 {
			continue
		}
		if n++; n-1 >= from && n-1 < end {
			continue
		}
		if s.effort.none() {
			return false
		}
		now, _ := s.survey(rig, h, sched.NewChain(links, rig.Machine.Names()))
		q := likeliest(was, i, now, len(links))
		if q < 0 {
			return false
		}
		links = append(links, linkAt(&now[q], was[i].Alt))
	}
	if s.effort.none() {
		return false
	}
	a := s.play(rig, h, sched.NewChain(links, rig.Machine.Names()))
	if !s.same(&a, h) || !ok(&a) {
		return false
	}
	s.cur = a
	return true
}

// linkAt returns a visit as a link of a chain.
func linkAt(v *sched.Visit, alt string) traces.Deviation {
	l := v.Deviation
	l.Occ, l.Alt = v.Since, alt
	return l
}

// likeliest returns the question of a run, after its first placed deviations, that most likely
// corresponds to question i of another: same name, same alternative, longest identical past. -1:
// there is none.
func likeliest(was []sched.Visit, i int, now []sched.Visit, placed int) int {
	best, most := -1, -1
	for q := behind(now, placed); q < len(now); q++ {
		if !sameName(&was[i], &now[q]) || !slices.Contains(now[q].Alts[1:], was[i].Alt) {
			continue
		}
		n := 0
		for n < i && n < q && sameName(&was[i-1-n], &now[q-1-n]) && was[i-1-n].Alt == now[q-1-n].Alt {
			n++
		}
		if n > most {
			best, most = q, n
		}
	}
	return best
}

// behind returns the index of the first question after the given number of deviations.
func behind(list []sched.Visit, deviations int) int {
	for i := range list {
		if deviations == 0 {
			return i
		}
		if list[i].Pick != 0 {
			deviations--
		}
	}
	return len(list)
}

// sameName reports whether two visits have the same mover and place, at whatever time.
func sameName(a, b *sched.Visit) bool {
	x, y := a.Deviation, b.Deviation
	x.Occ, x.Alt, y.Occ, y.Alt = 0, "", 0, ""
	return x == y
}

// edit makes the scenario smaller where the violation stays.
func (s *shrinker) edit() (changed bool) {
	list := edit.Smaller(s.rig.Scenario)
	for i := 0; i < len(list) && !s.effort.none(); {
		if !s.tryEdit(&list[i]) {
			i++
			continue
		}
		changed = true
		list = edit.Smaller(s.rig.Scenario) // index i is now the next edit
	}
	return changed
}

func (s *shrinker) tryEdit(e *edit.Edit) bool {
	var anchors, links []traces.Deviation
	for i := range s.cur.anchors {
		a, l := s.cur.anchors[i], s.cur.links[i]
		a.Mover = e.Mover(a.Mover)
		if a.Kind == sim.Step {
			a.Alt = e.Mover(a.Alt)
		}
		if a.Mover == "" || a.Alt == "" {
			return false
		}
		l.Mover, l.Alt = a.Mover, a.Alt
		anchors, links = append(anchors, a), append(links, l)
	}
	sc := e.Apply(s.rig.Scenario)
	if lang.Check(sc) != nil {
		return false
	}
	if sc.Machine.Image != "" {
		s.effort.questions -= bootQuestions
	}
	rig, err := rig.NewGoingOn(sc, s.mutant, s.goOn)
	if err != nil {
		return false // its programs don't end, or it is rejected
	}
	h := listen(rig)
	ok := func(a *attempt) bool {
		return a.cost.slow <= s.cur.cost.slow && a.cost.deviations <= s.cur.cost.deviations
	}
	took := func(strategy sched.Strategy) bool {
		if s.effort.none() {
			return false
		}
		a := s.play(rig, h, strategy)
		if !s.same(&a, h) || !ok(&a) {
			return false
		}
		s.cur = a
		return true
	}
	was := s.cur
	if took(sched.NewAnchored(anchors, rig.Machine.Names())) || took(sched.NewChain(links, rig.Machine.Names())) ||
		s.align(rig, h, e.Mover, 0, 0, ok) || e.Unused && nearby(rig, links, took) {
		now := s.cur
		s.cur = was
		if s.meets(e, rig, &now) {
			s.rig.Close()
			s.rig, s.ear, s.cur = rig, h, now
			return true
		}
	}
	rig.Close()
	return false
}

// nearbyMost is the maximum change of a deviation's count that nearby tries.
const nearbyMost = 4

// nearby searches for the violation in a scenario without a part that nothing uses. The only
// change is how often its movers pass a place, since a lock that such a part needs is gone.
func nearby(rig *rig.Rig, links []traces.Deviation, took func(sched.Strategy) bool) bool {
	for from := range links {
		for _, upTo := range []int{from + 1, len(links)} {
			for by := 1; by <= nearbyMost; by++ {
				moved := slices.Clone(links)
				for i := from; i < upTo; i++ {
					moved[i].Occ = max(moved[i].Occ-by, 1)
				}
				if !slices.Equal(moved, links) && took(sched.NewChain(moved, rig.Machine.Names())) {
					return true
				}
			}
		}
	}
	return false
}

// bootQuestions is the cost of an edit with a kernel's own engine, in questions: the kernel boots
// and does its setup again, which runs from a snapshot don't.
const bootQuestions = 40_000

// slideTries is the maximum number of tries for one deviation.
const slideTries = 40

// slide moves each deviation to where it reads simplest.
func (s *shrinker) slide() (changed bool) {
	for j := len(s.cur.links) - 1; j >= 0 && !s.effort.none(); j-- {
		if j < len(s.cur.links) && s.slideOne(s.cur.links, j, slideTries, false, s.simpler) {
			changed, j = true, len(s.cur.links)
		}
	}
	return changed
}

// slideOne tries other questions and alternatives for link j: with near the nearest first,
// otherwise the simpler ones, simplest first.
func (s *shrinker) slideOne(links []traces.Deviation, j, tries int, nearest bool, ok func(*attempt) bool) bool {
	if s.effort.none() {
		return false
	}
	now, _ := s.survey(s.rig, s.ear, s.chain(links[:j]))
	type option struct {
		link traces.Deviation
		cost cost
		away int
	}
	from := behind(now, j)
	at := from // where it is now
	for seen := 0; at < len(now); at++ {
		if v := &now[at]; v.Mover == links[j].Mover && v.Kind == links[j].Kind && v.Name == links[j].Name &&
			v.Off == links[j].Off {
			if seen++; seen == links[j].Occ {
				break
			}
		}
	}
	var options []option
	for q := from; q < len(now); q++ {
		v := &now[q]
		if v.Kind != links[j].Kind {
			continue
		}
		for _, alt := range v.Alts[1:] {
			if alt != links[j].Alt && q != at {
				continue
			}
			a := v.Deviation
			a.Alt = alt
			if !nearest && j < len(s.cur.anchors) && !costOf(s.rig, &a).less(costOf(s.rig, &s.cur.anchors[j])) {
				continue
			}
			options = append(options, option{linkAt(v, alt), costOf(s.rig, &a), max(q, at) - min(q, at)})
		}
	}
	slices.SortStableFunc(options, func(a, b option) int {
		switch {
		case nearest:
			return cmp.Compare(a.away, b.away)
		case a.cost.less(b.cost):
			return -1
		case b.cost.less(a.cost):
			return 1
		}
		return cmp.Compare(a.away, b.away)
	})
	try := slices.Clone(links)
	for _, o := range options[:min(len(options), tries)] {
		if o.link == links[j] {
			continue
		}
		try[j] = o.link
		if s.try(s.chain(try), ok) {
			return true
		}
	}
	return false
}

// exchangeRuns limits a round of exchange; exchangeMost limits the deviations it tries.
const (
	exchangeRuns = 600
	exchangeMost = 8
)

// exchange drops one deviation and moves another to make up for it: the dropped one may only have
// brought the other to its place.
func (s *shrinker) exchange() bool {
	n := len(s.cur.links)
	if n < 2 || n > exchangeMost {
		return false
	}
	return s.within(exchangeRuns, s.effort.questions, func() bool {
		for i := n - 1; i >= 0; i-- {
			links := slices.Delete(slices.Clone(s.cur.links), i, i+1)
			for j := range links {
				if s.slideOne(links, j, exchangeRuns/(n*(n-1)), true, s.fewer) {
					return true
				}
			}
		}
		return false
	})
}

// gatherTries limits the tries for one stretch of deviations, gatherNear how many deviations
// before it are moved, and gatherRuns a round of gather.
const (
	gatherTries = 12
	gatherNear  = 4
	gatherRuns  = 300
)

// gather drops a stretch of deviations that keep one CPU running, for example each time before
// its IPI, and moves one to make up for it. The CPU may run before the IPI is sent, or stop only
// where the stretch ended.
func (s *shrinker) gather() (changed bool) {
	return s.within(gatherRuns, s.effort.questions, func() bool {
		for end := len(s.cur.links); end > 0; {
			l := s.cur.links
			from, same := end-1, end-1 // start of the deviations with the same alternative, and with the same mover
			for from > 0 && l[from-1].Kind == sim.Step && l[end-1].Kind == sim.Step && l[from-1].Alt == l[end-1].Alt {
				from--
				if same == from+1 && l[from].Mover == l[end-1].Mover {
					same = from
				}
			}
			if end-from > 1 && (s.gatherOne(from, end) || same > from && end-same > 1 && s.gatherOne(same, end)) {
				changed, end = true, len(s.cur.links)
				continue
			}
			end = from
		}
		return changed
	})
}

// gatherOne replaces the links from to end-1 by one, or by none if that is enough.
func (s *shrinker) gatherOne(from, end int) bool {
	links := slices.Delete(slices.Clone(s.cur.links), from, end)
	for j := from - 1; j >= max(from-gatherNear, 0); j-- {
		if s.slideOne(links, j, gatherTries, true, s.fewer) {
			return true
		}
	}
	return end-from > 2 && s.ahead(from, end)
}

// ahead lets the CPU of links from to end-1 run ahead before it has to wait. When it reaches the
// place where they end, the mover that ran before gets its turn back. That takes two deviations,
// and one more each time that the CPU would lose its turn.
func (s *shrinker) ahead(from, end int) bool {
	if s.effort.none() {
		return false
	}
	was, _ := s.survey(s.rig, s.ear, s.anchored(s.cur.anchors))
	tail := slices.Clone(s.cur.links[end-1:]) // played once the waiting CPU has arrived
	tail[0].Occ = 1
	cpu, first, upTo := s.cur.links[from].Alt, behind(was, from), behind(was, end)
	for q, tries := behind(was, from+1)-1, gatherTries; q >= first && tries > 0; q-- {
		v := &was[q]
		if v.Kind != sim.Step || v.Mover == cpu || !slices.Contains(v.Alts[1:], cpu) {
			continue
		}
		tries--
		l := &lead{
			Chain: s.chain(append(slices.Clone(s.cur.links[:from]), linkAt(v, cpu))).(*sched.Chain), met: from + 1,
			cpu: cpu, back: v.Mover, to: tail[0], then: s.chain(tail), loc: s.rig.Machine.Names(),
		}
		for i := q + 1; i < upTo; i++ {
			if w := &was[i]; l.there(w.Name, w.Off, w.Text) &&
				(i == upTo-1 || w.Kind == sim.Step && (w.Mover == cpu || w.Alt == cpu)) {
				l.left++
			}
		}
		if s.try(l, s.fewer) {
			return true
		}
	}
	return false
}

// A lead plays a chain, lets one CPU run until it reaches a place for the left-th time, then
// returns the turn and plays another chain.
type lead struct {
	*sched.Chain
	met       int // links met of the chain, when it is done
	cpu, back string
	to        traces.Deviation
	left      int
	then      sched.Strategy
	loc       sched.Locator
}

func (l *lead) there(name string, off int, text bool) bool {
	return name == l.to.Name && off == l.to.Off && text == l.to.Text
}

// Begin implements sched.Strategy, for one run.
func (l *lead) Begin(i uint64) bool { return l.Chain.Begin(i) && l.then.Begin(i) }

// Choose implements sim.Chooser.
func (l *lead) Choose(p *sim.Point) (pick, hold int) {
	switch {
	case l.Met() < l.met:
		return l.Chain.Choose(p)
	case l.left <= 0:
		return l.then.Choose(p)
	case p.Kind != sim.Step:
		return 0, 0
	}
	want := l.cpu
	if l.loc.Alternative(p, 0) == l.cpu && l.there(l.loc.Where(p.First)) {
		if l.left--; l.left == 0 {
			want = l.back
		}
	}
	for k := range p.N {
		if l.loc.Alternative(p, k) == want {
			return k, 0
		}
	}
	return 0, 0
}

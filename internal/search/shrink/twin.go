package shrink

import (
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/scenario/edit"
	"kpsim/internal/search/rig"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/traces"
)

// A scenario states what its calls return, what memory holds, what register returns (X2), and
// through its run without probes what its calls leave (X1). These expectations hold for the whole
// scenario. An edit may remove the operation that one rests on, and then even the correct engine
// breaks it. So a smaller scenario is compared with its twin, which does the operations one after
// another with the correct engine: an expectation that the twin doesn't meet is dropped.
//
// A run with a mutant has the correct engine available. Any other run only has the engine under
// test, which may be wrong even for single operations; then the twin of the original scenario
// shows it, and the only edits made are those whose result is the beginning of a run
// (edit.Edit.Beginning), or which omit something that the answer can't rest on. After another
// edit a beginning is also compared with its twin, because only some of that edit's orders were
// tried.

// said reports whether the violated property compares with an expectation of the scenario as a
// whole.
func (s *shrinker) said() bool {
	return s.cause.property == &properties.RightResult || s.cause.property == &properties.Transparent
}

// meets reports whether the expectations still hold for the edited scenario of a rig, in which
// attempt a shows the violation.
func (s *shrinker) meets(e *edit.Edit, r *rig.Rig, a *attempt) bool {
	switch {
	case e.Beginning && !s.tried:
		return true
	case !s.said():
		s.cut = true // dropUnmet checks what is left
		return true
	case !s.right && waits(r.Scenario) < waits(s.rig.Scenario):
		return false // operations could now overlap that never did
	}
	if !s.trusted {
		t := s.twinOf(s.rig, &s.cur)
		s.trusted = t.meets()
		t.close()
	}
	if !s.trusted {
		return len(e.Gone) > 0 && s.independent(e.Gone)
	}
	t := s.twinOf(r, a)
	defer t.close()
	met := t.meets()
	s.tried = s.tried || met && !e.Beginning
	return met
}

// independent reports whether the violating operation gives the same result without the
// operations in gone, with any correct engine. A call's result and memory don't depend on probes
// whose handlers do nothing, nor, if there is neither data nor text that calls may change, on other
// calls. The result of a registration doesn't depend on calls or on probes elsewhere.
func (s *shrinker) independent(gone []scenario.Op) bool {
	if s.effort.none() {
		return false
	}
	s.ear.reset()
	s.pay(s.rig.Play(s.anchored(s.cur.anchors)))
	sc := s.rig.Scenario
	asked := "" // the function whose probe is concerned
	if task, op, ok := s.rig.Unmet(); ok {
		x := &sc.Tasks[task].Ops[op]
		if x.Kind.Has(scenario.ParamCount, scenario.ParamText) || x.On && x.Kind.Has(scenario.ParamProbed) {
			return false // hits, and what they and patchers have left
		}
		if asked = placeOf(sc, x.Target); asked == "" && x.Kind != act.Call && x.Kind != act.Expect {
			return false
		}
	}
	return !slices.ContainsFunc(gone, func(op scenario.Op) bool {
		switch {
		case op.Kind == act.Expect, op.Kind == act.User, op.Kind == act.WaitOptimized:
			return false
		case op.Kind == act.Call:
			return asked == "" && len(sc.Datas)+len(sc.Aliases) > 0
		case op.Kind.Has(scenario.ParamPart) && op.Kind.Takes(scenario.TheProbes):
			if asked == "" {
				return !inert(sc, op.Target)
			}
			other := placeOf(sc, op.Target)
			return other == "" || other == asked
		}
		return true
	})
}

// inert reports whether the handlers of a probe only count.
func inert(sc *scenario.Scenario, probe string) bool {
	i := slices.IndexFunc(sc.Probes, func(k scenario.Probe) bool { return k.Name == probe })
	return i >= 0 && sc.Probes[i].Kind != scenario.ProbeJprobe &&
		!slices.ContainsFunc(slices.Concat(sc.Probes[i].Pre, sc.Probes[i].Post, sc.Probes[i].Fault),
			func(st scenario.Step) bool {
				return st.Kind != scenario.StepCount
			})
}

// placeOf returns the function that a probe is in; "" if that is unknown or there is no such
// probe.
func placeOf(sc *scenario.Scenario, probe string) string {
	for i := range sc.Probes {
		if k := &sc.Probes[i]; k.Name == probe {
			if f, known := sc.Place(k); known {
				return f
			}
		}
	}
	return ""
}

// waits counts the operations that wait for another task or for a work.
func waits(sc *scenario.Scenario) (n int) {
	for i := range sc.Tasks {
		for _, op := range sc.Tasks[i].Ops {
			if op.Kind.Traits&scenario.Waits != 0 {
				n++
			}
		}
	}
	return n
}

// dropUnmet removes expectations that the twin doesn't meet, where the violation doesn't need
// them.
func (s *shrinker) dropUnmet() (changed bool) {
	if !s.cut || s.said() {
		return false
	}
	for checks(s.rig.Scenario) {
		t := s.twinOf(s.rig, &s.cur)
		met := t.meets()
		task, op, unmet := t.rigUnmet()
		t.close()
		if met || !unmet {
			return changed
		}
		e := edit.WithoutExpectation(s.rig.Scenario, task, op)
		if !s.tryEdit(&e) {
			return changed
		}
		changed = true
	}
	return changed
}

// checks reports whether the scenario states any expectation.
func checks(sc *scenario.Scenario) bool {
	return slices.ContainsFunc(sc.Tasks, func(t scenario.Task) bool {
		return slices.ContainsFunc(t.Ops, func(op scenario.Op) bool { return op.Compares() })
	})
}

// A twin makes runs of a scenario with the correct engine or, if there is none, with the engine
// under test.
type twin struct {
	s     *shrinker
	rig   *rig.Rig // nil: it can't be built, or the effort is spent
	own   bool     // rig is the twin's own
	of    *rig.Rig
	shown []traces.Deviation // deviations of the violating run
}

func (s *shrinker) twinOf(r *rig.Rig, a *attempt) *twin {
	t := &twin{s: s, of: r, shown: a.anchors}
	if !s.right {
		t.rig = r
		return t
	}
	if r.Scenario.Machine.Image != "" {
		s.effort.questions -= bootQuestions
	}
	if right, err := rig.NewGoingOn(r.Scenario, "", s.goOn); err == nil {
		t.rig, t.own = right, true
	}
	return t
}

func (t *twin) close() {
	if t.own {
		t.rig.Close()
	}
}

// rigUnmet returns the operation that ended the twin's last run.
func (t *twin) rigUnmet() (task, op int, ok bool) {
	if t.rig == nil {
		return 0, 0, false
	}
	return t.rig.Unmet()
}

// meets reports whether the twin meets the expectations: in the order in which the violating run
// began and ended its operations, in others, and, with the correct engine available, in that very
// run.
func (t *twin) meets() bool {
	if t.rig == nil || t.own && !t.finds(sched.NewAnchored(t.shown, t.rig.Machine.Names())) {
		return false
	}
	began := &orders{Strategy: sched.NewAnchored(t.shown, t.of.Machine.Names()), rig: t.of}
	if t.s.effort.none() {
		return false
	}
	t.s.pay(t.of.Play(began))
	for _, plan := range plans(t.rig, began) {
		if !t.finds(&serial{rig: t.rig, plan: plan}) {
			return false
		}
	}
	return true
}

// finds makes one run and reports whether it meets the expectations.
func (t *twin) finds(strategy sched.Strategy) bool {
	if t.s.effort.none() {
		return false
	}
	run := t.rig.Play(strategy)
	t.s.pay(run)
	return run.Property != &properties.RightResult && run.Property != &properties.Transparent
}

// An orders records the order in which a run begins and ends its operations, by their tasks.
type orders struct {
	sched.Strategy
	rig          *rig.Rig
	begun, ended []int
	were         []int // operations begun and ended, by task
}

// Begin implements sched.Strategy.
func (o *orders) Begin(i uint64) bool {
	o.were, o.begun, o.ended = make([]int, 2*len(o.rig.Scenario.Tasks)), nil, nil
	return o.Strategy.Begin(i)
}

// Choose implements sim.Chooser. It asks the strategy every question.
func (o *orders) Choose(p *sim.Point) (pick, hold int) {
	o.look()
	pick, _ = o.Strategy.Choose(p)
	return pick, 0
}

// End implements sched.Strategy. The operation that was running when the run ended counts as the
// last to end.
func (o *orders) End(asked uint64) {
	o.look()
	o.Strategy.End(asked)
}

func (o *orders) look() {
	for i := range o.rig.Scenario.Tasks {
		begun, ended := o.rig.Operations(i)
		for ; o.were[2*i] < begun; o.were[2*i]++ {
			o.begun = append(o.begun, i)
		}
		for ; o.were[2*i+1] < ended; o.were[2*i+1]++ {
			o.ended = append(o.ended, i)
		}
	}
}

// plansMost is the maximum number of orders in which a twin does its operations.
const plansMost = 40

// plans returns orders of the operations of all tasks, as lists of tasks: as a run began and
// ended them; each task as a whole, starting with each of them; each task up to one of its
// operations, then another task as a whole, then the rest; and random ones.
func plans(r *rig.Rig, o *orders) (list [][]int) {
	tasks := len(r.Scenario.Tasks)
	count := make([]int, tasks)
	for i := range count {
		n, _ := r.Repeats(i)
		count[i] = min(n, planMost)
	}
	add := func(first []int) {
		plan, left := slices.Clone(first), slices.Clone(count)
		for _, i := range first {
			left[i]--
		}
		for i, n := range left {
			for range n {
				plan = append(plan, i)
			}
		}
		if len(list) < plansMost && !slices.ContainsFunc(list, func(p []int) bool { return slices.Equal(p, plan) }) {
			list = append(list, plan)
		}
	}
	add(o.begun)
	add(o.ended)
	for i := range tasks {
		add(slices.Repeat([]int{i}, count[i]))
	}
	for n := 1; n < planMost && len(list) < plansMost/2; n++ {
		for i := range tasks {
			for k := range tasks {
				if i != k && n < count[i] {
					add(append(slices.Repeat([]int{i}, n), slices.Repeat([]int{k}, count[k])...))
				}
			}
		}
	}
	var random sim.Rand
	random.Seed(1, 0)
	for range plansMost - len(list) {
		var plan []int
		for i, n := range count {
			for range n {
				plan = slices.Insert(plan, random.N(len(plan)+1), i)
			}
		}
		add(plan)
	}
	return list
}

// planMost is the maximum number of operations of a task in a plan.
const planMost = 100

// A serial does operations one after another, in the order of a plan, as far as they don't wait
// for each other.
type serial struct {
	rig  *rig.Rig
	plan []int // tasks
	next int
	had  int // operations that the task of plan[next] had finished when its turn came
}

// Begin implements sched.Strategy.
func (s *serial) Begin(i uint64) bool {
	s.next, s.had = 0, 0
	return i == 0
}

// End implements sched.Strategy.
func (*serial) End(uint64) {}

func (*serial) String() string { return "serial" }

// Choose implements sim.Chooser.
func (s *serial) Choose(p *sim.Point) (pick, hold int) {
	for s.next < len(s.plan) {
		if _, ended := s.rig.Operations(s.plan[s.next]); ended == s.had {
			break
		}
		if s.next++; s.next < len(s.plan) {
			_, s.had = s.rig.Operations(s.plan[s.next])
		}
	}
	if s.next == len(s.plan) {
		return 0, 0
	}
	task := s.plan[s.next]
	switch p.Kind {
	case sim.Task:
		for k := range p.N {
			if s.rig.Machine.Names().Alternative(p, k) == s.rig.Scenario.Tasks[task].Name {
				return k, 0
			}
		}
	case sim.Step:
		_, cpu := s.rig.Repeats(task)
		can := func(m sim.Mover) bool { return m == p.First || p.Moves[m/sim.MaxCPUs]>>(m%sim.MaxCPUs)&1 != 0 }
		for _, m := range [...]sim.Mover{sim.MoverIPI + sim.Mover(cpu), sim.Mover(cpu)} {
			if can(m) {
				return p.Pick(m), 0
			}
		}
		for c := range sim.Mover(sim.MaxCPUs) { // it waits for an answer from another CPU
			if can(sim.MoverIPI + c) {
				return p.Pick(sim.MoverIPI + c), 0
			}
		}
	}
	return 0, 0
}

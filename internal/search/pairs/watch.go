package pairs

import (
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/search/rig"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// A Watch watches runs of one rig after another. It implements rig.OpWatcher.
type Watch struct {
	scene
	rig   *rig.Rig
	ops   [][]operation // by task
	now   []*operation  // by task: the operation under way, nil if there is none
	calls []arch.Addr   // by static call: what was set last
	on    []bool        // by jump label: likewise
	locks bool          // likewise
	done  bool          // the alternatives are applied

	reached func(feature uint64) // called with each pair that is reached
	table   *table
}

// An operation is one of a task of the scenario.
type operation struct {
	op       *scenario.Op
	subjects []subject // the objects that it is about
}

// A subject is an object that an operation is about.
type subject struct {
	sort   *sort
	pairs  []int  // the numbers of its pairs, by the sort's states
	name   string // with number, it is this object among those of its sort
	number int    // of a probe, a label, a static call, an fprobe, a CPU; the offset of a breakpoint

	in     string       // the function that it is in or that it is
	span   [2]arch.Addr // where that is
	at     arch.Addr    // where it is: of a probe, a breakpoint
	site   arch.Addr    // the function's site of ftrace, 0 if it has none
	sites  []arch.Addr  // of an fprobe
	module string       // the module that it is in or that it is, "" if it is in none
}

// Begin begins to watch a rig, whose runs report each pair that they reach.
func (w *Watch) Begin(r *rig.Rig, reached func(feature uint64)) {
	*w = Watch{rig: r, reached: reached, table: all()}
	sc := r.Scenario
	for i := range sc.Tasks {
		var ops []operation
		for k := range sc.Tasks[i].Ops {
			ops = append(ops, w.operation(&sc.Tasks[i].Ops[k]))
		}
		w.ops = append(w.ops, ops)
	}
	w.now = make([]*operation, len(sc.Tasks))
	w.on, w.calls = make([]bool, len(sc.Labels)), make([]arch.Addr, len(sc.Calls))
	r.WatchOps(w)
	r.Log.Subscribe(&w.scene, sceneKinds...)
}

// Run begins a run.
func (w *Watch) Run() {
	sc := w.rig.Scenario
	w.scene.begin(sc.Machine.Offline)
	clear(w.now)
	for i := range sc.Labels {
		w.on[i] = sc.LabelOn(&sc.Labels[i])
	}
	for i := range sc.Calls {
		w.calls[i], _ = w.rig.Func(sc.Calls[i].Target)
	}
	w.locks, w.done = true, false
}

// Begins implements rig.OpWatcher.
func (w *Watch) Begins(t act.Task, task, op int) {
	o := &w.ops[task][op]
	for i := range o.subjects {
		of := &o.subjects[i]
		s := situation{w, t, task, o, of}
		for k := range of.sort.states {
			if n := of.pairs[k]; n >= 0 && of.sort.states[k].is(&s) {
				w.reached(w.table.pairs[n].hash)
			}
		}
	}
	w.now[task] = o
}

// Ends implements rig.OpWatcher.
func (w *Watch) Ends(t act.Task, task int) {
	o := w.now[task]
	w.now[task] = nil
	sets := act.Sets(o.op)
	if sets == nil || len(o.subjects) == 0 {
		return
	}
	switch value, of := sets.Value(t, o.op), &o.subjects[0]; o.op.Kind.Object {
	case scenario.ALabel:
		w.on[of.number] = value != 0
	case scenario.AStaticCall:
		w.calls[of.number] = arch.Addr(value)
	case scenario.LockPrefixes:
		w.locks = value != 0
	case scenario.AllAlternatives:
		w.done = true
	}
}

// A situation is one in which an operation begins.
type situation struct {
	*Watch
	t    act.Task
	task int
	op   *operation
	of   *subject
}

// jump returns how many bytes a jump has.
func (s *situation) jump() arch.Addr { return arch.Addr(s.rig.Machine.Arch().BranchLen) }

// underWay reports whether another task is in an operation on the object that is as asked.
func (s *situation) underWay(is func(op *scenario.Op) bool) bool {
	for i, o := range s.now {
		if i == s.task || o == nil || !is(o.op) {
			continue
		}
		for k := range o.subjects {
			if s.of.same(&o.subjects[k]) {
				return true
			}
		}
	}
	return false
}

// same reports whether two subjects are the same object.
func (of *subject) same(as *subject) bool {
	return of.sort.object == as.sort.object && of.name == as.name && of.number == as.number
}

// during reports whether another task is in an operation of some sort of object, on one that is as
// asked.
func (s *situation) during(object scenario.Object, is func(as *subject) bool) bool {
	for i, o := range s.now {
		if i == s.task || o == nil || o.op.Kind.Object != object {
			continue
		}
		for k := range o.subjects {
			if is(&o.subjects[k]) {
				return true
			}
		}
	}
	return false
}

// value reports whether another operation leaves what its operation leaves, if both have a value.
func (s *situation) value(other *scenario.Op) bool {
	a, b := act.Sets(s.op.op), act.Sets(other)
	if a != nil && b != nil {
		return a.Value(s.t, s.op.op) == b.Value(s.t, other)
	}
	return s.op.op.On == other.On
}

// module returns the state of the object's module; there is false if it is in none.
func (s *situation) module() (is kapi.ModuleState, there bool) {
	if s.of.module == "" {
		return 0, false
	}
	return s.t.Module(s.of.module).Now(), true
}

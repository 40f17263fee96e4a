package overhead

import (
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/search/rig"
	"kpsim/sim"
	"kpsim/smp/cycles"
	"kpsim/smp/smpev"
	"kpsim/traces"

	"gonum.org/v1/gonum/floats"
)

// A patchWatch follows operations: steps by hand that follow each other are one patch, any other operation of a
// patcher is one by itself, but for calls and what only lets others go on.
type patchWatch struct {
	gauge
	rig   *rig.Rig
	tally [sim.MaxCPUs]cycles.Tally
	tasks [scenario.MaxTasks]patchTask
	text  [sim.MaxCPUs]uint64 // stores to text
	kinds []*patchKind        // in the order in which they first ended
	last  *patchKind          // whose patch began last
	open  int                 // patches that haven't ended

	calls       []callTime
	first, ends sim.Time // of the run's patches
	began       bool
	cycles      [whens][]float64 // of a run's calls, by run
	counts      [whens][]float64 // of calls, by run
	most        [whens]float64
}

// patchTask is a task's operation that hasn't ended.
type patchTask struct {
	words         []string // of a patch by hand; nil: none is open
	at, spent     sim.Time
	events        cycles.Tally
	stores        uint64
	until, worked sim.Time // when the last of its operations ended
	after         cycles.Tally
	written       uint64
	call          sim.Time
	op            string
}

// patchKind sums the patches of a kind up.
type patchKind struct {
	what           string
	n              int
	cycles, waits  float64
	others, stores float64
	events         [cycles.Events]float64
	runs           []float64 // means
	sum            float64   // of this run
	count          int
}

type callTime struct{ from, to sim.Time }

func (w *patchWatch) begin() {
	clear(w.tasks[:])
	w.open, w.began, w.first, w.ends, w.last = 0, false, 0, 0, nil
	w.calls = w.calls[:0]
	w.cpus = [sim.MaxCPUs]cpuGauge{}
	w.gauge.open = w.gauge.open[:0]
}

func (w *patchWatch) event(e *traces.Event, at sim.Time) {
	if e.Kind == smpev.TextStore {
		w.text[e.CPU%sim.MaxCPUs]++
		return
	}
	w.gauge.event(e, at)
	for _, list := range []*[]float64{&w.answers, &w.stops} {
		if w.last != nil {
			for _, v := range *list {
				w.last.others += v
			}
		}
		*list = (*list)[:0]
	}
	w.arrives, w.stopped, w.syncs = w.arrives[:0], w.stopped[:0], w.syncs[:0]
	w.register, w.optimizer = w.register[:0], w.optimizer[:0]
}

// Begins implements rig.OpWatcher.
func (w *patchWatch) Begins(_ act.Task, task, i int) {
	t, op := &w.tasks[task], &w.rig.Scenario.Tasks[task].Ops[i]
	cpu := w.rig.Scenario.Tasks[task].CPU
	now := w.m.Clocks().Of(cpu)
	t.op, t.call = "", 0
	byHand := byHand(op)
	if !byHand {
		w.close(task)
	}
	switch {
	case op.Kind == act.Call:
		t.call = now + 1
	case ofPatch(op):
		t.op = op.Kind.Word
		if op.Target != "" && !byHand {
			t.op += "(" + op.Target + ")"
		}
		if len(t.words) == 0 {
			t.at, t.spent, t.events, t.stores = now, w.m.Clocks().Spent(cpu), w.tally[cpu], w.text[cpu]
			w.open++
			if !w.began {
				w.began, w.first = true, now
			}
			if k := w.kind(t.op); !byHand {
				w.last = k
			} else {
				w.last = w.kind(ByHand)
			}
		}
		t.words = append(t.words, t.op)
	}
}

// ByHand is the name of patches by hand, whatever their steps.
const ByHand = "by hand"

// Ends implements rig.OpWatcher.
func (w *patchWatch) Ends(_ act.Task, task int) {
	t := &w.tasks[task]
	cpu := w.rig.Scenario.Tasks[task].CPU
	now := w.m.Clocks().Of(cpu)
	switch {
	case t.call != 0:
		w.calls = append(w.calls, callTime{t.call - 1, now})
	case t.op != "":
		t.until, t.worked, t.after, t.written = now, w.m.Clocks().Spent(cpu), w.tally[cpu], w.text[cpu]
		w.ends = max(w.ends, now)
	}
}

// close ends the patch of a task.
func (w *patchWatch) close(task int) {
	t := &w.tasks[task]
	if len(t.words) == 0 {
		return
	}
	w.open--
	name := t.words[0]
	if op := w.byHand(t.words); op != "" {
		name = op
	}
	k := w.kind(name)
	whole, work := toCycles(t.until-t.at), toCycles(t.worked-t.spent)
	k.n, k.count = k.n+1, k.count+1
	k.cycles, k.sum, k.waits = k.cycles+whole, k.sum+whole, k.waits+max(0, whole-work)
	k.stores += float64(t.written - t.stores)
	for e := range k.events {
		k.events[e] += float64(t.after[e] - t.events[e])
	}
	t.words = nil
}

// byHand names a patch by hand after its steps, "" for others.
func (w *patchWatch) byHand(words []string) string {
	if op := act.Named(words[0]); op == nil || op.Traits&scenario.ByHand == 0 {
		return ""
	}
	return ByHand
}

func (w *patchWatch) kind(what string) *patchKind {
	for _, k := range w.kinds {
		if k.what == what {
			return k
		}
	}
	k := &patchKind{what: what}
	w.kinds = append(w.kinds, k)
	return k
}

// end ends a run.
func (w *patchWatch) end() {
	for task := range w.rig.Scenario.Tasks {
		w.close(task)
	}
	for _, k := range w.kinds {
		if k.count > 0 {
			k.runs = append(k.runs, k.sum/float64(k.count))
		}
		k.sum, k.count = 0, 0
	}
	var sums, n [whens]float64
	for _, c := range w.calls {
		when := During
		switch {
		case c.to <= w.first:
			when = Before
		case c.from >= w.ends:
			when = After
		}
		long := toCycles(c.to - c.from)
		sums[when], n[when], w.most[when] = sums[when]+long, n[when]+1, max(w.most[when], long)
	}
	for i := range whens {
		if n[i] > 0 {
			w.cycles[i], w.counts[i] = append(w.cycles[i], sums[i]), append(w.counts[i], n[i])
		}
	}
}

// patches returns what was measured of each kind.
func (w *patchWatch) patches() (list []*Patch) {
	for _, k := range w.kinds {
		if k.n == 0 {
			continue
		}
		n := float64(k.n)
		p := &Patch{What: k.what, N: k.n, Cycles: meanOver(k.runs), Others: k.others / n, Stores: k.stores / n}
		for e, v := range k.events {
			p.Events[e] = v / n
			p.Parts[patchPart(cycles.Event(e))] += v / n * float64(w.costs[e]) / cycles.Unit
		}
		p.Parts[PatchStores] = p.Stores * float64(w.costs[cycles.Point]) / cycles.Unit
		p.Parts[PatchCode] = max(0, p.Parts[PatchCode]-p.Parts[PatchStores])
		p.Parts[PatchWaits] = k.waits / n
		list = append(list, p)
	}
	return list
}

// meanOver is meanOf; a single run has no interval.
func meanOver(runs []float64) Measure {
	if len(runs) == 1 {
		return Measure{runs[0], Interval{runs[0], runs[0]}}
	}
	return meanOf(runs)
}

func (w *patchWatch) callsOf() (list []PatchedCall) {
	for i, runs := range w.cycles {
		if len(runs) > 0 {
			n := int(floats.Sum(w.counts[i]))
			list = append(list, PatchedCall{When(i), n, ratioOf(runs, w.counts[i]), w.most[i]})
		}
	}
	return list
}

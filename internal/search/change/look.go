package change

import (
	"fmt"
	"maps"
	"slices"

	"kpsim/internal/search/explore"
	"kpsim/internal/search/rig"
	"kpsim/internal/search/twoengines"
	"kpsim/kprobes/kpev"
	"kpsim/linux"
	"kpsim/smp"
	"kpsim/smp/arch"
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

	functions []functionAt // whose execution by any run is noted
	entered   []string     // those that ran
}

// A functionAt is a function with its instructions.
type functionAt struct {
	name string
	at   []arch.Addr
}

// entries returns a function that makes looks which note what functions of a kernel's engine run.
func entries(k *linux.Kernel) func() explore.Look {
	var all []functionAt
	for i := range k.Closure.Inside {
		f := functionAt{name: k.Closure.Inside[i].Name}
		k.Closure.Decode(&k.Closure.Inside[i], func(in arch.Inst) { f.at = append(f.at, in.At()) })
		all = append(all, f)
	}
	return func() explore.Look {
		l := newLook(nil)().(*look)
		l.functions = all
		return l
	}
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
	for i := range l.functions {
		l.forget(r, &Place{Addrs: l.functions[i].at})
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
	for i := range l.functions {
		if f := &l.functions[i]; slices.ContainsFunc(f.at, r.Machine.Memory().Executed) {
			l.entered = append(l.entered, f.name)
		}
	}
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
		for i := range min(len(reached), len(l.reached)) {
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

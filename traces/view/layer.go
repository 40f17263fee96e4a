package view

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A layer lays out steps, one after another.
type layer struct {
	*Scene
	t    *teller
	look *Look
	sees int // index of the next one in look.Sights

	on    [256]*Span            // the task span of each CPU
	traps map[uint8][]*openTrap // by task
	open  map[string][]*Span    // other open spans, by the key that closes them
	waits []*syncWait
	ipis  []ipi
	wakes map[uint64][]int // by task: the steps of its wake-ups
	bands map[uint64]*Band
	spans []*Span
	tasks map[uint8]*standing

	extents []*extent
	weights []weight // of the steps
}

// An openTrap has not returned yet.
type openTrap struct {
	vector uint64
	from   int
	span   *Span // on its task's CPU, or the last CPU of that task
}

// An ipi has not been taken yet.
type ipi struct {
	from   int
	cpu    uint8
	vector uint64
}

// A syncWait is a sender's wait for the CPUs that haven't answered its IPIs.
type syncWait struct {
	span  *Span
	left  uint64
	task  uint8 // the sender
	depth int   // its open traps
}

// patches finds the text that is written to during the run.
func (l *layer) patches() {
	l.traps, l.open = make(map[uint8][]*openTrap), make(map[string][]*Span)
	l.wakes, l.bands = make(map[uint64][]int), make(map[uint64]*Band)
	l.tasks = make(map[uint8]*standing)
	for _, s := range l.t.text.sites {
		l.Texts = append(l.Texts, Patch{Name: l.t.in.symbol(s.at), At: s.at, Len: int(s.end - s.at), Site: true})
	}
	slices.SortFunc(l.Texts, func(a, b Patch) int { return cmp.Compare(a.At, b.At) })
	for i := range l.Texts {
		l.version(&l.Texts[i], -1, false)
	}
	l.seen(0)
}

// version records the bytes of a patch in memory, if they have changed.
func (l *layer) version(p *Patch, step int, gone bool) {
	s := span{p.At, p.At + uint64(p.Len)}
	v := Version{Step: step, Bytes: bytes(l.t.text.mem, s), Gone: gone}
	if last := len(p.Versions) - 1; last >= 0 && p.Versions[last].Bytes == v.Bytes && p.Versions[last].Gone == gone {
		return
	}
	if !gone {
		v.Listing = l.t.text.listing(l.t.text.mem, s)
	}
	p.Versions = append(p.Versions, v)
}

// seen records what CPUs may see after the events before one.
func (l *layer) seen(before uint32) {
	for l.look != nil && l.sees < len(l.look.Sights) && l.look.Sights[l.sees].Seq <= before {
		s := &l.look.Sights[l.sees]
		l.sees++
		mem := make(map[uint64]byte)
		for i, b := range s.Bytes {
			mem[s.At+uint64(i)] = b
		}
		for i := range l.Texts {
			if p := &l.Texts[i]; p.Site && p.At == s.At {
				p.Sights = append(p.Sights,
					Sight{len(l.Steps) - 1, s.CPU, bytes(mem, span{s.At, s.At + uint64(len(s.Bytes))})})
			}
		}
	}
}

// step lays out the next event.
func (l *layer) step(e *traces.Event) {
	n := len(l.Steps)
	class, weight := l.t.importance(e)
	l.weights = append(l.weights, weight)
	s := Step{Event: *e, Class: classNames[class], Depth: len(l.traps[e.Task]), Says: l.t.say(e)}
	if l.t.at < len(l.t.in.Events) && e == &l.t.in.Events[l.t.at] {
		s.Class, l.Violation = classNames[violates], n
	}
	if l.look != nil && int(e.Seq) < len(l.look.Clocks) {
		s.Clock = l.look.Clocks[e.Seq]
	}
	if s.Time = s.Clock; n > 0 { // the clock of a CPU that was held lags
		s.Time = max(s.Time, l.Steps[n-1].Time+1)
	}
	s.Says += l.t.in.origin(e)
	l.Steps = append(l.Steps, s)
	l.goesOn(e, n)
	if e.CPU != Machine {
		l.runs(e)
	}
	switch e.Kind {
	case smpev.Switch:
		l.switched(e, n)
	case smpev.Trap:
		l.trap(e, n)
	case smpev.Return:
		l.returned(e, n)
	case smpev.SendIPI:
		l.sent(e, n)
	case smpev.Serialise:
		l.answered(e, n)
	case smpev.Wake:
		l.wakes[e.A] = append(l.wakes[e.A], n)
	case smpev.StopStart:
		for cpu := range l.CPUs {
			l.begin(fmt.Sprint("stop", cpu), &Span{Kind: SpanStop, CPU: cpu, Says: "stop_machine", From: n})
		}
	case smpev.StopEnd:
		for cpu := range l.CPUs {
			l.close(fmt.Sprint("stop", cpu), n)
		}
	case smpev.GPStart:
		l.begin(fmt.Sprint("gp", e.A, e.B), l.span(e, SpanGrace, smpev.Flavours.Name(e.A)+" grace period", n))
	case smpev.GPEnd:
		l.close(fmt.Sprint("gp", e.A, e.B), n)
	case smpev.Lock:
		if e.B&(smpev.LockWaits|smpev.LockNeeded) == 0 {
			l.begin(fmt.Sprint("lock", e.A, e.Task), l.span(e, SpanLock, l.t.in.lock(e.A), n))
		}
	case smpev.Unlock:
		l.close(fmt.Sprint("lock", e.A, e.Task), n)
	case smpev.Held, smpev.Commit:
		l.heldSpan(e, n)
	case kpev.ApiEnter:
		l.called(e, n)
	case kpev.ApiReturn:
		l.close(fmt.Sprint("call", e.B, e.Task), n)
	case smpev.Image:
		l.announced(e)
	case smpev.TextStore:
		l.stored(e, n)
		l.overwritten(e, n)
	case smpev.Alloc, smpev.Free:
		l.memory(e, n)
	}
	l.band(e, n)
	l.stands(e, n)
	l.seen(e.Seq)
}

var classNames = [...]string{stores: "store", traps: "trap", claims: "claim", violates: "violation"}

func (l *layer) taskName(id uint8) string {
	if id == traces.NoTask {
		return ""
	}
	return l.t.in.task(uint64(id))
}

func (l *layer) span(e *traces.Event, kind, says string, n int) *Span {
	return &Span{Kind: kind, CPU: int(e.CPU), Task: l.taskName(e.Task), Says: says, From: n, To: -1}
}

// begin opens a span that the key will close.
func (l *layer) begin(key string, s *Span) {
	s.To = -1
	l.spans = append(l.spans, s)
	l.open[key] = append(l.open[key], s)
}

// close closes the last span of a key.
func (l *layer) close(key string, n int) {
	if list := l.open[key]; len(list) > 0 {
		list[len(list)-1].To = n
		l.open[key] = list[:len(list)-1]
	}
}

// called begins the span of a call. A batch is one span: its calls begin one after
// another.
func (l *layer) called(e *traces.Event, n int) {
	key := fmt.Sprint("call", e.B, e.Task)
	if n > 0 {
		was := &l.Steps[n-1].Event
		list := l.open[fmt.Sprint("call", was.B, was.Task)]
		if was.Kind == kpev.ApiEnter && was.A == e.A && was.Task == e.Task && len(list) > 0 {
			s := list[len(list)-1]
			first, _, _ := strings.Cut(strings.TrimSuffix(s.Says, ")"), " to ")
			s.Says = fmt.Sprintf("%s to %s)", first, l.t.in.probe(e.B))
			l.open[key] = append(l.open[key], s)
			return
		}
	}
	l.begin(key, l.span(e, SpanCall, fmt.Sprintf("%s(%s)", kpev.Verbs.Name(e.A), l.t.in.probe(e.B)), n))
}

// runs makes sure that the CPU of an event has a task. The first task seen there has had the
// CPU from the start, because a switch would have been an event.
func (l *layer) runs(e *traces.Event) {
	if l.on[e.CPU] == nil {
		l.on[e.CPU] = l.span(e, SpanTask, l.taskName(e.Task), 0)
		l.spans = slices.Insert(l.spans, 0, l.on[e.CPU])
	}
}

func (l *layer) switched(e *traces.Event, n int) {
	if list := l.wakes[e.B]; len(list) > 0 {
		l.Arrows = append(l.Arrows, Arrow{"wake", list[0], n})
		delete(l.wakes, e.B)
	}
	l.on[e.CPU].To = n
	for _, t := range l.traps[uint8(e.A)] {
		t.span.To = n
	}
	next := uint8(e.B)
	l.on[e.CPU] = &Span{Kind: SpanTask, CPU: int(e.CPU), Task: l.taskName(next), Says: l.taskName(next), From: n,
		To: -1}
	l.spans = append(l.spans, l.on[e.CPU])
	for depth, t := range l.traps[next] {
		t.span = &Span{Kind: SpanTrap, CPU: int(e.CPU), Task: l.taskName(next), Says: smpev.Vector(t.vector), From: n,
			To: -1, Depth: depth}
		l.spans = append(l.spans, t.span)
	}
}

func (l *layer) trap(e *traces.Event, n int) {
	t := &openTrap{e.A, n, l.span(e, SpanTrap, smpev.Vector(e.A), n)}
	t.span.Depth = len(l.traps[e.Task])
	l.spans = append(l.spans, t.span)
	l.traps[e.Task] = append(l.traps[e.Task], t)
	l.ipis = slices.DeleteFunc(l.ipis, func(i ipi) bool {
		if i.cpu != e.CPU || i.vector != e.A {
			return false
		}
		l.Arrows = append(l.Arrows, Arrow{"ipi", i.from, n})
		return true
	})
}

func (l *layer) returned(e *traces.Event, n int) {
	list := l.traps[e.Task]
	for len(list) > int(e.C) {
		list[len(list)-1].span.To = n
		list = list[:len(list)-1]
	}
	l.traps[e.Task] = list
}

// callIPI is set in the why of an IPI that runs a function (kapi's sync_core).
const callIPI = 1

func (l *layer) sent(e *traces.Event, n int) {
	v := uint64(smpev.VecResch)
	if e.B&callIPI != 0 && e.A != 0 {
		v = smpev.VecCall
		s := l.span(e, SpanSync, "sync_core: "+cpuSet(e.A), n)
		l.spans = append(l.spans, s)
		l.waits = append(l.waits, &syncWait{s, e.A, e.Task, len(l.traps[e.Task])})
	}
	for set := e.A; set != 0; set &= set - 1 {
		l.ipis = append(l.ipis, ipi{n, uint8(bits.TrailingZeros64(set)), v})
	}
}

// answered records that a CPU has answered the IPIs that were sent before it took this one, by
// serialising in the handler. Serialising elsewhere is no answer.
func (l *layer) answered(e *traces.Event, n int) {
	list := l.traps[e.Task]
	if len(list) == 0 || list[len(list)-1].vector != smpev.VecCall {
		return
	}
	l.waits = slices.DeleteFunc(l.waits, func(w *syncWait) bool {
		if w.span.From < list[len(list)-1].from {
			w.left &^= 1 << (e.CPU % 64)
		}
		if w.left == 0 {
			w.span.To = n
		}
		return w.left == 0
	})
}

// goesOn ends the wait of a sender that does something else. A CPU that was already in the
// handler when the IPI was sent may also have answered it.
func (l *layer) goesOn(e *traces.Event, n int) {
	switch e.Kind {
	case smpev.Serialise, smpev.Fire, smpev.Trap:
		return
	}
	l.waits = slices.DeleteFunc(l.waits, func(w *syncWait) bool {
		if w.task != e.Task || w.depth != len(l.traps[e.Task]) {
			return false
		}
		w.span.To = n
		return true
	})
}

// stored records the versions that a store has created.
func (l *layer) stored(e *traces.Event, n int) {
	for i := range l.Texts {
		if p := &l.Texts[i]; e.A < p.At+uint64(p.Len) && p.At < e.A+e.C {
			l.version(p, n, false)
		}
	}
}

// memory records an allocation or a freeing of memory.
func (l *layer) memory(e *traces.Event, n int) {
	i := slices.IndexFunc(l.Texts, func(p Patch) bool { return !p.Site && p.At == e.A })
	if i < 0 && e.Kind == smpev.Alloc {
		l.Texts = append(l.Texts, Patch{At: e.A})
		i = len(l.Texts) - 1
	}
	if i < 0 {
		return
	}
	p := &l.Texts[i]
	if e.Kind == smpev.Alloc {
		p.Len = int(e.B)
		if a := l.t.text.area(e.A); a != nil {
			p.Name = a.name
		}
	}
	l.version(p, n, e.Kind == smpev.Free)
}

func (l *layer) band(e *traces.Event, n int) {
	state := e.Kind.Spec().State
	if state == "" {
		return
	}
	if b := l.bands[e.A]; b != nil {
		b.To = n
		l.Bands = append(l.Bands, *b)
	}
	l.bands[e.A] = &Band{At: e.A, Place: l.t.text.place(e.A), State: state, From: n}
}

// end closes all open spans, and adds what concerns the whole run.
func (l *layer) end() {
	n := len(l.Steps) - 1
	if l.t.in.Property != "" {
		l.Headline, l.Plain = l.t.headline(), l.t.plain()
		if l.Violation < 0 && n >= 0 {
			l.Steps[n].Class, l.Violation = classNames[violates], n
		}
	}
	for _, s := range l.spans {
		if s.To < 0 {
			s.To = n
		}
		l.Spans = append(l.Spans, *s)
	}
	slices.SortStableFunc(l.Arrows, func(a, b Arrow) int { return a.From - b.From })
	for _, b := range l.bands {
		b.To = n
		l.Bands = append(l.Bands, *b)
	}
	slices.SortFunc(l.Bands, func(a, b Band) int { return cmp.Or(cmp.Compare(a.At, b.At), a.From-b.From) })
	for i, d := range l.t.in.Schedule {
		turn := Turn{Deviation: d, Step: -1}
		if l.look != nil && i < len(l.look.Turns) {
			turn.Step = l.stepOf(l.look.Turns[i])
		}
		l.Deviations = append(l.Deviations, turn)
	}
	l.Deciding, l.Story = l.inSteps(Deciding(*l.t.in)), l.inSteps(Story(*l.t.in))
	for i := range l.t.in.Calls {
		c := &l.t.in.Calls[i]
		l.Calls = append(l.Calls, Coded{l.stepOf(c.Seq), int(c.CPU), l.taskName(c.Task), c.Says, c.Frames})
	}
}

// inSteps returns sentences by steps.
func (l *layer) inSteps(sentences []Sentence) (list []Told) {
	for _, s := range sentences {
		told := Told{Step: l.stepOf(s.Seq), Text: s.Text}
		if s.From != "" {
			told.Text = strings.TrimSuffix(s.Text, "; from "+s.From+".") + "."
			told.From = s.From
		}
		for _, seq := range s.Also {
			told.Rests = append(told.Rests, l.stepOf(seq))
		}
		list = append(list, told)
	}
	return list
}

// stepOf returns the first step that isn't before an event.
func (l *layer) stepOf(seq uint32) int {
	i, _ := slices.BinarySearchFunc(l.Steps, seq, func(s Step, seq uint32) int { return int(s.Event.Seq) - int(seq) })
	return min(i, len(l.Steps)-1)
}

package session

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strings"

	"kpsim/engine"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/parallel"
	"kpsim/internal/search/replay"
	"kpsim/internal/search/rig"
	"kpsim/kprobes"
	"kpsim/kprobes/kpev"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/traces"
)

// A Session is one run of a scenario's machine, stepped by hand. The machine stands still between
// calls and may be inspected then. The scenario's tasks don't start by themselves. In addition,
// each CPU has a thread that does what is requested for it.
type Session struct {
	Rig *rig.Rig
	Run *rig.Run // how the run ended; nil: it hasn't

	// HandMade is what was done first that isn't part of a schedule, such as a call; "": nothing.
	HandMade string

	rig.Tally
	Stops

	steer   steer
	labels  *sched.Labeller
	errands []errand // by CPU
	patient uint64   // maximum number of boundaries of a command
	whole   bool     // it follows a trace: the run ends where nothing can move any more,
	most    uint64   // or after this many boundaries, the budget of the trace's run
	ending  bool     // the run is to end there now
	goOn    chan bool
	stands  chan struct{}
	ended   chan struct{}
	crash   *parallel.Crash
}

// patience is the maximum number of boundaries of a command; beyond that it is said not to end.
const patience = 1_000_000

// An errand is a request to the thread of a CPU.
type errand struct {
	task  *smp.Task
	do    func(x *smp.Ctx) // nil: no request
	says  string
	await bool // the session waits until it is done
}

// New makes a session of a scenario, in which nothing has run yet. The strategy decides which
// mover is next; the session is its run number 0.
func New(sc *scenario.Scenario, mutantName string, s sched.Strategy) (*Session, error) {
	se := newSession()
	r, err := rig.NewInteractive(sc, mutantName)
	if err != nil {
		return nil, err
	}
	if s.Begin(0); sched.ObserverOf(s) != nil {
		r.Close()
		return nil, fmt.Errorf("the strategy %s follows what each step touches, which a session doesn't tell; "+
			"choose another, as sticky", s)
	}
	return se.start(r, s), nil
}

// Open makes a session of a trace file. It follows the file's schedule except for what is
// requested by hand. Errors are about the file.
func Open(name string, f *traces.File) (*Session, error) {
	se := newSession()
	r, err := replay.Open(name, f)
	if err != nil {
		return nil, err
	}
	a := sched.NewAnchored(f.Schedule, r.Machine.Names())
	a.Begin(0)
	se.whole, se.steer.trace = true, r.Machine.Names()
	return se.start(r, a), nil
}

func newSession() *Session {
	return &Session{
		patient: patience, steer: steer{want: sim.NoMover, fetch: []int{AsDecided}},
		Stops: Stops{Limit: NoLimit, Beyond: NoLimit},
		goOn:  make(chan bool), stands: make(chan struct{}), ended: make(chan struct{}),
	}
}

// start begins the run and stops before the first boundary. The threads are the machine's last
// tasks, so that the others are numbered as in a trace's run.
func (s *Session) start(r *rig.Rig, by sim.Chooser) *Session {
	s.Rig = r
	s.errands = make([]errand, r.Machine.CPUs())
	for cpu := range s.errands {
		t := &s.errands[cpu]
		t.task = r.Machine.Tasks().AddThread(fmt.Sprintf("shell/%d", cpu), cpu, func(x *smp.Ctx) {
			t.do(x)
			if t.do = nil; t.await {
				r.Machine.Interactive().SetBudget(r.Machine.Interactive().Steps())
			}
		})
	}
	s.Listen(r)
	r.Log.Store = true
	r.Log.SubscribeAll(&pauser{s})
	s.steer.by = by
	s.labels = sched.NewLabeller(&s.steer, r.Machine.Names())
	s.labels.Begin(0)
	s.most = r.Machine.Interactive().Budget()
	r.Machine.Interactive().SetBudget(0)
	r.Machine.Interactive().Pause = s.pause
	go func() {
		defer close(s.ended)
		defer func() {
			if p := recover(); p != nil {
				s.crash = &parallel.Crash{Value: p, Stack: debug.Stack()}
			}
		}()
		run := r.Run(s.labels)
		s.Run = &run
	}()
	s.wait()
	return s
}

// See calls f for each call of a handler, with the registers passed to it.
func (s *Session) See(f func(h engine.Hit)) { s.Rig.See(f) }

// pause is the machine's pause hook.
func (s *Session) pause() bool {
	if m := s.Rig.Machine; s.ending && m.Interactive().Steps() < m.Interactive().Budget() {
		return false
	}
	s.stands <- struct{}{}
	return <-s.goOn && !(s.ending && s.spent())
}

// wait returns when the machine stands still or the run is over.
func (s *Session) wait() {
	select {
	case <-s.stands:
	case <-s.ended:
	}
	if s.crash != nil {
		panic(s.crash)
	}
}

// run lets the machine make at most n boundaries.
func (s *Session) run(n uint64) {
	m := s.Rig.Machine
	m.Interactive().SetBudget(m.Interactive().Steps() + n)
	s.goOn <- true
	s.wait()
}

// along is run for a session that follows a trace. It stops at the end of the trace's budget,
// since a run that loops never ends.
func (s *Session) along(n uint64) {
	if s.whole {
		n = min(n, s.most-min(s.most, s.Rig.Machine.Interactive().Steps()))
	}
	if halted := s.advance(n, func() bool { return false }); s.whole && !halted {
		s.End()
	}
}

// spent reports whether the budget of a trace's run is used up.
func (s *Session) spent() bool { return s.whole && s.Rig.Machine.Interactive().Steps() >= s.most }

// End ends the run if nothing can move and no request is running: properties then judge the end
// of the run. It reports whether it did. A waiting task may be waiting for one that hasn't
// started, which is not an end. A session that follows a trace also ends where the trace's budget
// is used up.
func (s *Session) End() bool {
	m := s.Rig.Machine
	if s.ending = s.Run == nil && s.spent(); s.ending {
		s.run(0)
		return true
	}
	if s.Run != nil || m.Interactive().Moving() ||
		slices.ContainsFunc(s.errands, func(t errand) bool { return t.do != nil }) {
		return false
	}
	tasks := s.Tasks()
	if slices.ContainsFunc(tasks, (*smp.Task).Held) &&
		slices.ContainsFunc(tasks, func(t *smp.Task) bool { return !t.Held() && !t.Dead() }) {
		return false
	}
	s.ending = true
	s.run(1)
	s.ending = false
	return s.Run != nil
}

// over returns why nothing can be done any more.
func (s *Session) over() error {
	if s.Run == nil {
		return nil
	}
	return ErrOver
}

// Schedule returns the deviations of the run so far from the default one.
func (s *Session) Schedule() []traces.Deviation { return slices.Clone(s.labels.Anchors()) }

// Verdict describes how the run ended.
func (s *Session) Verdict() string { return s.Rig.Verdict(s.Run) }

// Begin gives a CPU's thread a request and returns at once.
func (s *Session) Begin(cpu int, says string, do func(x *smp.Ctx)) error {
	return s.begin(cpu, says, do, false)
}

func (s *Session) begin(cpu int, says string, do func(x *smp.Ctx), await bool) error {
	if err := s.over(); err != nil {
		return err
	}
	t := &s.errands[cpu]
	if t.do != nil {
		return fmt.Errorf("the shell of cpu%d is still at %s; step, run or wait until it is done, or say on which CPU",
			cpu, t.says)
	}
	t.do, t.says, t.await = do, says, await
	s.HandMade = cmp.Or(s.HandMade, says)
	s.Rig.Judges.GoByHand() // a trace's rig has a twin, which doesn't do what is requested by hand
	s.Rig.Machine.Tasks().Wake(t.task)
	return nil
}

// Do makes a CPU's thread do something and returns when it is done.
func (s *Session) Do(cpu int, says string, do func(x *smp.Ctx)) error {
	if err := s.begin(cpu, says, do, true); err != nil {
		return err
	}
	return s.finish(cpu)
}

// finish runs until the thread's request is done.
func (s *Session) finish(cpu int) error {
	t := &s.errands[cpu]
	t.await = true
	s.Rig.Machine.Interactive().Follow(t.task)
	before := s.Rig.Machine.Interactive().Steps()
	halted := s.advance(s.patient, func() bool { return t.do == nil })
	t.await = false
	switch {
	case s.Run != nil:
		return s.over()
	case halted:
		return ErrHalted
	case t.do == nil:
		return nil
	case s.Rig.Machine.Interactive().Steps()-before < s.patient:
		return fmt.Errorf("%s doesn't come to its end: %s, and nothing else can move", t.says,
			s.Rig.Machine.Inspect().Waiting())
	}
	return fmt.Errorf("%s doesn't come to its end in %d steps; continue goes on with it, where says what moves", t.says,
		s.patient)
}

// Finish runs until all requests are done.
func (s *Session) Finish() error {
	for cpu := range s.errands {
		if s.errands[cpu].do == nil {
			continue
		}
		if err := s.over(); err != nil {
			return err
		}
		if err := s.finish(cpu); err != nil {
			return err
		}
	}
	return s.over()
}

// Wake lets a task of the scenario begin.
func (s *Session) Wake(t *smp.Task) error {
	if err := s.over(); err != nil {
		return err
	}
	if !t.Held() {
		return fmt.Errorf("%s has begun already", t.Name)
	}
	s.Rig.Machine.Tasks().Wake(t)
	return nil
}

// Tasks returns the scenario's tasks.
func (s *Session) Tasks() []*smp.Task { return s.Rig.Tasks() }

// All runs until nothing can move any more.
func (s *Session) All() error {
	if err := s.over(); err != nil {
		return err
	}
	before := s.Rig.Machine.Interactive().Steps()
	s.along(s.patient)
	if s.Run == nil && s.Halted {
		return ErrHalted
	}
	if s.Run == nil && s.Rig.Machine.Interactive().Steps()-before >= s.patient {
		return fmt.Errorf("%d steps %w", s.patient, ErrLimit)
	}
	return nil
}

// Step makes at most n boundaries and returns their number, which is smaller if nothing can move
// any more or the run is over.
func (s *Session) Step(n uint64) uint64 {
	if s.Run != nil {
		return 0
	}
	before := s.Rig.Machine.Interactive().Steps()
	s.along(n)
	return s.Rig.Machine.Interactive().Steps() - before
}

// StepBy is Step for a single mover.
func (s *Session) StepBy(mv sim.Mover, n uint64) (made uint64) {
	for made < n && s.Run == nil && !s.Halted && s.Rig.Machine.Interactive().Can(mv) {
		s.steer.want = mv
		made += s.Step(1)
		s.steer.want = sim.NoMover
	}
	return made
}

// ErrOver is the error of what would move a machine whose run has ended.
var ErrOver = errors.New("the run is over; what is there can be looked at, and nothing moves any more")

// Special values of Fetch.
const (
	AsDecided = -1            // what the trace or the strategy decides
	Oldest    = math.MaxInt32 // the oldest version possible
)

// Fetch sets which versions of text CPUs see: 0 the newest, n the n-th older one, or the oldest if there are fewer.
// They are the answers to the questions from now on, in turn, and the last one to all further ones.
func (s *Session) Fetch(n int, then ...int) { s.steer.fetch = append([]int{n}, then...) }

// Left describes the first choice by hand that isn't the trace's; "": there is none, or the
// session follows no trace.
func (s *Session) Left() string { return s.steer.left }

// Probe returns the number of the probe of that name.
func (s *Session) Probe(name string) (i int, ok bool) {
	for i := range s.Rig.Scenario.Probes {
		if s.Rig.Scenario.Probes[i].Name == name {
			return i, true
		}
	}
	return 0, false
}

// AddProbe adds an unregistered probe to the scenario. An error also tells if the edition lacks
// something that it needs.
func (s *Session) AddProbe(p scenario.Probe) error {
	if _, ok := s.Probe(p.Name); ok {
		return fmt.Errorf("there is a probe %s already; choose another name", p.Name)
	}
	err := s.Rig.AddProbe(p)
	if err == nil {
		s.HandMade = cmp.Or(s.HandMade, "the probe "+p.Name)
	}
	return err
}

// check returns why the scenario can't have an operation: usually something that its edition
// lacks.
func (s *Session) check(op *scenario.Op) error {
	sc := *s.Rig.Scenario
	sc.Tasks = append(slices.Clone(sc.Tasks), scenario.Task{Name: "the shell", Ops: []scenario.Op{*op}, Repeat: 1})
	err := lang.Check(&sc)
	if err == nil {
		return nil
	}
	_, what, ok := strings.Cut(err.Error(), "ops[0]: ")
	if !ok {
		return err
	}
	return errors.New(what)
}

// Op makes a CPU's thread do an operation of a scenario's task; in the background it only starts
// it. When it is done, ended receives the API's answer, or the call's rax.
func (s *Session) Op(cpu int, says string, op scenario.Op, background bool,
	ended func(errno kprobes.Errno, rax uint64)) error {
	if err := s.check(&op); err != nil {
		return err
	}
	run := s.Rig.Operation(s.errands[cpu].task, op)
	do := func(x *smp.Ctx) { ended(run(x)) }
	if background {
		return s.Begin(cpu, says, do)
	}
	return s.Do(cpu, says, do)
}

// WriteFile writes to one of the engine's files, and reports it as a scenario's operation does.
// refused is the kernel's error.
func (s *Session) WriteFile(cpu int, f *engine.File, text string) (refused, err error) {
	kind := traces.Kind(kpev.Sysctl)
	if f.Switch == engine.Armed {
		kind = kpev.Enabled
	}
	on, ok := f.Parse(text)
	return s.write(cpu, "the write to "+f.Name, kind, on, ok, func(x *smp.Ctx) error { return f.Write(x, text) })
}

// write makes a write to a switch. A valid value is written between two events of the given kind.
func (s *Session) write(cpu int, says string, kind traces.Kind, on, ok bool, write func(x *smp.Ctx) error) (refused,
	err error) {
	to := uint64(0)
	if on {
		to = 1
	}
	err = s.Do(cpu, says, func(x *smp.Ctx) {
		if ok {
			x.Emit(kind, to, 0, 0)
		}
		refused = write(x)
		if ok {
			x.Emit(kind, to, 1, 0)
		}
	})
	return refused, err
}

// Close ends the run at its current step.
func (s *Session) Close() {
	if s.Run == nil && s.crash == nil {
		s.goOn <- false
		<-s.ended
	}
	s.Rig.Close()
}

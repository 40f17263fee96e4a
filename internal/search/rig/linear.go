package rig

import (
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"

	"kpsim/engine"
	"kpsim/internal/scenario"
	"kpsim/kprobes/kpev"
	"kpsim/properties"
	"kpsim/smp"
	"kpsim/smp/arch/target"
	"kpsim/traces"
)

// A Linear compares the calls of the API that a run has made, and its writes of the two
// switches, with a sequential model. In the model each call takes effect at one moment between
// its beginning and its return. There must be an order of all of them in which each gives the
// answer that it gave, and which ends in the state at the end of the run. Where tasks share
// probes no property can say that, because the order of overlapping calls isn't known.
//
// A probe is registered or not, and disabled or not. Registering a registered probe, and any
// other call for an unregistered one, answers an errno and changes nothing. A switch is on or
// off, and a write that changes it prints a line.
//
// The model claims less in some cases. Any register and any enable may be refused for a probe
// that the run has never seen registered, that is loaded and unloaded with a module, or that
// is beside a jprobe, ftrace or a debugger, or in text that tasks store to. A register may also be
// refused if an unregister of
// an unregistered probe overlaps it, because that clears the probe's address (spec 6.5). An
// array's calls count as one call for each element, and those of an array that failed may have
// been rolled back.
type Linear struct {
	r     *Rig
	calls []linearCall
	now   int64
}

// A linearCall is a call and its times: the positions of its events among those recorded.
type linearCall struct {
	what   uint64 // a call of the API, or one of the writes and reads below
	about  uint64 // the probe, or the switch
	task   uint8
	value  bool // written or read: whether a switch is on, or a probe is disabled
	there  bool // a read: whether the probe is registered
	array  bool // one of several calls that are made at once
	errno  uint64
	prints bool // a write: whether it has changed something
	blank  bool // a register: another call may have cleared its address meanwhile
	from   int64
	to     int64 // 0: it hasn't returned
}

// The kinds below extend the calls of the API.
const (
	linearWrite = 100 + iota // of a switch
	linearRead               // of everything, at the end
)

// The constants are the switches, as objects; all other objects are probes.
const (
	linearSysctl  = 1 << 32
	linearEnabled = 1<<32 + 1
)

var linearKinds = []traces.Kind{kpev.ApiEnter, kpev.ApiReturn, kpev.Sysctl, kpev.Enabled, kpev.Printk}

// Event implements traces.Sink.
func (l *Linear) Event(e *traces.Event) *traces.Finding {
	l.now++
	switch e.Kind {
	case kpev.ApiEnter:
		l.enter(linearCall{what: e.A, about: e.B, task: e.Task})
	case kpev.ApiReturn:
		if c := l.open(e.Task, e.A, e.B); c != nil {
			c.to, c.errno = l.now, e.C
		}
	case kpev.Sysctl, kpev.Enabled:
		about := uint64(linearSysctl)
		if e.Kind == kpev.Enabled {
			about = linearEnabled
		}
		if e.B == 0 {
			l.enter(linearCall{what: linearWrite, about: about, task: e.Task, value: e.A != 0})
		} else if c := l.open(e.Task, linearWrite, about); c != nil {
			c.to = l.now
		}
	case kpev.Printk:
		about := uint64(linearEnabled)
		switch s, _ := kpev.Line(e.A).Switched(); s {
		case kpev.NoSwitch:
			return nil
		case kpev.Optimization:
			about = linearSysctl
		}
		if c := l.open(e.Task, linearWrite, about); c != nil {
			c.prints = true
		}
	}
	return nil
}

func (l *Linear) enter(c linearCall) {
	c.from = l.now
	for i := range l.calls {
		if o := &l.calls[i]; o.task == c.task && o.to == 0 {
			o.array, c.array = true, true
		}
	}
	l.calls = append(l.calls, c)
}

// open returns the call that a task is in, nil if there is none.
func (l *Linear) open(task uint8, what, about uint64) *linearCall {
	for i := range l.calls {
		if c := &l.calls[i]; c.task == task && c.what == what && c.about == about && c.to == 0 {
			return c
		}
	}
	return nil
}

// read records the state at the end of a run.
func (l *Linear) read() {
	r := l.r
	add := func(c linearCall) {
		l.now++
		c.what, c.task, c.from = linearRead, traces.NoTask, l.now
		l.now++
		c.to = l.now
		l.calls = append(l.calls, c)
	}
	for i := range r.Scenario.Probes {
		if s := r.wiring.engine.Status(i); l.fixed(i) {
			add(linearCall{about: uint64(i), there: s.Registered, value: s.Registered && s.Disabled})
		}
	}
	if r.Scenario.Machine.Arch.Serves(target.Jumps) { // elsewhere there is no such file
		add(linearCall{about: linearSysctl, value: r.wiring.engine.Switched(engine.Optimization)})
	}
	add(linearCall{about: linearEnabled, value: r.wiring.engine.Switched(engine.Armed)})
}

// fixed reports whether only the text at a probe decides if the probe can be registered, and
// that text stays.
func (l *Linear) fixed(i int) bool {
	r := l.r
	if len(r.Scenario.Modules) > 0 || r.patchers.Tracer != nil || r.patchers.Debugger.Any() {
		return false
	}
	if f, ok := r.Scenario.Place(&r.Scenario.Probes[i]); ok && r.Scenario.Stored(f) {
		return false
	}
	return !slices.ContainsFunc(r.Scenario.Probes, func(p scenario.Probe) bool {
		return p.Kind == scenario.ProbeJprobe
	})
}

// linearState is the state of a probe, or that of a switch in on.
type linearState struct{ there, disabled, on bool }

// linearAbout is what the model knows about a probe.
type linearAbout struct {
	toggles  bool // it can be disabled and enabled
	disabled bool // it is registered disabled
	fixed    bool
	can      bool // one of its registers has succeeded
}

// step is the model: it reports whether a call may give its answer in state s, and returns the
// next state.
func (c *linearCall) step(s linearState, a *linearAbout) (bool, linearState) {
	was := s
	switch ok := c.errno == 0; c.what {
	case linearWrite:
		s.on = c.value
		return c.prints == (was.on != c.value), s
	case linearRead:
		if c.about >= linearSysctl {
			return c.value == s.on, s
		}
		return c.there == s.there && c.value == (s.there && s.disabled), s
	case kpev.Register:
		if ok {
			return !was.there, linearState{there: true, disabled: a.disabled}
		}
		return was.there || c.array || c.blank || !a.fixed || !a.can, s
	case kpev.Unregister:
		if ok {
			return was.there || c.array, linearState{}
		}
		return !was.there, s
	case kpev.Enable, kpev.Disable:
		if !a.toggles {
			return !ok, s
		}
		if ok {
			s.disabled = c.what == kpev.Disable
			return was.there, s
		}
		return !was.there || c.what == kpev.Enable && !a.fixed, s
	}
	return true, s
}

// check returns what can't be explained by any sequential order of the calls, "" if everything
// can.
func (l *Linear) check(about func(probe uint64) linearAbout) string {
	type input struct {
		call *linearCall
		a    *linearAbout
	}
	byObject := make(map[uint64][]porcupine.Operation)
	var order []uint64
	known := make(map[uint64]*linearAbout)
	for i := range l.calls {
		c := &l.calls[i]
		if _, ok := known[c.about]; !ok {
			a := linearAbout{}
			if c.about < linearSysctl {
				a = about(c.about)
			}
			known[c.about], order = &a, append(order, c.about)
		}
		a := known[c.about]
		a.can = a.can || c.what == kpev.Register && c.errno == 0 && c.to != 0
	}
	for i := range l.calls {
		c := &l.calls[i]
		if c.to == 0 {
			return "" // it hasn't returned, so its effect is open
		}
		c.blank = c.what == kpev.Register && slices.ContainsFunc(l.calls, func(o linearCall) bool {
			return o.about == c.about && o.what == kpev.Unregister && o.errno != 0 && o.from < c.to && o.to > c.from
		})
		byObject[c.about] = append(byObject[c.about],
			porcupine.Operation{ClientId: int(c.task), Input: input{c, known[c.about]}, Call: c.from, Return: c.to})
	}
	for _, o := range order {
		model := porcupine.Model{
			Init: func() any { return linearState{on: o >= linearSysctl} },
			Step: func(state, in, _ any) (bool, any) { return in.(input).call.step(state.(linearState), in.(input).a) },
		}
		if !porcupine.CheckOperations(model, byObject[o]) {
			return l.says(o)
		}
	}
	return ""
}

// says lists the calls about an object, in the order in which they began.
func (l *Linear) says(about uint64) string {
	s := fmt.Sprintf("probe %d", about)
	switch about {
	case linearSysctl:
		s = "kprobes-optimization"
	case linearEnabled:
		s = "kprobes/enabled"
	}
	s += ": no order of these calls explains what they answer:"
	for _, c := range l.calls {
		if c.about == about {
			who := fmt.Sprintf("task%d", c.task)
			if c.what == linearRead {
				who = "who looks in the end"
			}
			s += fmt.Sprintf(" %s %s %d-%d;", who, c.String(), c.from, c.to)
		}
	}
	return s
}

func (c *linearCall) String() string {
	switch c.what {
	case linearWrite:
		return fmt.Sprintf("writes %v, changed %v", c.value, c.prints)
	case linearRead:
		if c.about >= linearSysctl {
			return fmt.Sprintf("reads %v", c.value)
		}
		return fmt.Sprintf("finds it registered %v, disabled %v", c.there, c.value)
	}
	return fmt.Sprintf("%s = %d", kpev.Verbs.Name(uint64(c.what)), c.errno)
}

// newLinear returns a Linear that follows the runs of a rig from the next one on. It is nil if
// each run has only one order (scenario.Scenario.Shares).
func newLinear(r *Rig) *Linear {
	if !r.Scenario.Shares() {
		return nil
	}
	l := &Linear{r: r}
	r.Log.Subscribe(l, linearKinds...)
	return l
}

// overlapped reports whether calls for one probe, or writes of one switch, overlapped in the
// last run. Otherwise only one order exists.
func (l *Linear) overlapped() bool {
	for i := range l.calls {
		for k := range l.calls[:i] {
			if c, o := &l.calls[i], &l.calls[k]; c.about == o.about && c.task != o.task && c.from < o.to {
				return true
			}
		}
	}
	return false
}

// judge marks a run that has just passed as failed if no order of its calls explains them.
func (l *Linear) judge(run *Run) {
	l.read()
	wrong := l.check(func(probe uint64) linearAbout {
		b := l.r.Scenario.Machine.Batches
		return linearAbout{toggles: b, fixed: l.fixed(int(probe)), disabled: b && l.r.Scenario.Probes[probe].Disabled}
	})
	if wrong != "" {
		run.Outcome, run.Property, run.Finding = smp.Violated, &properties.Linearizable, traces.Finding{Message: wrong}
	}
}

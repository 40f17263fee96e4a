package tracetest

import (
	"strconv"
	"strings"
	"testing"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/traces"
)

// A Trace is a log written by hand, and what must be found in it. It is itself a Hand:
// of task 0 on cpu 0, the patcher.
type Trace struct {
	Hand
	Events []traces.Event
	Arch   *arch.Arch // whose code it is

	ended, drained bool
	want           want
	depth          [256]int
	addrs          map[uint64]uint64 // addresses of probes
}

// A want is the expectation: a finding of id at the event with that ordinal, or none. The end
// of the run counts as one more event.
type want struct {
	told         bool
	id, contains string
	at           int
}

// New begins an empty log of x86-64 code.
func New() *Trace {
	t := &Trace{Arch: x86.AMD64, addrs: map[uint64]uint64{}}
	t.Hand = Hand{tr: t}
	return t
}

func (t *Trace) add(e traces.Event) {
	if t.ended || t.want.told {
		panic("tracetest: an event behind the end of the log")
	}
	e.Seq = uint32(len(t.Events))
	t.Events = append(t.Events, e)
}

// ExpectViolation states that the last event, or End, breaks the property, and that
// nothing before it breaks any. contains is part of the message.
func (t *Trace) ExpectViolation(id, contains string) {
	at := len(t.Events) - 1
	if t.ended {
		at++
	}
	t.want = want{true, id, contains, at}
}

// ExpectNone states that nothing is broken.
func (t *Trace) ExpectNone() { t.want = want{told: true} }

// Rejects returns the property that the log must break, or "".
func (t *Trace) Rejects() string { return t.want.id }

// String prints the events, one a line.
func (t *Trace) String() string {
	var s strings.Builder
	for i := range t.Events {
		s.WriteString(t.Events[i].String())
		s.WriteByte('\n')
	}
	return s.String()
}

// A Monitor is the monitor under test, as package properties has them.
type Monitor interface {
	traces.Sink
	Reset()
	End(drained bool) *traces.Finding
}

// A Watch is a monitor, the kinds it gets, and its name in messages.
type Watch struct {
	ID      string
	Kinds   []traces.Kind
	Monitor Monitor
}

// A Player plays logs to monitors, one run after another, as a worker does.
type Player struct {
	log     traces.Log
	watches []Watch
}

// NewPlayer subscribes the monitors to a log, in their order.
func NewPlayer(watches ...Watch) *Player {
	p := &Player{watches: watches}
	for _, w := range watches {
		p.log.Subscribe(w.Monitor, w.Kinds...)
	}
	return p
}

// Play resets everything and plays t until a monitor finds something. It returns the monitor,
// the event (len(t.Events): at the end), and the finding.
func (p *Player) Play(t *Trace) (id string, at int, f *traces.Finding) {
	p.log.Reset()
	for _, w := range p.watches {
		w.Monitor.Reset()
	}
	for i := range t.Events {
		e := &t.Events[i]
		p.log.Emit(e.Kind, e.CPU, e.Task, e.A, e.B, e.C)
		if p.log.Found != nil {
			return p.finder(), i, p.log.Found
		}
	}
	for _, w := range p.watches {
		if f := w.Monitor.End(t.drained); f != nil {
			return w.ID, len(t.Events), f
		}
	}
	return "", 0, nil
}

func (p *Player) finder() string {
	for _, w := range p.watches {
		if traces.Sink(w.Monitor) == p.log.Finder {
			return w.ID
		}
	}
	return ""
}

// Check plays the log to the monitors and fails tb unless they find what is expected,
// and where.
func (t *Trace) Check(tb testing.TB, watches ...Watch) {
	tb.Helper()
	if err := t.Judge(NewPlayer(watches...)); err != "" {
		tb.Errorf("%s\n%s", err, t)
	}
}

// Judge plays the log. It returns one line about what differs from the expectation, or "" if
// nothing does.
func (t *Trace) Judge(p *Player) string {
	if !t.want.told {
		return "the log doesn't say what is expected of it"
	}
	id, at, f := p.Play(t)
	got := "nothing"
	if f != nil {
		got = id + " at event " + where(at, t) + ": " + f.Message
	}
	if id == t.want.id && (f == nil || at == t.want.at && strings.Contains(f.Message, t.want.contains)) {
		return ""
	}
	if t.want.id == "" {
		return "nothing is broken, but found: " + got
	}
	return "expected " + t.want.id + " at event " + where(t.want.at, t) + " (" + t.want.contains + "), found: " + got
}

func where(at int, t *Trace) string {
	if at == len(t.Events) {
		return "END"
	}
	return strconv.Itoa(at)
}

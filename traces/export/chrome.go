package export

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"kpsim/traces/view"
)

// A micros is a time in ns, written in µs with three decimals. Importers that count in ns must
// find slices inside each other, so no digit may be lost in a sum.
type micros uint64

// MarshalJSON implements json.Marshaler.
func (m micros) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%d.%03d", m/1000, m%1000), nil
}

// A chromeEvent is one of Chrome's trace events (Trace Event Format).
type chromeEvent struct {
	Name string         `json:"name"`
	Cat  string         `json:"cat,omitempty"`
	Ph   string         `json:"ph"`
	Pid  int            `json:"pid"`
	Tid  int            `json:"tid"`
	Ts   micros         `json:"ts"`
	Dur  *micros        `json:"dur,omitempty"`
	ID   string         `json:"id,omitempty"`
	BP   string         `json:"bp,omitempty"` // e: the flow ends at the open slice
	S    string         `json:"s,omitempty"`  // scope of an instant: t is the thread's, g is global
	Args map[string]any `json:"args,omitempty"`
}

// The processes: the CPUs, one lane each, and the machine.
const (
	chromeCPUs    = 1
	chromeMachine = 2
)

// Chrome writes Chrome's trace events, for Perfetto and chrome://tracing: a lane for
// each CPU with tasks and traps, waits beside them, an instant for each event, arrows
// from IPIs to interrupts and from wake-ups to switches, and counters. Errors are those
// of w.
func Chrome(w io.Writer, s *view.Scene) error {
	c := &chrome{s: s}
	c.names()
	c.spans()
	c.steps()
	c.flows()
	c.counters()
	slices.SortStableFunc(c.list, func(a, b chromeEvent) int { return cmp.Compare(a.Ts, b.Ts) })
	out := json.NewEncoder(w)
	return out.Encode(map[string]any{"displayTimeUnit": "ns", "traceEvents": c.list})
}

type chrome struct {
	s    *view.Scene
	list []chromeEvent
}

func (c *chrome) add(e chromeEvent) { c.list = append(c.list, e) }

// at returns the time of a step.
func (c *chrome) at(step int) micros { return micros(c.s.Steps[step].Time) }

// until returns when a slice ends: at its last step. A slice that lasts until the end of the
// run ends after that step; otherwise an arrow to the last step would end nowhere.
func (c *chrome) until(step int) micros {
	if step == len(c.s.Steps)-1 {
		return c.at(step) + 1
	}
	return c.at(step)
}

func (c *chrome) names() {
	name := func(what string, pid, tid int, v any) {
		c.add(chromeEvent{Name: what, Ph: "M", Pid: pid, Tid: tid, Args: map[string]any{"name": v}})
	}
	name("process_name", chromeCPUs, 0, "CPUs")
	name("process_name", chromeMachine, 0, "machine")
	name("thread_name", chromeMachine, 0, "machine")
	for cpu := range c.s.CPUs {
		name("thread_name", chromeCPUs, cpu, fmt.Sprintf("cpu%d", cpu))
	}
}

// lane returns the lane of a CPU's events.
func lane(cpu int) (pid, tid int) {
	if cpu == view.Machine {
		return chromeMachine, 0
	}
	return chromeCPUs, cpu
}

// spans writes spans as slices where they nest, and otherwise on tracks of their own.
func (c *chrome) spans() {
	for i := range c.s.Spans {
		p := &c.s.Spans[i]
		pid, tid := lane(p.CPU)
		e := chromeEvent{Name: p.Says, Cat: p.Kind, Pid: pid, Tid: tid, Ts: c.at(p.From),
			Args: map[string]any{"task": p.Task, "step": p.From}}
		if p.Kind == view.SpanTask || p.Kind == view.SpanTrap {
			d := c.until(p.To) - c.at(p.From)
			e.Ph, e.Dur = "X", &d
			c.add(e)
			continue
		}
		e.Ph, e.ID = "b", fmt.Sprintf("%#x", i+1)
		c.add(e)
		e.Ph, e.Ts = "e", c.at(p.To)
		c.add(e)
	}
}

func (c *chrome) steps() {
	for i := range c.s.Steps {
		s := &c.s.Steps[i]
		pid, tid := lane(int(s.Event.CPU))
		scope := "t"
		if i == c.s.Violation {
			scope = "g"
		}
		args := map[string]any{"step": i, "event": s.Event.Seq, "clock": s.Clock}
		for k, v := range s.Event.Args() {
			args[s.Event.Kind.Spec().Args[k].Name] = fmt.Sprintf("%#x", v)
		}
		c.add(chromeEvent{Name: s.Says, Cat: s.Event.Kind.String(), Ph: "i", Pid: pid, Tid: tid, Ts: c.at(i), S: scope,
			Args: args})
	}
	for i := range c.s.Deviations {
		if d := &c.s.Deviations[i]; d.Step >= 0 {
			c.add(chromeEvent{Name: "deviation: " + d.String(), Cat: "deviation", Ph: "i", Pid: chromeMachine,
				Ts: c.at(d.Step), S: "g"})
		}
	}
}

func (c *chrome) flows() {
	for i, a := range c.s.Arrows {
		from, to := c.s.Steps[a.From].Event.CPU, c.s.Steps[a.To].Event.CPU
		e := chromeEvent{Name: a.Kind, Cat: "flow", Ph: "s", ID: fmt.Sprintf("%#x", i+1), Ts: c.at(a.From)}
		e.Pid, e.Tid = lane(int(from))
		c.add(e)
		e.Ph, e.BP, e.Ts = "f", "e", c.at(a.To)
		e.Pid, e.Tid = lane(int(to))
		c.add(e)
	}
}

// counters writes how many probed addresses are in each state, and how many old bytes of the
// sites each CPU may still fetch.
func (c *chrome) counters() {
	count := map[string]int{}
	type change struct {
		step  int
		state string
		by    int
	}
	var changes []change
	for i := range c.s.Bands {
		b := &c.s.Bands[i]
		changes = append(changes, change{b.From, b.State, 1})
		if b.To < len(c.s.Steps)-1 {
			changes = append(changes, change{b.To, b.State, -1})
		}
		count[b.State] = 0
	}
	slices.SortStableFunc(changes, func(a, b change) int { return a.step - b.step })
	for i, ch := range changes {
		count[ch.state] += ch.by
		if i+1 < len(changes) && changes[i+1].step == ch.step {
			continue
		}
		args := make(map[string]any)
		for k, v := range count {
			args[k] = v
		}
		c.add(chromeEvent{Name: "probed addresses", Ph: "C", Pid: chromeMachine, Ts: c.at(ch.step), Args: args})
	}
	for i := range c.s.Texts {
		c.stale(&c.s.Texts[i])
	}
}

// stale counts, at each change, the bytes of which a fetch may still see an older version.
func (c *chrome) stale(p *view.Patch) {
	sees := make([]string, c.s.CPUs)
	v, s := 0, 0
	for v < len(p.Versions) || s < len(p.Sights) {
		step := len(c.s.Steps)
		if v < len(p.Versions) {
			step = p.Versions[v].Step
		}
		if s < len(p.Sights) {
			step = min(step, p.Sights[s].Step)
		}
		for v < len(p.Versions) && p.Versions[v].Step <= step {
			v++
		}
		for ; s < len(p.Sights) && p.Sights[s].Step <= step; s++ {
			sees[p.Sights[s].CPU] = p.Sights[s].Bytes
		}
		if step < 0 || len(p.Sights) == 0 {
			continue
		}
		args := make(map[string]any)
		for cpu, b := range sees {
			args[fmt.Sprintf("cpu%d", cpu)] = differ(b, p.Versions[v-1].Bytes)
		}
		c.add(chromeEvent{Name: "bytes of " + p.Name + " that may be fetched as they were", Ph: "C", Pid: chromeMachine,
			Ts: c.at(step), Args: args})
	}
}

// differ counts the bytes that differ between two hex strings.
func differ(a, b string) (n int) {
	for i := 0; i+2 <= min(len(a), len(b)); i += 3 {
		if a[i:i+2] != b[i:i+2] {
			n++
		}
	}
	return n
}

package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A Call is a call made by a kernel's own engine, which no event reports.
type Call struct {
	Seq       uint32 // of the next event
	CPU, Task uint8
	From      string // the functions that are open, the outermost first: "register_kprobe > arm_kprobe"
	Where     string // file and line of the call, and perhaps its text; "": not known
	Says      string // what is called, with its argument: "mutex_lock(kprobe_mutex)"
	Frames    []Frame
}

// A Frame is an open function, at the line that it has reached.
type Frame struct {
	Func string
	File string   // "kernel/kprobes.c"; "": not known
	Line int      // 0: not known
	From int      // the line that Text begins with
	Text []string // lines of the file around Line; empty: the file isn't at hand
}

// String is the call in a line.
func (c *Call) String() string {
	s := c.From + ": " + c.Says
	if c.Where != "" {
		s += "  " + c.Where
	}
	return s
}

// weave puts the calls between the rows of the events. If several events may share a row,
// consecutive calls of a CPU in one outermost function share one, too. Where rows are left
// out, only the last call is kept.
func (t *teller) weave(rows []row) []row {
	calls := t.in.Calls
	if len(calls) == 0 {
		return rows
	}
	out := make([]row, 0, len(rows)+len(calls))
	for i := range rows {
		n := 0
		for rows[i].gap == 0 && n < len(calls) && calls[n].Seq <= rows[i].seq {
			n++
		}
		list := t.callRows(calls[:n], rows[i].depth)
		if i > 0 && rows[i-1].gap > 0 && len(list) > 1 {
			list = list[len(list)-1:]
		}
		out = append(append(out, list...), rows[i])
		calls = calls[n:]
	}
	return append(out, t.callRows(calls, 0)...)
}

// callRows returns the rows of calls between two rows of events.
func (t *teller) callRows(calls []Call, depth int) (rows []row) {
	for len(calls) > 0 {
		c, n := &calls[0], 1
		for !t.in.All && n < len(calls) && calls[n].CPU == c.CPU && calls[n].Task == c.Task &&
			outermost(&calls[n]) == outermost(c) {
			n++
		}
		r := row{seq: c.Seq, cpu: c.CPU, depth: depth, text: c.String()}
		if n > 1 {
			r.text = several(calls[:n])
		}
		rows = append(rows, r)
		calls = calls[n:]
	}
	return rows
}

// served reports whether an event is a service's: the last call of its task caused it.
func served(k traces.Kind) bool {
	switch k {
	case smpev.TextStore, smpev.SendIPI, smpev.GPStart, smpev.GPEnd, smpev.Lock, smpev.Unlock, smpev.MightSleep:
		return true
	}
	return false
}

// origin returns the functions of a kernel's engine that caused an event, "" if they aren't
// known.
func (in *Input) origin(e *traces.Event) string {
	if !served(e.Kind) {
		return ""
	}
	i, _ := slices.BinarySearchFunc(in.Calls, e.Seq+1, func(c Call, seq uint32) int { return cmp.Compare(c.Seq, seq) })
	for i--; i >= 0; i-- {
		if c := &in.Calls[i]; c.Task == e.Task {
			where, _, _ := strings.Cut(c.Where, ": ")
			return "; from " + strings.TrimSuffix(c.From+", "+where, ", ")
		}
	}
	return ""
}

func outermost(c *Call) string {
	name, _, _ := strings.Cut(c.From, " > ")
	return name
}

// severalMost is how many calls one row names.
const severalMost = 4

// several names calls from one function in one row: the first ones, each name once.
func several(calls []Call) string {
	var names []string
	seen := make(map[string]bool)
	for i := range calls {
		name, _, _ := strings.Cut(calls[i].Says, "(")
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	more := ""
	if len(names) > severalMost {
		more = fmt.Sprintf(", and %d more", len(names)-severalMost)
		names = names[:severalMost]
	}
	where, _, _ := strings.Cut(calls[0].Where, ": ")
	if where != "" {
		where = "  from " + where + " on"
	}
	return outermost(&calls[0]) + " calls " + strings.Join(names, ", ") + more + where
}

// Open returns the functions of a kernel's engine that the task of an event had open when it called something last,
// the innermost first; nil if that isn't known.
func Open(in *Input, seq uint32) []Frame {
	at, ok := slices.BinarySearchFunc(in.Events, seq,
		func(e traces.Event, seq uint32) int { return cmp.Compare(e.Seq, seq) })
	if !ok {
		return nil
	}
	i, _ := slices.BinarySearchFunc(in.Calls, seq+1, func(c Call, seq uint32) int { return cmp.Compare(c.Seq, seq) })
	for i--; i >= 0; i-- {
		if c := &in.Calls[i]; c.Task == in.Events[at].Task {
			return c.Frames
		}
	}
	return nil
}

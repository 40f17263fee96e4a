package view

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"kpsim/traces"
)

// An Input is a run to be printed. Functions that are nil print numbers.
type Input struct {
	Events   []traces.Event
	CPUs     int
	Symbol   func(addr uint64) string  // victim+0x1
	Task     func(id uint64) string    // prober
	Lock     func(id uint64) string    // text_mutex
	Probe    func(id uint64) string    // k
	Source   func(index uint64) string // of Fire events: timer@cpu1
	KernelIP uint64                    // the saved ip of what has none: a kernel routine, or idle; 0 if Symbol names it
	Schedule []traces.Deviation
	ByHand   bool // somebody stepped the run: no schedule made it

	// The violation; Property is "" if there is none.
	Property string // T2 no-start-inside
	Place    string // victim+0x1
	PlaceAt  uint64 // its address; 0: none
	Message  string
	At       uint32 // ordinal of the event that is the violation; 0: the last one
	AtEnd    bool   // only the end of the run shows it; implied if the last event is Done

	All   bool                             // a row for each event
	Named []uint32                         // events that have a row of their own in any case: what is said elsewhere names them
	Rows  int                              // about how many rows at most, unless All; 0: rowsDefault
	Width int                              // of a line: columns are wrapped; 0: as wide as they need
	Paint func(colour, text string) string // text in a colour, whose code is given; nil: no colours
	_     struct{}
}

const rowsDefault = 80

// Interleaving prints the run, one column a CPU, or one column in all if there
// are more than columnsMax. Errors are those of w.
func Interleaving(w io.Writer, in Input) error {
	out := bufio.NewWriter(w)
	t := newTeller(&in)
	rows := t.rows()
	if !in.All {
		rows = focus(foldCalls(rows), in.rowsMax())
	}
	p := printer{in: &in, w: out}
	p.print(rows)
	t.verdict(&p)
	t.schedule(&p)
	return out.Flush()
}

// named reports whether an event has to have a row of its own.
func (in *Input) named(e *traces.Event) bool { return slices.Contains(in.Named, e.Seq) }

func (in *Input) rowsMax() int {
	if in.Rows > 0 {
		return in.Rows
	}
	return rowsDefault
}

func (in *Input) symbol(addr uint64) string {
	if in.Symbol == nil {
		return fmt.Sprintf("%#x", addr)
	}
	return in.Symbol(addr)
}

// task names a task. An idle task or a stopper, one to a CPU, goes without the
// number of the CPU.
func (in *Input) task(id uint64) string {
	if in.Task == nil {
		return fmt.Sprintf("task%d", id)
	}
	name, _, _ := strings.Cut(in.Task(id), "/")
	return name
}

func (in *Input) lock(id uint64) string  { return named(in.Lock, "lock", id) }
func (in *Input) probe(id uint64) string { return named(in.Probe, "probe", id) }

func (in *Input) source(id uint64) string { return named(in.Source, "source", id) }

func named(f func(uint64) string, what string, id uint64) string {
	if f == nil {
		return fmt.Sprintf("%s%d", what, id)
	}
	return f(id)
}

// violation returns the index of the event that is the violation, len(Events)
// if there is none or only the end shows it.
func (in *Input) violation() int {
	n := len(in.Events)
	if in.Property == "" || in.AtEnd || n == 0 || in.Events[n-1].Kind == done {
		return n
	}
	if in.At == 0 {
		return n - 1
	}
	for i := range in.Events {
		if in.Events[i].Seq == in.At {
			return i
		}
	}
	return n
}

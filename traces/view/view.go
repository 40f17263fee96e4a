package view

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/traces"
)

// An Input is a run to print. For functions that are nil, numbers are printed.
type Input struct {
	Events []traces.Event
	Arch   *arch.Arch // the processor of the code
	CPUs   int
	Names
	Memory string // the memory model: tso; "": sequential consistency
	FRED   bool   // returns from traps and interrupts don't serialise
	Calls  []Call // what a kernel's own engine calls, by Seq
	// Stood says where the CPUs stood at each deviation of Schedule, a line each; nil: not known.
	Stood    [][]string
	Kernel   string // the release of a kernel whose own engine ran; "": none did
	KernelIP uint64 // the saved ip of a kernel routine, or of idle; 0 if Symbol names it
	Schedule []traces.Deviation
	ByHand   bool // the run was stepped by hand: it has no schedule

	// The violation. Property is "" if there is none.
	Property string // T2 no-start-inside
	Place    string // victim+0x1
	PlaceAt  uint64 // its address; 0: none
	Message  string
	Decided         // what the machine knows of it beside the events
	At       uint32 // ordinal of the violating event; 0: the last one
	AtEnd    bool   // only the end of the run shows it; implied if the last event is Done

	All   bool                             // a row for each event
	Named []uint32                         // events that always have a row of their own, because other text names them
	Rows  int                              // approximate maximum of rows, unless All; 0: rowsDefault
	Width int                              // of a line: columns are wrapped; 0: unlimited
	Paint func(colour, text string) string // text in a colour, given by its code; nil: no colours
	_     struct{}
}

// A Decided is what the machine, where the run has ended, knows of a violation beside the events.
type Decided struct {
	Waits   []Wait       // what tasks wait for, the longest chain
	Circles bool         // the run goes on for ever, as far as is known
	Loops   []Loop       // the instructions that tasks then repeat
	Differs []Difference // of a call with a wrong result
}

// Names say what the numbers in events stand for.
type Names struct {
	Symbol func(addr uint64) string  // victim+0x1
	Task   func(id uint64) string    // prober
	Lock   func(id uint64) string    // text_mutex
	Probe  func(id uint64) string    // k
	Source func(index uint64) string // of Fire events: timer@cpu1
	Cell   func(id uint64) string    // of stores that are held: poke.desc
	Stack  func(addr uint64) string  // the task whose stack holds an address; "": no task's
	Line   func(addr uint64) string  // the place of an instruction in its source; "": not known

	// Held names the register of a CPU that holds an address when the run ends; "": none does. May be nil.
	Held func(cpu int, addr uint64) string
}

const rowsDefault = 80

// Interleaving prints the run, one column for each CPU, or one column in all if there
// are more than columnsMax. Errors are those of w.
func Interleaving(w io.Writer, in Input) error {
	out := bufio.NewWriter(w)
	t := newTeller(&in)
	rows := t.rows()
	if !in.All {
		rows = focus(foldCalls(rows), in.rowsMax())
	}
	rows = t.weave(rows)
	p := printer{in: &in, w: out}
	p.print(rows)
	t.verdict(&p)
	t.schedule(&p)
	return out.Flush()
}

// Since returns the rows that Interleaving has of the events from number seq on, one line each: the number, the CPU and
// the text. A row that began with an earlier event isn't among them.
func Since(in Input, seq uint32) (lines []string) {
	t := newTeller(&in)
	for _, r := range t.rows() {
		if r.seq < seq || r.text == "" {
			continue
		}
		who := fmt.Sprintf("cpu%d", r.cpu)
		if int(r.cpu) >= in.CPUs {
			who = "--"
		}
		lines = append(lines, fmt.Sprintf("%5d  %s  %s", r.seq, who, r.text))
	}
	return lines
}

// named reports whether an event must have a row of its own.
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

// task names a task. The name of an idle task or a stopper, one for each CPU, is
// printed without the CPU's number.
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

// brokeAt returns the address of a breakpoint whose trap has saved ip.
func (in *Input) brokeAt(ip uint64) uint64 { return ip - uint64(in.Arch.Past) }

// breakpoint returns the name of the breakpoint as an instruction: int3.
func (in *Input) breakpoint() string {
	i, err := in.Arch.Decode(in.Arch.Breakpoint, 0)
	if err != nil {
		sim.Bug("view: the breakpoint of %s: %v", in.Arch.Name, err)
	}
	return i.String()
}

// bare reports whether an image is a breakpoint that replaces a whole instruction. Where a breakpoint is one
// byte, its images are told with what is linked behind it.
func (in *Input) bare(e *traces.Event) bool {
	n := e.C >> 56
	return n > 1 && uint64(in.Arch.BreakLen(e.B)) == n
}

// violation returns the index of the violating event, len(Events) if there is none or
// only the end shows it.
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

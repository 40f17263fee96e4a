package report

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"kpsim/internal/litmus/extract"
	"kpsim/internal/search/replay"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/cli/inputs/kernels"
	"kpsim/traces"
	"kpsim/traces/export"
	"kpsim/traces/view"
)

// Export is kpsim export.
type Export struct {
	Trace string   `arg:"" help:"A trace that explore has written: traces/NAME.kps."`
	To    string   `required:"" placeholder:"FORMAT" help:"ftrace, trace.dat, chrome (or perfetto), json, litmus or columns."`
	Words []string `placeholder:"NAME,…" help:"For litmus: the words of memory in the test, as its comment names them. Default: those by which the run isn't sequentially consistent; if there are none, all that compiled code shares, or all."`
	kernels.TracesKernel
	Out cli.FileName `short:"o" placeholder:"FILE" help:"Write it to a file. Default: standard output."`
}

// Help implements kong.HelpProvider.
func (*Export) Help() string {
	return `Write what a trace does for other tools: ftrace's text, Perfetto, JSON, a mail.

The trace is replayed, and its run is written in one of these formats:

  ftrace     text as the kernel's file trace has it, for Perfetto too: sched_switch, sched_waking and sched_wakeup, interrupts, IPIs, and instants of tracing_mark_write for the rest
  trace.dat  a file for trace-cmd and KernelShark: the same events, and those of a system kpsim with their arguments as fields; it wants -o
  chrome     Chrome's trace events, for Perfetto (ui.perfetto.dev) or chrome://tracing: a lane a CPU, waits beside them, arrows from IPIs to interrupts, counters
  json       one JSON object an event, a line each: docs/events.md has the schema
  litmus     a litmus test, for kpsim litmus and herd7: what CPUs did with words of memory that they share, and the values that they saw as its condition. X86_64 if it is of compiled code; in C, for the kernel's memory model, if variables of the kernel's routines are in it, which are known under tso and lkmm
  columns    two columns and the forbidden outcome, in the form of a litmus test, for a mail

Times count the steps of the run. Events are in the order in which they happened; a CPU that stood still did nothing in the meantime.

Examples:

  kpsim export traces/corpus/T2-second-instruction.kps --to columns
  kpsim export traces/sb.kps --to litmus -o sb.litmus && kpsim litmus sb.litmus && kpsim litmus --memory sc sb.litmus
  kpsim export traces/sb.kps --to litmus --words x,y
  kpsim export traces/second-instruction.kps --to chrome -o second-instruction.json
  kpsim export traces/second-instruction.kps --to json | jq 'select(.kind == "TextStore")'
  kpsim export traces/second-instruction.kps --to ftrace -o second-instruction.txt   # open it in ui.perfetto.dev
  kpsim export traces/second-instruction.kps --to trace.dat -o trace.dat && trace-cmd report -t trace.dat

Exit status: 0 written, 1 written, but the run isn't what the trace says, 2 bad input, 3 a bug of the simulator, 130 interrupted.`
}

// Exports lists the formats. Perfetto reads Chrome's, so the two are the same.
var Exports = []string{"ftrace", "trace.dat", "chrome", "perfetto", "json", "litmus", "columns"}

func (c *Export) Run(p *cli.Program) (int, error) {
	if err := cli.Known("format", c.To, Exports); err != nil {
		return 0, fmt.Errorf("--to: %w", err)
	}
	if c.Out == "" && c.To == "trace.dat" {
		return 0, fmt.Errorf("--to trace.dat: it is no text: give a file with -o")
	}
	if c.Out != "" {
		if err := c.Out.Check(); err != nil {
			return 0, fmt.Errorf("-o: %w", err)
		}
	}
	if len(c.Words) > 0 && c.To != "litmus" {
		return 0, fmt.Errorf("--words: it is for --to litmus; leave it out")
	}
	file, r, err := play(p, &c.TracesKernel, c.Trace)
	if err != nil {
		return 0, err
	}
	defer r.Rig.Close()
	var b bytes.Buffer
	if err := c.export(&b, file, r); err != nil {
		return 0, err
	}
	if c.Out == "" {
		if _, err := p.Out.Write(b.Bytes()); err != nil {
			return 0, err
		}
	} else if err := cli.WriteWhole(string(c.Out), c.content(b.Bytes())); err != nil {
		return 0, fmt.Errorf("-o: %s", cli.Cause(err, string(c.Out)))
	}
	kernels.TellEdited(p, c.Trace, file)
	if !r.Same {
		fmt.Fprintf(p.Err, "%s: not as the trace says: %s\n", c.Trace, r.Why)
		return cli.Against, nil
	}
	return cli.OK, nil
}

// content returns the bytes of the file; a text format is stripped of colours and control
// characters.
func (c *Export) content(b []byte) []byte {
	if c.To == "trace.dat" {
		return b
	}
	return traces.Plain(b)
}

func (c *Export) export(w io.Writer, file *traces.File, r *replay.Replay) error {
	name := strings.TrimSuffix(filepath.Base(c.Trace), ".kps")
	if c.To == "litmus" {
		t, err := extract.Make(r, c.Trace, name, c.Words)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Trace, err)
		}
		return t.Write(w)
	}
	in := r.View(file)
	if c.To == "columns" {
		new(kernels.Sources).Follow(r, &in)
		if o := file.Remark(inputs.OriginObjects); o != "" {
			in.Kernel += ", with " + o + " laid over it"
		}
		return view.Columns(w, name, in)
	}
	scene := view.Lay(in, r.Timeline(view.Sites(in)))
	task := func(id uint64) string { return r.Rig.Machine.Tasks().All()[id].Name }
	switch c.To {
	case "ftrace":
		return export.Ftrace(w, scene, task)
	case "trace.dat":
		return export.TraceDat(w, scene, task)
	case "chrome", "perfetto":
		return export.Chrome(w, scene)
	}
	return export.Lines(w, scene, task)
}

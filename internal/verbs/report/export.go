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
	"kpsim/traces"
	"kpsim/traces/export"
	"kpsim/traces/view"
)

type Export struct {
	Trace string   `arg:"" help:"A trace that explore has written: traces/NAME.kps."`
	To    string   `required:"" placeholder:"FORMAT" help:"ftrace, trace.dat, chrome (or perfetto), json, litmus or columns."`
	Words []string `placeholder:"NAME,…" help:"Of litmus: the words of memory that the test is to have, as its comment names them. Default: those by which the run isn't sequentially consistent, or else all that compiled code shares, or if it shares none all."`
	inputs.TracesKernel
	Out cli.FileName `short:"o" placeholder:"FILE" help:"Write it to a file. Default: standard output."`
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
	inputs.TellEdited(p, c.Trace, file)
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
		t, err := extract.Of(r, c.Trace, name, c.Words)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Trace, err)
		}
		return t.Write(w)
	}
	in := r.View(file)
	if c.To == "columns" {
		return view.Litmus(w, name, in)
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

package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"kpsim/internal/scenario/tidy"
	"kpsim/internal/ui/cli"
)

// Fmt is kpsim fmt.
type Fmt struct {
	Files []string `arg:"" name:"source" help:"Scenarios, NAME.star, and traces, NAME.kps; - is standard input, formatted to standard output."`
	Check bool     `help:"Write nothing. List the files whose form is another, and exit with 1 if there are any."`
	JSON  bool     `name:"json" help:"Print one JSON object: each file, and whether its form was another."`
}

// Help implements kong.HelpProvider.
func (*Fmt) Help() string {
	return `Format scenarios and traces.

A scenario gets the form that buildifier gives a .bzl file, so that editors which call buildifier agree; comments stay. A trace gets the form in which kpsim writes it. The scenario stays the same; its program isn't run. The names of the files that were written anew are printed. If one file can't be read, none is written.

Examples:

  kpsim fmt mine.star
  kpsim fmt *.star traces/*.kps
  kpsim fmt --check *.star
  kpsim fmt - < mine.star

Exit status: 0; 1 with --check if the form of a file is another; 2 for bad input, or a file that couldn't be written.`
}

// A formatted is a file, as --json prints it.
type formatted struct {
	File    string `json:"file"`
	Changed bool   `json:"changed"`

	text []byte
}

// standardInput is the name of standard input.
const standardInput = "-"

// Run does it.
func (c *Fmt) Run(p *cli.Program) (int, error) {
	list := make([]formatted, len(c.Files))
	for i, name := range c.Files {
		if slices.Contains(c.Files[:i], name) {
			return 0, fmt.Errorf("%s is given twice; leave one out", name)
		}
		f, err := read(name)
		if err != nil {
			return 0, err
		}
		list[i] = f
	}
	status := cli.OK
	for i := range list {
		f := &list[i]
		switch {
		case f.File == standardInput && !c.Check && !c.JSON:
			if _, err := p.Out.Write(f.text); err != nil {
				return 0, err
			}
			continue
		case !f.Changed:
			continue
		case c.Check:
			status = cli.Against
		case f.File != standardInput:
			if err := cli.WriteWhole(f.File, f.text); err != nil {
				p.Unsaved(cli.Cause(err, f.File), cli.MakeRoom)
				status = cli.BadInput
				continue
			}
		}
		if !c.JSON {
			fmt.Fprintln(p.Out, f.File)
		}
	}
	if c.JSON {
		return status, p.PrintJSON(struct {
			Files []formatted `json:"files"`
		}{list})
	}
	return status, nil
}

// read reads and formats a file.
func read(name string) (f formatted, err error) {
	var data []byte
	if f.File = name; name != standardInput {
		data, err = cli.ReadFile(name, cli.MostTrace)
	} else if data, err = io.ReadAll(io.LimitReader(os.Stdin, cli.MostTrace+1)); len(data) > cli.MostTrace {
		err = errors.New("it is too long")
	}
	if err != nil {
		return f, fmt.Errorf("%s; give scenarios, NAME.star, or traces, NAME.kps", cli.Cause(err, name))
	}
	if f.text, err = tidy.Format(name, data); err != nil {
		return f, err
	}
	f.Changed = !bytes.Equal(f.text, data)
	return f, nil
}

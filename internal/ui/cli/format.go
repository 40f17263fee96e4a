package cli

import (
	"io"

	"kpsim/internal/ui/verdict"
	"kpsim/internal/version"
)

// Format holds the flag of commands that judge something: they add what they have judged to Program.Judged.
type Format struct {
	Format string `json:"-" xor:"form" placeholder:"FORM" help:"Print what was judged as a CI system reads it, instead of text: ktap, junit or sarif. Progress and errors go to standard error as ever."`
}

// Form holds the flags of commands that judge, and print JSON a line each.
type Form struct {
	JSON bool `name:"json" xor:"form" help:"Print one JSON object a line."`
	Format
}

// Formats returns the value of --format; "" if it isn't given.
func (f *Format) Formats() string { return f.Format }

// A Judge is a command with the flag --format.
type Judge interface{ Formats() string }

// Judging makes the program print what a command judges, if --format was given, and nothing else. done, which is
// called with the command's exit status and its error, prints that and returns the exit status.
func (p *Program) Judging(verb string, j Judge) (done func(status int, err error) error, err error) {
	format := j.Formats()
	if format == "" {
		return func(int, error) error { return nil }, nil
	}
	if err := Known("format", format, verdict.Names()); err != nil {
		return nil, err
	}
	v := version.This()
	list := &verdict.List{Command: p.Again, Verb: verb, Version: v.Version}
	out, width, colour := p.Out, p.Width, p.Colour
	p.Judged, p.Out, p.Width, p.Colour = list, io.Discard, 0, false
	return func(status int, err error) error {
		p.Judged, p.Out, p.Width, p.Colour = nil, out, width, colour
		if says := failure(status, err, list); says != "" {
			list.Add(verdict.Case{Group: "kpsim " + verb, Name: "the command", Outcome: verdict.Errored, Says: says})
		}
		list.Status = status
		return list.Write(out, format)
	}, nil
}

// failure returns why a command's cases aren't all, "" if they are.
func failure(status int, err error, list *verdict.List) string {
	switch {
	case err != nil:
		return err.Error()
	case status == Bug:
		return "a bug of the simulator, which standard error describes: nothing was judged after it"
	case status == Interrupted, status == Terminated:
		return "interrupted: the cases are those that were judged before"
	case status == BadInput && list.Counts().Errored == 0:
		return "not everything could be done; standard error says what"
	}
	return ""
}

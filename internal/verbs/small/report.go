package small

import (
	"fmt"
	"path/filepath"
	"strings"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/small"
	"kpsim/internal/ui/cli"
)

// A Report prints what sessions show, and writes the programs that differ.
type Report struct {
	Traces string
	JSON   bool
	Line   func(file string) string // the command that shows a program
	Calls  int                      // as of the session
	Asked  int
	Brief  bool   // as part of a tour: only worlds in which something differs are printed
	Open   string // why nothing is expected; "": nothing may differ

	Programs uint64 // programs that were run
	Unknown  int    // causes that aren't known
}

// world is the result of a world, as a JSON object.
type world struct {
	World    string  `json:"world"`
	Settled  bool    `json:"optimizer_after_each_call"`
	Letters  int     `json:"calls_to_choose_from"`
	Levels   []level `json:"lengths"`
	Complete int     `json:"complete_to"`
	Before   uint64  `json:"as_without_the_change,omitempty"`
	Finds    []find  `json:"finds"`
}

type level struct {
	Calls    int    `json:"calls"`
	All      uint64 `json:"all_programs"`
	Run      uint64 `json:"run"`
	Beyond   uint64 `json:"continue_a_difference"`
	Differ   uint64 `json:"differ"`
	Complete bool   `json:"complete"`
}

type find struct {
	What     string   `json:"what"`
	After    string   `json:"in"`
	Says     string   `json:"says"`
	Known    string   `json:"known,omitempty"`
	Program  []string `json:"program"`
	Programs uint64   `json:"programs"`
	File     string   `json:"file,omitempty"`
}

// Run runs a session with its progress, and prints what it shows.
func (r *Report) Run(p *cli.Program, s *small.Session) error {
	p.Doing = "small programs"
	total, err := s.Begin()
	if err != nil {
		return err
	}
	line := p.Watch("small", total, "program")
	defer line.Clear()
	line.Part("programs", total)
	s.Progress = line.Update
	if err := s.Run(); err != nil {
		return err
	}
	line.Complete()
	line.Clear()
	if len(s.Left) > 0 && !r.JSON {
		p.Indented("", "left out, since this kernel doesn't serve them: "+strings.Join(s.Left, ", "))
	}
	for _, x := range s.Results() {
		if err := r.world(p, x); err != nil {
			return err
		}
	}
	return nil
}

func (r *Report) world(p *cli.Program, x *small.Result) error {
	out := world{World: x.World, Settled: x.Settled, Letters: x.Letters, Complete: x.Complete(), Before: x.Before,
		Finds: []find{}}
	var all, run, beyond, differ uint64
	for _, l := range x.Levels {
		out.Levels = append(out.Levels, level{l.Calls, l.Raw, l.Run, l.Beyond, l.Differ, l.Complete})
		all, run, beyond, differ = all+l.Raw, run+l.Run, beyond+l.Beyond, differ+l.Differ
	}
	r.Programs += run
	for _, f := range x.Causes() {
		one := find{What: f.What, After: f.After, Says: f.Says, Known: f.Known, Program: f.Calls, Programs: f.Programs}
		if f.Known == "" {
			r.Unknown++
			one.File = filepath.Join(r.Traces, fmt.Sprintf("small-%s-%d.star", x.World, r.Unknown))
			if err := cli.MakeFolder(r.Traces); err != nil {
				return err
			}
			if err := cli.WriteWhole(one.File, []byte(lang.Print(f.Scenario)+"\n")); err != nil {
				return fmt.Errorf("%s", cli.Cause(err, one.File))
			}
		}
		out.Finds = append(out.Finds, one)
	}
	r.judge(p, &out, run)
	if r.JSON {
		return p.PrintJSON(out)
	}
	if r.Brief && len(out.Finds) == 0 {
		return nil
	}
	how, asked := "where asked", r.Calls
	if r.Asked > 0 {
		asked = r.Asked
	}
	if x.Settled {
		how, asked = "after each call", r.Calls
	}
	p.Indented("", fmt.Sprintf("%-6s  optimizer %-15s  %s  %d of %d differ", x.World, how,
		bound(out.Complete, asked), differ, run))
	p.Indented(cli.Indent, fmt.Sprintf("%s, %s of up to %s, %d up to symmetry%s", cli.Number(x.Letters, "call"),
		cli.Number(all, "program"), cli.Number(len(x.Levels), "call"), run+beyond, rest(x, beyond)))
	for i := range out.Finds {
		r.find(p, &out.Finds[i])
	}
	return nil
}

// bound says to which length all programs were run.
func bound(complete, asked int) string {
	if complete < asked {
		return fmt.Sprintf("complete to %d, not to %d", complete, asked)
	}
	return fmt.Sprintf("complete to %d", complete)
}

// rest says which programs weren't run, and which aren't counted.
func rest(x *small.Result, beyond uint64) (s string) {
	if n := len(x.Levels); n > 0 && !x.Levels[n-1].Complete {
		s += fmt.Sprintf("; not all programs of %s were run", cli.Number(n, "call"))
	}
	if beyond > 0 {
		s += fmt.Sprintf("; %d continue one of which a call differs", beyond)
	}
	if x.Before > 0 {
		s += fmt.Sprintf("; %d differ in the same way without the change", x.Before)
	}
	return s
}

func (r *Report) find(p *cli.Program, f *find) {
	if f.Known != "" {
		p.Indented(cli.Indent, fmt.Sprintf("known: %s, %s, first %s", f.Known, cli.Number(f.Programs, "program"),
			strings.Join(f.Program, ", ")))
		return
	}
	p.Indented(cli.Indent, fmt.Sprintf("%s, in %s: %s", f.What, f.After, strings.Join(f.Program, ", ")))
	p.Indented(cli.Indent+cli.Indent, f.Says)
	if f.Programs > 1 {
		p.Indented(cli.Indent+cli.Indent, fmt.Sprintf("and %s more", cli.Number(f.Programs-1, "program")))
	}
	p.ToType("the program alone:", r.Line(f.File))
}

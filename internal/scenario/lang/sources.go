package lang

import (
	"fmt"

	"go.starlark.net/starlark"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
)

// sourceForms has a row for each parameter that a source may have: how it is written, read, and printed.
var sourceForms = [...]struct {
	name, otherwise string
	into            func(s *scenario.Source) any // the field that it goes into as it is; nil: read reads it
	read            func(v starlark.Value, s *scenario.Source) error
	print           func(p *printer, s *scenario.Source) string
}{
	scenario.SourceRun: {name: "run", otherwise: "None", read: readRun,
		print: func(p *printer, s *scenario.Source) string { return p.unless(s.Run == "", "run", p.symbols[s.Run]) }},
	scenario.SourceOpens: {name: "opens", otherwise: "False", into: func(s *scenario.Source) any { return &s.Opens },
		print: func(p *printer, s *scenario.Source) string { return p.unless(!s.Opens, "opens", "True") }},
	scenario.SourceIdle: {name: "idle", otherwise: "False", into: func(s *scenario.Source) any { return &s.Idle },
		print: func(p *printer, s *scenario.Source) string { return p.unless(!s.Idle, "idle", "True") }},
	scenario.SourceArgs: {name: "args", otherwise: "[]", read: readArgs,
		print: func(p *printer, s *scenario.Source) string {
			return p.unless(len(s.Args) == 0, "args", "["+literals(s.Args)+"]")
		}},
}

// sources returns the functions of the language that make sources of interrupts.
func sources() (list []verb) {
	for _, k := range scenario.SourceKinds {
		sig := k.Word + "(cpu, at_most = 1"
		for _, a := range k.Params {
			sig += ", " + sourceForms[a].name + " = " + sourceForms[a].otherwise
		}
		list = append(list, verb{sig: sig + ")", do: source(k), says: k.Says})
	}
	return list
}

func source(k *scenario.SourceKind) func(*loader, *call) (starlark.Value, error) {
	return func(l *loader, c *call) (starlark.Value, error) {
		s := scenario.Source{Kind: k, AtMost: 1}
		values := make([]starlark.Value, len(k.Params))
		pairs := []any{"cpu", &s.CPU, "at_most?", &s.AtMost}
		for i, a := range k.Params {
			if row := &sourceForms[a]; row.into != nil {
				pairs = append(pairs, row.name+"?", row.into(&s))
			} else {
				pairs = append(pairs, row.name+"??", &values[i])
			}
		}
		if err := c.unpack(pairs...); err != nil {
			return nil, err
		}
		for i, a := range k.Params {
			if values[i] == nil {
				continue
			}
			if err := sourceForms[a].read(values[i], &s); err != nil {
				return nil, err
			}
		}
		l.position[scenario.PartOf(scenario.TheSources, len(l.s.Sources))] = c.at
		l.s.Sources = append(l.s.Sources, s)
		return starlark.None, nil
	}
}

func readRun(v starlark.Value, s *scenario.Source) error {
	if d, ok := v.(deed); ok && d.op != nil && d.op.Kind == act.Call {
		return fmt.Errorf("run is %s; give the function, and what it is called with as args: run = %s, args = [3, 5]",
			describe(v), d.op.Target)
	}
	f, err := whole("run", v)
	s.Run = f.name
	return err
}

func readArgs(v starlark.Value, s *scenario.Source) error {
	list, err := sequence("args", v, "write [3, 5]")
	if err != nil {
		return err
	}
	for i, v := range list {
		n, err := number(fmt.Sprintf("args[%d]", i), v)
		if err != nil {
			return err
		}
		s.Args = append(s.Args, n)
	}
	return nil
}

// source prints a source. One without a kind, which Check refuses, isn't printed.
func (p *printer) source(s *scenario.Source) {
	if s.Kind == nil {
		return
	}
	args := []string{fmt.Sprintf("cpu = %d", s.CPU), p.unless(s.AtMost == 1, "at_most", fmt.Sprint(s.AtMost))}
	for _, a := range s.Kind.Params {
		args = append(args, sourceForms[a].print(p, s))
	}
	p.call(s.Kind.Word, args...)
}

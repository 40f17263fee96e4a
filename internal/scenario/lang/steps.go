package lang

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"kpsim/internal/nearest"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/smp/arch"
)

// A stepForm is how a kind of parameter of a step is written: how it is read, and printed.
type stepForm struct {
	read  func(l *loader, c *call, name string, v starlark.Value, st *scenario.Step) error
	print func(p *printer, st *scenario.Step) string
}

// stepForms has a row for each kind of parameter of steps.
var stepForms = [...]stepForm{
	scenario.StepReg: {
		read: func(l *loader, _ *call, name string, v starlark.Value, st *scenario.Step) (err error) {
			reg, _ := starlark.AsString(v)
			st.Reg, err = nearest.Lookup[arch.Reg](name, reg, l.s.Machine.Processor().RegNames)
			return err
		},
		print: func(p *printer, st *scenario.Step) string {
			return Quote(nearest.Word(p.arch.RegNames, uint8(st.Reg)))
		},
	},
	scenario.StepNumber: {
		read: func(_ *loader, _ *call, name string, v starlark.Value, st *scenario.Step) (err error) {
			st.Value, err = number(name, v)
			return err
		},
		print: func(_ *printer, st *scenario.Step) string { return literal(st.Value) },
	},
	scenario.StepAddress: {
		read: func(_ *loader, c *call, name string, v starlark.Value, st *scenario.Step) (err error) {
			p, ok := v.(location)
			switch {
			case !ok || p.what != "function":
				st.Value, err = number(name, v)
			case p.off < 0:
				return fmt.Errorf("%s: %d before %s is outside it; stay within the function", c.name, -p.off, p.name)
			default:
				st.Target, st.Value = p.name, uint64(p.off)
			}
			return err
		},
		print: func(p *printer, st *scenario.Step) string {
			if st.Target == "" {
				return literal(st.Value)
			}
			return p.place(st.Target, st.Value)
		},
	},
	scenario.StepFunc: {
		read: func(_ *loader, _ *call, name string, v starlark.Value, st *scenario.Step) error {
			f, err := functionStart(name, v)
			st.Target = f.name
			return err
		},
		print: func(p *printer, st *scenario.Step) string { return p.symbols[st.Target] },
	},
	scenario.StepData: {
		read: func(_ *loader, _ *call, name string, v starlark.Value, st *scenario.Step) error {
			d, err := dataPlace(name, v)
			st.Target, st.Off = d.name, int(d.off)
			return err
		},
		print: func(p *printer, st *scenario.Step) string { return p.place(st.Target, uint64(st.Off)) },
	},
	scenario.StepProbe: {
		read: func(_ *loader, c *call, name string, v starlark.Value, st *scenario.Step) (err error) {
			st.Target, err = c.handle(name, scenario.TheProbes, v)
			return err
		},
		print: func(p *printer, st *scenario.Step) string { return p.probeName(st.Target) },
	},
}

// steps returns the functions of the language that make only steps of handlers.
func steps() (list []verb) {
	for _, k := range scenario.Steps {
		if k.Says == "" {
			continue
		}
		var args []string
		for _, a := range k.Params {
			args = append(args, a.Name)
		}
		list = append(list, verb{sig: k.Word + "(" + strings.Join(args, ", ") + ")", do: step(k), says: k.Says,
			kernel: k.Kernel})
	}
	return list
}

// A stepArg is an argument of a step.
type stepArg struct {
	kind scenario.StepParamKind
	v    starlark.Value
}

// Unpack implements starlark.Unpacker.
func (a *stepArg) Unpack(v starlark.Value) error {
	if _, is := v.(starlark.String); a.kind == scenario.StepReg && !is {
		return fmt.Errorf("got %s, want string", v.Type())
	}
	a.v = v
	return nil
}

// step makes a step of a handler.
func step(k *scenario.StepKind) func(*loader, *call) (starlark.Value, error) {
	return func(l *loader, c *call) (starlark.Value, error) {
		args := make([]stepArg, len(k.Params))
		var pairs []any
		for i, a := range k.Params {
			args[i].kind = a.Kind
			pairs = append(pairs, a.Name, &args[i])
		}
		if err := c.unpack(pairs...); err != nil {
			return nil, err
		}
		st := &scenario.Step{Kind: k}
		for i, a := range k.Params {
			if err := stepForms[a.Kind].read(l, c, a.Name, args[i].v, st); err != nil {
				return nil, err
			}
		}
		return l.deed(c, nil, st), nil
	}
}

// handler prints the steps of a handler. A step without a kind, which Check refuses, prints as None.
func (p *printer) handler(steps []scenario.Step) string {
	if steps == nil {
		return "None"
	}
	said := make([]string, len(steps))
	for i := range steps {
		if steps[i].Kind == nil {
			said[i] = "None"
			continue
		}
		var args []string
		for _, a := range steps[i].Kind.Params {
			args = append(args, stepForms[a.Kind].print(p, &steps[i]))
		}
		said[i] = steps[i].Kind.Word + "(" + strings.Join(args, ", ") + ")"
	}
	return "[" + strings.Join(said, ", ") + "]"
}

// handler reads the steps of a handler. None is no handler, [] one that does
// nothing.
func handler(what string, v starlark.Value) ([]scenario.Step, error) {
	if v == starlark.None {
		return nil, nil
	}
	list, err := sequence(what, v, "write [count()], or None for no handler")
	if err != nil {
		return nil, err
	}
	steps := make([]scenario.Step, 0, len(list))
	for i, v := range list {
		d, ok := v.(deed)
		if ok && d.step == nil && d.op.Kind == act.Call {
			return nil, fmt.Errorf("%s[%d]: a handler's call() has no arguments, no changed, no returns and no "+
				"probed; write call(%s)", what, i, d.op.Target)
		}
		if !ok || d.step == nil {
			return nil, fmt.Errorf("%s[%d] is %s; a step is one of %s", what, i, describe(v),
				nearest.Quoted(scenario.StepWords()))
		}
		*d.used = true
		steps = append(steps, *d.step)
	}
	return steps, nil
}

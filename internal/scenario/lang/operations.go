package lang

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"kpsim/internal/nearest"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
)

// A form is how a kind of parameter of an operation is written: how it is read, and printed.
type form struct {
	// into is the field that the value goes into as it is; nil: read reads it.
	into func(op *scenario.Op) any
	read func(c *call, a scenario.Param, v starlark.Value, op *scenario.Op) error

	// print returns the arguments of an operation as they are written, none if they are left out.
	print func(p *printer, _ scenario.Param, op *scenario.Op) []string

	otherwise string // its default, as it is written in the signature; "": it is required
	none      bool   // None stands for the default
}

// functionOrNone is the form of a function that may be left out, whose name goes into a field.
func functionOrNone(field func(op *scenario.Op) *string) form {
	return form{
		otherwise: "None", none: true,
		read: func(_ *call, a scenario.Param, v starlark.Value, op *scenario.Op) error {
			f, err := functionStart(a.Name, v)
			*field(op) = f.name
			return err
		},
		print: func(p *printer, a scenario.Param, op *scenario.Op) []string {
			name := *field(op)
			return only(name != "", a.Name+" = "+p.symbols[name])
		},
	}
}

// forms has a row for each kind of parameter of operations.
var forms = [...]form{
	scenario.ParamPart: {
		read: func(c *call, a scenario.Param, v starlark.Value, op *scenario.Op) (err error) {
			op.Target, err = c.handle(a.Name, a.Of, v)
			return err
		},
		print: func(p *printer, a scenario.Param, op *scenario.Op) []string {
			return []string{p.parts[handle{list: a.Of, name: op.Target}]}
		},
	},
	scenario.ParamParts: {
		read: readParts,
		print: func(p *printer, a scenario.Param, op *scenario.Op) []string {
			return []string{bracketed(op.Targets, func(name string) string {
				return p.parts[handle{list: a.Of, name: name}]
			})}
		},
	},
	scenario.ParamFunc: {
		read:  readFunc,
		print: func(p *printer, _ scenario.Param, op *scenario.Op) []string { return []string{p.symbols[op.Target]} },
	},
	scenario.ParamInsn: {
		read: func(_ *call, a scenario.Param, v starlark.Value, op *scenario.Op) error {
			at, err := function(a.Name, v)
			op.Target, op.Offset = at.name, int(at.off)
			return err
		},
		print: printPlace,
	},
	scenario.ParamData: {
		read: func(_ *call, a scenario.Param, v starlark.Value, op *scenario.Op) error {
			d, err := dataPlace(a.Name, v)
			op.Target, op.Offset = d.name, int(d.off)
			return err
		},
		print: printPlace,
	},
	scenario.ParamBytes: {
		read: func(_ *call, a scenario.Param, v starlark.Value, op *scenario.Op) (err error) {
			op.Bytes, err = bytesOf(a.Name, "", v)
			return err
		},
		print: func(_ *printer, _ scenario.Param, op *scenario.Op) []string { return []string{dataString(op.Bytes)} },
	},
	scenario.ParamFuncs: {
		read: func(_ *call, a scenario.Param, v starlark.Value, op *scenario.Op) error {
			fs, err := wholes(a.Name, v)
			if err != nil {
				return err
			}
			for i, f := range fs {
				if i == 0 {
					op.Target, op.Targets = f, []string{""}
				} else {
					op.Targets = append(op.Targets, f, "")
				}
			}
			return nil
		},
		print: func(p *printer, _ scenario.Param, op *scenario.Op) []string {
			var from []string
			op.Pairs(func(f, _ string) { from = append(from, f) })
			return []string{several(p, from)}
		},
	},
	scenario.ParamIntos: {
		read: func(_ *call, a scenario.Param, v starlark.Value, op *scenario.Op) error {
			gs, err := wholes(a.Name, v)
			if err != nil {
				return err
			}
			if n := (len(op.Targets) + 1) / 2; len(gs) != n {
				return fmt.Errorf("%d functions go on in %d others; give each its own", n, len(gs))
			}
			for i, g := range gs {
				op.Targets[2*i] = g
			}
			return nil
		},
		print: func(p *printer, _ scenario.Param, op *scenario.Op) []string {
			var to []string
			op.Pairs(func(_, g string) { to = append(to, g) })
			return []string{several(p, to)}
		},
	},
	scenario.ParamInto: {
		read: func(_ *call, a scenario.Param, v starlark.Value, op *scenario.Op) error {
			g, err := functionStart(a.Name, v)
			op.Targets = []string{g.name}
			return err
		},
		print: func(p *printer, _ scenario.Param, op *scenario.Op) []string {
			return []string{p.symbols[op.Targets[0]]}
		},
	},
	scenario.ParamCallee: {
		read: func(_ *call, a scenario.Param, v starlark.Value, op *scenario.Op) error {
			if v == starlark.None {
				return nil
			}
			g, err := functionStart(a.Name, v)
			op.Targets = []string{g.name}
			return err
		},
		print: func(p *printer, _ scenario.Param, op *scenario.Op) []string {
			if len(op.Targets) == 0 {
				return []string{"None"}
			}
			return []string{p.symbols[op.Targets[0]]}
		},
	},
	scenario.ParamOn: {
		into:  func(op *scenario.Op) any { return &op.On },
		print: func(_ *printer, _ scenario.Param, op *scenario.Op) []string { return []string{truth(op.On)} },
	},
	scenario.ParamCPU: {
		into:  func(op *scenario.Op) any { return &op.CPU },
		print: func(_ *printer, _ scenario.Param, op *scenario.Op) []string { return []string{fmt.Sprint(op.CPU)} },
	},
	scenario.ParamDownFails: fails(true),
	scenario.ParamUpFails:   fails(false),
	scenario.ParamArgs: {
		print: func(_ *printer, _ scenario.Param, op *scenario.Op) (args []string) {
			for _, a := range op.Args {
				args = append(args, literal(a))
			}
			return args
		},
	},
	scenario.ParamChanged: {
		into: func(op *scenario.Op) any { return &op.Changed }, otherwise: "False",
		print: func(_ *printer, _ scenario.Param, op *scenario.Op) []string {
			return only(op.Changed, "changed = True")
		},
	},
	scenario.ParamReturns: {otherwise: "None", none: true, read: readReturns, print: printReturns},
	scenario.ParamBits: {
		into: func(op *scenario.Op) any { op.Bits = 64; return &op.Bits }, otherwise: "64",
		print: func(_ *printer, _ scenario.Param, op *scenario.Op) []string {
			return only(op.Checked && op.Bits != 64, fmt.Sprintf("bits = %d", op.Bits))
		},
	},
	scenario.ParamErrno: {
		otherwise: "None", none: true,
		read: func(_ *call, _ scenario.Param, v starlark.Value, op *scenario.Op) (err error) {
			op.Checked = true
			op.Returns, err = errnoOf(v)
			return err
		},
		print: func(_ *printer, _ scenario.Param, op *scenario.Op) []string { return errnoWords(op) },
	},
	scenario.ParamPlace: {
		read: func(_ *call, a scenario.Param, v starlark.Value, op *scenario.Op) error {
			at, err := function(a.Name, v)
			op.Target, op.Offset = at.name, int(at.off)
			return err
		},
		print: printPlace,
	},
	scenario.ParamWritten: {read: readWritten, print: printWritten},
	scenario.ParamBy: {
		into: func(op *scenario.Op) any { return &op.By }, otherwise: "0",
		print: func(_ *printer, _ scenario.Param, op *scenario.Op) []string {
			return only(op.By != 0, fmt.Sprintf("by = %d", op.By))
		},
	},
	scenario.ParamOld: {
		otherwise: "None", none: true,
		read: func(c *call, a scenario.Param, v starlark.Value, op *scenario.Op) (err error) {
			op.Old, err = c.l.codeOf(a.Name, "", v)
			return err
		},
		print: func(p *printer, _ scenario.Param, op *scenario.Op) []string {
			return only(op.Old != nil, "old = "+p.partsOf(op.Old))
		},
	},
	scenario.ParamText: {
		read: func(c *call, a scenario.Param, v starlark.Value, op *scenario.Op) (err error) {
			op.Bytes, err = c.l.codeOf(a.Name, "", v)
			return err
		},
		print: func(p *printer, _ scenario.Param, op *scenario.Op) []string { return []string{p.partsOf(op.Bytes)} },
	},
	scenario.ParamBlock: {
		read: func(_ *call, a scenario.Param, v starlark.Value, op *scenario.Op) error {
			d, err := block(a.Name, v)
			op.Targets = []string{d}
			return err
		},
		print: func(p *printer, _ scenario.Param, op *scenario.Op) []string {
			return []string{p.symbols[op.Targets[0]]}
		},
	},
	scenario.ParamSize: {
		into:  func(op *scenario.Op) any { return &op.Size },
		print: func(_ *printer, _ scenario.Param, op *scenario.Op) []string { return []string{fmt.Sprint(op.Size)} },
	},
	scenario.ParamStacks: {
		into: func(op *scenario.Op) any { return &op.On }, otherwise: "False",
		print: func(_ *printer, _ scenario.Param, op *scenario.Op) []string { return only(op.On, "stacks = True") },
	},
	scenario.ParamCPUs: {
		otherwise: "None", none: true, read: readCPUs,
		print: func(_ *printer, _ scenario.Param, op *scenario.Op) []string {
			return only(op.CPUs != 0, "cpus = "+bracketed(bitsIn(op.CPUs), func(c string) string { return c }))
		},
	},
	scenario.ParamAwaited: {
		read: func(_ *call, a scenario.Param, v starlark.Value, op *scenario.Op) error {
			word, ok := starlark.AsString(v)
			i := slices.Index(scenario.AwaitedWords, word)
			if !ok || i < 0 {
				return fmt.Errorf("%s: %q is nothing to wait for; %s", a.Name, word,
					nearest.OrAll(word, scenario.AwaitedWords))
			}
			op.Awaited = scenario.Awaited(i)
			return nil
		},
		print: func(_ *printer, _ scenario.Param, op *scenario.Op) []string {
			return []string{Quote(op.Awaited.String())}
		},
	},
	scenario.ParamGoto: {
		otherwise: "None", none: true,
		read: func(_ *call, a scenario.Param, v starlark.Value, op *scenario.Op) error {
			at, err := function(a.Name, v)
			op.Targets, op.Into = []string{at.name}, int(at.off)
			return err
		},
		print: func(p *printer, a scenario.Param, op *scenario.Op) []string {
			if len(op.Targets) == 0 {
				return nil
			}
			return []string{a.Name + " = " + p.place(op.Targets[0], uint64(op.Into))}
		},
	},
	scenario.ParamRetry: {
		into: func(op *scenario.Op) any { return &op.On }, otherwise: "False",
		print: func(_ *printer, _ scenario.Param, op *scenario.Op) []string { return only(op.On, "retry = True") },
	},
	scenario.ParamLinks: {
		into: func(op *scenario.Op) any { return &op.Links }, otherwise: "False",
		print: func(_ *printer, _ scenario.Param, op *scenario.Op) []string { return only(op.Links, "links = True") },
	},
	scenario.ParamStopped: {
		into: func(op *scenario.Op) any { return &op.On }, otherwise: "False",
		print: func(_ *printer, _ scenario.Param, op *scenario.Op) []string { return only(op.On, "stopped = True") },
	},
	scenario.ParamProbed: {
		into: func(op *scenario.Op) any { return &op.On }, otherwise: "False",
		print: func(_ *printer, _ scenario.Param, op *scenario.Op) []string { return only(op.On, "probed = True") },
	},
	scenario.ParamCount: {
		otherwise: "None", none: true,
		read: func(_ *call, a scenario.Param, v starlark.Value, op *scenario.Op) error {
			n, err := starlark.AsInt32(v)
			if err != nil {
				return fmt.Errorf("%s: %.40s is no count; write %s = 1", a.Name, v.String(), a.Name)
			}
			op.Counts[slices.Index(scenario.CountWords, a.Name)] = n + 1
			return nil
		},
		print: func(_ *printer, a scenario.Param, op *scenario.Op) []string {
			n := op.Counts[slices.Index(scenario.CountWords, a.Name)]
			return only(n != 0, fmt.Sprintf("%s = %d", a.Name, n-1))
		},
	},
	scenario.ParamNop: functionOrNone(func(op *scenario.Op) *string { return &op.At }),
	scenario.ParamProcess: {
		into: func(op *scenario.Op) any { return &op.Process }, otherwise: "0",
		print: func(_ *printer, a scenario.Param, op *scenario.Op) []string { return counted(a, op.Process) },
	},
	scenario.ParamRecurses: {
		into: func(op *scenario.Op) any { return &op.Recurses }, otherwise: "0",
		print: func(_ *printer, a scenario.Param, op *scenario.Op) []string { return counted(a, op.Recurses) },
	},
	scenario.ParamLeaves: {
		into: func(op *scenario.Op) any { return &op.Leaves }, otherwise: "0",
		print: func(_ *printer, a scenario.Param, op *scenario.Op) []string { return counted(a, op.Leaves) },
	},
	scenario.ParamRet: functionOrNone(func(op *scenario.Op) *string { return &op.Ret }),
	scenario.ParamSkips: {
		otherwise: "None", none: true,
		read: func(_ *call, a scenario.Param, v starlark.Value, op *scenario.Op) (err error) {
			op.Skips, err = readSet(a, v, "process", "if none is skipped")
			return err
		},
		print: func(_ *printer, a scenario.Param, op *scenario.Op) []string {
			return only(op.Skips != 0, a.Name+" = "+bracketed(bitsIn(op.Skips), func(n string) string { return n }))
		},
	},
	scenario.ParamRemoves: {
		into: func(op *scenario.Op) any { return &op.Removes }, otherwise: "False",
		print: func(_ *printer, _ scenario.Param, op *scenario.Op) []string {
			return only(op.Removes, "removes = True")
		},
	},
	scenario.ParamCalls: {
		otherwise: "None", none: true,
		read: func(_ *call, a scenario.Param, v starlark.Value, op *scenario.Op) error {
			f, err := functionStart(a.Name, v)
			op.Calls = f.name
			return err
		},
		print: func(p *printer, a scenario.Param, op *scenario.Op) []string {
			return only(op.Calls != "", a.Name+" = "+p.symbols[op.Calls])
		},
	},
}

// operations returns the functions of the language that make operations.
func operations() (list []verb) {
	for _, k := range act.All() {
		list = append(list, verb{sig: signature(k), do: operation(k), says: k.Says, kernel: k.Kernel})
	}
	return list
}

// signature returns how an operation is written.
func signature(k *scenario.Operation) string {
	args := make([]string, len(k.Params))
	for i, a := range k.Params {
		switch row := &forms[a.Kind]; {
		case a.Kind == scenario.ParamArgs:
			args[i] = "*" + a.Name
		case row.otherwise != "":
			args[i] = a.Name + " = " + row.otherwise
		default:
			args[i] = a.Name
		}
	}
	return k.Word + "(" + strings.Join(args, ", ") + ")"
}

// operation makes an operation of a task, and the step of a handler that does the same.
func operation(k *scenario.Operation) func(*loader, *call) (starlark.Value, error) {
	return func(l *loader, c *call) (starlark.Value, error) {
		op := &scenario.Op{Kind: k}
		if err := c.readParams(k, op); err != nil {
			return nil, err
		}
		d := l.deed(c, op, nil)
		if k.Step != nil && len(op.Args) == 0 && !op.Changed && !op.Checked && !op.On {
			d.step = &scenario.Step{Kind: k.Step, Target: op.Target}
		}
		return d, nil
	}
}

// readParams reads the parameters of an operation.
func (c *call) readParams(k *scenario.Operation, op *scenario.Op) error {
	named, rest := *c, starlark.Tuple(nil)
	if n := slices.IndexFunc(k.Params, func(a scenario.Param) bool { return a.Kind == scenario.ParamArgs }); n >= 0 {
		if len(c.args) < n {
			return fmt.Errorf("%s: missing argument for %s; write %s", c.name, k.Params[len(c.args)].Name, c.sig)
		}
		named.args, rest = c.args[:n], c.args[n:]
	}
	values := make([]starlark.Value, len(k.Params))
	var pairs []any
	for i, a := range k.Params {
		row := &forms[a.Kind]
		name, to := a.Name, any(&values[i])
		switch {
		case a.Kind == scenario.ParamArgs:
			continue
		case row.none:
			name += "??"
		case row.otherwise != "":
			name += "?"
		}
		if row.into != nil {
			to = row.into(op)
		}
		pairs = append(pairs, name, to)
	}
	if err := named.unpack(pairs...); err != nil {
		return err
	}
	for i, a := range k.Params {
		if row := &forms[a.Kind]; values[i] != nil {
			if err := row.read(c, a, values[i], op); err != nil {
				return err
			}
		}
	}
	for i, v := range rest {
		n, err := number(fmt.Sprintf("argument %d", i+1), v)
		if err != nil {
			return err
		}
		op.Args = append(op.Args, n)
	}
	return bitsOf(c, op)
}

// bitsOf checks that bits are given only with the expected result.
func bitsOf(c *call, op *scenario.Op) error {
	switch {
	case op.Checked || op.Bits == 0:
		return nil
	case op.Bits != 64:
		return fmt.Errorf("%s: bits = %d says how many bits of the result count; give returns too", c.name, op.Bits)
	}
	op.Bits = 0
	return nil
}

// op prints an operation. A value without a kind, which Check refuses, prints as text that isn't
// in the language.
func (p *printer) op(op *scenario.Op) string {
	if op.Kind == nil {
		return "None"
	}
	var args []string
	for _, a := range op.Kind.Params {
		args = append(args, forms[a.Kind].print(p, a, op)...)
	}
	return op.Kind.Word + "(" + strings.Join(args, ", ") + ")"
}

func truth(is bool) string {
	if is {
		return "True"
	}
	return "False"
}

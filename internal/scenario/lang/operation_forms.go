package lang

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"kpsim/internal/nearest"
	"kpsim/internal/scenario"
	"kpsim/smp/smpev"
)

// only returns a list of one argument, or of none.
func only(is bool, arg string) []string {
	if !is {
		return nil
	}
	return []string{arg}
}

// printPlace prints a place in a function or in data.
func printPlace(p *printer, _ scenario.Param, op *scenario.Op) []string {
	return []string{p.place(op.Target, uint64(op.Offset))}
}

// several prints a function, or a list of them.
func several(p *printer, names []string) string {
	if len(names) == 1 {
		return p.symbols[names[0]]
	}
	return bracketed(names, func(name string) string { return p.symbols[name] })
}

// fails returns the form of a step of cpu_down, or of cpu_up, that fails.
func fails(going bool) form {
	return form{
		otherwise: "None", none: true,
		read: func(_ *call, a scenario.Param, v starlark.Value, op *scenario.Op) error {
			words := scenario.FailWords(going)
			word, ok := starlark.AsString(v)
			i := slices.Index(words, word)
			if !ok || i < 0 {
				return fmt.Errorf("%s: there is no step %q that can fail; %s", a.Name, word, nearest.OrAll(word, words))
			}
			op.Fails = smpev.CPUSteps(going)[i]
			return nil
		},
		print: func(_ *printer, _ scenario.Param, op *scenario.Op) []string {
			return only(op.Fails != smpev.CPUStepNone, "fails = "+Quote(op.Fails.String()))
		},
	}
}

func readFunc(_ *call, a scenario.Param, v starlark.Value, op *scenario.Op) error {
	f, err := functionStart(a.Name, v)
	op.Target = f.name
	return err
}

func readParts(c *call, a scenario.Param, v starlark.Value, op *scenario.Op) error {
	list, err := sequence(a.Name, v, "write [k, m]")
	if err != nil {
		return err
	}
	for i, k := range list {
		name, err := c.handle(fmt.Sprintf("%s[%d]", a.Name, i), a.Of, k)
		if err != nil {
			return err
		}
		op.Targets = append(op.Targets, name)
	}
	return nil
}

// wholes are functions: one, or a list.
func wholes(what string, v starlark.Value) (names []string, err error) {
	list := []starlark.Value{v}
	if _, many := v.(*starlark.List); many {
		if list, err = sequence(what, v, "write [f, g]"); err == nil && len(list) == 0 {
			err = fmt.Errorf("%s has no function; write [f, g]", what)
		}
	}
	for _, v := range list {
		f, err := functionStart(what, v)
		if err != nil {
			return nil, err
		}
		names = append(names, f.name)
	}
	return names, err
}

// readReturns reads the right result of a call, or those that are right.
func readReturns(_ *call, a scenario.Param, v starlark.Value, op *scenario.Op) error {
	right := []starlark.Value{v}
	if list, ok := v.(starlark.Iterable); ok {
		if right = slices.Collect(starlark.Elements(list)); len(right) == 0 {
			return fmt.Errorf("%s is empty; give the right results, or leave it out", a.Name)
		}
	}
	op.Checked = true
	for i, v := range right {
		n, err := number(a.Name, v)
		if err != nil {
			return err
		}
		if is, ok := v.(starlark.Int); ok && is.Sign() < 0 && op.Bits > 0 && op.Bits < 64 {
			n &= 1<<op.Bits - 1 // -1 in 16 bits is 0xffff
		}
		if i == 0 {
			op.Returns = n
		} else {
			op.Or = append(op.Or, n)
		}
	}
	return nil
}

func printReturns(_ *printer, _ scenario.Param, op *scenario.Op) []string {
	if op.Or == nil {
		return only(op.Checked, "returns = "+literal(op.Returns))
	}
	right := []string{literal(op.Returns)}
	for _, v := range op.Or {
		right = append(right, literal(v))
	}
	return only(op.Checked, "returns = ["+strings.Join(right, ", ")+"]")
}

package lang

import (
	"fmt"
	setbits "math/bits"
	"strconv"

	"go.starlark.net/starlark"

	"kpsim/internal/scenario"
)

// A written is what a write stores, if its bytes are of the run.
type written struct {
	inert
	form   scenario.Form
	target string
	into   int64
}

func (w written) String() string { return w.form.String() + "(" + w.target + ")" }
func (w written) Type() string   { return w.form.String() + "()" }

// writtenSays are the texts of the functions of the language that make them, by form.
var writtenSays = [...]string{
	scenario.FormJump: "what a `write` stores: a jump to `f`, or `f + 4`, from where it is written: 5 bytes; on " +
		"arm64 and ppc64le 4, on riscv64 8 (auipc and jalr)",
	scenario.FormCall: "a call of `f`, as long; on riscv64 it links t0, as ftrace's sites do, so that a function " +
		"that returns by ra goes back to the caller of the site's function",
	scenario.FormDisplacement: "the displacement of such a jump or call, whose first byte stands before it: 4 bytes, " +
		"`write(g + 1, displacement(f))`",
	scenario.FormAddress: "the address of `f`, as an immediate has it: 8 bytes",
	scenario.FormSaved:   "what the data `d` hold then, as `save_text` has left them",
}

func writtenForms() (list []verb) {
	for form := scenario.FormJump; form <= scenario.FormSaved; form++ {
		arg := "f"
		if form == scenario.FormSaved {
			arg = "d"
		}
		list = append(list, verb{sig: form.String() + "(" + arg + ")", says: writtenSays[form],
			do: func(_ *loader, c *call) (starlark.Value, error) {
				var v starlark.Value
				if err := c.unpack(arg, &v); err != nil {
					return nil, err
				}
				if form == scenario.FormSaved {
					d, err := block(arg, v)
					return written{form: form, target: d}, err
				}
				at, err := function(arg, v)
				return written{form: form, target: at.name, into: at.off}, err
			}})
	}
	return list
}

// block reads data as a whole.
func block(what string, v starlark.Value) (string, error) {
	d, err := dataPlace(what, v)
	if err == nil && d.off != 0 {
		err = fmt.Errorf("%s is %s; give the data as a whole", what, d)
	}
	return d.name, err
}

func readWritten(c *call, a scenario.Param, v starlark.Value, op *scenario.Op) (err error) {
	if w, is := v.(written); is {
		op.Form, op.Targets, op.Into = w.form, []string{w.target}, int(w.into)
		return nil
	}
	op.Bytes, err = c.l.codeOf(a.Name, "", v)
	return err
}

func printWritten(p *printer, _ scenario.Param, op *scenario.Op) []string {
	if op.Form == scenario.FormBytes {
		return []string{p.partsOf(op.Bytes)}
	}
	return []string{op.Form.String() + "(" + p.place(op.Targets[0], uint64(op.Into)) + ")"}
}

// readCPUs reads a CPU, or a list of them.
func readCPUs(_ *call, a scenario.Param, v starlark.Value, op *scenario.Op) (err error) {
	op.CPUs, err = readSet(a, v, "CPU", "for all")
	return err
}

// readSet reads a number, or a list of them, of things of a sort; none says what it means that it is left out.
func readSet(a scenario.Param, v starlark.Value, sort, none string) (set uint64, err error) {
	list, err := sequence(a.Name, v, "write [0, 1]")
	if err != nil {
		return 0, err
	}
	for _, v := range list {
		n, err := starlark.AsInt32(v)
		if err != nil || n < 0 || n > 63 {
			return 0, fmt.Errorf("%s: %.40s is no %s; write [0, 1]", a.Name, v.String(), sort)
		}
		set |= 1 << n
	}
	if set == 0 {
		return 0, fmt.Errorf("%s has no %s; leave it out, %s, or write [0, 1]", a.Name, sort, none)
	}
	return set, nil
}

// counted prints a number that is 0 where it is left out.
func counted(a scenario.Param, n int) []string {
	return only(n != 0, fmt.Sprintf("%s = %d", a.Name, n))
}

// bitsIn returns the numbers of a set.
func bitsIn(set uint64) (list []string) {
	for ; set != 0; set &= set - 1 {
		list = append(list, strconv.Itoa(setbits.TrailingZeros64(set)))
	}
	return list
}

package lang

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"kpsim/internal/nearest"
	"kpsim/internal/scenario"
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
)

func (l *loader) doCall(c *call) (starlark.Value, error) {
	op := scenario.Op{Kind: scenario.OpCall}
	if len(c.args) == 0 {
		return nil, fmt.Errorf("call: missing argument for f; write %s", c.sig)
	}
	named := *c
	named.args = nil
	var returns starlark.Value
	bits := 64
	if err := named.unpack("changed?", &op.Changed, "returns??", &returns, "bits?", &bits); err != nil {
		return nil, err
	}
	f, err := whole("f", c.args[0])
	if err != nil {
		return nil, err
	}
	op.Target = f.name
	for i, v := range c.args[1:] {
		n, err := number(fmt.Sprintf("argument %d", i+1), v)
		if err != nil {
			return nil, err
		}
		op.Args = append(op.Args, n)
	}
	if returns != nil {
		if op.Returns, err = number("returns", returns); err != nil {
			return nil, err
		}
		op.Checked, op.Bits = true, bits
		if i, ok := returns.(starlark.Int); ok && i.Sign() < 0 && bits > 0 && bits < 64 {
			op.Returns &= 1<<bits - 1 // -1 in 16 bits is 0xffff
		}
	} else if bits != 64 {
		return nil, fmt.Errorf("call: bits = %d says how many bits of the result count; give returns too", bits)
	}
	d := c.deed(&op, nil)
	if len(op.Args) == 0 && !op.Changed && !op.Checked {
		d.step = &scenario.Step{Kind: scenario.StepCall, Func: f.name}
	}
	return d, nil
}

func (l *loader) doExpect(c *call) (starlark.Value, error) {
	var v, hex starlark.Value
	if err := c.unpack("d", &v, "hex", &hex); err != nil {
		return nil, err
	}
	d, ok := v.(location)
	if !ok || d.what != "data" {
		return nil, fmt.Errorf("d is %s; give data, as data() returns it", describe(v))
	}
	op := scenario.Op{Kind: scenario.OpExpect, Target: d.name, Offset: int(d.off)}
	var err error
	if op.Bytes, err = bytesOf("expect", hex); err != nil {
		return nil, err
	}
	return c.deed(&op, nil), nil
}

// errnoOf reads 0, or the name of an errno.
func errnoOf(v starlark.Value) (uint64, error) {
	name, ok := starlark.AsString(v)
	if n, isInt := v.(starlark.Int); isInt && n.Sign() == 0 {
		return 0, nil
	}
	var names []string
	for _, e := range kpev.Errnos {
		if ok && e.Name == name {
			return e.N, nil
		}
		names = append(names, e.Name)
	}
	return 0, fmt.Errorf("errno = %.40s isn't known; it is 0, which is success, or one of %s", v.String(), nearest.Quoted(names))
}

// onOff makes an operation that switches something.
func onOff(kind scenario.OpKind) func(*loader, *call) (starlark.Value, error) {
	return func(_ *loader, c *call) (starlark.Value, error) {
		op := scenario.Op{Kind: kind}
		err := c.unpack("on", &op.On)
		return c.deed(&op, nil), err
	}
}

// plain makes an operation without a target.
func plain(kind scenario.OpKind) func(*loader, *call) (starlark.Value, error) {
	return func(_ *loader, c *call) (starlark.Value, error) {
		return c.deed(&scenario.Op{Kind: kind}, nil), c.unpack()
	}
}

// onCPU makes an operation on a CPU.
func onCPU(kind scenario.OpKind) func(*loader, *call) (starlark.Value, error) {
	return func(_ *loader, c *call) (starlark.Value, error) {
		op := scenario.Op{Kind: kind}
		var fails string
		if err := c.unpack("cpu", &op.CPU, "fails??", &fails); err != nil {
			return nil, err
		}
		if fails == "" {
			return c.deed(&op, nil), nil
		}
		going := kind == scenario.OpOffline
		words := scenario.FailWords(going)
		i := slices.Index(words, fails)
		if i < 0 {
			return nil, fmt.Errorf("fails: there is no step %q that can fail; %s", fails, nearest.OrAll(fails, words))
		}
		op.Fails = smpev.CPUSteps(going)[i]
		return c.deed(&op, nil), nil
	}
}

// onFunc makes an operation on a function that is called later, as a work of the kernel's, or by
// what the operation goes through.
func onFunc(kind scenario.OpKind) func(*loader, *call) (starlark.Value, error) {
	return func(_ *loader, c *call) (starlark.Value, error) {
		var v starlark.Value
		if err := c.unpack("f", &v); err != nil {
			return nil, err
		}
		f, err := whole("f", v)
		if err != nil {
			return nil, err
		}
		return c.deed(&scenario.Op{Kind: kind, Target: f.name}, nil), nil
	}
}

// onProbe makes a call of the probes' API: an operation, or what a handler may not
// do and yet does.
func onProbe(kind scenario.OpKind) func(*loader, *call) (starlark.Value, error) {
	return func(_ *loader, c *call) (starlark.Value, error) {
		var k starlark.Value
		op := scenario.Op{Kind: kind}
		err := c.answered(&op, "k", &k)
		if err != nil {
			return nil, err
		}
		if op.Target, err = c.handle("probe", "kprobe", k); err != nil {
			return nil, err
		}
		d := c.deed(&op, nil)
		if !op.Checked {
			d.step = &scenario.Step{Kind: scenario.StepRegister + scenario.StepKind(kind-scenario.OpRegister), Func: op.Target}
		}
		return d, nil
	}
}

// onProbes makes a call of the API for arrays.
func onProbes(kind scenario.OpKind) func(*loader, *call) (starlark.Value, error) {
	return func(_ *loader, c *call) (starlark.Value, error) {
		var ks starlark.Value
		op := scenario.Op{Kind: kind}
		err := c.answered(&op, "ks", &ks)
		if err != nil {
			return nil, err
		}
		list, err := sequence("ks", ks, "write [k, m]")
		if err != nil {
			return nil, err
		}
		for _, k := range list {
			name, err := c.handle("probe", "kprobe", k)
			if err != nil {
				return nil, err
			}
			op.Targets = append(op.Targets, name)
		}
		return c.deed(&op, nil), nil
	}
}

// answered reads one argument, and errno.
func (c *call) answered(op *scenario.Op, param string, v *starlark.Value) (err error) {
	var errno starlark.Value
	if err := c.unpack(param, v, "errno??", &errno); err != nil {
		return err
	}
	if errno != nil {
		op.Checked = true
		op.Returns, err = errnoOf(errno)
	}
	return err
}

func onLabel(kind scenario.OpKind) func(*loader, *call) (starlark.Value, error) {
	return onHandle(kind, "l", "label", "jump_label")
}

func onHandle(kind scenario.OpKind, param, what, maker string) func(*loader, *call) (starlark.Value, error) {
	return func(_ *loader, c *call) (starlark.Value, error) {
		var v starlark.Value
		if err := c.unpack(param, &v); err != nil {
			return nil, err
		}
		name, err := c.handle(what, maker, v)
		return c.deed(&scenario.Op{Kind: kind, Target: name}, nil), err
	}
}

// handle reads a probe or a label and returns its name.
func (c *call) handle(what, maker string, v starlark.Value) (string, error) {
	if name, ok := starlark.AsString(v); ok {
		return name, nil // of one that is made further down
	}
	h, ok := v.(handle)
	if !ok || h.what != what {
		return "", fmt.Errorf("%s takes a %s, not %s; give it what %s() returned", c.name, what, describe(v), maker)
	}
	return h.name, nil
}

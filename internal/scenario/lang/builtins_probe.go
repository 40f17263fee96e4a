package lang

import (
	"fmt"

	"go.starlark.net/starlark"

	"kpsim/internal/nearest"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
)

// A handlerArg is a handler among the arguments of a probe.
type handlerArg struct {
	name string
	v    starlark.Value
	to   *[]scenario.Step
}

// addProbe reads what is left of the call that makes a probe, and adds it.
func (l *loader) addProbe(c *call, k *scenario.Probe, more []any, handlers ...handlerArg) (starlark.Value, error) {
	var at starlark.Value
	pairs := []any{"name", &k.Name, "at??", &at}
	for i := range handlers {
		pairs = append(pairs, handlers[i].name+"?", &handlers[i].v)
	}
	pairs = append(append(pairs, more...), "symbol??", &k.Symbol, "offset?", &k.Offset, "disabled?", &k.Disabled)
	err := c.unpack(pairs...)
	if err != nil {
		return nil, err
	}
	switch {
	case at != nil:
		if k.Func, k.Offset, err = site("at", at, k.Offset); err != nil {
			return nil, err
		}
	case k.Symbol == "":
		return nil, fmt.Errorf("%s: nothing says where %q is; give at = f, or symbol = \"f\"", c.name, k.Name)
	}
	for _, h := range handlers {
		if h.v == nil {
			continue // it has its default
		}
		if *h.to, err = handler(h.name, h.v); err != nil {
			return nil, err
		}
	}
	l.position[scenario.PartOf(scenario.TheProbes, len(l.s.Probes))] = c.at
	l.s.Probes = append(l.s.Probes, *k)
	return handle{what: "probe", name: k.Name}, nil
}

func counting() []scenario.Step { return []scenario.Step{{Kind: scenario.StepCount}} }

func (l *loader) doKprobe(c *call) (starlark.Value, error) {
	k := scenario.Probe{Pre: counting()}
	c.order(&c.args, "name", "at", "offset", "pre", "post", "fault", "symbol", "disabled")
	return l.addProbe(c, &k, nil, handlerArg{name: "pre", to: &k.Pre}, handlerArg{name: "post", to: &k.Post},
		handlerArg{name: "fault", to: &k.Fault})
}

func (l *loader) doKretprobe(c *call) (starlark.Value, error) {
	k := scenario.Probe{Kind: scenario.ProbeKretprobe, Post: counting()}
	return l.addProbe(c, &k, []any{"maxactive?", &k.Maxactive, "data_size?", &k.DataSize},
		handlerArg{name: "handler", to: &k.Post}, handlerArg{name: "entry", to: &k.Pre})
}

func (l *loader) doJprobe(c *call) (starlark.Value, error) {
	k := scenario.Probe{Kind: scenario.ProbeJprobe}
	var entry starlark.Value
	p, err := l.addProbe(c, &k, []any{"entry", &entry})
	if err != nil {
		return nil, err
	}
	if entry == nil { // after an argument that may be left out UnpackArgs takes it for one, too
		return nil, fmt.Errorf("jprobe: missing argument for entry; write %s", c.sig)
	}
	to := &l.s.Probes[len(l.s.Probes)-1]
	if _, ok := entry.(*starlark.List); ok {
		to.Pre, err = handler("entry", entry)
		return p, err
	}
	f, err := whole("entry", entry)
	if err != nil {
		return nil, fmt.Errorf("%w; or a list of steps, as entry = [count()]", err)
	}
	to.Entry = f.name
	return p, nil
}

// order names the positional arguments of a call, so that they can be read in another order.
func (c *call) order(args *starlark.Tuple, names ...string) {
	for i := range min(len(*args), len(names)) {
		c.kwargs = append(c.kwargs, starlark.Tuple{starlark.String(names[i]), (*args)[i]})
	}
	*args = (*args)[min(len(*args), len(names)):]
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
			return nil, fmt.Errorf("%s[%d]: a handler's call() has no arguments, no changed and no returns; "+
				"write call(%s)", what, i, d.op.Target)
		}
		if !ok || d.step == nil {
			return nil, fmt.Errorf("%s[%d] is %s; a step is one of %s", what, i, describe(v),
				nearest.Quoted(scenario.StepWords()))
		}
		steps = append(steps, *d.step)
	}
	return steps, nil
}

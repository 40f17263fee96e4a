package lang

import (
	"fmt"

	"go.starlark.net/starlark"

	"kpsim/internal/nearest"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
)

func (l *loader) doJumpLabel(c *call) (starlark.Value, error) {
	var j scenario.Label
	var at, target starlark.Value
	err := c.unpack("name", &j.Name, "at", &at, "target", &target, "offset?", &j.Offset, "toff?", &j.TOff)
	if err != nil {
		return nil, err
	}
	if j.Func, j.Offset, err = site("at", at, j.Offset); err != nil {
		return nil, err
	}
	if j.Target, j.TOff, err = site("target", target, j.TOff); err != nil {
		return nil, err
	}
	l.position[scenario.PartOf(scenario.TheLabels, len(l.s.Labels))] = c.at
	l.s.Labels = append(l.s.Labels, j)
	return handle{what: "label", name: j.Name}, nil
}

// site adds an offset to a location: kprobe(at = f + 1) is kprobe(at = f, offset = 1).
func site(what string, v starlark.Value, offset int) (name string, off int, err error) {
	p, err := function(what, v)
	if err != nil {
		return "", 0, err
	}
	if offset < -maxOffset || offset > maxOffset {
		return "", 0, fmt.Errorf("offset %d from %s is out of range; stay within the function", offset, p.name)
	}
	return p.name, int(p.off) + offset, nil
}

func (l *loader) doTask(c *call) (starlark.Value, error) {
	t := scenario.Task{Repeat: 1}
	var ops starlark.Value
	if err := c.unpack("name??", &t.Name, "cpu?", &t.CPU, "ops?", &ops, "repeat?", &t.Repeat, "background?", &t.Background, "setup?", &t.Setup); err != nil {
		return nil, err
	}
	n := len(l.s.Tasks)
	if t.Name == "" {
		t.Name = taskName(n)
	}
	if ops != nil {
		list, err := sequence("ops", ops, "write [call(f), schedule()]")
		if err != nil {
			return nil, err
		}
		for j, v := range list {
			d, ok := v.(deed)
			if !ok || d.op == nil {
				return nil, fmt.Errorf("ops[%d] is %s; an operation is one of %s", j, describe(v), nearest.Quoted(act.Words()))
			}
			l.position[scenario.PartIn(scenario.TheTasks, n, j)] = d.at
			t.Ops = append(t.Ops, *d.op)
		}
	}
	l.position[scenario.PartOf(scenario.TheTasks, n)] = c.at
	l.s.Tasks = append(l.s.Tasks, t)
	return starlark.None, nil
}

func taskName(n int) string { return fmt.Sprintf("task%d", n) }

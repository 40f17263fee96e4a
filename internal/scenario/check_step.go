package scenario

import (
	"fmt"

	"kpsim/internal/nearest"
)

// handler checks the steps of a handler, by their rows.
func (c checker) handler(p Part, who string, k *Probe, steps []Step) error {
	if len(steps) > MaxSteps {
		return Faultf(p, "%s: %d steps are too many; at most %d", who, len(steps), MaxSteps)
	}
	for i := range steps {
		if err := c.step(p, fmt.Sprintf("%s[%d]", who, i), k, &steps[i]); err != nil {
			return err
		}
	}
	return nil
}

func (c checker) step(p Part, who string, k *Probe, st *Step) error {
	row := st.Kind
	if row == nil {
		return Faultf(p, "%s: it is no step; it is one of %s", who, nearest.Quoted(StepWords()))
	}
	if row.Lacks != nil {
		if says := row.Lacks(k); says != "" {
			return Faultf(p, "%s: %s() %s", who, row, says)
		}
	}
	rest := *st // what remains without the fields that its parameters use
	rest.Kind = nil
	for _, a := range row.Params {
		if err := stepParams[a.Kind](c, p, who, st, &rest); err != nil {
			return err
		}
	}
	if row.Setting != "" {
		if err := c.has(p, who, row.Word+"()", row.Setting, &c.s.Machine); err != nil {
			return err
		}
	}
	if rest != (Step{}) {
		return Faultf(p, "%s: %s() has fields it doesn't use; leave them zero", who, row)
	}
	return nil
}

// stepParams has a row for each kind of parameter. It clears the fields that hold the
// parameter in rest, and checks their values.
var stepParams = [...]func(c checker, p Part, who string, st, rest *Step) error{
	StepReg: func(c checker, p Part, who string, st, rest *Step) error {
		rest.Reg = 0
		if names := c.s.Machine.Processor().RegNames; int(st.Reg) >= len(names) {
			return Faultf(p, "%s: register %d isn't known; it is one of %s", who, st.Reg, nearest.Quoted(names))
		}
		return nil
	},
	StepNumber: func(_ checker, _ Part, _ string, _, rest *Step) error {
		rest.Value = 0
		return nil
	},
	StepAddress: func(c checker, p Part, who string, st, rest *Step) error {
		rest.Target, rest.Value = "", 0
		switch {
		case st.Target == "":
			return nil
		case st.Value > MaxCode:
			return Faultf(p, "%s: offset %d is outside %s; set_ip takes a place in a function", who, st.Value,
				st.Target)
		}
		return c.function(p, who, st.Target, int(st.Value))
	},
	StepFunc: func(c checker, p Part, who string, st, rest *Step) error {
		rest.Target = ""
		return c.function(p, who, st.Target, 0)
	},
	StepData: func(c checker, p Part, who string, st, rest *Step) error {
		rest.Target, rest.Off = "", 0
		return c.memory(p, who, &Op{Target: st.Target, Offset: st.Off, Bytes: make([]byte, privateWord)})
	},
	StepProbe: func(c checker, p Part, who string, st, rest *Step) error {
		rest.Target = ""
		return c.named(p, who, p.List, st.Target) // the handler is a probe's, and so is the list
	},
}

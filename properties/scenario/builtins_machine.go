package scenario

import (
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/starlark"
)

// A param is a parameter of machine(), what it is if it isn't said, and what it means.
type param struct{ word, otherwise, means string }

// machineParams are the parameters of machine(): its own, and the settings, which are
// what stands here if neither they nor an edition are said.
func machineParams() []param {
	var none Machine
	list := []param{
		{"cpus", "2", "1 to 64 CPUs"},
		{"preempt", `"none"`, "`\"none\"`; `\"voluntary\"`: `might_sleep` schedules as `cond_resched` does; `\"dynamic\"`: built with preemption, run as voluntary; `\"full\"`; `\"lazy\"`: who wants the CPU gets it at a timer tick. `cond_resched` schedules under the first two; under `\"dynamic\"` it preempts, which `quiesce = \"tasks\"` doesn't count; under the last two it does nothing. The build, the first two or the others, decides RCU's flavour and much of what an edition presets; the mode, who may switch tasks"},
		{"fetch", `"coherent"`, "what a CPU fetches of text that changes: the newest bytes; `\"stale\"`: old ones until it serialises; `\"mixing\"`: old and new in one instruction"},
		{"edition", "None", "presets all that follows as the kernels of one document have it: `\"2.6\"`, `\"4.15\"`, `\"5.14\"`, `\"6.5\"`, `\"6.9\"`, `\"documented\"`; `kpsim editions` prints the table. What is said beside it holds by itself"},
	}
	for i := range settings {
		s := &settings[i]
		list = append(list, param{s.word, s.value(s.get(&none)), s.means})
	}
	return append(list,
		param{"modules", `"unload"`, "modules are loaded and unloaded; `\"stay\"`: no CONFIG_MODULE_UNLOAD; `\"none\"`: no CONFIG_MODULES: what isn't there answers `ENOSYS`"},
		param{"steps", "0", "budget of boundaries of one run; 0: the default"})
}

// machineSig is the signature of machine().
func machineSig() string {
	var list []string
	for _, p := range machineParams() {
		list = append(list, p.word+" = "+p.otherwise)
	}
	return "machine(" + strings.Join(list, ", ") + ")"
}

// A said is a setting that a program may say.
type said struct {
	setting *setting
	v       starlark.Value // nil: it doesn't
}

// Unpack implements starlark.Unpacker.
func (s *said) Unpack(v starlark.Value) error {
	_, isBool := v.(starlark.Bool)
	_, isString := v.(starlark.String)
	switch {
	case s.setting.bool() && !isBool:
		return fmt.Errorf("got %s, want bool", v.Type())
	case !s.setting.bool() && !isString:
		return fmt.Errorf("got %s, want string", v.Type())
	}
	s.v = v
	return nil
}

// apply sets what was said.
func (s *said) apply(m *Machine) error {
	if s.v == nil {
		return nil
	}
	if s.setting.bool() {
		s.setting.set(m, truthOf(bool(s.v.Truth())))
		return nil
	}
	name, _ := starlark.AsString(s.v)
	v, err := lookup[uint8](s.setting.word, name, s.setting.words)
	s.setting.set(m, v)
	return err
}

// unsaid is no edition's name.
const unsaid = "\x00"

func (l *loader) doMachine(c *call) (starlark.Value, error) {
	m := Machine{CPUs: defaultCPUs}
	preempt, fetch, edition, modules := preemptWords[0], fetchWords[0], unsaid, moduleWords[0]
	pairs := []any{"cpus?", &m.CPUs, "preempt?", &preempt, "fetch?", &fetch, "edition??", &edition}
	list := make([]said, len(settings))
	for i := range settings {
		list[i].setting = &settings[i]
		pairs = append(pairs, settings[i].word+"?", &list[i])
	}
	err := c.unpack(append(pairs, "modules?", &modules, "steps?", &m.Steps)...)
	if err != nil {
		return nil, err
	}
	if m.Preempt, err = lookup[Preempt]("preempt", preempt, preemptWords); err != nil {
		return nil, err
	}
	if m.Fetch, err = lookup[Fetch]("fetch", fetch, fetchWords); err != nil {
		return nil, err
	}
	if m.Modules, err = lookup[Loading]("modules", modules, moduleWords); err != nil {
		return nil, err
	}
	if edition != unsaid {
		e, err := lookup[Edition]("edition", edition, editionWords[1:])
		if err != nil {
			return nil, err
		}
		m.Edition = e + 1
	}
	m.Settle()
	var errs []error
	for i := range list {
		errs = append(errs, list[i].apply(&m))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	l.s.Machine = m
	l.position[part{theMachine, 0, -1}] = c.at
	return starlark.None, l.first(c.name)
}

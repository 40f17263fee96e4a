package scenario

import (
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/starlark"
)

// machineSig is the signature of machine(): its own parameters, and the settings
// with what they are if neither they nor an edition are said.
func machineSig() string {
	var none Machine
	var b strings.Builder
	b.WriteString(`machine(cpus = 2, preempt = "none", fetch = "coherent", edition = None`)
	for i := range settings {
		s := &settings[i]
		fmt.Fprintf(&b, ", %s = %s", s.word, s.value(s.get(&none)))
	}
	b.WriteString(`, modules = "unload", steps = 0)`)
	return b.String()
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

package lang

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"kpsim/internal/nearest"
	"kpsim/internal/scenario"
)

// machineSig is the signature of machine().
func machineSig() string {
	m := defaultMachine()
	var list []string
	for _, r := range scenario.Settings {
		if r.Says != "" {
			list = append(list, r.Word+" = "+settingValue(r, &m))
		}
	}
	return "machine(" + strings.Join(list, ", ") + ")"
}

// defaultMachine returns the machine of a program that doesn't describe it.
func defaultMachine() scenario.Machine {
	m := scenario.Machine{CPUs: defaultCPUs}
	m.Settle()
	return m
}

// settingValue prints the value of a setting.
func settingValue(r *scenario.Setting, m *scenario.Machine) string {
	switch r.Kind {
	case scenario.ValueBuild:
		return "None"
	case scenario.ValueName:
		return Quote(*r.Name(m))
	}
	switch n := r.Get(m); r.Kind {
	case scenario.ValueWord:
		if r.None && n == 0 {
			return "None"
		}
		return Quote(nearest.Word(r.Words(), uint8(n)))
	case scenario.ValueSwitch:
		return truth(n != 0)
	case scenario.ValueCPUs:
		return cpuList(n)
	default:
		return fmt.Sprint(int(n))
	}
}

// machine prints cpus, and the settings that differ from the edition's presets or from zero.
func (p *printer) machine(m *scenario.Machine) {
	nothing := scenario.Machine{}
	preset := scenario.Machine{Preempt: m.Preempt, Edition: m.Edition, Arch: m.Arch}
	preset.Settle()
	args := []string{fmt.Sprintf("cpus = %d", m.CPUs)}
	for _, r := range scenario.Settings[1:] {
		than := &nothing
		if r.Preset {
			than = &preset
		}
		same := true
		switch r.Kind {
		case scenario.ValueBuild:
		case scenario.ValueName:
			same = *r.Name(m) == ""
		default:
			same = r.Get(m) == r.Get(than)
		}
		if !same {
			args = append(args, r.Word+" = "+settingValue(r, m))
		}
	}
	p.call("machine", args...)
}

// A settingArg is an argument of machine(): a setting that a program may set.
type settingArg struct {
	row   *scenario.Setting
	isSet bool   // the program sets it
	n     uint64 // the value, encoded as Setting.Get returns it
	text  string // for a word, a name, and options of a build, joined by commas
}

// parameter returns its name for starlark.UnpackArgs. "??": None stands for the default.
func (s *settingArg) parameter() string {
	if s.row.None || s.row.Kind == scenario.ValueBuild {
		return s.row.Word + "??"
	}
	return s.row.Word + "?"
}

// Unpack implements starlark.Unpacker.
func (s *settingArg) Unpack(v starlark.Value) (err error) {
	s.isSet = true
	switch s.row.Kind {
	case scenario.ValueNumber:
		var n int
		err = starlark.AsInt(v, &n)
		s.n = uint64(n)
	case scenario.ValueSwitch:
		on, ok := v.(starlark.Bool)
		if !ok {
			return fmt.Errorf("got %s, want bool", v.Type())
		}
		if on {
			s.n = 1
		}
	case scenario.ValueCPUs:
		s.n, err = cpuSet(v)
	case scenario.ValueBuild:
		s.text, err = options(v)
	default:
		s.text, err = text(v)
	}
	return err
}

// apply sets the setting, if the program does.
func (s *settingArg) apply(m *scenario.Machine) error {
	r := s.row
	if !s.isSet {
		return nil
	}
	switch r.Kind {
	case scenario.ValueBuild:
		return nil // the type built applies it
	case scenario.ValueName:
		*r.Name(m) = s.text
		return nil
	case scenario.ValueWord:
		words := r.Words()
		if r.None {
			words = words[1:]
		}
		n, err := nearest.Lookup[uint8](r.Word, s.text, words)
		if err != nil {
			return err
		}
		if s.n = uint64(n); r.None {
			s.n++
		}
	}
	r.Set(m, s.n)
	return nil
}

func text(v starlark.Value) (string, error) {
	s, ok := starlark.AsString(v)
	if !ok {
		return "", fmt.Errorf("got %s, want string", v.Type())
	}
	return s, nil
}

// options reads names joined by commas, or a list of them.
func options(v starlark.Value) (string, error) {
	list, ok := v.(starlark.Indexable)
	if _, is := v.(starlark.String); is || !ok {
		return text(v)
	}
	words := make([]string, list.Len())
	for i := range words {
		var err error
		if words[i], err = text(list.Index(i)); err != nil {
			return "", err
		}
	}
	if len(words) == 0 {
		return "none", nil
	}
	return strings.Join(words, ","), nil
}

// cpuSet reads a list of numbers of CPUs.
func cpuSet(v starlark.Value) (set uint64, err error) {
	list, ok := v.(starlark.Indexable)
	if !ok {
		return 0, fmt.Errorf("got %s, want a list of CPUs, as [1]", v.Type())
	}
	for i := range list.Len() {
		cpu, err := starlark.AsInt32(list.Index(i))
		if err != nil || cpu < 0 || cpu >= scenario.MaxCPUs {
			return 0, fmt.Errorf("got %s, want the number of a CPU, 1 to %d", list.Index(i), scenario.MaxCPUs-1)
		}
		set |= 1 << cpu
	}
	return set, nil
}

// cpuList prints a set of CPUs as a list.
func cpuList(set uint64) string {
	var list []string
	for cpu := range scenario.MaxCPUs {
		if set>>cpu&1 != 0 {
			list = append(list, fmt.Sprint(cpu))
		}
	}
	return "[" + strings.Join(list, ", ") + "]"
}

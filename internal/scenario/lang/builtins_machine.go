package lang

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"kpsim/internal/scenario"
	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch/target"
)

// built holds the arguments config and profile, which say how a machine's kernel is built, and those
// that must agree with them.
type built struct {
	config, profile, edition, preempt *settingArg
	kernel                            rules.Kernel
}

// presets takes the edition of the profile, if one is given, and its build unless config is given.
func (b *built) presets(m *scenario.Machine) error {
	if !b.profile.isSet {
		return nil
	}
	k, ok := rules.ParseProfile(b.profile.text)
	if !ok {
		return fmt.Errorf("profile = %q isn't known; it is \"k61\" or \"k612\"", b.profile.text)
	}
	if b.edition.isSet {
		return fmt.Errorf("profile = %q has its edition; leave edition = %q out, or say config", b.profile.text,
			b.edition.text)
	}
	if m.Edition = k.Edition; !b.config.isSet {
		b.config.isSet, b.config.text = true, strings.Join(k.Options(), ",")
	}
	return nil
}

// preempts sets the default of preempt by config. It returns an error if the program gives both and
// they disagree.
func (b *built) preempts(m *scenario.Machine) error {
	if !b.config.isSet {
		return nil
	}
	if err := b.kernel.Configure(b.config.text); err != nil {
		return fmt.Errorf("config = %q: %w", b.config.text, err)
	}
	if !b.preempt.isSet && b.kernel.Preemption {
		m.Preempt = scenario.PreemptDynamic
	}
	if b.preempt.isSet && m.Preempt.Built() != b.kernel.Preemption {
		return fmt.Errorf("config = %q and preempt = %q disagree: \"none\" and \"voluntary\" are built without "+
			"PREEMPTION, the others with it; leave one out", b.config.text,
			m.Preempt)
	}
	return nil
}

// settle sets the settings that config decides.
func (b *built) settle(m *scenario.Machine) error {
	if !b.config.isSet {
		return nil
	}
	b.kernel = m.Kprobes().Kernel
	if err := b.kernel.Configure(b.config.text); err != nil {
		return err
	}
	if m.Edition == rules.EditionNone {
		m.Boost = era.BoostPrepare // as check's kernels, where the build lets them
	}
	m.Kernel.Retpoline, m.Kernel.IBT, m.Kernel.Ftrace, m.Kernel.Optprobes = b.kernel.Retpoline, b.kernel.IBT,
		b.kernel.Ftrace, b.kernel.Optprobes
	return nil
}

// agrees returns an error if a setting of the machine contradicts config.
func (b *built) agrees(m *scenario.Machine) error {
	if !b.config.isSet {
		return nil
	}
	wanted, is := b.kernel.Options(), m.Kprobes().Kernel.Options()
	for _, o := range append(wanted, is...) {
		if slices.Contains(wanted, o) != slices.Contains(is, o) {
			return fmt.Errorf("config = %q, and beside it is said otherwise of %s; leave one out", b.config.text, o)
		}
	}
	return nil
}

func (l *loader) doMachine(c *call) (starlark.Value, error) {
	list := make([]settingArg, len(scenario.Settings))
	named := make(map[string]*settingArg)
	var pairs []any
	for i, r := range scenario.Settings {
		list[i].row, named[r.Word] = r, &list[i]
		pairs = append(pairs, list[i].parameter(), &list[i])
	}
	if err := c.unpack(pairs...); err != nil {
		return nil, err
	}
	// apply sets those settings that the edition presets, or the others.
	m := scenario.Machine{CPUs: defaultCPUs}
	apply := func(preset bool) error {
		for i := range list {
			if list[i].row.Preset != preset {
				continue
			}
			if err := list[i].apply(&m); err != nil {
				return err
			}
		}
		return nil
	}
	if err := apply(false); err != nil {
		return nil, err
	}
	if m.Engine != "" && slices.ContainsFunc(list, func(s settingArg) bool { return s.isSet && s.row.OfKprobes }) {
		return nil, fmt.Errorf("engine = %q has no edition and no settings but patch; leave them out", m.Engine)
	}
	b := built{config: named["config"], profile: named["profile"], edition: named["edition"], preempt: named["preempt"]}
	if err := b.presets(&m); err != nil {
		return nil, err
	}
	if err := b.preempts(&m); err != nil {
		return nil, err
	}
	if m.Arch != l.s.Machine.Arch && len(l.symbols) > 0 {
		return nil, fmt.Errorf("arch = %q decides where functions and data lie; put machine() before them",
			target.Words[m.Arch])
	}
	if m.Arch.Bits32() && m.Engine != "" && !m.Guest() {
		return nil, fmt.Errorf("arch = \"i386\" is of the engine kprobes, or a kernel's own; engine = %q is of x86-64, so leave arch out", m.Engine)
	}
	m.Settle()
	l.text, l.data = m.Processor().Addr(l.text), m.Processor().Addr(l.data)
	if err := b.settle(&m); err != nil {
		return nil, err
	}
	if err := apply(true); err != nil {
		return nil, err
	}
	if err := b.agrees(&m); err != nil {
		return nil, err
	}
	l.s.Machine = m
	l.position[scenario.PartOf(scenario.TheMachine, 0)] = c.at
	return starlark.None, l.checkOnce(c.name)
}

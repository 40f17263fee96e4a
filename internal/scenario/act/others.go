package act

import (
	"kpsim/internal/scenario"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/smpev"
)

// The other patchers of text: jump labels, static calls, lock prefixes, alternatives.
var (
	EnableLabel = add(row{family: others, Operation: &scenario.Operation{
		Word:   "label_on",
		Params: []scenario.Param{{Name: "l", Of: scenario.TheLabels}},
		Says:   "flip a label to its jump",
		Kernel: []string{"static_key_enable", "static_branch_enable", "static_key_slow_inc", "static_branch_inc",
			"jump_label_update", "arch_jump_label_transform"},
		Object:  scenario.ALabel,
		Inverse: "label_off",
		Traits:  scenario.Patches | scenario.Around | scenario.Serial | scenario.Stirs,
		Touches: scenario.TouchFlip,
		Drawn:   scenario.Drawn{Nth: 8, Times: 1, Or: "label_off"},
	}, sets: &Setter{smpev.SettingLabel, one},
		do: func(t Task, x *smp.Ctx, _ int, op *scenario.Op) { t.SetLabel(x, op.Target, true) }})

	DisableLabel = add(row{family: others, Operation: &scenario.Operation{
		Word:    "label_off",
		Params:  []scenario.Param{{Name: "l", Of: scenario.TheLabels}},
		Says:    "flip it to its nop",
		Kernel:  []string{"static_key_disable", "static_branch_disable", "static_key_slow_dec", "static_branch_dec"},
		Object:  scenario.ALabel,
		Inverse: "label_on",
		Traits:  scenario.Patches | scenario.Around | scenario.Serial | scenario.Stirs,
		Touches: scenario.TouchFlip,
	}, sets: &Setter{smpev.SettingLabel, zero},
		do: func(t Task, x *smp.Ctx, _ int, op *scenario.Op) { t.SetLabel(x, op.Target, false) }})

	SetCall = add(row{family: others, Operation: &scenario.Operation{
		Word:    "set_call",
		Params:  []scenario.Param{{Name: "s", Of: scenario.TheCalls}, {Name: "f", Kind: scenario.ParamCallee}},
		Says:    "make `f` the target of a static call; `None`: it calls nothing",
		Kernel:  []string{"static_call_update", "arch_static_call_transform"},
		Object:  scenario.AStaticCall,
		Traits:  scenario.Patches | scenario.Around | scenario.Serial | scenario.Stirs,
		Touches: scenario.TouchFlip,
	}, sets: &Setter{smpev.SettingCall, func(t Task, op *scenario.Op) uint64 { return uint64(callee(t, op)) }},
		do: func(t Task, x *smp.Ctx, _ int, op *scenario.Op) { t.SetCall(x, op.Target, callee(t, op)) }})

	Locks = add(row{family: others, Operation: &scenario.Operation{
		Word:    "smp_locks",
		Params:  []scenario.Param{{Name: "on", Kind: scenario.ParamOn}},
		Says:    "write all lock prefixes, or remove them; this applies to modules loaded later, too",
		Kernel:  []string{"alternatives_smp_lock", "alternatives_smp_unlock", "alternatives_enable_smp"},
		Object:  scenario.LockPrefixes,
		Traits:  scenario.Patches | scenario.Around | scenario.Locks,
		Touches: scenario.TouchFlip,
		Idle: func(s *scenario.Scenario, _ *scenario.Op) string {
			if len(s.Locked) > 0 {
				return ""
			}
			return "smp_locks() rewrites nothing: there is no lock_prefix()"
		},
	}, sets: &Setter{smpev.SettingLocks, func(t Task, op *scenario.Op) uint64 {
		if op.On {
			return 1
		}
		return 0
	}}, do: func(t Task, x *smp.Ctx, _ int, op *scenario.Op) { t.Kernel().Prefix.Set(x, op.On) }})

	Alternatives = add(row{family: others, Operation: &scenario.Operation{
		Word: "apply_alternatives",
		Says: "the first call copies all alternatives over the instructions: with interrupts off on its CPU, but " +
			"without keeping other CPUs from running them meanwhile",
		Kernel:  []string{"alternative_instructions", "text_poke_early"},
		Object:  scenario.AllAlternatives,
		Traits:  scenario.Patches | scenario.Around | scenario.Alternates,
		Touches: scenario.TouchFlip,
		Idle: func(s *scenario.Scenario, _ *scenario.Op) string {
			if len(s.Alternatives) > 0 {
				return ""
			}
			return "apply_alternatives() rewrites nothing: there is no alternative()"
		},
	}, sets: &Setter{smpev.SettingAlternatives, one},
		do: func(t Task, x *smp.Ctx, _ int, _ *scenario.Op) { t.Kernel().Alternatives.Apply(x) }})
)

// callee returns the function that a static call is set to, 0 for none.
func callee(t Task, op *scenario.Op) arch.Addr {
	if len(op.Targets) == 0 {
		return 0
	}
	return t.Func(op.Targets[0])
}

// A Setter is what an operation sets: a key of the patchers, of a sort, to a value (smpev.Setting).
type Setter struct {
	Sort  uint64
	Value func(t Task, op *scenario.Op) uint64
}

func one(Task, *scenario.Op) uint64  { return 1 }
func zero(Task, *scenario.Op) uint64 { return 0 }

// Sets returns what an operation sets, nil if it sets no key.
func Sets(op *scenario.Op) *Setter { return rows[op.Kind].sets }

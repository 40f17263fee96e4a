package act

import (
	"kpsim/internal/scenario"
	"kpsim/smp"
)

// Calls of functions, and comparisons of memory.
var (
	Call = add(row{family: calls, Operation: &scenario.Operation{
		Word: "call",
		Params: []scenario.Param{
			{Name: "f", Kind: scenario.ParamFunc}, {Name: "args", Kind: scenario.ParamArgs},
			{Name: "changed", Kind: scenario.ParamChanged},
			{Name: "returns", Kind: scenario.ParamReturns}, {Name: "bits", Kind: scenario.ParamBits},
			{Name: "probed", Kind: scenario.ParamProbed},
		},
		Says: "call `f` with up to six numbers, `args`. `changed`: probes or labels change its result on purpose, " +
			"so it isn't compared. `returns`: the right result, in the low `bits` of `rax`, or a list of those that " +
			"are right. `probed`: in each schedule a handler of a probe runs in the call. As a step, `call(f)`: the " +
			"handler calls `f`",
		Step:    scenario.StepCall,
		Object:  scenario.AFunction,
		Traits:  scenario.Serial | scenario.Runs,
		Touches: scenario.TouchCall,
		Drawn:   scenario.Drawn{Nth: 10, Times: 1},
	}, do: func(t Task, x *smp.Ctx, i int, _ *scenario.Op) { t.Call(x, i) }})

	Expect = add(row{family: calls, Operation: &scenario.Operation{
		Word: "expect",
		Params: []scenario.Param{{Name: "d", Kind: scenario.ParamData}, {Name: "hex", Kind: scenario.ParamBytes},
			{Name: "probed", Kind: scenario.ParamProbed}},
		Says: "memory from `d` on holds these bytes; `d + 8` is a place in `d`. `probed`: with probes, whose " +
			"handlers have stored there; the run without probes must hold other bytes there, or nothing would tell " +
			"that something was probed",
		Object:  scenario.Nothing,
		Traits:  scenario.Serial,
		Touches: scenario.TouchCheck,
	}, do: func(t Task, x *smp.Ctx, i int, _ *scenario.Op) { t.Expect(x, i) }})

	Hits = add(row{family: probes, Operation: &scenario.Operation{
		Word: "hits",
		Params: []scenario.Param{{Name: "k", Of: scenario.TheProbes}, {Name: "pre", Kind: scenario.ParamCount},
			{Name: "post", Kind: scenario.ParamCount}, {Name: "missed", Kind: scenario.ParamCount}},
		Says: "until now the `pre` handler of `k` has begun this often in the run, its `post` handler, and its " +
			"`nmissed` is `missed`; of a return probe: its entry handler, and its handler of returns. What isn't " +
			"given isn't compared",
		Kernel:  []string{"KUNIT_EXPECT_EQ"},
		Object:  scenario.AProbe,
		Traits:  scenario.Probes,
		Touches: scenario.TouchCheck,
	}, do: func(t Task, x *smp.Ctx, i int, _ *scenario.Op) { t.Hits(x, i) }})
)

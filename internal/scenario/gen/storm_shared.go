package gen

import "kpsim/internal/scenario"

// stormShared: one storm in so many is shared.
const stormShared = 4

// share has the tasks that call the API call it for each other's probes, too. No user
// may, for a probe is its user's until it is registered and from when it isn't any more;
// but the engine has a lock, and answers each call as if it came alone.
func (g *storm) share() {
	for i := range g.sc.Tasks[:g.tasks] {
		for k := range g.sc.Tasks[i].Ops {
			op := &g.sc.Tasks[i].Ops[k]
			switch op.Kind {
			case scenario.OpRegisterAll:
				op.Kind, op.Targets = scenario.OpRegister, nil
			case scenario.OpUnregisterAll:
				op.Kind, op.Targets = scenario.OpUnregister, nil
			case scenario.OpRegister, scenario.OpUnregister, scenario.OpEnable, scenario.OpDisable:
			default:
				continue
			}
			op.Target = g.sc.Probes[g.rand.N(len(g.sc.Probes))].Name
		}
	}
}

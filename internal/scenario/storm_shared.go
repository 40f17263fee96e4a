package scenario

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
			case OpRegisterAll:
				op.Kind, op.Targets = OpRegister, nil
			case OpUnregisterAll:
				op.Kind, op.Targets = OpUnregister, nil
			case OpRegister, OpUnregister, OpEnable, OpDisable:
			default:
				continue
			}
			op.Target = g.sc.Probes[g.rand.N(len(g.sc.Probes))].Name
		}
	}
}

// Shares reports whether calls of the API may overlap that are about one thing: two
// tasks call it for one probe, or write one switch.
func (sc *Scenario) Shares() bool {
	tasks := make(map[string]int)
	for i := range sc.Tasks {
		mine := make(map[string]bool)
		for k := range sc.Tasks[i].Ops {
			switch op := &sc.Tasks[i].Ops[k]; op.Kind {
			case OpRegister, OpUnregister, OpEnable, OpDisable:
				mine[op.Target] = true
			case OpRegisterAll, OpUnregisterAll:
				for _, name := range op.Targets {
					mine[name] = true
				}
			case OpOptimization:
				mine[" sysctl"] = true
			case OpEnabled:
				mine[" enabled"] = true
			}
		}
		for name := range mine {
			if tasks[name]++; tasks[name] > 1 {
				return true
			}
		}
	}
	return false
}

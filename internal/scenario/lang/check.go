package lang

import "kpsim/internal/scenario"

// Check says what is wrong with a scenario, or nil. Load has checked what it
// returns; call it for a scenario that was built in Go.
func Check(s *scenario.Scenario) error {
	if err := scenario.Check(s); err != nil {
		return err
	}
	return checkSize(s)
}

// checkSize checks that Load takes what Print prints.
func checkSize(s *scenario.Scenario) error {
	least := 0 // that it prints as, without printing it: what is shared is printed each time
	for i := range s.Texts {
		least += 2 * len(s.Texts[i].Code)
	}
	for i := range s.Tasks {
		for j := range s.Tasks[i].Ops {
			least += len("user()") + 2*len(s.Tasks[i].Ops[j].Bytes)
		}
	}
	if least <= scenario.MaxSource {
		p := newPrinter()
		p.most = scenario.MaxSource
		p.scenario(s)
		least = p.b.Len()
	}
	if least > scenario.MaxSource {
		return scenario.Faultf(scenario.PartOf(scenario.TheScenario, 0),
			"the scenario prints as more than %d bytes; leave out functions that nothing runs", scenario.MaxSource)
	}
	return nil
}

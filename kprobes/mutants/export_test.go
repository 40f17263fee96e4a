package mutants

// ParseHistory is parseHistory.
var ParseHistory = parseHistory

// RuleNames are the names of ofRules.
func RuleNames() (names []string) {
	for i := range ofRules {
		names = append(names, ofRules[i].Name)
	}
	return names
}

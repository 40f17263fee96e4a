package main

import "kpsim/internal/verbs/catalogue"

// listCmd is kpsim list.
type listCmd struct{ catalogue.List }

// Help implements kong.HelpProvider.
func (listCmd) Help() string {
	return `What the names mean that explore takes, and that its lines give.

Examples:

  kpsim list
  kpsim list scenarios
  kpsim list T2 no-quiesce safe-none
  kpsim list barriers
  kpsim list history
  kpsim list --json

Exit status: 0, or 2 for bad input.`
}

package main

import "kpsim/internal/verbs/catalogue"

// versionCmd is kpsim version.
type versionCmd struct{ catalogue.Version }

// Help implements kong.HelpProvider.
func (versionCmd) Help() string {
	return `Prints the commit that kpsim was built from, and whether there were changes that aren't in it; Go; the modules; and the number at the end of traces: those of an older one are replayed as well as their labels say, those of a newer one aren't read. What Go hasn't noted is not known: "go run" and "go test" note no commit.

Examples:

  kpsim version
  kpsim --version
  kpsim version --json

Exit status: 0, or 2 for bad input.`
}

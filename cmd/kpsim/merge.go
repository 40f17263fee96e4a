package main

import "kpsim/internal/verbs/findings"

// mergeCmd is kpsim merge.
type mergeCmd struct{ findings.Merge }

// Help implements kong.HelpProvider.
func (*mergeCmd) Help() string {
	return `Prints what explore would have printed had it made all runs itself, and writes the same witnesses: the files hold what each share has seen, not only what it has printed. A canary counts as found if any share has found it; shrinking, and the search for first witnesses over seeds, is done here, for they are about the exploration as a whole. The shares must be of the same scenarios, strategy, seed and number of runs, made by the same kpsim, and all there.

Examples:

  kpsim explore --shard 1/2 --out 1.json --runs 1000000 mine.star     # on one computer
  kpsim explore --shard 2/2 --out 2.json --runs 1000000 mine.star     # on another
  kpsim merge 1.json 2.json

Exit status: as of explore.`
}

package main

import (
	"kpsim/internal/eval/matrix"
	"kpsim/internal/eval/matrix/pages"
)

// matrixCmd is kpsim matrix.
type matrixCmd struct{ pages.Matrix }

// Help implements kong.HelpProvider.
func (*matrixCmd) Help() string {
	return `Which waits and syncs does code patching need? A row is a way to patch: what the optimizer waits for and how text is written, or which sync is left out. A column is a model of preemption and one of instruction fetch. Each cell is a small program of its own that is searched.

Never: nothing was broken, by all schedules of at most 2 deviations at each place of the site in its 8-byte chunk, by 40000 drawn ones, and by those that break a neighbouring cell; where a cell of the row is Sometimes, by all of at most 4 deviations where that one breaks, too. And the same search broke the row that is known to be wrong.

Never all: the same by every schedule there is, where those are few; --full tries it for all. Never 3: by all of at most 3 deviations (--full).

T2/4@0-3,7: Sometimes, property T2 was broken (its name is below the tables); the witness, shrunk, has 4 deviations, and is written to traces/; it was broken with the site at offsets 0 to 3 and 7 at least. A cell names all properties that were found broken. After T3: in runs that had broken T3 before.

blind: nothing was broken, nor in the row that is known to be wrong: this says nothing.

The adversary: ` + matrix.Adversary + `

Rows: jump/WAIT/WRITE, life/WAIT/WRITE, sync/SYNC, raw/WRITE, raw/SYNC, call/breakpoint, call/SYNC, nmi/WRITE, nmi-raw/WRITE; WAIT is none, sched, rcu, tasks or stack-check, WRITE naive, stop_machine or breakpoint, SYNC arm, disarm, unopt, unopt-2, poke-1, poke-2, poke-3 or stop. Under the table stands what the kernel's documents claim, and whether the cells agree. Without a row all 825 cells are searched: some 32 minutes of one core; a row is 15 cells, and as many of the row that is known to be wrong. What is printed doesn't depend on --workers.

Examples:

  kpsim matrix jump/sched
  kpsim matrix --drawn 8000 raw nmi-raw
  kpsim matrix --json sync/arm
  kpsim matrix --markdown > docs/matrix.md
  kpsim matrix --full raw --into docs/matrix.md
  kpsim matrix jump --json > jump.json
  kpsim matrix --from jump.json --markdown
  kpsim matrix jump --from jump.json --html jump.html

Exit status: 0 all cells are decided, 1 some are blind, 2 bad input, a cell that can't be decided, or a witness that could not be saved, 3 a bug of the simulator, 130 interrupted; what there is is printed.`
}

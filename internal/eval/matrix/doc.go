// Package matrix determines which waits and syncs code patching needs, for each preemption model
// and instruction fetch model: a table whose cells are computed by search, never written by hand.
//
// What it is: Rows, the patched code and what the patching omits; Columns, the machines; Search,
// which fills a cell; Claims, what the kernel's documents say about the cells; and a Page of all
// this.
//
// What it is not: it has no engine, property or search of its own. A cell is a small scenario,
// internal/search/explore searches it, and the properties decide.
//
// Its rule: a cell says Never only if
//
//   - all schedules of a bounded number of deviations were run, and a number of random ones, at
//     each of the eight offsets that the site can have in its chunk of text; or every schedule;
//   - no schedule that breaks a neighbour breaks it (neighbours.go): they are translated by their
//     labels, and varied, until nothing new is found;
//   - if it isn't proven (prove.go) and a cell of its row breaks, all schedules of at most four
//     deviations were run at the offset of that cell (of at most three, if they are too many);
//   - the same search breaks the row's canary, which is known to be wrong.
//
// Where offsets are alike (trail), the first one stands for the others when all schedules are
// run; each cell checks again that they are. If something can't be decided, that is an error.
//
// A Sometimes names every property found broken, with the offsets. A run ends at a property after
// which a CPU may execute garbage (properties.Lost), and goes on after the others.
//
// A cell's result depends on the rows searched with it, since it is also tried with their
// schedules. It doesn't depend on the workers: each round of exchange ends before the next
// begins. Printed cells don't have to be searched again (Cell.Search), and a page can be written in
// several sessions (Into).
//
// Its limits are those of the adversary, which Adversary describes.
package matrix

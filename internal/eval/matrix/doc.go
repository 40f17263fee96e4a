// Package matrix answers which waits and syncs code patching needs, under which
// model of preemption and of instruction fetch: a table whose cells are searched,
// and never written down.
//
// What it is: Rows, what is patched and what is left out of the patching; Columns,
// the machines; Search, which fills a cell; Claims, what the kernel's documents say
// of the cells; a Page of it all.
//
// What it is not: it has no engine, no property and no search of its own. A cell is
// a small scenario, internal/search/explore searches it, and the properties decide.
//
// Its rule: a cell says Never only if
//
//   - all schedules of at most so many deviations were run, and so many drawn ones, at each
//     of the eight places that the site can have in its chunk of text; or every schedule;
//   - no schedule that breaks a neighbour breaks it (neighbours.go): they are translated by
//     their labels, and looked around, until nothing new comes of it;
//   - all schedules of at most four deviations were run where a cell of its row breaks, if it
//     isn't proven (prove.go; if these are too many, of at most three);
//   - the same search breaks the row's neighbour that is known to be wrong.
//
// Of places that are alike (trail) the first one stands for the others where all schedules are
// run, and that they are is looked at in each cell anew. What can't be decided is an error.
//
// A Sometimes names all properties that were found, each with the offsets at which it was. A run
// ends at those after which a CPU may execute garbage (lost), and goes on after the others.
//
// What a cell says depends on the rows that are searched with it, since those may teach it, and
// not on the workers: each round of teaching ends before the next begins. Cells that were
// printed don't have to be searched again (Cell.Search), and a page can be written in several
// sittings (Into).
//
// Its limits are those of the adversary, which Adversary states.
package matrix

// Package pages prints what probes cost: the tables, JSON lines and HTML pages of kpsim
// overhead.
//
// What it is: one type per form, which has the flags that a command line sets and a method
// Run. Table prints the documents' figures beside ours, with variants for editions, CPUs and
// noise; Fit and Calibrate print the model; Pauses, Maxactive and Probes print what was
// measured of them.
//
// What it is not: it computes no cost. Package overhead does, from runs.
//
// Its rules. Every number is printed the same in text, JSON, Markdown and HTML. Standard
// output is the same each time; pages carry their seed. A line that rests on a guess says so.
//
// Its limits: a page has the forms of one machine or of all; --cpus and --noise have their
// own tables, not both at once.
package pages

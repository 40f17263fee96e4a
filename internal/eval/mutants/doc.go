// Package mutants does kpsim mutants: which property notices each fault that is put in on
// purpose, and how soon, as text, JSON, Markdown or an HTML page.
//
// What it is not: the mutants themselves are in kprobes/mutants, the search in
// internal/search.
//
// Its rule: a mutant that no seed finds, or that its own property doesn't notice, makes the
// exit status 1.
//
// Its limits: what is said of how soon holds for the seeds that were run.
package mutants

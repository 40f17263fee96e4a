// Package start implements the first minutes: what kpsim says without a command, and kpsim new,
// which writes a first scenario.
//
// What it is: purposes is a table with a row for each thing that a scenario may be about. The row
// names a template (templates/), the end of the file that is written, and what to type next. Help,
// completion, errors and the first screen are made from it.
//
// What it is not: it runs nothing.
//
// Its rules. An existing file is never changed. Each template works as it is written, which the
// test checks, and its comments name the lines to change.
//
// Its limits: a template is a text with one word, NAME, that is replaced.
package start

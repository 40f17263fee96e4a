// Package shell does kpsim shell: a machine that is stepped by hand, or by a script.
//
// What it is: a loop over lines, at a terminal with an editor (edit.go, history.go, complete.go), a
// parser with small filters (parse.go, pipes.go), a table of commands (words.go), what moves the
// machine (do.go), what stops it (breaks.go) and takes it back (back.go), the files of kprobes
// (files.go), and what shows the machine (look.go).
//
// What it is not: it steps no machine; session.Session does. Its filters run no other program.
//
// Its rules. In a script a line that can't be understood ends it, with its number; what the
// kernel refuses is an answer. What is printed depends on the scenario, the seed and the
// lines alone. Breakpoints don't change a run. Going back makes the machine anew and does again
// what was typed; that this is the same run is checked event by event.
//
// The editor is github.com/peterh/liner: it was released this year, needs one module beside
// golang.org/x/sys, and leaves the file of the history to its user. chzyer/readline was released last
// in 2022, reeflective/readline is a shell's whole front, and golang.org/x/term has no search of
// the history.
//
// # Limits
//
// One command a line; only echo and filters take quotes; lines of at most 64 KiB. 16 filters a
// line, 16 MiB through a pipe; 64 breakpoints and watchpoints of at most 64 bytes; 1,000 lines
// of history, of at most 4 KiB. A store to data that writes what was there isn't seen by watch.
// A command of several calls that was gone back into makes only the one that was under way.
package shell

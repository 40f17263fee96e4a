// Package shell does kpsim shell: a machine that is stepped by hand, or by a script.
//
// What it is: a loop over lines, a table of commands (shell.go), what moves the machine
// (do.go), the files of kprobes (files.go), and what shows the machine (look.go).
//
// What it is not: it holds no state of the run; session.Session does.
//
// Its rules. In a script a line that can't be understood ends it, with its number; what the
// kernel refuses is an answer. What is printed depends on the scenario, the seed and the
// lines alone.
//
// Its limits: one command a line, no quoting, lines of at most 64 KiB.
package shell

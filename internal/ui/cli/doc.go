// Package cli is shared by all commands of kpsim: the terminal, files, interruption, progress,
// tables, and the wording of errors.
//
// What it is: Program, which one run of kpsim passes to every command: standard output and
// standard error with their widths and colours, what is being done (for the report of a
// bug), and ^C. Beside it are functions to read files with a limit, to write them whole, to
// quote a command line, and to suggest names.
//
// What it is not: it knows no command, no flag and no scenario, and runs nothing.
//
// Its rules. All output passes an edge, which shows control characters of foreign names as
// escapes. Progress goes to a terminal on standard error and nowhere else. A file is read
// with a limit and never waited for; it is written whole or not at all.
//
// Its limits: one Program per process, since ^C and the lock that guards file writes are
// process-wide.
package cli

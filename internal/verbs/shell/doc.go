// Package shell implements kpsim shell: a machine stepped by hand or by a script.
//
// What it is: a loop over lines. A terminal gets a line editor (edit.go, history.go,
// complete.go). There is a parser with small filters (parse.go, pipes.go) and a table of commands
// (words.go). Commands move the machine (do.go, onward.go), stop it (breaks.go, watch.go; places.go), take it
// back (back.go, reverse.go), read and write the files of kprobes (files.go), show the machine
// (look.go), do what gdb's of that name do (habits.go; kernel.go on a kernel's own engine), and write the run
// as a trace (save.go).
//
// The rows of words.go are what help, completion, the errors and the table of docs/shell.md are
// made from. A word may be shortened as long as no other row's begins so.
//
// What it is not: it steps no machine; session.Session does. Its filters run no other program.
//
// Its rules. A script ends at the first line that can't be parsed, and the error gives its
// number; an error returned by the kernel is a result and doesn't end it. The output depends only
// on the scenario, the seed and the lines. Breakpoints don't change a run. Going back builds the
// machine again and repeats the commands; each event is checked against the first run.
//
// The editor is github.com/peterh/liner. It was released this year, needs one module beside
// golang.org/x/sys, and leaves the history file to the program. chzyer/readline was last released
// in 2022, reeflective/readline, which has a vi mode and reads .inputrc, is a complete shell front
// end, and golang.org/x/term can't search the history. liner's keys are those of emacs; who wants
// those of vi runs the shell below rlwrap.
//
// # Limits
//
// A line holds one command and is at most 64 KiB long; only echo and filters accept quotes. A
// line has at most 16 filters, and a pipe carries at most 16 MiB. There are at most 64
// breakpoints and watchpoints, each of at most 64 bytes. The history keeps 1,000 lines of at most
// 4 KiB. watch misses a store to data that writes the value already there. Of a variable of the
// kernel's routines it sees each store, when a CPU makes it and others may not see it yet, and prints
// no value. Going back into a command of several calls repeats only the call that was running. What
// save writes is a schedule: calls, probes and writes by hand can't be in it. backtrace finds direct
// calls of the scenario's functions among the words of a stack, so an old return address may be among
// them; below a level that isn't the innermost, a kernel's function that has saved no return address yet
// is left out. next and finish take a function that calls itself for one call.
package shell

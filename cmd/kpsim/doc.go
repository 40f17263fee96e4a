// Kpsim explores scenarios of live code patching and replays what it has found.
//
// What it is: verbs.go has the list of verbs, a row a verb (kpsim --help prints it). Each is a
// type of a package below internal/, which has its flags and its help and does the work. main.go
// and commands.go parse the command line and run it, completion.go completes names, man.go prints man pages.
//
// What it is not: it decides nothing about a run and prints no result.
//
// Its rules. Standard output is the same each time, but for schedules_per_s in --json.
// Progress goes to standard error, and to a terminal only. Every scenario is loaded, checked
// and run once before the first is explored. A trace is written whole or not at all.
//
// Its limits: one command per process; ^C is handled for the process.
//
// Exit status:
//
//	0    everything came out as expected, or nothing was expected
//	1    an observation against expectation; a replay that differs from its file
//	2    bad input: one line that says where and what to do; or a file, or standard
//	     output, that could not be written: what was found is printed all the same
//	3    a bug of the simulator
//	130  interrupted; what was found so far was printed, and its witnesses saved
//	143  the same as 130, by SIGTERM
//
// If several hold it is the first of 3, 130 or 143, 1, 2. A failure ends with the line to
// type next.
package main

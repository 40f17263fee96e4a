// Kpsim explores scenarios of live code patching and replays what it has found.
//
//	kpsim explore [FILE|NAME…]   run scenarios under many schedules
//	kpsim storm                  run programs that are drawn, which call the probes' API
//	kpsim fuzz                   run scenarios of which everything is drawn
//	kpsim verify FILE|NAME…      run every schedule of a kind: what holds then is proved
//	kpsim matrix [ROW…]          which waits and syncs patching needs
//	kpsim merge FILE…            put the result files of a divided exploration together
//	kpsim run FILE|NAME          one run: the probes in the end, hits, what the kernel printed
//	kpsim shell FILE|NAME|TRACE  one run that is stepped by hand, or by a script
//	kpsim replay TRACE           run one recorded schedule again, and show it
//	kpsim explain TRACE          how it came about in sentences, and the choice that lost it
//	kpsim view TRACE             the same as a page to go through
//	kpsim export TRACE           the same for other tools
//	kpsim shrink TRACE           make it smaller, by hand
//	kpsim rerecord TRACE…        bring traces up to date with the program
//	kpsim check OBJECT           what a kernel says of a probe on each instruction
//	kpsim disasm OBJECT FUNC     a function, and what a probe's jump would replace
//	kpsim bench search           how fast and how well this build searches
//	kpsim mutants [NAME…]        which property notices each fault, and how soon
//	kpsim overhead               what a probe's hit costs, beside the documents' figures
//	kpsim editions               what each edition presets
//	kpsim list                   what there is: scenarios, properties, mutants, strategies
//	kpsim version                which kpsim this is
//	kpsim completion SHELL       a script by which a shell completes all these
//
// What it is: one file per verb, which has the verb's help and embeds a type of a package
// below internal/. That type has the flags and does the work. main.go parses the command
// line and runs it, commands.go is the table of verbs, completion.go completes names.
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
//
// If several hold it is the first of 3, 130, 1, 2. A failure ends with the line to
// type next.
package main

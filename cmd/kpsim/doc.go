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
// What it is not: it decides nothing about a run. It turns flags into a
// explore.Spec, and an explore.Result into lines.
//
// Its rules. What goes to standard output is the same each time, but for
// schedules_per_s in --json; what depends on the moment (progress) goes to
// standard error, and to a terminal only. Every scenario is loaded, checked and
// run once before the first is explored, so that bad input costs no waiting. A
// trace is either whole or not there.
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
//
// One file a command; columns.go and rows.go print for check. explore is the
// longest: search.go makes the runs and saves what they show, judge.go makes rows
// of it, thorough.go says how much it means, report.go prints; merge begins where
// search.go has ended. shell.go reads lines and has the table of commands,
// shell_do.go moves the machine, shell_files.go and shell_look.go show it.
// overhead_table.go prints figures, overhead_words.go what is said of them,
// overhead_page.go writes a page of it all, the other files of overhead what they are
// called; overhead_priced.go says by whose costs. matrix_page.go, mutants_html.go and
// check_page.go make the pages of their commands, mutants_page.go is that in Markdown;
// pages.go writes them. Package page is what pages look like.
// program.go is what all commands share, nearest_name.go what is said of a name
// that isn't there.
package main

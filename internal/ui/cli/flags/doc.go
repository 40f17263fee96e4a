// Package flags adds what the command line parser, kong, lacks: ranges of numbers, errors in
// plain words, and completion.
//
// What it is: functions over a command line, parsed or not. Check refuses a single-valued flag
// that is given twice, and a value outside the flag's range, which its tag range:"1..64" states
// and --help prints. InPlainWords rewrites the parser's errors and suggests the flag or command
// that was meant. Complete returns the completions of the last word; Scripts are the shells' part
// of it.
//
// What it is not: it knows no command; names of values come from the caller, by flag.
//
// Its rule: an error names the flag, and says what to write instead.
//
// Its limits: the parser's errors are recognised by their text, so a new release of the parser
// may need new patterns; a test provokes one of each.
package flags

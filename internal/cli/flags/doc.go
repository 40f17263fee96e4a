// Package flags is what the parser of the command line, kong, doesn't do: ranges of numbers,
// errors in plain words, and completion.
//
// What it is: functions over a parsed or parsable command line. Check refuses a flag that
// is given twice and has one value, and one out of its range, by its tag range:"1..64", which
// --help prints too. InPlainWords rewrites the parser's
// errors and suggests the flag or command that was meant. Complete returns what the last
// word may become; Scripts are the shells' side of it.
//
// What it is not: it knows no command; names of values come from the caller, by flag.
//
// Its rule: an error names the flag, and says what to write instead.
//
// Its limits: the parser's errors are recognised by their text, so a new release of it may
// need new patterns; a test types one of each.
package flags

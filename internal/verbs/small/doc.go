// Package small is the verb kpsim small: all serial programs of a few calls.
//
// What it is: flags, the report, and the files of witnesses. Report prints what a session of
// internal/search/small has shown; explore and review print theirs by it, too.
//
// What it is not: it runs nothing itself.
//
// Its rule: a search that isn't complete to the length that was asked for says so.
package small

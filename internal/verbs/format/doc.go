// Package format is kpsim fmt, which formats scenarios and traces.
//
// What it is not: it doesn't say what their form is; package tidy does.
//
// Its rule: it writes whole files, and none if one of them can't be read.
//
// Its limits: those of tidy.
package format

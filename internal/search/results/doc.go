// Package results reads, writes and checks result files: the result of one share of an
// exploration, for kpsim merge.
//
// What it is not: it adds nothing up. explore.Merge does.
//
// Its rule: a file may be damaged, edited or from another program. Each error is one line that
// names the file, the place and a remedy; the runs that a file reports are repeated before they
// are believed (check.go).
package results

// Package pages implements kpsim matrix: it runs or reads a matrix of searches, and prints it as
// a table, JSON, Markdown or an HTML page.
//
// What it is not: the rows, columns and searches are in package matrix.
//
// Its rules. For an interrupted matrix the complete rows are printed. No cell is written by hand.
//
// Its limits: a page shows the violations that were shrunk, not every one.
package pages

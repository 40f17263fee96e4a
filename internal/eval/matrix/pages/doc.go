// Package pages does kpsim matrix: it runs or reads a matrix of searches, and prints it as a
// table, JSON, Markdown or an HTML page.
//
// What it is not: the rows, columns and searches are in package matrix.
//
// Its rules. An interrupted matrix is printed as far as its rows are whole. No cell is
// written by hand.
//
// Its limits: a page shows the broken properties that were shrunk, not every one.
package pages

// Package archtest helps the tests of processors: it draws instructions' operands, has the memory of one case, records
// what an emulator left, and loads executable files.
//
// It knows no processor. What is drawn is the same everywhere, for only digests of the results are recorded.
package archtest

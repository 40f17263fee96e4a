// Package edit makes a scenario smaller or simpler, one edit at a time: a task
// left out, a loop run once, a CPU taken away.
//
//	for _, e := range edit.Smaller(sc) {
//		smaller := e.Apply(sc) // sc stays as it is
//	}
//
// What it is not: it runs nothing. Whether an edited scenario passes the checks
// and still shows what it showed is the caller's to find out.
//
// Its rule: the list of edits depends on the scenario alone, the largest cuts
// first.
//
// Its limit: it edits the scenario's lists and numbers, never the bytes of a
// function.
package edit

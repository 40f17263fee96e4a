// Package edit makes a scenario smaller or simpler, one edit at a time: a task omitted, a loop
// run once, a CPU removed.
//
//	for _, e := range edit.Smaller(sc) {
//		smaller := e.Apply(sc) // sc stays as it is
//	}
//
// What it is not: it runs nothing. The caller must find out whether an edited scenario passes the
// checks and still shows its behaviour.
//
// Its rule: the list of edits depends on the scenario alone, the largest cuts
// first.
//
// Its limit: it edits the scenario's lists and numbers, never the bytes of a
// function.
package edit

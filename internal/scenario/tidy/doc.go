// Package tidy formats scenarios and traces.
//
//	tidy.Format("mine.star", src) // by its content a program, or a trace
//
// A program gets the form that buildifier gives a .bzl file, so that an editor that calls buildifier
// and kpsim fmt agree; comments stay. A trace gets the form in which kpsim writes it.
//
// What it is not: it runs no program and checks none but for its syntax.
//
// Its rule: what is formatted means the same. The syntax trees before and after are compared, and a
// difference is a bug of the simulator, not a file that is written.
//
// Its limits: buildifier doesn't break long lines, and takes a comment behind code to two blanks from
// it. It reads no tabs as indentation and no tuple without brackets.
package tidy

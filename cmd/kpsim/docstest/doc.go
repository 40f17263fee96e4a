// Package docstest tests README.md and docs: it runs the commands of each page and compares
// the output.
//
// It has no code of its own, and no package imports it. It is a package beside kpsim's other
// tests so that both run at once; it runs the program as a user does.
package docstest

// Package docstest holds README.md and docs to what the program prints: its tests are
// the pages.
//
// What it is not: it has no code of its own, and nobody imports it. It is beside kpsim's
// other tests so that neither takes long, and runs the program as a user does.
package docstest

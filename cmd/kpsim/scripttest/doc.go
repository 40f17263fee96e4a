// Package scripttest runs kpsim as a user does: its tests are scripts, in
// testdata/script, and ^C to each command that may take long.
//
// What it is not: it has no code of its own, and no package imports it. It is
// beside kpsim's other tests so that neither takes long.
package scripttest

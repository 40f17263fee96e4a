// Package scripttest runs kpsim as a user does: its tests are scripts, in
// testdata/script, and ^C to each command that may take long. The commands kpsim and status run a
// command line in a process that ran others before; exec gives it a process of its own.
//
// What it is not: it has no code of its own, and no package imports it. It is
// beside kpsim's other tests so that neither takes long.
package scripttest

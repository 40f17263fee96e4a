// Package load measures how much a server with its coordinator handles: thousands of workers, a million units. It has
// tests only.
//
// The server is kpsim-campaign serve, in a process of its own, so that its processor time and its memory can be read.
// The workers are those of package work, in the process of the test, each with a connection of its own; a unit is a
// second of sleep, and its result is some kilobytes.
//
//	go test ./load              a small one, which only checks that nothing is lost
//	go test ./load -load -v     all of it, some minutes, with figures
//	go test ./load -load -v -profile cpu.pprof
//
// What it is not: a test of the contents of results.
//
// Its rule: the server is the program that is shipped. For a profile one file is added to it.
//
// Its limit: server and workers share the processors and talk over loopback, so the rate is what this computer
// achieves beside the workers' part.
package load

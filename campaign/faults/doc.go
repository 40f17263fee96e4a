// Package faults breaks a campaign while it runs, and checks that the campaign's report still equals that of kpsim
// explore, byte for byte. Only faults_test.go runs this package.
//
//	schedule.go  what is broken, and when: drawn from a seed
//	rig.go       real processes: servers, workers, a client that waits for the report
//	apply.go     what each kind of fault does to them
//	proxy.go     the network: connections that are cut, slowed, or silent
//	clock.go     programs whose clock differs from the others'
//	check.go     what must hold in the end
//	build.go     compiles the programs under test
//	process.go   one process: its start, its signals, its output
//	run.go       a run of the whole: schedule, rig, check
//	dump.go      prints streams and leader when a check fails
//
// What it is not: a simulation. Processes are killed by signals, disks are full, and the bytes go through sockets.
// The schedule is drawn, but its effect on the processes differs from run to run.
//
// Its rule: everything broken is mended, or replaced, some seconds later, and at least one worker always runs. Then the
// campaign ends by itself, nothing is lost, and nothing is counted twice.
//
// Its limit: one computer. A process that is killed loses its memory, but the page cache survives, unlike in a power
// failure. Full disks are small file systems, which root can mount.
package faults

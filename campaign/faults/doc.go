// Package faults breaks a campaign while it runs, and checks that its report is still that of kpsim explore, byte for
// byte.
//
//	schedule.go  what is broken, and when: drawn from a seed
//	rig.go       real processes: servers, workers, a client that waits for the report
//	apply.go     what each kind of fault does to them
//	proxy.go     the network: connections that are cut, slowed, or silent
//	clock.go     programs whose clock differs from the others'
//	check.go     what must hold in the end
//
// What it is not: a simulation. Processes are killed by signals, disks are full, and the bytes go through sockets.
// The schedule is drawn, but its effect on the processes differs from run to run.
//
// Its rule: everything broken is mended, or replaced, some seconds later, and one worker is left. Then the campaign
// ends by itself, nothing is lost, and nothing is counted twice.
//
// Its limit: one computer. A process that is killed loses its memory; unlike at a power failure, the page cache isn't
// lost. Full disks are small file systems, which root can mount.
package faults

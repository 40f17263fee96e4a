// Package board says what of a campaign lies where in NATS JetStream, and reads and writes it.
//
//	stream WORK      work.BUILD.NEEDS.KEY: units to make, a work queue; one durable consumer
//	                 for each build and each thing a worker must have
//	stream DONE      done.KEY: what a unit has shown. A subject takes one message, so what is
//	                 made twice counts once
//	stream TROUBLE   trouble.KEY: how a unit failed, with its log
//	bucket CAMPAIGNS the state of each campaign; STATUS its figures; FINDS the causes that were
//	                 found; LEAD who coordinates
//	objects FILES    campaigns, kernels and objects by digest, results that are too large for a
//	                 message
//	alive.NAME, needs: said, not stored: who works, and what there is to be had
//
// What it is not: it decides nothing. Package lead does.
//
// Its rule: whatever is written may be written twice, by two processes, and is there once.
//
// Its limit: a result is held in memory while it is read.
package board

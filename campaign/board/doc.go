// Package board says what of a campaign lies where in NATS JetStream, and reads and writes it.
// Only coordinators reach it: others ask them (package gate).
//
//	stream WORK      work.BUILD.NEEDS.KEY: units to make, a work queue; one durable consumer
//	                 for each build and each thing a worker must have
//	stream DONE      done.KEY: what a unit has shown. A subject takes one message, so what is
//	                 made twice counts once
//	stream LARGE     large.KEY.DELIVERY.N: pieces of results that are too large for a message
//	stream TROUBLE   trouble.KEY: how a unit failed, with its log
//	stream PIECES    piece.DIGEST: pieces of plans, kernels and objects, each under its SHA-256
//	bucket CAMPAIGNS the state of each campaign; STATUS its figures; FINDS the causes that were
//	                 found; LEAD who coordinates; SECRET what tickets are signed with
//
// What it is not: it decides nothing. Package lead does.
//
// Its rules: whatever is written may be written twice, by two processes, and is there once. What is
// read is checked: a file by its digest, a value by its form, and one that is damaged hides no other.
//
// Its limit: a result is held in memory while it is read.
package board

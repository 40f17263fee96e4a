// Package board defines where each part of a campaign is stored in NATS JetStream, and reads and writes it. Only
// coordinators reach it: workers and clients ask them (package gate).
//
//	stream WORK      work.BUILD.NEEDS.KEY: units to make, a work queue; one durable consumer
//	                 for each build and each thing a worker must have
//	stream DONE      done.KEY: a unit's result. A subject holds one message, so a unit that is
//	                 made twice counts once
//	stream LARGE     large.KEY.DELIVERY.N: pieces of results that are too large for a message
//	stream TROUBLE   trouble.KEY: how a unit failed, with its log
//	stream PIECES    piece.DIGEST: pieces of plans, kernels and objects, each under its SHA-256
//	bucket CAMPAIGNS the state of each campaign; STATUS its figures; FINDS the causes that were
//	                 found; LEAD which coordinator leads; SECRET the secret that signs tickets
//
// What it is not: it decides nothing. Package lead does.
//
// Its rules: anything may be written twice, by two processes, and is stored once. Everything read is checked: a file
// by its digest, a value by its form. A damaged value hides no other.
//
// Its limit: a result is held in memory while it is read.
package board

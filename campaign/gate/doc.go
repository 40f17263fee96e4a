// Package gate stands between the board and those that don't coordinate. Workers and clients ask a
// coordinator, each role under subjects of its own; nothing else reaches their accounts.
//
//	wire.go      how a question and an answer are written
//	gate.go      the coordinator's side: which questions are answered, how many at once
//	tickets.go   the proof that a unit was handed out
//	toworkers.go what workers may ask; toclients.go what clients may
//	worker.go    a worker's side; client.go a client's
//
// What it is not: it decides nothing of campaigns. Package lead does.
//
// Its rules. A worker speaks of a unit only by the ticket with which it was handed out to it: so it
// can deliver, fail, give back and keep that unit, and no other. What comes from a worker is checked
// before it is stored, and what is counted of it is taken from its data. Of a client's, too: an ID is
// given by the coordinator, a state follows from the one before, a plan is read as workers read it.
//
// Any coordinator may answer any question: it keeps nothing that another one needs.
//
// Its limit: the key of a role is all that it knows of its asker. Two workers are one to it.
package gate

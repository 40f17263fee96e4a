// Package gate stands between the board and the processes that don't coordinate. Workers and clients ask a
// coordinator, each role under subjects of its own; nothing else reaches their accounts.
//
//	wire.go      how a question and an answer are written
//	gate.go      the coordinator's side: which questions are answered, how many at once
//	tickets.go   the proof that a unit was handed out
//	toworkers.go what workers may ask; toclients.go what clients may
//	worker.go    a worker's side; client.go a client's
//
// What it is not: it makes no decision about campaigns. Package lead does.
//
// Its rules. A worker refers to a unit only by the ticket with which it was handed out: so it can deliver, fail, give
// back and keep that unit, and no other. Data from a worker is checked before it is stored, and all counts are taken
// from that data. Data from a client is checked, too: the coordinator gives the ID, a state follows from the one
// before, a plan is read as workers read it.
//
// Any coordinator may answer any question: it keeps nothing that another one needs.
//
// Its limit: it knows the asker only by the key of its role. It can't tell two workers apart.
package gate

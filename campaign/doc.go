// Package campaign is the map of a module of its own: the searches of kpsim on many computers. It
// stands apart so that kpsim itself needs no server and none of its libraries.
//
//	cmd/kpsim-campaign  the command: one file a verb
//	desk                starts campaigns, reports and compares them
//	web                 the page, its figures, metrics
//	load                measures what a server holds
//	lead                coordinates: hands out units, and what follows from them
//	work                makes units: takes, delivers, acknowledges
//	unit                what a unit is made of, without any network
//	plan                what a campaign is, as data
//	gate                what workers and clients may ask a coordinator
//	board               what lies where in NATS JetStream
//	hub                 the server within the process, keys, connections
//	build               which program this is
//	faults              breaks all of that while it runs, and checks the report
//
//	start ─► gate ─► board ─► lead ── WORK ──► gate ─► work ─► unit
//	                           ▲                        │
//	                           └── DONE ◄──── gate ◄────┘ ─► gate ─► desk ─► report
//
// A unit is a range of shards of an exploration (explore.Deal), an island of a fuzzing session, or
// what follows from those. It shows the same on any computer, so it may be made twice: the stream
// of results takes one message a unit, and the report is that of one computer, byte for byte.
package campaign

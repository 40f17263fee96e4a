// Package campaign is the map of a module of its own: the searches of kpsim on many computers. It stands apart so
// that kpsim itself needs no server and none of its libraries.
//
//	cmd/kpsim-campaign  the command: one file a verb
//	desk                starts campaigns, reports and compares them
//	web                 the page, its figures, metrics
//	load                measures how much a server handles
//	lead                coordinates: hands out units, and those that follow from their results
//	work                makes units: takes, delivers, acknowledges
//	unit                how a unit is made, without any network
//	plan                what a campaign is, as data
//	gate                what workers and clients may ask a coordinator
//	board               where everything is stored in NATS JetStream
//	hub                 the server within the process, keys, connections
//	build               which program this is
//	faults              breaks all of that while it runs, and checks the report
//
//	start ─► gate ─► board ─► lead ── WORK ──► gate ─► work ─► unit
//	                           ▲                        │
//	                           └── DONE ◄──── gate ◄────┘ ─► gate ─► desk ─► report
//
// A unit is a range of shards of an exploration (explore.Deal), an island of a fuzzing session, or work that follows
// from those. Its result is the same on any computer, so it may be made twice: the stream of results takes one
// message a unit, and the report is that of one computer, byte for byte.
package campaign

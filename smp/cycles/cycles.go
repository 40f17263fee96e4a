// Package cycles says what each event of the machine costs, in cycles of the
// CPU it happens on.
//
// What it is not: it doesn't know how events come about, and no searching
// strategy reads a clock.
//
// Its rule: a figure is the sum of what happened, never a formula beside it.
//
// Its limits: one nominal profile, whose numbers are assumed: only their
// order of magnitude is meant. Machine profiles with provenance come with the
// overhead reports.
package cycles

import "kpsim/smp/kapi"

// A Profile is the cost of each event, in cycles.
type Profile struct {
	Instruction uint64
	Trap        uint64 // delivery of an exception or interrupt
	Iret        uint64
	Switch      uint64 // of tasks
	SyncCore    uint64
	SendIPI     uint64
	Point       uint64 // one access to a shared cell
	Work        [kapi.WorkKinds]uint64
}

// Nominal is a round-numbered processor of the 2010s (assumed).
var Nominal = Profile{
	Instruction: 1,
	Trap:        200,
	Iret:        100,
	Switch:      1000,
	SyncCore:    150,
	SendIPI:     300,
	Point:       4,
	Work: [kapi.WorkKinds]uint64{
		kapi.WorkLookup:  40,
		kapi.WorkHandler: 20,
		kapi.WorkSave:    40,
		kapi.WorkCopy:    1,
		kapi.WorkEmulate: 30,
	},
}

// Package view prints a run so that a person can follow it: who did what on
// which CPU, what it did to the patched text, and where it went wrong; or tells
// how that came about, in a few sentences (Story).
//
//	rep, err := search.PlayFile(name, file, true) // true: keep the events
//	...
//	m := rep.Rig.Machine
//	err = view.Interleaving(os.Stdout, view.Input{
//		Events:   rep.Rig.Log.Events,
//		CPUs:     m.CPUs(),
//		Symbol:   m.SymbolName,
//		KernelIP: uint64(smp.GateBase) + 0x100000, // what a routine's saved ip is
//		Task:     func(id uint64) string { return m.Tasks()[id].Name },
//		Lock:     rep.Rig.Kernel.Locks.Name,
//		Probe:    func(id uint64) string { return rep.Rig.Scenario.Probes[id].Name },
//		Source:   func(i uint64) string { return m.MoverName(sim.Mover(i)) },
//		Schedule: file.Schedule,
//		Property: rep.Property.ID + " " + rep.Property.Name, // unless rep.Property is nil
//		Place:    rep.Place,
//		PlaceAt:  rep.Finding.Place,
//		At:       rep.Rig.Log.FoundAt,
//		Message:  rep.Finding.Message,
//		AtEnd:    rep.Property == &properties.Progress,
//	})
//
// What it is not: a check. It repeats what the events say and judges nothing;
// what is wrong the verdict says, which is handed in. A story goes further in one
// thing: it says which events the violation rests on. What the events don't show,
// such as what a routine has read, it can't follow, and doesn't guess.
//
// Its rule: nothing is left out without a word. Events that matter little are
// merged into one row, repeated calls are told once and then referred to, and a
// gap says how many rows it swallows. With All each event is a row.
//
// Its limits: the bytes it shows are those of memory, as stored; what a CPU
// fetched is in its own row. It knows the instructions that the log's head
// loads, so text that no scenario watches has no bytes. A run that broke no
// property is printed whole, and long: Rows bounds it.
//
// How a story is found: from the event that is the violation back. An instruction
// rests on the stores that its bytes come from, on those it didn't see, and on
// how the task came to stand there (stay: the interrupts that held it, the
// preemption in them). A store, or memory being freed, rests on what its task had
// waited for, and that wait on the quiescent state by which the CPU didn't count.
// A handler rests on the hit and on the calls of the API, a fault on the
// instruction, an end on the last store. Sentences are sorted by their events.
//
// The files: text (memory as the events tell it), tell (which events,
// and what they weigh), say and words (an event in words), merge (one row for
// several), focus (which rows are left out), print (columns), verdict (the
// drawing under the last row); story (the violation by its kind), past (what came
// before what), writes (stores, and whose the bytes are), stay (how a task came
// to stand somewhere), waits (what was waited for), ends (calls, locks, the end).
package view

// Package view shows a run to a reader, in one of these forms: in columns, one for each CPU
// (Interleaving, for replay); in a few sentences (Story, for explain); laid out in steps and
// spans, for a page or another tool (Lay, which makes a Scene, for view and export); or in
// narrow columns for a mail (Columns, for export --to columns). The text of a single event is
// the same in all of them (say.go).
//
//	rep, err := replay.Play(name, file, true) // true: keep the events
//	...
//	m := rep.Rig.Machine
//	err = view.Interleaving(os.Stdout, view.Input{
//		Events:   rep.Rig.Log.Events,
//		Arch:     m.Arch(),
//		CPUs:     m.CPUs(),
//		Names: view.Names{
//			Symbol: m.Names().SymbolName,
//			Task:   func(id uint64) string { return m.Tasks().All()[id].Name },
//			Lock:   rep.Rig.Kernel.Locks.Name,
//			Probe:  func(id uint64) string { return rep.Rig.Scenario.Probes[id].Name },
//			Source: func(i uint64) string { return m.Names().Mover(sim.Mover(i)) },
//		},
//		KernelIP: uint64(smp.GateBase) + 0x100000, // what a routine's saved ip is
//		Schedule: file.Schedule,
//		Property: rep.Property.ID + " " + rep.Property.Name, // unless rep.Property is nil
//		Place:    rep.Place,
//		PlaceAt:  rep.Finding.Place,
//		At:       rep.Rig.Log.FoundAt,
//		Message:  rep.Finding.Message,
//		AtEnd:    rep.Property == &properties.Progress,
//	})
//
// What it is not: a check. It repeats the events and judges nothing; the verdict is an
// input. A story adds one thing: which events the violation depends on. It can't follow
// what the events don't show, such as what a routine has read, and doesn't guess.
//
// Its rule: nothing is left out silently. Minor events are merged into one row,
// repeated calls are printed once and then referred to, and a gap says how many rows it
// replaces. With All each event is a row.
//
// Its limits: the bytes shown are those of memory, as stored; the bytes that a CPU
// fetched are in its own row. It knows the instructions that the log's head loads, so
// text that no scenario watches has no bytes. A run that broke no property is printed
// whole, and is long: Rows bounds it.
//
// How a story is found: from the violating event backwards. An instruction depends on
// the stores that its bytes come from, on those it didn't see, and on how the task came
// to stand there (stay: the interrupts that held it, the preemption in them). A store,
// or the freeing of memory, depends on what its task had waited for, and that wait on
// the quiescent state that let the CPU pass. A handler depends on the hit and on the
// calls of the API, a fault on the instruction, an end on the last store. Sentences are
// sorted by their events.
//
// The files, by what they are for:
//
//	all      text (memory according to the events), say and words (an event, or the violation, as
//	         text), tell (which events are printed, and their weights), choice (a deviation as a
//	         phrase), calls (what a kernel's own engine calls)
//	columns  view (Interleaving), merge (one row for several events), focus (which rows are left
//	         out, which steps are folded), print, held (stores that other CPUs see late), verdict
//	         (the drawing after the last row); columns (those for a mail)
//	story    story (the violation by its kind), past (the order of events), writes (stores, and the
//	         origin of bytes), stay (how a task came to stand somewhere), waits (what was waited
//	         for, what goes on for ever), owners (other owners of text than probes), ends (calls,
//	         locks, the end, what a kernel's own engine reports)
//	scene    scene (its types, and Lay), layer (from event to step), inside (where tasks
//	         stand, and in which bytes that are written to)
//	first    decide (what decided a violation, by its property)
package view

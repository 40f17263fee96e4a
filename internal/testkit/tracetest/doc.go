// Package tracetest builds logs by hand, to test monitors without a machine.
//
//	tr := tracetest.New()
//	tr.Load(f, "55", "48 89 e5", "53")
//	tr.Image(f, jmp...).Store(f+1, jmp[1:]...)
//	tr.On(1, 2).Exec(f+1, 0x48, 0x89, 0xe5)
//	tr.ExpectViolation("T2", "inside")
//	tr.Check(t, watches...)
//
// What it is not: a check of the log itself. The author has to know whether a machine
// could emit it; a log that no machine emits is no evidence.
//
// Its rule: the log states what must be found and where. The finding must come at the
// event before ExpectViolation, from that property and no other, with all monitors
// watching. A log that must pass is played to its end.
//
// Its limits: it knows only the vocabularies smpev and kpev; for other kinds there is
// Emit.
package tracetest

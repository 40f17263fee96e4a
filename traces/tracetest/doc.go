// Package tracetest builds logs by hand, to test monitors with no machine in
// the room.
//
//	tr := tracetest.New()
//	tr.Load(f, "55", "48 89 e5", "53")
//	tr.Image(f, jmp...).Store(f+1, jmp[1:]...)
//	tr.On(1, 2).Exec(f+1, 0x48, 0x89, 0xe5)
//	tr.ExpectViolation("T2", "inside")
//	tr.Check(t, watches...)
//
// What it is not: a check of the log itself. Whether a machine could emit it is
// the author's to know; a log that none could is worth nothing as evidence.
//
// Its rule: the log says what must be found and where. A finding is expected
// from the event before ExpectViolation, from that property and from no other,
// with all monitors watching; a log that must pass is played to its end.
//
// Its limits: it knows the vocabularies smpev and kpev only; for other kinds
// there is Emit.
package tracetest

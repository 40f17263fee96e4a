package properties_test

import (
	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// reader begins a read as another task.
func reader(tr *tracetest.Trace, what, probe uint64) { tr.On(1, 2).Emit(kpev.Reading, what, probe, 0) }

// reads has a line of the list for the reader.
func reads(tr *tracetest.Trace, addr uint64, tags uint64) {
	tr.On(1, 2).Emit(kpev.ReadLine, addr, 'k', tags)
}

// ends ends the read.
func ends(tr *tracetest.Trace, what, probe, value uint64) *tracetest.Trace {
	tr.On(1, 2).Emit(kpev.ReadEnd, what, probe, value)
	return tr
}

func init() {
	const disabled, optimized = kpev.TagDisabled, kpev.TagOptimized
	golden("F2-listed", func(tr *tracetest.Trace) {
		probed(tr)
		reader(tr, kpev.ReadList, 0)
		reads(tr, f, 0)
		ends(tr, kpev.ReadList, 0, 1).ExpectNone()
	})
	golden("F2-missing", func(tr *tracetest.Trace) {
		probed(tr)
		reader(tr, kpev.ReadList, 0)
		ends(tr, kpev.ReadList, 0, 0).ExpectViolation("F2", "has read 0 lines k for 0x1000")
	})
	trap("F2-twice", "each line is that of a registered probe, but it is the same one", func(tr *tracetest.Trace) {
		probed(tr)
		reader(tr, kpev.ReadList, 0)
		reads(tr, f, 0)
		reads(tr, f, 0)
		ends(tr, kpev.ReadList, 0, 2).ExpectViolation("F2", "has read 2 lines k for 0x1000")
	})
	trap("F2-comes", "a probe isn't listed, although its register has returned: it came after the reader began",
		func(tr *tracetest.Trace) {
			reader(tr, kpev.ReadList, 0)
			probed(tr)
			ends(tr, kpev.ReadList, 0, 0).ExpectNone()
		})
	trap("F2-goes", "a probe is listed, although its unregister has returned: it was there when the reader began",
		func(tr *tracetest.Trace) {
			probed(tr)
			reader(tr, kpev.ReadList, 0)
			unprobed(tr)
			reads(tr, f, 0)
			ends(tr, kpev.ReadList, 0, 1).ExpectNone()
		})
	trap("F2-gone", "a probe is listed that was registered, but its unregister had returned before the read",
		func(tr *tracetest.Trace) {
			probed(tr)
			unprobed(tr)
			reader(tr, kpev.ReadList, 0)
			reads(tr, f, 0)
			ends(tr, kpev.ReadList, 0, 1).ExpectViolation("F2", "where no such probe was registered")
		})
	trap("F2-returns", "a probe that is registered before and after isn't listed: it wasn't in between",
		func(tr *tracetest.Trace) {
			probed(tr)
			reader(tr, kpev.ReadList, 0)
			unprobed(tr)
			tr.ApiEnter(kpev.Register, 1, f).ApiReturn(kpev.Register, 1, 0)
			ends(tr, kpev.ReadList, 0, 0).ExpectNone()
		})
	trap("F2-letter", "a line for each probe, but that of a return probe says k", func(tr *tracetest.Trace) {
		tr.Emit(kpev.Kind, 1, 1, 0)
		probed(tr)
		reader(tr, kpev.ReadList, 0)
		reads(tr, f, 0)
		ends(tr, kpev.ReadList, 0, 1).ExpectViolation("F2", "where no such probe was registered")
	})
	trap("F2-disables", "not [DISABLED], and disable has returned: it hadn't when the reader began",
		func(tr *tracetest.Trace) {
			probed(tr)
			reader(tr, kpev.ReadList, 0)
			reads(tr, f, 0)
			tr.ApiEnter(kpev.Disable, 1, f).ApiReturn(kpev.Disable, 1, 0)
			ends(tr, kpev.ReadList, 0, 1).ExpectNone()
		})
	golden("F2-disabled", func(tr *tracetest.Trace) {
		probed(tr)
		tr.ApiEnter(kpev.Disable, 1, f).ApiReturn(kpev.Disable, 1, 0)
		reader(tr, kpev.ReadList, 0)
		reads(tr, f, 0)
		ends(tr, kpev.ReadList, 0, 1).ExpectViolation("F2", "0 of the probes at 0x1000 are disabled, and 1 were")
	})
	trap("F2-enabled", "[DISABLED] of two, of which one may be: the other was enabled throughout",
		func(tr *tracetest.Trace) {
			probed(tr)
			tr.Register(2, f)
			reader(tr, kpev.ReadList, 0)
			tr.ApiEnter(kpev.Disable, 2, f)
			reads(tr, f, disabled)
			reads(tr, f, disabled)
			ends(tr, kpev.ReadList, 0, 2).ExpectViolation("F2", "2 of 2 probes at 0x1000 are disabled, and 1 of them")
		})
	trap("F2-may-be-disabled", "[DISABLED] of one that disable is about to change", func(tr *tracetest.Trace) {
		probed(tr)
		reader(tr, kpev.ReadList, 0)
		tr.ApiEnter(kpev.Disable, 1, f)
		reads(tr, f, disabled)
		ends(tr, kpev.ReadList, 0, 1).ExpectNone()
	})
	trap("F2-forbidden", "[OPTIMIZED] of a probe that was: jumps have been forbidden since before the read",
		func(tr *tracetest.Trace) {
			probed(tr)
			tr.Emit(kpev.Sysctl, 0, 0, 0).Emit(kpev.Sysctl, 0, 1, 0)
			reader(tr, kpev.ReadList, 0)
			reads(tr, f, optimized)
			ends(tr, kpev.ReadList, 0, 1).ExpectViolation("F2", "while jumps were forbidden")
		})
	trap("F2-allowed-again", "[OPTIMIZED] after the write of 0: another task has begun to write 1",
		func(tr *tracetest.Trace) {
			probed(tr)
			tr.Emit(kpev.Sysctl, 0, 0, 0).Emit(kpev.Sysctl, 0, 1, 0)
			reader(tr, kpev.ReadList, 0)
			tr.Emit(kpev.Sysctl, 1, 0, 0)
			reads(tr, f, optimized)
			ends(tr, kpev.ReadList, 0, 1).ExpectNone()
		})
	trap("F2-post", "[OPTIMIZED] of one that has a post_handler", func(tr *tracetest.Trace) {
		tr.Emit(kpev.NoJump, 1, 0, 0)
		probed(tr)
		reader(tr, kpev.ReadList, 0)
		reads(tr, f, optimized)
		ends(tr, kpev.ReadList, 0, 1).ExpectViolation("F2", "a probe had a post_handler throughout")
	})
	trap("F2-behind-endbr", "[OPTIMIZED] of a probe behind an endbr64, at which is one with a post_handler",
		func(tr *tracetest.Trace) {
			tr.Load(0x1100, "f3 0f 1e fa", "55", "48 89 e5", "53", "c3")
			tr.Emit(kpev.NoJump, 1, 0, 0)
			tr.ApiEnter(kpev.Register, 1, 0x1100).ApiReturn(kpev.Register, 1, 0)
			tr.ApiEnter(kpev.Register, 2, 0x1104).ApiReturn(kpev.Register, 2, 0)
			reader(tr, kpev.ReadList, 0)
			reads(tr, 0x1100, 0)
			reads(tr, 0x1104, optimized)
			ends(tr, kpev.ReadList, 0, 2).ExpectNone()
		})
	trap("F2-module", "[GONE] and not [DISABLED], as disable left it: the kernel shows one of the two",
		func(tr *tracetest.Trace) {
			tr.Alloc(f, 0x100, smpev.ModuleMem)
			probed(tr)
			tr.ApiEnter(kpev.Disable, 1, f).ApiReturn(kpev.Disable, 1, 0)
			tr.Retire(f, 0x100, smpev.ModuleMem)
			reader(tr, kpev.ReadList, 0)
			reads(tr, f, kpev.TagGone)
			ends(tr, kpev.ReadList, 0, 1).ExpectNone()
		})
	trap("F2-post-gone", "[OPTIMIZED] of one in a module that was loaded again, beside one with a post_handler that "+
		"is gone",
		func(tr *tracetest.Trace) {
			tr.Alloc(f, 0x100, smpev.ModuleMem)
			tr.Emit(kpev.NoJump, 1, 0, 0)
			probed(tr)
			tr.Retire(f, 0x100, smpev.ModuleMem).Free(f, 0x100, smpev.ModuleMem).Alloc(f, 0x100, smpev.ModuleMem)
			tr.ApiEnter(kpev.Register, 2, f).ApiReturn(kpev.Register, 2, 0)
			reader(tr, kpev.ReadList, 0)
			reads(tr, f, optimized)
			reads(tr, f, optimized|kpev.TagGone)
			ends(tr, kpev.ReadList, 0, 2).ExpectNone()
		})
	for _, file := range []struct {
		what   uint64
		writes traces.Kind
		word   string
	}{{kpev.ReadEnabled, kpev.Enabled, "enabled"}, {kpev.ReadOptimization, kpev.Sysctl, "sysctl"}} {
		what, name := file.what, kpev.Read.Name(file.what)
		writes := func(tr *tracetest.Trace, task uint8, on, done uint64) {
			tr.On(0, task).Emit(file.writes, on, done, 0)
		}
		golden("F2-was-on-"+file.word, func(tr *tracetest.Trace) {
			reader(tr, what, 0)
			ends(tr, what, 0, 0).ExpectViolation("F2", "reads 0 in "+name+", which was 1 throughout")
		})
		golden("F2-off-"+file.word, func(tr *tracetest.Trace) {
			writes(tr, 0, 0, 0)
			writes(tr, 0, 0, 1)
			reader(tr, what, 0)
			ends(tr, what, 0, 1).ExpectViolation("F2", "reads 1 in "+name+", which was 0 throughout")
		})
		trap("F2-before-"+file.word, "1 is read, and the write of 0 has returned: it hadn't before the read",
			func(tr *tracetest.Trace) {
				reader(tr, what, 0)
				writes(tr, 0, 0, 0)
				writes(tr, 0, 0, 1)
				ends(tr, what, 0, 1).ExpectNone()
			})
		trap("F2-order-"+file.word, "1 is read, and 0 was written last: the two writes overlap",
			func(tr *tracetest.Trace) {
				writes(tr, 0, 0, 0)
				writes(tr, 3, 1, 0)
				writes(tr, 3, 1, 1)
				writes(tr, 0, 0, 1)
				reader(tr, what, 0)
				ends(tr, what, 0, 1).ExpectNone()
			})
	}
	golden("F2-missed", func(tr *tracetest.Trace) {
		probed(tr)
		reader(tr, kpev.ReadMissed, 1)
		ends(tr, kpev.ReadMissed, 1, 0).ExpectNone()
	})
	trap("F2-missed-of-old", "a count that may be an older one: nothing was missed since the registration",
		func(tr *tracetest.Trace) {
			probed(tr)
			reader(tr, kpev.ReadMissed, 1)
			ends(tr, kpev.ReadMissed, 1, 1).ExpectViolation("F2", "has missed 1 hits, and it has missed 0")
		})
}

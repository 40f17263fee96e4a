package matrix

import "slices"

// What the kernels of processors whose instructions are numbers wait for, and what they make other CPUs do. A probe
// stays until it is unregistered; nothing is optimized.

const (
	labelledRISCV = `v = text("victim", "00000013 00100513 00008067 00200513 00008067", at = %#x)` + "\n" + labels
	labelledARM   = `v = text("victim", "d503201f d2800020 d65f03c0 d2800040 d65f03c0", at = %#x)` + "\n" + labels
	labelledPower = `v = text("victim", "60000000 38600001 4e800020 38600002 4e800020", at = %#x)` + "\n" + labels
	labels        = `l = jump_label("l", at = v, target = v + 12)` + "\n"

	sitedRISCV = `v = text("victim", "00000013 00000013 0505 8082", at = %#x)` + "\nfentry(v)\n"
	sitedARM   = `v = text("victim", "d503201f d503201f 91000400 d65f03c0", at = %#x)` + "\nfentry(v)\n"
	sitedPower = `v = text("victim", "60000000 60000000 38630001 4e800020", at = %#x)` + "\nfentry(v)\n"

	probedRISCV = `v = text("victim", "00150513 8082", at = %#x)` + "\n" + kprobed
	reusedRISCV = `v = text("victim", "00150513 00450513 8082", at = %#x)` + "\n" +
		`k = kprobe("k", at = v)` + "\n" + `m = kprobe("m", at = v + 4)` + "\n"
	probedARM    = `v = text("victim", "91000400 d65f03c0", at = %#x)` + "\n" + kprobed
	probedPower  = `v = text("victim", "7c631e14 4e800020", at = %#x)` + "\n" + kprobed // emulate_step doesn't know it
	steppedPower = `v = text("victim", "7c631e14 7c631e14 4e800020", at = %#x)` + "\n" +
		`k = kprobe("k", at = v)` + "\n" + `m = kprobe("m", at = v + 4)` + "\n"
	jumpedPower = `v = text("victim", "38630001 4e800020", at = %#x)` + "\n" + `k = kprobe("k", at = v)` + "\n"
	kprobed     = `k = kprobe("k", at = v, pre = [count()], post = [count()])` + "\n" +
		`other = kprobe("other", at = v)` + "\n"

	traced  = "tracer(True), schedule(), tracer(False)"
	lived   = "register(k), schedule(), unregister(k)"
	shared  = "register(other), register(k), schedule(), unregister(k), unregister(other)"
	reused  = "register(k), schedule(), unregister(k), register(m), schedule(), unregister(m)"
	reusing = "call(v, 1, returns = 6), schedule(), call(v, 1, returns = 6)"
	returns = "call(v, 1, returns = 2), schedule(), call(v, 1, returns = 2)"
	doubled = "call(v, 1, returns = 4), schedule(), call(v, 1, returns = 4)"
)

// word4 is the alignment of what compilers and assembly align: a site of ftrace, a jump label.
const word4 = 4

// numbered returns the program of a block. Its canary is a row that breaks under each model of preemption and of fetch.
func numbered(processor, block, canary, site, patcher, caller string, first, step int) program {
	return program{site: site, patcher: patcher, caller: caller, sources: interrupts,
		canary: processor + "/" + block + "/" + canary, arch: processor, first: first, step: step}
}

var (
	flipsRISCV = numbered("riscv64", "label", "torn", labelledRISCV, flipped, twice, 0, word4)
	flipsOdd   = numbered("riscv64", "label", "torn", labelledRISCV, flipped, twice, 2, word4)
	flipsARM   = numbered("arm64", "label", "torn", labelledARM, flipped, twice, 0, word4)
	flipsPower = numbered("ppc64le", "label", "torn", labelledPower, flipped, twice, 0, word4)

	tracesRISCV = numbered("riscv64", "site", "torn", sitedRISCV, traced, returns, 0, word4)
	tracesARM   = numbered("arm64", "site", "torn", sitedARM, traced, returns, 0, word4)
	tracesPower = numbered("ppc64le", "site", "torn", sitedPower, traced, returns, 0, word4)

	probesRISCV = numbered("riscv64", "probe", "shared-no-grace", probedRISCV, lived, returns, 0, 2)
	sharesRISCV = numbered("riscv64", "probe", "shared-no-grace", probedRISCV, shared, returns, 0, 2)
	reusesRISCV = numbered("riscv64", "probe", "shared-no-grace", reusedRISCV, reused, reusing, 0, 2)
	probesARM   = numbered("arm64", "probe", "shared-no-grace", probedARM, lived, returns, 0, word4)
	sharesARM   = numbered("arm64", "probe", "shared-no-grace", probedARM, shared, returns, 0, word4)
	probesPower = numbered("ppc64le", "probe", "shared-no-grace", probedPower, lived, returns, 0, word4)
	sharesPower = numbered("ppc64le", "probe", "shared-no-grace", probedPower, shared, returns, 0, word4)
	stepsPower  = numbered("ppc64le", "probe", "shared-no-grace", steppedPower, reused, doubled, 0, word4)
	jumpsPower  = numbered("ppc64le", "jump", "none", jumpedPower, removed, returns, 0, word4)
)

// The ways that several blocks have.
var (
	asIs     = way{name: "as-is", says: "as the newest kernels do it"}
	unsynced = way{name: "unsynced", says: "without the sync of all CPUs after the last site", mutant: "label-unsynced"}
	ipi      = way{name: "ipi-stopped", says: "with the machine stopped, and the IPI of the sync is sent from there",
		mutant: "label-stopped"}
	torn = way{name: "torn", says: "each instruction in two halves", mutant: "whole-torn"}

	sharedAs = way{name: "shared", says: "as they do it, with another probe there"}
	ungraced = way{name: "shared-no-grace", says: "the same, and unregister waits for no handler", mutant: "no-grace"}

	stopped = []way{
		asIs,
		{name: "arm", says: "the breakpoint is written under CPUs that run", mutant: "arm-unstopped"},
		{name: "disarm", says: "the breakpoint is taken away under CPUs that run", mutant: "disarm-unstopped"},
		{name: "stop", says: "no CPU serialises before it leaves stop_machine", mutant: "stop-without-sync-core"},
		{name: "ipi-stopped", says: "the IPI of a sync is sent with the machine stopped", mutant: "arm-ipi-stopped"},
		{name: "irqs-on", says: "interrupts stay on while a copy is stepped", mutant: "step-irqs-on"},
		{name: "no-grace", says: "unregister waits for no handler, but the stop before", mutant: "no-grace"},
	}
	noGrace = way{name: "no-grace", says: "unregister waits for no handler", mutant: "no-grace"}
)

// sharing returns the ways of a program with two probes at a place.
func sharing(p *program) []way {
	a, b := sharedAs, ungraced
	a.of, b.of = p, p
	return []way{a, b}
}

// others are the blocks of Others.
var others = []Block{
	{"riscv64/label", "A jump label of riscv64: a nop becomes a jal and a nop again, by one store, and then all " +
		"CPUs run fence.i. At odd multiples of 2, where kernels could have one until 9ddfc3cd8060, the store is " +
		"two.", &Others, &flipsRISCV,
		[]way{asIs, unsynced, ipi, {name: "odd", says: "at odd multiples of 2", of: &flipsOdd}, torn}},
	{"riscv64/site", "A site of ftrace of riscv64: auipc stays there, and a nop becomes a jalr and a nop again, by " +
		"one store, and then all CPUs run fence.i. Until 2025 both were written with the machine stopped.", &Others,
		&tracesRISCV, []way{asIs, {name: "unsynced", says: unsynced.says, mutant: "sites-unsynced"},
			{name: "stop_machine", says: "the pair is written with the machine stopped", patch: "stop_machine"},
			{name: "unstopped", says: "the pair is written under CPUs that run", patch: "stop_machine",
				mutant: "sites-unstopped"}, torn}},
	{"riscv64/probe", "A probe of riscv64 on an instruction of four bytes: ebreak is written, and taken away, with " +
		"the machine stopped, and each CPU runs fence.i before it goes on.", &Others, &probesRISCV,
		slices.Concat(stopped, sharing(&sharesRISCV), []way{
			{name: "slot", says: "as they do it, and the slot is used again", of: &reusesRISCV},
			{name: "slot-unsynced", says: "the same, and no CPU serialises after a copy is written",
				mutant: "copies-unsynced", of: &reusesRISCV}})},
	{"arm64/label", "A jump label of arm64: a nop becomes a branch and a nop again, by one store, and then all " +
		"CPUs get an IPI.", &Others, &flipsARM, []way{asIs, unsynced, ipi, torn}},
	{"arm64/site", "A site of ftrace of arm64: a nop becomes bl and a nop again, by one store. Nothing makes other " +
		"CPUs serialise.", &Others, &tracesARM, []way{asIs, torn}},
	{"arm64/probe", "A probe of arm64: brk is written, and taken away, with the machine stopped, and each CPU runs " +
		"isb before it goes on.", &Others, &probesARM, slices.Concat(stopped, sharing(&sharesARM))},
	{"ppc64le/label", "A jump label of ppc64le: a nop becomes a branch and a nop again, by one store. Nothing " +
		"makes other CPUs serialise.", &Others, &flipsPower, []way{asIs, torn}},
	{"ppc64le/site", "A site of ftrace of ppc64le: a nop becomes bl and a nop again, by one store. Nothing makes " +
		"other CPUs serialise.", &Others, &tracesPower, []way{asIs, torn}},
	{"ppc64le/probe", "A probe of ppc64le: trap is stored, and the instruction again. Nothing makes other CPUs " +
		"serialise. The instruction is stepped, so it isn't optimized.", &Others, &probesPower,
		slices.Concat([]way{asIs, noGrace}, sharing(&sharesPower), []way{
			{name: "slot", says: "as they do it, and the slot is used again", of: &stepsPower},
			{name: "slot-irqs-on", says: "the same, and interrupts stay on while a copy is stepped",
				mutant: "step-irqs-on", of: &stepsPower}})},
	{"ppc64le/jump", "An optimized kprobe of ppc64le: a branch takes the place of the trap, by one store, and the " +
		"instruction that of the branch. What the optimizer waits for before it writes, and before the detour is " +
		"freed.", &Others, &jumpsPower, waiting()},
}

// waiting returns all waits.
func waiting() (list []way) {
	for _, w := range waits {
		list = append(list, way{name: w, says: "waits for " + w, wait: w})
	}
	return list
}

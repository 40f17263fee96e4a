package rig_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/sched"
	"kpsim/smp"
)

// TestByHand: what each step of a patcher does and answers. The scenario says it; a wrong line is one that must break.
func TestByHand(t *testing.T) {
	const parts = `
machine(cpus = 2)
d = data("d", size = 5)
f = text("f", "0f1f440000 b801000000 c3")
g = text("g", "b802000000 c3")
c = code("c", "b803000000 c3", size = 16)
n = code("n", size = 8, mapped = False)
`
	for name, row := range map[string]struct {
		ops   string
		wrong string // "": nothing
	}{
		"a write is there":         {ops: `write(f, "6690660f1f", by = 1), expect_text(f, "6690660f1f")`},
		"another one isn't":        {`write(f, "6690", by = 2), expect_text(f, "9090")`, "X2"},
		"a jump leads on":          {ops: `call(f, returns = 1), write(f, jump_to(g)), call(f, returns = 2)`},
		"into a place":             {ops: `write(f, jump_to(f + 5)), expect_text(f, "e900000000"), call(f, returns = 1)`},
		"a call comes back":        {ops: `write(f, call_to(g)), call(f, returns = 1)`},
		"a displacement cut short": {`write(f, jump_to(f)), write(f + 4, "00"), call(f)`, "O1"},
		"a displacement": {ops: `write(f, "e900000000"), write(f + 1, displacement(g)), ` +
			`call(f, returns = 2)`},
		"saved text comes back": {ops: `save_text(f, d), write(f, jump_to(g)), write(f, saved(d)), ` +
			`expect_text(f, "0f1f440000"), expect(d, "0f1f440000"), call(f, returns = 1)`},
		"a swap of what is there":  {ops: `write(f, "6690", old = "0f1f", errno = 0), expect_text(f, "6690")`},
		"a swap of what isn't":     {ops: `write(f, "6690", old = "9090", errno = "EAGAIN"), expect_text(f, "0f1f")`},
		"which doesn't do nothing": {`write(f, "6690", old = "9090", errno = 0)`, "X2"},
		"a breakpoint leads on":    {ops: `on_breakpoint(f, goto = g), write(f, "cc"), call(f, returns = 2)`},
		"with a call before": {ops: `on_breakpoint(f, goto = f + 5, call = g), write(f, "cc"), ` +
			`call(f, returns = 1)`},
		"and calls": {ops: `on_breakpoint(f, goto = g, links = True), write(f, "cc"), ` +
			`call(f, returns = 1)`},
		"one of two results":            {ops: `call(f, changed = True, returns = [2, 1])`},
		"none of two results":           {`call(f, changed = True, returns = [2, 3])`, "X2"},
		"until it isn't the task's own": {`on_breakpoint(f, goto = g), on_breakpoint(f), write(f, "cc"), call(f)`, "B1"},
		"memory for code":               {ops: `call(c, returns = 3), free(c, errno = 0), free(c, errno = "EINVAL")`},
		"which is gone":                 {`free(c), call(c)`, "S1"},
		"and comes back": {ops: `map(n, errno = 0), map(n, errno = "ENOMEM"), expect_text(n, "cccccccc"), ` +
			`write(n, "b804000000c3"), call(n, returns = 4)`},
		"empty":                         {`free(c), map(c), call(c)`, "B1"},
		"a page that has gone":          {`unmap(c), call(c)`, "S1"},
		"a page that can't be executed": {`protect(c, False, errno = 0), call(c)`, "O1"},
		"and can again":                 {ops: `protect(c, False), protect(c, True), call(c, returns = 3)`},
		"as it was":                     {ops: `protect(c, False), unprotect(c), call(c, returns = 3)`},
		"as it was found":               {`protect(c, False), protect(c, False), unprotect(c), call(c)`, "O1"},
		"a fault leads on":              {ops: `on_fault(c, goto = g), protect(c, False), call(c, returns = 2)`},
		"a fault that isn't its own":    {`on_fault(c, goto = g), on_fault(c), protect(c, False), call(c)`, "O1"},
		"a fault waits":                 {`on_fault(c, retry = True), protect(c, False), call(c)`, "P1"},
		"no page to protect": {ops: `free(c), protect(c, False, errno = "ENOMEM"), unprotect(c, errno = "ENOMEM"), ` +
			`map(c), write(c, "b803000000c3"), call(c, returns = 3)`},
		"a page comes back executable": {ops: `protect(c, False), unmap(c), map(c), write(c, "b803000000c3"), ` +
			`call(c, returns = 3)`},
		"CPUs serialise":        {ops: `serialise(), sync_core(), sync_core(cpus = [1, 0]), membarrier(), flush(f, 5)`},
		"waits come back":       {ops: `wait("rcu"), wait("sched"), wait("tasks"), wait("tasks-rude"), wait("safepoints")`},
		"CPUs stop and go on":   {ops: `stop(), resume(), resume(), stop_outside(f, 5), resume(), wait_outside(f, 5, stacks = True)`},
		"a stop without an end": {`stop()`, "P1"},
	} {
		t.Run(name, func(t *testing.T) {
			sc := searchtest.Load(t, parts+`task("a", cpu = 0, ops = [`+row.ops+`])
task("b", cpu = 1, ops = [safepoint(), call(g, returns = 2)])
never()
`)
			r, err := rig.New(sc, "")
			require.NoError(t, err)
			defer r.Close()
			run := r.Run(new(sched.Default))
			if row.wrong == "" {
				require.Equal(t, smp.Passed, run.Outcome, r.Message(&run))
				return
			}
			require.NotNil(t, run.Property)
			require.Equal(t, row.wrong, run.Property.ID)
		})
	}
}

// What compiled code asks of a kernel: a page of memory for code loses its permission to execute and gets it again.
func TestSystemCalls(t *testing.T) {
	const parts = `
machine(cpus = 2)
c = code("c", "b803000000c3", at = 0xffffffff81010000)
next = code("next", "b804000000c3", at = 0xffffffff81011000)
w = alias("w", c)
protects = stub("protects", calls = "mprotect")
asks = stub("asks", calls = "syscall")
`
	for ops, wrong := range map[string]string{
		`call(protects, c, 4096, 3, returns = 0), call(c)`:                                       "O1",
		`call(asks, 10, c, 4096, 3, returns = 0), call(c)`:                                       "O1",
		`call(protects, c, 4096, 3), call(asks, 10, c, 4096, 7), call(c, returns = 3)`:           "",
		`call(protects, c, 4097, 3), call(next)`:                                                 "O1",
		`call(protects, c, 4096, 3), call(next, returns = 4)`:                                    "",
		`call(protects, c, 0, 3), call(c, returns = 3)`:                                          "",
		`call(protects, w, 4096, 3, returns = 0), call(c, returns = 3)`:                          "",
		`free(c), call(protects, c, 4096, 3, returns = 0xffffffff, bits = 32)`:                   "",
		`call(asks, 324, 32, returns = 0), call(asks, 24, returns = 0), call(asks, 324, 0)`:      "",
		`call(asks, 1000, 0, returns = 0xffffffff, bits = 32), call(asks, 324, 32, returns = 1)`: "X2",
	} {
		r, err := rig.New(searchtest.Load(t, parts+`task("a", cpu = 0, ops = [`+ops+"])\nnever()\n"), "")
		require.NoError(t, err, ops)
		run := r.Run(new(sched.Default))
		r.Close()
		if wrong == "" {
			require.Equal(t, smp.Passed, run.Outcome, "%s: %s", ops, r.Message(&run))
			continue
		}
		require.NotNil(t, run.Property, ops)
		require.Equal(t, wrong, run.Property.ID, ops)
	}
}

// On i386 the arguments of a variadic function are on the stack.
func TestSystemCalls32(t *testing.T) {
	sc := searchtest.Load(t, `
machine(cpus = 2, arch = "i386")
c = code("c", "b803000000c3", at = 0xc1010000)
w = alias("w", c)
asks = stub("asks", calls = "syscall")
f = text("f", "6a03 6800100000 680000 01c1 6a7d e800000000 83c410 c3")
task("a", cpu = 0, ops = [write(f + 14, call_to(asks)), call(f, returns = 0), call(c)])
never()
`)
	r, err := rig.New(sc, "")
	require.NoError(t, err)
	defer r.Close()
	run := r.Run(new(sched.Default))
	require.NotNil(t, run.Property)
	require.Equal(t, "O1", run.Property.ID, r.Message(&run))
}

// A jump of another patcher that ends within an instruction doesn't hide where the next one begins, which compiled code
// changes.
func TestCompiledBehindAJump(t *testing.T) {
	r, err := rig.New(searchtest.Load(t, `
machine(cpus = 2, edition = "6.9")
f = text("f", "89f9 66053412 0f1f440000 c3", at = 0xffffffff81000000) # the jump covers 5 of 6
g = text("g", "b807000000 c3", at = 0xffffffff81000020)
w = alias("w", f, at = 0xffffffff83000000)
patches = text("patches", "c6042506000083 cc c7042507000083 15000000 c6042506000083 e9 c3")
k = kprobe("k", at = f)
task("a", cpu = 0, ops = [register(k), wait_optimized(), call(patches), call(f, returns = 7, changed = True)])
never()
`), "")
	require.NoError(t, err)
	defer r.Close()
	run := r.Run(new(sched.Default))
	require.Equal(t, smp.Passed, run.Outcome, r.Message(&run))
}

// Rare states of patchers of one's own, which nothing may break.
func TestByHandBeside(t *testing.T) {
	const moves = `
f = text("f", "55 4889e5 90 31c0 5d c3")   # push rbp; mov rbp,rsp; nop; xor eax,eax; pop rbp; ret
t = code("t", "55 4889e5 90", size = 16)   # a copy of the three
task("hooker", cpu = 0, ops = [
    write(t + 5, jump_to(f + 5)), sync_core(),
    stop(), write(f, jump_to(t)), move(f + 1, to = t + 1), move(f + 4, to = t + 4), resume(),
])
task("thread", cpu = 1, ops = [call(f, returns = 0), call(f, returns = 0)])
`
	for name, scenario := range map[string]string{
		// a thread whose interrupt has ended, and which returns next, when it runs again
		"moved while it is preempted": `machine(cpus = 2, preempt = "full")` + moves + `
task("other", cpu = 1, ops = [schedule()])
preempt(cpu = 1, at_most = 3)
`,
		"moved below an interrupt's text": `machine(cpus = 2)` + moves + `
g = text("g", "9090 c3")
timer(cpu = 1, at_most = 2, run = g)
`,
		// the CPU is in the handler of the IPI that stopped it, from which the thread continues elsewhere
		"memory that a thread was moved out of": `machine(cpus = 2)
h = text("h", "b801000000 c3", at = 0xffffffff81000100)
r = code("r", "90 e9fa00ffff", at = 0xffffffff81010000)             # nop; jmp h
f = text("f", "0f1f440000 b801000000 c3", at = 0xffffffff81000000)  # nop; mov eax,1; ret
task("hooker", cpu = 0, ops = [
    write(f, jump_to(r), by = 8), sync_core(),
    stop(), write(f, "0f1f440000", by = 8), move(r, to = f), move(r + 1, to = f), resume(), free(r),
])
task("thread", cpu = 1, ops = [call(f, returns = 1), call(f, returns = 1)])
`,
		"stopped by two": `machine(cpus = 3)
f = text("f", "90 90 c3")
task("one", cpu = 0, ops = [stop(cpus = [2]), write(f, "6690", by = 2), resume()])
task("two", cpu = 1, ops = [stop(cpus = [2]), resume()])
task("thread", cpu = 2, ops = [safepoint(), safepoint()])
`,
		"text is saved beside a call": `machine(cpus = 2)
f = text("f", "9090 c3")
d = data("d", size = 1)
task("reader", cpu = 0, ops = [save_text(f, d)])
task("thread", cpu = 1, ops = [call(f), call(f)])
`,
		// what is behind the breakpoint reads as other instructions, so the probe is refused, and no property breaks
		"a probe behind a breakpoint that code has stored": `machine(cpus = 1, edition = "6.9")
f = text("f", "b8b8000000 31c0 c3", at = 0xffffffff81000000)      # mov eax,184; xor eax,eax; ret
w = alias("w", f, at = 0xffffffff81002000)
on = text("on", "c6042500200081cc c3", at = 0xffffffff81004000)   # mov byte [w],int3; ret
off = text("off", "c6042500200081b8 c3", at = 0xffffffff81005000) # mov byte [w],184; ret
k = kprobe("k", at = f + 5)
task("prober", cpu = 0, ops = [
    call(on), register(k, errno = "EILSEQ"), call(off), register(k, errno = 0), unregister(k),
])
`,
		// what hides where instructions begin: a probe's breakpoint, its jump, and another task's breakpoint
		"text behind others' breakpoints": `machine(cpus = 3, edition = "6.9")
f = text("f", "01d0 0f1f00 0f1f440000 89f9 0f1f440000 c3")  # add, nop, nop, mov, nop, ret
g = text("g", "b802000000 c3")
k = kprobe("k", at = f)
task("prober", cpu = 0, ops = [register(k), wait_optimized(), unregister(k)])
task("one", cpu = 1, ops = [
    on_breakpoint(f + 5, goto = g), write(f + 5, "cc"), sync_core(), write(f + 6, displacement(g)), sync_core(),
])
task("two", cpu = 2, ops = [
    on_breakpoint(f + 12, goto = g), write(f + 12, "cc"), sync_core(), write(f + 13, displacement(g)), sync_core(),
    write(f + 12, "e9"), sync_core(), call(f, changed = True),
])
task("thread", cpu = 0, ops = [call(f, changed = True), call(f, changed = True)])
`,
		"text behind a compiled patcher's store": `machine(cpus = 2)
f = text("f", "90 89f9 f5 c3", at = 0xffffffff81000000)   # nop; mov; cmc; ret
w = alias("w", f)
p = text("p", "c707669090f5 c3")                          # movl to (%rdi): xchg %ax,%ax; nop; cmc
task("hooker", cpu = 0, ops = [call(p, w), sync_core(), write(f + 2, "f8"), sync_core(), call(f, changed = True)])
task("thread", cpu = 1, ops = [wait("safepoints")])
`,
		"a probe beside a breakpoint": `machine(cpus = 2, edition = "5.14")
f = text("f", "0f1f440000 31c0 c3")
k = kprobe("k", at = f + 5)
task("hooker", cpu = 0, ops = [
    on_breakpoint(f, goto = f + 5), write(f, "cc"), sync_core(), write(f, "0f"), sync_core(),
])
task("prober", cpu = 1, ops = [register(k), unregister(k), register(k), unregister(k)], repeat = 2)
task("other", cpu = 0, ops = [register(k)])
`,
	} {
		t.Run(name, func(t *testing.T) {
			r, err := rig.New(searchtest.Load(t, scenario+"never()\n"), "")
			require.NoError(t, err)
			defer r.Close()
			s := sched.NewPortfolio(sched.Params{Seed: 1, Length: r.Run(new(sched.Default)).Counts.Points})
			for i := range uint64(3000) / searchtest.Slow {
				run, _ := r.Next(s, i)
				require.Nil(t, run.Property, "%s", r.Message(&run))
			}
		})
	}
}

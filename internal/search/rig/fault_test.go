package rig

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/searchtest"
)

// A fault of the scenario's own text is reported for the run without probes:
// which task, where, what, and what to do.
func TestFaults(t *testing.T) {
	const memory = `; memory is data("d", size = 64), and a pointer to it an argument, call(f, d)`
	for _, c := range []struct{ text, op, want string }{
		{"89 f8 01 f0", "call(f, 1, 2)", "f+0x4: runs past the end of f; is a ret missing?"},
		// zeros after it would be stores to d
		{"48 89 f8 90", "call(f, d)", "f+0x4: runs past the end of f; is a ret missing?"},
		{"90 48 8b", "call(f)",
			"f+0x1: 48 8b: runs past the end of f: that is no whole instruction; are bytes missing?"},
		{"90 66", "call(f)", "f+0x1: 66: runs past the end of f: that is no whole instruction; are bytes missing?"},
		{"e9 00 01 00 00 c3", "call(f)",
			"f+0x105: somebody has come here, behind the end of f, which has 6 bytes; does a jump or call lead too far?"},
		{"48 8b 47 10 c3", "call(f)",
			"f+0x0: mov 0x10(%rdi),%rax: its address isn't one of 48 bits: %rdi is what nobody has set" + memory},
		{"48 8b 47 10 c3", "call(f, 0x1234)",
			"f+0x0: mov 0x10(%rdi),%rax: nobody has memory at 0x1244: %rdi is 0x1234" + memory},
		{"48 8b 04 f7 c3", "call(f, 0, 2)",
			"f+0x0: mov (%rdi,%rsi,8),%rax: nobody has memory at 0x10: %rdi is 0x0, %rsi is 0x2" + memory},
		{"8b 04 25 00 10 00 00 c3", "call(f)", "f+0x0: mov 0x1000,%eax: nobody has memory at 0x1000" + memory},
		{"31 ff aa c3", "call(f)", "f+0x2: stos %al,%es:(%rdi): nobody has memory at 0x0: %rdi is 0x0" + memory},
		{"48 8b 84 24 00 10 00 00 c3", "call(f)",
			"f+0x0: mov 0x1000(%rsp),%rax: reads 0xfb8 bytes above its stack: a call has six arguments at most, all in registers"},
		{"e8 fb ff ff ff c3", "call(f)",
			"f+0x0: double fault: vector 14 could not be delivered, stack pointer 0xffffc9000000c000 is not mapped: the stack, of 8192 bytes, is used up; does it call itself without end?"},
		{"64 48 8b 04 25 28 00 00 00 c3", "call(f)",
			"f+0x0: mov %fs:0x28,%rax: nobody has memory at %fs:0x28: fs is for user programs; compile it as the kernel is, with -fno-stack-protector"},
		{"65 48 8b 04 25 00 10 00 00 c3", "call(f)",
			`f+0x0: mov %gs:0x1000,%rax: no per-CPU variable is at 0x1000; they lie from 0xffffffff80000000 on: percpu("v") says where, or elf() links to it`},
		{"65 8b 04 25 00 00 00 83 c3", "call(f)",
			`f+0x0: mov %gs:0x83000000,%eax: no per-CPU variable is at 0xffffffff83000000: define it, percpu("v", at = 0xffffffff83000000)`},
		{"8b 07 c3", "call(f, v)",
			"f+0x0: mov (%rdi),%eax: nothing is at v+0x0 itself: each CPU has a copy, which is found through gs"},
		{"c6 05 00 00 00 00 90 c3", "call(f)",
			"f+0x0: movb $0x90,(%rip) # 0xffffffff81000007: writes to f+0x7, which is text: that is patched, by a probe or a label, and not stored to"},
		// its own first byte
		{"c6 05 f9 ff ff ff 90 c3", "call(f)",
			"f+0x0: movb $0x90,0xfffffff9(%rip) # 0xffffffff81000000: writes to f+0x0, which is text: that is patched, by a probe or a label, and not stored to"},
		{"31 c0 ff d0 c3", "call(f)", "f+0x4: has called address 0; a pointer to a function that isn't set?"},
		{"ff d7 c3", "call(f, 0x1234)",
			"f+0x2: has called 0x1234; what is to be run there is given as text(…), at = that address"},
		{"ff e7", "call(f, d)",
			"d+0x0, which is no text: somebody jumps here, where no function is; what is run is given as text(…), not as data(…)"},
		{"57 c3", "call(f, 0x1234)",
			"0x1234: a ret has come here: the stack doesn't hold the return address at its top; is a pop missing?"},
		{"31 c9 f7 f1 c3", "call(f)",
			"f+0x2: div %ecx: divides by zero, or the quotient has too many bits: give the call other arguments"},
		{"0f 0b c3", "call(f)",
			"f+0x0: ud2: is undefined on this machine, as BUG()'s is, and no handler takes the trap: give the call arguments with which it isn't reached"},
		{"90 cc 90 c3", "call(f)",
			"f+0x1: int3: a breakpoint of its own, which nobody handles: leave it out; register(k) puts one where a kprobe is"},
		{"e8 fb ff 0f 00 c3", "call(f)", `f+0x5: m is of module "mod", which isn't loaded then: insmod() first`},
		{"eb fe", "call(f)", "f+0x0: goes on and on, and hasn't ended after 200000 steps; if it is a loop that ends, and only long, say machine(steps = 2000000)"},
		{"c3", "spin()", "the run ended stuck; worker waits for release()"},
	} {
		sc := searchtest.Load(t, `
f = text("f", "`+c.text+`", at = 0xffffffff81000000)
m = text("m", "c3", at = 0xffffffff81100000)
module("mod", funcs = [m])
d = data("d", size = 64, at = 0xffffffff83001000)
v = percpu("v", size = 8, at = 0xffffffff83005000)
task("worker", cpu = 1, ops = [`+c.op+`])`)
		_, err := New(sc, "")
		who := "cpu1 worker: "
		if c.op == "spin()" {
			who = ""
		}
		require.EqualError(t, err, "t: run without probes: "+who+c.want, "%s %s", c.text, c.op)
	}
}

// A long loop is no endless one: with as many steps as are said to be worth a try it ends.
func TestLongLoop(t *testing.T) {
	const program = `
f = text("f", "b9 a0 86 01 00 ff c9 75 fc c3")   # 100,000 times
task(ops = [call(f)])
`
	_, err := New(searchtest.Load(t, program), "")
	require.EqualError(t, err,
		"t: run without probes: cpu0 task0: f+0x5: goes on and on, and hasn't ended after 200000 steps; if it is a loop that ends, and only long, say machine(steps = 2000000)")
	rig, err := New(searchtest.Load(t, "machine(steps = 2000000)"+program), "")
	require.NoError(t, err)
	rig.Close()
}

// Where two functions touch, the second is reported.
func TestFaultBehindAnother(t *testing.T) {
	_, err := New(searchtest.Load(t, `
f = text("f", "0f1f440000 0f1f440000 0f1f440000 90")
g = text("g", "0f0b")
task(ops = [call(f)])
`), "")
	require.ErrorContains(t, err, ": g+0x0: ud2: ")
}

package lang_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
)

// The beginnings of mistakes' programs.
const (
	oneFunction = "f = text(\"f\", \"554889e5 53 5b 5d c3\")\n"
	oneProbe    = oneFunction + "k = kprobe(\"k\", at = f)\n"
	aTask       = "task(ops = [call(f)])\n"
)

// mistakes are programs with one mistake each, whose place the mark § stands before, and a part of
// what is said of it.
var mistakes = []struct{ src, says string }{
	// What isn't the language.
	{"f = text(\"f\", \"90 c3\"\ntask§(ops = [call(f)])\n", "got"},
	{"§import os\n", "a small Python"},
	{"f = text(§\"f, 90)\n", "newline in string"},
	{oneFunction + "§kprob(\"k\", at = f)\n", "kprobe"},
	{oneFunction + "task(ops = [call(§g)])\n", "g isn't defined"},
	{oneFunction + "task(ops = [call(f), §regster(\"k\")])\n", "register"},
	{oneFunction + "task(ops = [f§()])\n", "write call(f)"},
	{"def g(n):\n    return §g(n)\ng(1)\n", "write a loop"},
	{"x = 1 §// 0\n", "another number"},
	{"x = [1]\ny = x§[3]\n", "count from 0"},
	{"x = {}\ny = x§[\"a\"]\n", "d.get"},
	{oneFunction + "x = f §* 2\n", "f + 1"},
	{oneFunction + "x = f §+ \"1\"\n", "f + 1"},
	{oneFunction + "f§.foo\n", "argument"},
	{"§load(\"other.star\", \"x\")\n", "one file"},
	{"x = 1\nx§()\n", "function"},
	{"def g(a):\n    pass\ng§()\n", "def"},
	// The machine.
	{"machine(preempt = \"full\",\n        §cpus = 65)\n" + oneFunction + aTask, "1 to 64"},
	{"machine(§cpus = \"2\")\n", "default is cpus = 2"},
	{"machine(§cpu = 2)\n", "did you mean \"cpus\""},
	{"machine(cpus = 2, §preempt = \"ful\")\n", "isn't known"},
	{"machine(§edition = \"5.4\")\n", "it is one of"},
	{"machine(§memory = \"weak\")\n", "isn't known"},
	{"machine(§engine = \"none\")\n" + oneProbe + "task(ops = [register(k)])\n", "none"},
	{"machine(cpus = 2, §offline = [0])\n" + oneFunction + aTask, "boots the others"},
	{"machine()\n§machine()\n", "call it once"},
	{"machine(arch = \"riscv64\", §fred = True)\n" + "f = text(\"f\", \"13000000 67800000\")\n" + aTask, "x86-64"},
	{"machine(arch = \"riscv64\", §patch = \"breakpoint\")\nf = text(\"f\", \"13000000 67800000\")\n" + aTask, "isn't how"},
	{oneFunction + "machine(§arch = \"i386\")\n", "before them"},
	// Text and data.
	{"f = text(\"f\", §\"5g\")\n", "no hexadecimal digit"},
	{"f = text(\"f\", §\"55 4\")\n", "single digit"},
	{"f = text(\"f\", [0x55, §500])\n", "no byte"},
	{"f = §text(\"f\")\n", "missing argument for hex"},
	{"f = text(\"f\", \"90 c3\", §size = 3)\n", "correct one"},
	{"f = text(\"f\", \"90 c3\", §at = 5)\n" + aTask, "can't lie at"},
	{"f = text(\"f\", \"90 c3\", §at = -1)\n" + aTask, "can't lie at"},
	{oneFunction + "g = text(\"g\", \"90 c3\", §at = 0xffffffff81000004)\n" + aTask, "overlaps"},
	{oneFunction + "g = §text(\"f\", \"90 c3\")\n" + aTask, "there twice"},
	{"f = text(\"f\", \"90 c3\", extable = [0, §\"1\"])\n", "offsets"},
	{"elf(§\"nowhere.o\")\n", "relative to the scenario's"},
	{"§elf(\"text.o\")\n", "gcc -c"},
	{"v = elf(\"victim.o\")\ntask(ops = [call(v§.vitcim)])\n", "victim"},
	{"d = data(\"d\", \"00 00\", §size = 1)\n", "out of range"},
	{"insns(§7)\n", "text() or elf()"},
	// Probes and sites.
	{oneFunction + "k = kprobe(\"k\", §at = \"f\")\n", "give a function"},
	{oneFunction + "k = kprobe(\"k\", f, §offset = 99)\n" + aTask, "outside f"},
	{oneFunction + "k = §kprobe(\"k\", at = f + 99)\n" + aTask, "outside f"},
	{oneFunction + "k = kprobe(\"k\", f, §pre = count())\n", "write [count()]"},
	{oneFunction + "k = kprobe(\"k\", f, pre = [count(),\n    §schedule()])\n", "a step is one of"},
	{oneFunction + "k = kprobe(\"k\", f, §handler = [count()])\n", "has no parameter"},
	{oneFunction + "k = kprobe(\"k\", f, pre = [set_reg(§\"rip\", 1)])\n", "isn't known"},
	{oneFunction + "k = kprobe(\"k\", f)\nm = §kprobe(\"k\", f)\n" + aTask, "there twice"},
	{oneFunction + "k = kretprobe(\"k\", f, handler = [§save(\"rax\")])\n" + aTask, "data_size = 8"},
	{oneFunction + "k = kretprobe(\"k\", f, §maxactive = 100000)\n" + aTask, "out of range"},
	{oneFunction + "j = §jprobe(\"j\", f, entry = [count()])\n" + aTask, "jprobes"},
	{oneFunction + "l = §jump_label(\"l\", f, f)\n" + aTask, "0f1f440000"},
	{oneFunction + "fentry(§f)\n" + aTask, "nop"},
	{oneFunction + "lock_prefix(§f)\n" + aTask, "f0"},
	{oneFunction + "§static_call(\"s\", sites = [f])\n" + aTask, "no place of its own"},
	{oneFunction + "alternative(f, §\"90 90\")\n" + aTask, "isn't one instruction"},
	{oneFunction + "reserved(§f + 7, \"bug\")\n" + aTask, "beyond its end"},
	{oneFunction + "e = text(\"e\", \"c3\")\n§fprobe(\"p\", [f], entry = e)\n" + aTask, "add fentry(f)"},
	{oneFunction + "module(\"m\", §funcs = [3])\n", "function"},
	{oneFunction + "bpf(\"p\", f, f, §kind = \"entry\")\n", "isn't known"},
	// Programs.
	{"machine(cpus = 2)\n" + oneFunction + "task(\"t\", §cpu = 2, ops = [call(f)])\n", "0 to 1"},
	{oneFunction + "task(\"t\", ops = [call(f), §f])\n", "write call(f)"},
	{oneFunction + "task(\"t\", ops = [call(f), §count()])\n", "step of a handler"},
	{oneFunction + "task(\"t\", §ops = call(f))\n", "not a list"},
	{oneFunction + "§task(\"t\")\n", "ops = [call(f)]"},
	{oneFunction + "task(\"t\", ops = [call(f)], §repeat = 0)\n", "1 to 1000000"},
	{"§" + oneFunction + "machine(cpus = 1)\n", "no tasks"},
	{oneFunction + "task(ops = [call(f, 1, §changed = 1)])\n", "default is changed"},
	{oneFunction + "task(ops = [§call(f, 1, 2, 3, 4, 5, 6, 7)])\n", "at most 6"},
	{oneFunction + "task(ops = [call(f, returns = 500, §bits = 8)])\n", "bits = 64"},
	{oneFunction + "task(ops = [call(f, returns = [5, 500], §bits = 8)])\n", "bits = 64"},
	{oneFunction + "task(ops = [call(f, §returns = [])])\n", "give the right results"},
	{oneFunction + "task(ops = [on_breakpoint(f, §links = True)])\n", "give goto"},
	{oneFunction + "task(ops = [call(§f + 1)])\n", "at its start"},
	{oneFunction + "d = data(\"d\", size = 8)\ntask(ops = [§expect(d + 8, \"00\")])\n", "aren't in d"},
	{oneFunction + "task(ops = [expect(§f, \"00\")])\n", "data()"},
	{oneProbe + "task(ops = [register(§f)])\n", "kprobe()"},
	{oneProbe + "task(ops = [register(k, §errno = \"EIO\")])\n", "isn't known"},
	{oneProbe + "task(ops = [§register(\"q\")])\n", "no probe \"q\""},
	{oneProbe + "task(ops = [label_on(§k)])\n", "label"},
	{oneProbe + "task(ops = [register(k), §hits(k)])\n", "compares nothing"},
	{"machine(edition = \"2.6\")\n" + oneProbe + "task(ops = [register(k), §disable(k)])\n", "batches"},
	{oneFunction + "task(ops = [write(f, §\"9\")])\n", "single digit"},
	{oneFunction + "task(ops = [write(f + 7, §\"90 90\")])\n", "aren't in it"},
	{oneFunction + "task(ops = [write(f, \"90\", §by = 3)])\n", "1, 2, 4, 8 or 16"},
	{oneFunction + "task(ops = [wait(§\"rcus\")])\n", "did you mean"},
	{oneFunction + "task(ops = [sync_core(§cpus = [9])])\n", "0 to 1"},
	{"machine(cpus = 2)\n" + oneFunction + "task(ops = [§offline(0)])\n", "the first one stays"},
	{oneFunction + "task(ops = [set_breakpoint(f + 1), §set_breakpoint(f + 2)])\n", "inside"},
	// Interrupts, and what is expected.
	{oneFunction + aTask + "timer(§cpu = 9)\n", "0 to 1"},
	{oneFunction + aTask + "timer(0, §at_most = 0)\n", "1 to 1000"},
	{oneFunction + aTask + "nmi(0, §opens = True)\n", "no parameter"},
	{oneFunction + aTask + "timer(0, §run = call(f))\n", "run = f"},
	{oneFunction + aTask + "never()\n§sometimes(\"T1\")\n", "has one never()"},
	{oneFunction + aTask + "never(§canary = 3)\n", "default is canary"},
	{oneFunction + aTask + "§sometimes()\n", "missing argument"},
	{oneFunction + aTask + "scenario(says = \"It.\",\n    §needs = \"luck\")\n", "isn't known"},
	// What a search wants beside.
	{oneFunction + "k = §kprobe(\"k\", at = f)\n" + aTask, "no task registers it"},
}

// TestMistakes: each mistake is one line, with its place and what to do. The message is the same where the program
// stands in a trace.
func TestMistakes(t *testing.T) {
	parsed := 0
	for _, m := range mistakes {
		before, after, ok := strings.Cut(m.src, "§")
		require.True(t, ok, "no mark in %q", m.src)
		src := []byte(before + after)
		line := strings.Count(before, "\n") + 1
		col := len([]rune(before[strings.LastIndexByte(before, '\n')+1:])) + 1
		_, err := lang.LoadUsed("m.star", src, openTest)
		require.Error(t, err, "%q", m.src)
		t.Log(err)
		at := fmt.Sprintf("m.star:%d:%d: ", line, col)
		if !strings.HasPrefix(err.Error(), at) || !strings.Contains(err.Error(), m.says) ||
			strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "; ") {
			t.Errorf("%s\n got %v\nwant %s… %s; what to do", m.src, err, at, m.says)
		}

		if _, again := lang.Parse("m.star", src); again != nil && again.Error() == err.Error() {
			parsed++
		}
	}
	require.Greater(t, len(mistakes), 60)
	require.Greater(t, parsed, 50)
}

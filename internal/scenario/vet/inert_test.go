package vet_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/act"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/vet"
)

// TestWhole: a scenario's only write, of several bytes, is named if no CPU can see a part of it.
func TestWhole(t *testing.T) {
	for op, want := range map[string]string{
		`write(f, "0f1f440000")`:                 "changes nothing",
		`write(f, "0f1f4400cc")`:                 "changes one byte",
		`write(f, "0f1f44cccc")`:                 "",
		`write(f, "cc")`:                         "",
		`write(f, "0f1f440000"), write(f, "cc")`: "",
		`write(f, jump_to(f))`:                   "",
		`write(f, "0f1f44cccc", by = 4)`:         "", // the fifth byte is a store of its own
		`write(f, "0fcccccc00", by = 4)`:         "only bytes of one of its stores",
	} {
		s, err := lang.Load("whole.star", []byte("machine(cpus = 2)\nf = text(\"f\", \"0f1f440000 c3\")\n"+
			"task(\"a\", ops = ["+op+"])\n"), nil)
		require.NoError(t, err)
		list := vet.Inert(s)
		if want == "" {
			require.Empty(t, list, op)
			continue
		}
		require.Len(t, list, 1, op)
		require.Contains(t, list[0].Msg, want)
	}
}

// TestModified: a write by hand on arm64 gets a warning about caches unless the scenario flushes them, and one about
// the instruction unless the manual lists it or the CPUs are stopped.
func TestModified(t *testing.T) {
	for op, want := range map[string]string{
		`write(f, "14000001")`:                          "dc cvau",
		`write(f, "14000001"), flush(f, 4)`:             "",
		`write(f + 4, "d503201f"), flush(f, 4)`:         "makes nop of add at f+0x4",
		`write(f, "91000400"), flush(f, 4)`:             "makes add of nop at f+0x0",
		`write(f + 4, "d503201f", stopped = True)`:      "dc cvau",
		`stop(), write(f + 4, "d503201f"), flush(f, 4)`: "",
		`write(f, "d503201f d503201f d65f03c0")`:        "makes nop of add at f+0x4",
	} {
		s, err := lang.Load("live.star", []byte("machine(cpus = 2, arch = \"arm64\")\n"+
			"f = text(\"f\", \"d503201f 91000400 d65f03c0\")\ntask(\"a\", ops = ["+op+"])\n"), nil)
		require.NoError(t, err)
		list := vet.Inert(s)
		if want == "" {
			require.Empty(t, list, op)
			continue
		}
		require.NotEmpty(t, list, op)
		require.Contains(t, list[0].Msg, want)
	}
}

// TestIdle: each operation whose row says why one may change nothing is named where it does so, and
// isn't where the part that it needs is there.
func TestIdle(t *testing.T) {
	const parts = "fentry(f)\nlock_prefix(locked)\nalternative(g, \"f8\")\ntask(\"b\", cpu = 1, ops = [write(g, \"f8\"), spin(), apply_alternatives(), stop()])\n"
	ops := map[string]string{
		"release": "release()", "tracer": "tracer(True)", "livepatch": "livepatch(True)",
		"patch_func":      "patch_func(f, g)",
		"register_direct": "register_direct(f, g)", "smp_locks": "smp_locks(False)",
		"apply_alternatives": "apply_alternatives()", "resume": "resume()",
		"write": `write(f, "0f1f440000")`,
	}
	said := func(parts, op string) []string {
		s, err := lang.Load("idle.star", []byte(`machine(cpus = 2)
f = text("f", "0f1f440000 c3")
g = text("g", "90 c3")
locked = text("locked", "f0ff00 c3")
`+parts+`task("a", cpu = 0, ops = [`+op+`])
`), nil)
		require.NoError(t, err)
		var list []string
		for _, f := range vet.Inert(s) {
			list = append(list, f.Msg)
		}
		return list
	}
	for _, k := range act.All() {
		require.Equal(t, k.Idle != nil, ops[k.Word] != "", "%s: give it a line here", k.Word)
		if k.Idle == nil {
			continue
		}
		says := said("", ops[k.Word])
		require.Len(t, says, 1, k.Word)
		require.Contains(t, says[0], k.Word+"()")
		for _, says := range said(parts, ops[k.Word]) {
			require.NotContains(t, says, k.Word+"()", k.Word)
		}
	}
}

package vet_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/act"
	"kpsim/internal/scenario/gen"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/scenario/vet"
)

const used = `f = text("f", "90 c3")
g = text("g", "0f1f440000 c3")
k = kprobe("k", at = f)
task(ops = [call(f), %s])
`

func TestLoadUsed(t *testing.T) {
	const alone = `t.star:3:5: probe "k" is made, but no task registers it; add register("k") to a task's ops, or leave it out`
	for _, c := range []struct{ ops, more, want string }{
		{`schedule()`, "", alone},
		{`unregister(k)`, "", ""},
		{`enable(k, errno = "EINVAL")`, "", ""},
		{`wait_optimized()`, "", alone},
		{`register(k)`, "", ""},
		{`register_all([k])`, "", ""},
		{`schedule()`, `kprobe("j", at = f, pre = [register(k)]); task(ops = [register("j")])`, ""},
		{`schedule()`, `kprobe("k2", at = f); task(ops = [register("k2")])`, alone},
		{`call(g + 1)`, "", "t.star:4:27: f is g + 1; a function is called at its start"},
	} {
		_, err := lang.LoadUsed("t.star", []byte(fmt.Sprintf(used, c.ops)+c.more), nil)
		if c.want == "" {
			require.NoError(t, err, c.ops)
		} else {
			require.EqualError(t, err, c.want, c.ops)
		}
	}
	_, err := lang.Load("t.star", []byte(fmt.Sprintf(used, "schedule()")), nil) // to be stepped by hand
	require.NoError(t, err)
}

// What comes along, and what is drawn, uses its probes: it may be searched.
// TestLoadUsedOps: an operation or a step that no task or handler has is named; one of a loop or a list that is used in
// part isn't.
func TestLoadUsedOps(t *testing.T) {
	const head = "machine(cpus = 2)\nf = text(\"f\", \"31c0 c3\")\n"
	for program, want := range map[string]string{
		"write(f, 'cc')\ntask('t', ops = [call(f)])\n":                           "3:1: this write() is in no task",
		"k = kprobe('k', f)\ncount()\ntask('t', ops = [register(k), call(f)])\n": "4:1: this count() is in no handler",
		"both = [call(f), schedule()]\ntask('t', ops = both * 2)\n":              "",
		"some = [call(f, n) for n in range(3)]\ntask('t', ops = some[:1])\n":     "",
		"k = kprobe('k', f, pre = [count()])\ntask('t', ops = [register(k)])\n":  "",
	} {
		_, err := lang.LoadUsed("ops.star", []byte(head+program), nil)
		if want == "" {
			require.NoError(t, err, program)
		} else {
			require.ErrorContains(t, err, want, program)
		}
	}
}

func TestLoadUsedOthers(t *testing.T) {
	for _, name := range library.Names() {
		src, err := library.Source(name)
		require.NoError(t, err)
		s, err := lang.LoadUsed(name+".star", src, library.Open)
		require.NoError(t, err)
		require.True(t, s.Patches() || s.Does(act.QueueWork), name)
		require.Empty(t, vet.Unflipped(s), name)
	}
	for seed := range uint64(100) {
		_, err := lang.LoadUsed("fuzz.star", []byte(lang.Print(gen.Fuzz(seed))), nil)
		require.NoError(t, err, seed)
	}
}

func TestUnflipped(t *testing.T) {
	for _, c := range []struct {
		ops, more string
		patches   bool
		want      []string
	}{
		{"schedule()", "", false, nil},
		{"register(k)", "", true, nil},
		{"schedule()", `jump_label("l", at = g, target = g)`, false,
			[]string{"label l is never flipped: add label_on() of it to a task's ops"}},
		{"schedule()", `l = jump_label("l", at = g, target = g); task(ops = [label_on(l)])`, true, nil},
		{"register(k)", `jump_label("l", at = g, target = g); j = kprobe("j", at = g + 5); task(ops = [register(j)])`,
			true, nil},
		{"schedule()", `static_call("s", sites = [g])`, false,
			[]string{"static call s is never set: add set_call() of it to a task's ops"}},
		{"schedule()", `s = static_call("s", sites = [g]); task(ops = [set_call(s, f)])`, true, nil},
		{"tracer(True)", `fentry(g)`, true, nil},
		{"hotplug()", "", false, nil},
	} {
		s, err := lang.Load("t.star", []byte(fmt.Sprintf(used, c.ops)+c.more), nil)
		require.NoError(t, err, c)
		require.Equal(t, c.patches, s.Patches(), c)
		require.Equal(t, c.want, vet.Unflipped(s), c)
	}
}

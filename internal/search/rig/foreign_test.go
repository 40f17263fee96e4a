package rig_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/sched"
	"kpsim/smp"
)

// TestForeign: what the kernel's patchers do about bytes that aren't their own, by edition.
func TestForeign(t *testing.T) {
	const parts = `
d = data("d", size = 5)
f = text("f", "0f1f440000 b801000000 c3")
g = text("g", "b802000000 c3")
`
	const traced, label = `fentry(f)`, `l = jump_label("l", at = f, target = f + 5)`
	const call = `s = static_call("s", sites = [f])`
	for name, row := range map[string]struct {
		edition, patcher, ops string
		wrong                 string // "": nothing
	}{
		"ftrace":          {"6.5", traced, `write(f, jump_to(g)), tracer(True)`, "W1"},
		"of 4.15":         {"4.15", traced, `write(f, jump_to(g)), tracer(True)`, "W1"},
		"in the way back": {"6.5", traced, `tracer(True), save_text(f, d), write(f, jump_to(g)), tracer(False)`, "W1"},
		"its own bytes are back": {"6.5", traced, `write(f, jump_to(g)), write(f, "0f1f440000"), ` +
			`tracer(True), tracer(False)`, ""},
		"no change of the site": {"6.5", traced, `tracer(True), save_text(f, d), write(f, jump_to(g))`, ""},
		"an alternative": {"6.5", traced + "\n" + `alternative(f, "e900000000")`, `apply_alternatives(), tracer(True)`,
			"W1"},
		"an alternative after it": {"6.5", traced + "\n" + `alternative(f, "e900000000")`,
			`tracer(True), apply_alternatives()`, "T6"},
		"a jump label":  {"6.5", label, `write(f, jump_to(g)), label_on(l)`, "O1"},
		"that is on":    {"6.5", label, `label_on(l), save_text(f, d), write(f, "0f1f440000"), label_off(l)`, "O1"},
		"as it left it": {"6.5", label, `label_on(l), save_text(f, d), write(f, jump_to(f + 5)), label_off(l)`, ""},
		// static_key_disable returns early
		"that is off as it shall be": {"6.5", label, `write(f, "0f1f440000"), label_off(l)`, ""},
		"before 3.13":                {"2.6", label, `write(f, jump_to(g)), label_on(l)`, "T6"},
		"over its call":              {"6.5", traced, `tracer(True), write(f, jump_to(g))`, "T6"},
		"a static call":              {"6.5", call, `write(f, jump_to(g)), set_call(s, g)`, "O1"},
		"another's call": {"6.5", call,
			`write(f, call_to(f + 5)), set_call(s, None), expect_text(f, "0f1f440000")`, ""},
		"a label and a tracer": {"6.5", traced + "\n" + label, `label_on(l), tracer(True)`, "W1"},
		"a tracer and a label": {"6.5", traced + "\n" + label, `tracer(True), label_on(l)`, "O1"},
		"a label and a call":   {"6.5", label + "\n" + call, `set_call(s, g), label_on(l)`, "O1"},
		"two labels": {"6.5", label + "\n" + `m = jump_label("m", at = f, target = g)`,
			`label_on(l), label_on(m)`, "O1"},
	} {
		t.Run(name, func(t *testing.T) {
			source := `machine(cpus = 2, edition = "` + row.edition + `")` + parts + row.patcher + `
task("a", cpu = 0, ops = [` + row.ops + `])
never()
`
			r, err := rig.New(searchtest.Load(t, source), "")
			require.NoError(t, err)
			defer r.Close()
			run := r.Run(new(sched.Default))
			if row.wrong == "" {
				require.Equal(t, smp.Passed, run.Outcome, r.Message(&run))
				return
			}
			require.NotNil(t, run.Property)
			require.Equal(t, row.wrong, run.Property.ID, r.Message(&run))
		})
	}
}

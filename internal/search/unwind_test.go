package search_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/explore"
)

// hidden is a program in which a task sleeps in h, whose return address lies behind a trampoline,
// so that the stack doesn't show that the task is in outer, which is patched live.
const hidden = `
machine(cpus = 2, edition = "%s", preempt = "none")
inner = text("inner", "0f1f440000 8d4701 c3", at = 0xffffffff81000000)
outer = text("outer", "0f1f440000 57 e865000000 5f e8dfffffff ffc0 c3", at = 0xffffffff81000010)
inner2 = text("inner2", "8d470a c3", at = 0xffffffff81000040)
outer2 = text("outer2", "57 e82a000000 5f e8a4ffffff 83c014 c3", at = 0xffffffff81000050)
h = text("h", "0f1f440000 56 48c7c000000082 ffd0 5e c3", at = 0xffffffff81000080)
e = text("e", "c3")
fentry(inner)
fentry(outer)
fentry(h)
%s
task("patcher", cpu = 0, ops = [%s, patch_func([outer, inner], [outer2, inner2], errno = 0),
    call(outer, 1, changed = True, returns = 31), %s])
task("caller", cpu = 1, ops = [call(outer, 1, changed = True), user()], repeat = 3)
task("other", cpu = 1, ops = [schedule()], repeat = 3)
`

// TestHiddenReturn: a task whose return address is hidden isn't taken for one that has left a
// function. Unwinders of 5.15 and later see through the trampolines, earlier ones refuse the
// stack, so that the task goes over later. A look that doesn't see the stack is noticed.
func TestHiddenReturn(t *testing.T) {
	probe := [3]string{`r = kretprobe("r", at = h)`, `register(r)`, `unregister(r)`}
	fprobe := [3]string{`p = fprobe("p", [h], exit = e)`, `register_fprobe(p)`, `unregister_fprobe(p)`}
	both := [3]string{probe[0] + "\n" + fprobe[0], probe[1] + ", " + fprobe[1], probe[2] + ", " + fprobe[2]}
	for _, c := range []struct {
		edition string
		of      [3]string
	}{
		{"4.15", probe}, {"5.14", probe}, {"6.5", probe}, {"6.9", probe}, {"6.9", fprobe}, {"6.9", both}, {"6.5", both},
	} {
		for mutant, broken := range map[string]bool{"": false, "stack-unchecked": true} {
			if broken && c.edition != "6.9" {
				continue
			}
			sc, err := lang.Parse("hidden", []byte(fmt.Sprintf(hidden, c.edition, c.of[0], c.of[1], c.of[2])))
			require.NoError(t, err)
			res, err := explore.Run(explore.Spec{Scenario: sc, Mutant: mutant, Runs: 300, Seed: 1, Blind: true})
			require.NoError(t, err)
			require.Equal(t, broken, len(res.Broken) > 0, "%s %s %q", c.edition, c.of[0], mutant)
		}
	}
}

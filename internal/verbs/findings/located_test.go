package findings

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	often "kpsim/internal/testkit/thorough"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
)

// messages are what explore says of a scenario before it searches: an error, or notes.
func messages(t *testing.T, path, program string) (says []string) {
	require.NoError(t, os.WriteFile(path, []byte(program), 0o644))
	var out, errs bytes.Buffer
	p := &cli.Program{Out: &out, Err: &errs}
	list, err := inputs.Load([]string{path})
	if err == nil {
		c := &Explore{Strategy: "portfolio", Scenarios: []string{path}}
		err = c.prepare(p, &job{Input: list[0]})
	}
	if err != nil {
		says = append(says, err.Error())
	}
	for _, l := range strings.Split(strings.TrimSpace(errs.String()), "\n") {
		if l = strings.TrimPrefix(l, "kpsim: "); l != "" {
			says = append(says, l)
		}
	}
	return says
}

// What is said of a scenario's file begins with a line and a column of it, whatever is wrong.
func TestMessagesSayWhere(t *testing.T) {
	const head = `f = text("f", "55 48 89 e5 53 5b 5d c3")
g = text("g", "0f1f440000 c3")
k = kprobe("k", at = f)
`
	const tasks = `task("prober", ops = [register(k), unregister(k)])
task("caller", cpu = 1, ops = [call(f)])
`
	for _, c := range []struct{ program, where, says string }{
		{head + tasks + `
sometimes("no-start-insid")`, "7:11", `sometimes(): no property "no-start-insid"; did you mean "no-start-inside"`},
		{head + tasks + `never(canary = "no-quiese")`, "6:1",
			`never(): no mutant "no-quiese"; did you mean "no-quiesce"`},
		{head + tasks + `sometimes("no-quiesce")`, "6:11", "is a mutant"},
		{head + tasks + `never(canary = "no-start-inside")`, "6:7", "is a property"},
		{head + tasks + `h = text("h", "90 90")
task("late", ops = [call(h)])`, "6:5", "is a ret missing?"},
		{head + tasks + `h = text("h", "eb fe")
task("late", ops = [call(h)])`, "6:5", "goes on and on"},
		{head + tasks + `h = text("h", "31c0 c3")
task("late", ops = [call(h),
    call(h, returns = 7)])`, "8:5", "the scenario says 0x7"},
		{head + tasks + `h = text("h", "0f0b c3")
task("late", ops = [call(h)])`, "6:5", "h+0x0"},
		{head + tasks + `far = text("far", at = 0xffffffffff000000 - 0x100000000, hex = "90 c3")
jump_label("l", at = g, target = far)`, "7:1", "too far for a jump of 5 bytes"},
		{head + tasks + `w = kprobe("w", at = f, disabled = True)
task("late", ops = [register(w), unregister(w)])`, "6:25", "probe w is disabled throughout"},
		{head + tasks + `task("late", ops = [call(g), release()])`, "6:30", "release() does nothing"},
		{head + tasks + "preempt(cpu = 1)", "6:1", "preempt@cpu1 never fires"},
		{`f = text("f", "55 48 89 e5 53 5b 5d c3")
k = kprobe("k", at = f + 2)
task(ops = [register(k), call(f)])`, "2:17", "nothing is probed"},
	} {
		path := filepath.Join(t.TempDir(), "x.star")
		says := messages(t, path, c.program)
		require.NotEmpty(t, says, c.program)
		require.True(t, strings.HasPrefix(says[0], path+":"+c.where+": "), "%s\n%s", says[0], c.program)
		require.Contains(t, says[0], c.says)
	}

	rnd := rand.New(rand.NewPCG(7, 7))
	where := regexp.MustCompile(`^[^:]*x\.star:\d+:\d+: `)
	token := regexp.MustCompile(`"[^"\n]*"|\w+|[^\s\w]`)
	n := 0
	names := library.Names()
	for range often.Of(400, 6000) {
		name := names[rnd.IntN(len(names))]
		src, err := library.Source(name)
		require.NoError(t, err)
		program := string(src)
		at := token.FindAllStringIndex(program, -1)
		for range 1 + rnd.IntN(2) {
			x, y := at[rnd.IntN(len(at))], at[rnd.IntN(len(at))]
			if x[1] > len(program) || y[1] > len(program) {
				continue
			}
			word := []string{"", program[y[0]:y[1]], "0", "1", "7", "\"x\"", program[x[0]:x[1]] + "x", "-1",
				"None"}[rnd.IntN(9)]
			program = program[:x[0]] + word + program[x[1]:]
		}
		path := filepath.Join(t.TempDir(), "x.star")
		for _, l := range messages(t, path, program) {
			n++
			require.Regexp(t, where, l, "%s\n%s", l, program)
		}
	}
	require.Greater(t, n, 100)
	t.Log(fmt.Sprint(n, " messages"))
}

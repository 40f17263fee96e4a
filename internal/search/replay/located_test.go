package replay_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/search/replay"
	"kpsim/internal/testkit/thorough"
	"kpsim/traces"
)

// TestMessagesSayWhere: what is said of a trace's scenario begins with the line and the column of
// the file, whatever is wrong, also after a mail program has put > before the lines.
func TestMessagesSayWhere(t *testing.T) {
	data, err := os.ReadFile("../../../traces/corpus/T2-second-instruction.kps")
	require.NoError(t, err)
	trace := string(data)
	begin, end := strings.Index(trace, "\nscenario(")+1, strings.Index(trace, "-- schedule --")
	says := func(text string) error {
		f, err := traces.Parse("x.kps", []byte(text))
		if err == nil {
			var r *replay.Replay
			if r, err = replay.Play("x.kps", f, false); err == nil {
				r.Rig.Close()
			}
		}
		return err
	}
	place := func(text, at string) string {
		before, _, ok := strings.Cut(text, at)
		require.True(t, ok, at)
		return fmt.Sprintf("x.kps:%d:%d: ", 1+strings.Count(before, "\n"), len(before)-strings.LastIndex(before, "\n"))
	}
	for _, c := range []struct{ old, new, at, says string }{
		{"cpu = 1, ops", "cpu = 7, ops", "cpu = 7, ops", "cpu 7 isn't there"},
		{"machine(cpus", "machin(cpus", "machin(", "machin"},
		{`"""`, `"`, `"` + "\n    55", "isn't closed"},
		{"call(victim, 3, 5)", "call(victm, 3, 5)", "victm", "victm"},
		{"c9 c3", "c9 90", `text("victim", at`, ""},
		{"c9 c3", "0f0b", `text("victim", at`, ""},
	} {
		bad := trace[:begin] + strings.Replace(trace[begin:], c.old, c.new, 1)
		require.NotEqual(t, trace, bad, c.old)
		for _, text := range []string{bad, "From: a\n\n> " + strings.ReplaceAll(bad, "\n", "\n> ")} {
			err := says(text)
			require.Error(t, err, c.new)
			want := place(bad, c.at)
			if text == bad {
				require.True(t, strings.HasPrefix(err.Error(), want), "%s\n%s", err, want)
				require.Contains(t, err.Error(), c.says)
			}
			requireInside(t, text, err)
		}
	}

	rnd := rand.New(rand.NewPCG(7, 7))
	token := regexp.MustCompile(`"[^"\n]*"|\w+|[^\s\w]`)
	n := 0
	for range thorough.Of(300, 5000) {
		program := trace[begin:end]
		at := token.FindAllStringIndex(program, -1)
		x, y := at[rnd.IntN(len(at))], at[rnd.IntN(len(at))]
		word := []string{"", program[y[0]:y[1]], "0", "1", "7", "\"x\"", program[x[0]:x[1]] + "x", "-1",
			"None"}[rnd.IntN(9)]
		text := trace[:begin] + program[:x[0]] + word + program[x[1]:] + trace[end:]
		if err := says(text); err != nil {
			n++
			requireInside(t, text, err)
		}
	}
	require.Greater(t, n, 100)
	t.Logf("%d messages", n)
}

// requireInside: the message begins with a line of the trace's scenario, and a column.
func requireInside(t *testing.T, text string, err error) {
	t.Helper()
	m := regexp.MustCompile(`^x\.kps:(\d+):(\d+): `).FindStringSubmatch(err.Error())
	require.NotNil(t, m, "%s\n%s", err, text)
	line, _ := strconv.Atoi(m[1])
	before, _, _ := strings.Cut(text, "-- scenario.star --")
	first := 2 + strings.Count(before, "\n")
	before, _, _ = strings.Cut(text, "-- schedule --")
	require.GreaterOrEqual(t, line, first, "%s\n%s", err, text)
	require.LessOrEqual(t, line, 1+strings.Count(before, "\n"), "%s\n%s", err, text)
}

package tidy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/scenario/tidy"
	"kpsim/internal/testkit/gentest"
	"kpsim/traces"
)

// same checks that a program formatted builds the scenario that it built before, has its comments, and
// stays as it is when it is formatted again.
func same(t require.TestingT, name string, src []byte) {
	before, err := lang.Load(name+".star", src, library.Open)
	require.NoError(t, err)
	text, err := tidy.Format(name+".star", src)
	require.NoError(t, err)
	after, err := lang.Load(name+".star", text, library.Open)
	require.NoError(t, err, "%s", text)
	require.Equal(t, lang.Print(before), lang.Print(after))
	require.Equal(t, strings.Count(string(src), "#"), strings.Count(string(text), "#"), "comments of %s", name)
	again, err := tidy.Format(name+".star", text)
	require.NoError(t, err)
	require.Equal(t, string(text), string(again))
}

// TestLibrary: all built-in scenarios. What kpsim prints of them is in its form already.
func TestLibrary(t *testing.T) {
	for _, name := range library.Names() {
		src, err := library.Source(name)
		require.NoError(t, err)
		same(t, name, src)
		s, err := library.Load(name)
		require.NoError(t, err)
		text, err := tidy.Format(name+".star", []byte(lang.Print(s)))
		require.NoError(t, err)
		require.Equal(t, lang.Print(s), string(text), name)
	}
}

// TestDrawn: drawn scenarios, written with other blanks, line breaks and quotes, and with comments, get
// back the form in which they are printed.
func TestDrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		printed := lang.Print(gentest.DrawAny(t))
		var b strings.Builder
		quoted := false
		for i, r := range printed {
			if r == '"' && !strings.HasSuffix(printed[:i], `\`) {
				quoted = !quoted
			}
			switch {
			case quoted || r != ' ' && r != ',':
				b.WriteRune(r)
			case r == ',':
				b.WriteString(rapid.SampledFrom([]string{",", " ,", ", "}).Draw(t, "comma"))
			default:
				b.WriteString(rapid.SampledFrom([]string{" ", "  "}).Draw(t, "blank"))
			}
		}
		text, err := tidy.Format("drawn.star", []byte(b.String()))
		require.NoError(t, err)
		require.Equal(t, printed, string(text))
		same(t, "drawn", []byte(strings.ReplaceAll(printed, "\n", "  # so\n")))
	})
}

// TestForms: what a program may have, and its form.
func TestForms(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"", ""},
		{"# only\n", "# only\n"},
		{"f = text(\"f\", b\"\\x55\\xc3\",at=0x400000)\ntask(ops=[call(f)])\n",
			"f = text(\"f\", b\"\\x55\\xc3\", at = 0x400000)\ntask(ops = [call(f)])\n"},
		{"x = [b'a', \"bytes_0_\"] if 1 else [b\"é\"]\n", "x = [b'a', \"bytes_0_\"] if 1 else [b\"é\"]\n"},
		{"f = text('f','c3')\r\n\r\n\r\n\r\ntask(ops=[call(f)])\r\n", "f = text(\"f\", \"c3\")\n\ntask(ops = [call(f)])\n"},
		{"f = text(\n  \"f\",   # name\n  \"c3\")\n", "f = text(\n    \"f\",  # name\n    \"c3\",\n)\n"},
		{"x = 1; y = 2\n", "x = 1\ny = 2\n"},
		{"for i in range(3):\n  if i:\n    x=i\n", "for i in range(3):\n    if i:\n        x = i\n"},
		{"x = ((1))\ny = -x if not x else ~x // 2\n", "x = ((1))\ny = -x if not x else ~x // 2\n"},
	} {
		got, err := tidy.Format("t.star", []byte(c.src))
		require.NoError(t, err, c.src)
		require.Equal(t, c.want, string(got))
	}
}

// TestRefused: what isn't formatted, and why.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ src, says string }{
		{"f = text(\"f\"\n", "t.star:2:1: got end of file"},
		{"if 1:\n\tx = 1\n", "t.star:2:"},
		{"t = 1,\n", "t.star:1:"},
		{strings.Repeat("-", 1<<19) + "1", "t.star:1:"},
		{"x = 1" + strings.Repeat("+1", 1<<18), "t.star:1:"},
		{"(1", "t.star:"},
	} {
		_, err := tidy.Format("t.star", []byte(c.src))
		require.Error(t, err, "%.80s", c.src)
		require.Regexp(t, `^t\.star:\d+:\d+: .+; .+`, err.Error())
		require.Contains(t, err.Error(), c.says)
		require.NotContains(t, err.Error(), "\n")
	}
}

// TestTraces: the traces of the corpus, some of which an earlier kpsim has written, say the same as
// before and stay in their form; one that was edited gets it back, with what a person wrote in it.
func TestTraces(t *testing.T) {
	names, err := filepath.Glob("../../../traces/corpus/*.kps")
	require.NoError(t, err)
	require.Greater(t, len(names), 100)
	var text []byte
	for _, name := range names {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		text, err = tidy.Format(name, data)
		require.NoError(t, err)
		was, is := parsed(t, name, data), parsed(t, name, text)
		require.Equal(t, was, is, name)
		again, err := tidy.Format(name, text)
		require.NoError(t, err)
		require.Equal(t, string(text), string(again), name)
	}

	edited := strings.Replace(string(text), "\nmachine(", "\n\n# The machine.\nmachine(  ", 1)
	edited = strings.Replace(edited, "-- schedule --\n", "-- schedule --\n# The race.\n", 1)
	got, err := tidy.Format("edited.kps", []byte(edited))
	require.NoError(t, err)
	require.Equal(t, strings.ReplaceAll(edited, "machine(  ", "machine("), string(got))
}

// parsed reads a trace: its scenario as it is printed, and all else.
func parsed(t *testing.T, name string, data []byte) (all [2]string) {
	f, err := traces.Parse(name, data)
	require.NoError(t, err)
	s, err := lang.ParseFrom(name, []byte(f.Scenario), f.ScenarioLine)
	require.NoError(t, err)
	f.Scenario = ""
	return [2]string{lang.Print(s), string(f.Marshal())}
}

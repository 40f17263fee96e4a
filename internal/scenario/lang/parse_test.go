package lang_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/traces"
)

// parsed is what Parse makes of the text that s prints as.
func parsed(t require.TestingT, s *scenario.Scenario) {
	again, err := lang.Parse("trace.kps", []byte(lang.Print(s)))
	require.NoError(t, err, lang.Print(s))
	require.Equal(t, s, again, lang.Print(s))
}

// Parse reads back what Print prints, for any scenario. Package library tests its own scenarios
// and those that gen draws.
func TestParseRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { parsed(t, genScenario(t)) })
}

func FuzzParseRoundTrip(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { parsed(t, genScenario(t)) }))
}

// corpus are the traces that are committed, by their paths.
func corpus(t testing.TB) map[string]string {
	all := make(map[string]string)
	for _, pattern := range []string{"../../../traces/corpus/*.kps", "../../../traces/corpus/matrix/*.kps"} {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, paths)
		for _, path := range paths {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			f, err := traces.Parse(path, data)
			require.NoError(t, err)
			all[path] = f.Scenario
		}
	}
	return all
}

// Parse makes of each committed trace what Load makes of it.
func TestParseCorpus(t *testing.T) {
	for path, text := range corpus(t) {
		want, err := lang.Load(path, []byte(text), nil)
		require.NoError(t, err)
		got, err := lang.Parse(path, []byte(text))
		require.NoError(t, err)
		require.Equal(t, want, got, path)
	}
}

// What Parse takes Load takes as well, and both make the same of it; what Load takes and
// Parse doesn't isn't of the shape.
func TestParseGolden(t *testing.T) {
	ar, err := txtar.ParseFile("testdata/load.txtar")
	require.NoError(t, err)
	taken := 0
	for i := range ar.Files {
		f := &ar.Files[i]
		src, _, _ := strings.Cut(string(f.Data), answer)
		s, err := lang.Parse(f.Name+".star", []byte(src))
		if err != nil {
			assert.Regexp(t, `^`+f.Name+`\.star:\d+:\d+: [^\n]+$`, err.Error())
			continue
		}
		want, err := lang.Load(f.Name+".star", []byte(src), nil)
		if assert.NoError(t, err, f.Name) {
			assert.Equal(t, want, s, f.Name)
			taken++
		}
	}
	assert.Greater(t, taken, 5, "few of the programs are of the shape")
}

// A person edits the scenario of a trace.
func TestParseEdited(t *testing.T) {
	want, err := lang.Load("x.kps", []byte(`scenario("x", says = "a b")
machine(cpus = 3, fetch = "stale")
f = text("f", hex = "55 4889e5 5d c3", extable = [0, 1])
k = kprobe("k", at = f + 1, pre = [set_reg("rax", -1), call(f)])
task(cpu = 1, ops = [register(k, errno = "EINVAL"), call(f, 9, 255, returns = 7), call(f, returns = [7, 8])], repeat = 2)
never(canary = "no-stop")
`), nil)
	require.NoError(t, err)
	got, err := lang.Parse("x.kps", []byte(`
# a comment
  scenario(says = 'a b',   # another
	name = "x")
machine(fetch="stale",
# within brackets
cpus=0b11,)
f=text(  "f", extable=(0, 0x1), hex = """
  55 4889e5
  5d c3
""")
k = kprobe(at = f + 2 - 1, name = "k", pre = [
	set_reg("rax", -0x1), call(f), ])
task(repeat = 0x2, cpu = 1,
	ops = [
		register(k, errno = "EINVAL"),
		call(f, 0x0_9, 0o377, returns = (7)), call(f, returns = (0x7, 8)),
	])
never(canary = "no-stop")`))
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// What isn't of the shape is refused by a line that names the place and what to do.
func TestParseRefuses(t *testing.T) {
	const shape = "a trace's scenario is a list of calls as kpsim prints it, without loops, functions or other Starlark"
	for _, c := range []struct{ src, says string }{
		{`o = elf("/etc/passwd")`, `1:9: file "/etc/passwd" can't be read here; give its functions with text()`},
		{"scenario(\"x\")\nfor i in range(3):\n  task()", `2:1: for is followed by "i", not by = or (; ` + shape},
		{`x = 1`, `1:5: x = is followed by "1"; only what a call makes has a name here, as f = text(…): ` + shape},
		{`x = ["a"] * 9`, `1:5: x = is followed by "["; only what a call makes has a name here, as f = text(…): ` +
			shape},
		{`x = y`, `1:5: x = is followed by "y"; only what a call makes has a name here, as f = text(…): ` + shape},
		{`text("f", "90" * 400000000)`, `1:16: '*' has no meaning here; ` + shape},
		{`print("x")`, `1:1: print() is Starlark's, and no Starlark is run here; ` + shape},
		{"f = text(\"f\", \"c3\")\njprobe(\"j\", at = f)",
			`2:1: jprobe: missing argument for entry; write jprobe(name, at = None, entry = None, symbol = None, offset = 0, disabled = False)`},
		{`tusk()`, `1:1: tusk isn't defined; did you mean "task"?`},
		{`task(ops = [call(g)])`, `1:18: g isn't defined; there is none`},
		{`task(ops = [call(f]`, `1:18: f isn't defined; there is none`},
		{`machine(cpus = 99999999999999999999)`,
			`1:16: 99999999999999999999 doesn't fit in 64 bits; give a smaller number`},
		{`machine(cpus = 017)`, `1:16: "017" is no whole number; write it like 4096 or 0x1000`},
		{`machine(cpus = 1e9)`, `1:16: "1e9" is no whole number; write it like 4096 or 0x1000`},
		{`machine(cpus = 2, cpus = 3)`, `1:19: machine() is given cpus twice; leave one out`},
		{`machine(cpus = 2, 3)`,
			`1:19: an argument without a name stands after one with a name; put it first, or name it`},
		{`machine(cups = 2)`, `1:9: machine() has no parameter "cups"; did you mean "cpus"?`},
		{`machine(cpus = 2`, `1:8: this bracket isn't closed; put a ) where it ends`},
		{`machine(cpus 2)`, `1:9: cpus isn't defined; there is none`},
		{`machine() machine()`, `1:11: after the call comes "machine"; put each call on a line of its own`},
		{`scenario("x`, `1:10: this string isn't closed; put " where it ends`},
		{`scenario("\q")`, `1:10: this string is wrong: invalid escape sequence \q; correct it`},
		{"\x1b", `1:1: '\x1b' has no meaning here; ` + shape},
		{`text = text("f", "c3")`, `1:1: text is a word of the language; give what you make another name`},
		{`task(ops = ` + strings.Repeat("[", 500_000), `1:27: brackets are nested more than 16 deep; ` + shape},
		{`f = text("f", "c3", at = 1 + 2 + f)`, `1:34: "f" stands where a number is wanted, as in f + 1; write one`},
		{strings.Repeat("#", scenario.MaxSource+1),
			`1:1: the program has 1048577 bytes, at most 1048576; put code into an object file`},
	} {
		_, err := lang.Parse("x.kps", []byte(c.src))
		assert.EqualError(t, err, "x.kps:"+c.says)
	}
}

// Whatever a text is, Parse is done with it at once.
func FuzzParse(f *testing.F) {
	n := 0
	for _, text := range corpus(f) {
		if n++; n%10 == 0 {
			f.Add([]byte(text))
		}
	}
	ar, err := txtar.ParseFile("testdata/load.txtar")
	require.NoError(f, err)
	for _, file := range ar.Files {
		src, _, _ := strings.Cut(string(file.Data), answer)
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		began := time.Now()
		s, err := lang.Parse("fuzz.kps", src)
		require.Less(t, time.Since(began), 20*time.Second)
		if err != nil {
			require.Regexp(t, `^fuzz\.kps:\d+:\d+: [^\n]+$`, err.Error())
			return
		}
		parsed(t, s)
	})
}

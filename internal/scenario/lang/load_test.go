package lang_test

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
)

var rewrite = flag.Bool("rewrite", false, "write what came out into testdata; read the diff")

const answer = "----\n"

// openTest knows the library's files, a kernel module, and one that isn't an object.
func openTest(file string) ([]byte, error) {
	switch file {
	case "text.o":
		return []byte("not an object"), nil
	case "missing.o":
		return nil, errors.New("no such file")
	case "module.ko":
		return os.ReadFile("../testdata/module.ko")
	}
	return library.Open(file)
}

// Each file of testdata/load.txtar is a program, a line ----, and either the
// error, one line that says what to do, or the program that String makes of it.
func TestLoadGolden(t *testing.T) {
	const file = "testdata/load.txtar"
	ar, err := txtar.ParseFile(file)
	require.NoError(t, err)
	for i := range ar.Files {
		f := &ar.Files[i]
		src, want, ok := strings.Cut(string(f.Data), answer)
		if !ok {
			t.Errorf("%s: no line ----", f.Name)
		}

		s, err := lang.Load(f.Name+".star", []byte(src), openTest)
		var got string
		if err != nil {
			got = err.Error() + "\n"
			if strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, f.Name+".star:") {
				t.Errorf("%s: not a line with a place: %s", f.Name, got)
			}
		} else {
			got = lang.Print(s)
		}

		if *rewrite {
			f.Data = []byte(src + answer + got)
		} else if got != want {
			t.Errorf("%s:\n got %s\nwant %s", f.Name, got, want)
		}
	}
	if *rewrite {
		require.NoError(t, os.WriteFile(file, txtar.Format(ar), 0o666))
	}
}

// A program is run for a bounded number of steps and has a bounded size, and
// what Starlark's parser makes of deep nesting fits in its stack.
func TestLoadBounds(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{strings.Repeat("#", 2<<20),
			"big.star:1:1: the program has 2097152 bytes, at most 1048576; put code into an object file"},
		{strings.Repeat("(", 1<<20), "excessive nesting"},
		{strings.Repeat("[", 1<<20), "excessive nesting"},
		{strings.Repeat("-", 1<<20), "excessive nesting"},
		{strings.Repeat("not ", 1<<18), "excessive nesting"},
		{strings.Repeat("lambda:", 1<<17), "excessive nesting"},
		{strings.Repeat("1 if 1 else ", 1<<16), "excessive nesting"},
		{"x = 1" + strings.Repeat("+1", 1<<19-4), "nested more than 5000 deep"},
		{"x = True" + strings.Repeat(".a", 1<<19-4), "nested more than 5000 deep"},
		{"x = 1" + strings.Repeat(" or 1", 1<<17), "nested more than 5000 deep"},
		{"x = 1" + strings.Repeat(" or 1", 1<<11), "no tasks"},
		{"x = 1" + strings.Repeat("\nx = 1+1", 60_000), "more than 50000 operators"},
		{"x = [" + strings.Repeat("1,", 610_000/2) + "]\nx = [" + strings.Repeat("1,", 1<<17) + "]", "no tasks"},
		{"x = (1" + strings.Repeat("()", 1<<18) + ")", "nested more than 5000 deep"},
		{"def f():\n  return f\nx = f" + strings.Repeat("()", 1<<18), "nested more than 5000 deep"},
	} {
		_, err := lang.Load("big.star", []byte(c.src), nil)
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "\n")
	}
}

func TestLoadOpensNothing(t *testing.T) {
	_, err := lang.Load("t.star", []byte(`v = elf("victim.o")`), nil)
	require.EqualError(t, err, `t.star:1:9: file "victim.o" can't be read here; give its functions with text()`)
}

// A printed scenario gives no names to property or mutant: those are known to
// others.
func TestCheckNames(t *testing.T) {
	props, mutants := []string{"whole-instructions", "no-start-inside"}, []string{"no-sync-1"}
	for _, c := range []struct {
		e    scenario.Expect
		want string
	}{
		{scenario.Expect{}, ""},
		{scenario.Expect{Sometimes: true, Property: "no-start-inside"}, ""},
		{scenario.Expect{Sometimes: true, Property: "no-start-insid"},
			`sometimes(): no property "no-start-insid"; did you mean "no-start-inside"?`},
		{scenario.Expect{Canary: "no-sync-1"}, ""},
		{scenario.Expect{Canary: "no-start-inside"},
			`never(): "no-start-inside" is a property, and never() takes a mutant, its canary; never() alone expects every property to hold`},
		{scenario.Expect{Sometimes: true, Property: "no-sync-1"},
			`sometimes(): "no-sync-1" is a mutant, not a property; name the property that breaks, or plant it with --mutant`},
		{scenario.Expect{Canary: "x"}, `never(): no mutant "x"; there is "no-sync-1"`},
	} {
		if err := c.e.CheckNames(props, mutants); c.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.want)
		}
	}
}

// Two objects may each have a static function of one name; a global one is there once.
// What has no size, a second name or is a variable has its place, too.
func TestObjectNames(t *testing.T) {
	const first = `
text("same", "90 c3")
text("local", "90 90 c3")
`
	const second = `
o = elf("../../../smp/image/testdata/unsized.o")
task("t", ops = [call(o.same, returns = 1), call(o["same#2"], returns = 5), call(o.local, returns = 2), call(o.first, returns = 0), expect(o.counter, "07"), expect(o["counter"] + 1, "00"), call(o.alias, returns = 4)])
`
	s, err := lang.Load("t.star", []byte(first+second), os.ReadFile)
	require.NoError(t, err)
	var names []string
	for _, x := range s.Texts {
		names = append(names, x.Name[strings.LastIndexByte(x.Name, '/')+1:])
	}
	require.Subset(t, names, []string{"same", "local", "first", "unsized.o:same", "unsized.o:local", "same#2"})
	for i, want := range []int{16, 17} {
		op := s.Tasks[0].Ops[4+i]
		require.Equal(t, []any{".data", want - 8}, []any{op.Target, op.Offset})
	}
	_, err = lang.Load("t.star", []byte(`text("first", "c3")`+second), os.ReadFile)
	require.ErrorContains(t, err, `"first" is there twice; give one another name`)
}

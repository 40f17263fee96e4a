package lang_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/kprobes/kpev"
)

// This file makes what editors/ has of the language's rows: stubs, and the words that are highlighted.

var updateEditors = flag.Bool("update-editors", false, "write the files of editors/ anew; read the diff")

// TestEditors: the files of editors/ are what the language's rows make.
func TestEditors(t *testing.T) {
	for name, text := range map[string]string{
		"stubs/__builtins__.pyi":                stubs(),
		"stubs/__init__.py":                     stubs(),
		"vscode/syntaxes/kpsim.tmLanguage.json": grammar(t, scenarioGrammar()),
		"vscode/syntaxes/kps.tmLanguage.json":   grammar(t, traceGrammar()),
		"vim/syntax/kpsim.vim":                  vimScenario(),
	} {
		path := filepath.Join("../../../editors", filepath.FromSlash(name))
		if *updateEditors {
			require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
		}
		is, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, text, string(is), "%s: go test ./internal/scenario/lang -run Editors -update-editors", name)
	}
}

// takenAs are the types of Python for what parameters take.
var takenAs = map[lang.Takes]string{
	lang.TakesText: "str", lang.TakesErrno: "Errno", lang.TakesHex: "Hex", lang.TakesWritten: "Hex | Written",
	lang.TakesInt: "int", lang.TakesInts: "int | Sequence[int]", lang.TakesWord: "Word", lang.TakesAddr: "Word",
	lang.TakesWords: "Sequence[Word]", lang.TakesOneOrMoreWords: "Word | Sequence[Word]",
	lang.TakesRest: "Word", lang.TakesBool: "bool",
	lang.TakesBools: "bool | Sequence[bool]", lang.TakesFunc: "Function", lang.TakesFuncs: "Sequence[Function]",
	lang.TakesOneOrMore: "Function | Sequence[Function]", lang.TakesCallee: "Function | str",
	lang.TakesPlace: "Function", lang.TakesPlaces: "Sequence[Function]",
	lang.TakesOneOrMorePlaces: "Function | Sequence[Function]", lang.TakesAddress: "int | Function",
	lang.TakesData: "Data", lang.TakesDatas: "Sequence[Data]", lang.TakesDataPlace: "Data",
	lang.TakesSteps: "Sequence[Step] | None", lang.TakesEntry: "Function | Sequence[Step] | None",
	lang.TakesOps: "Sequence[Op]", lang.TakesFill: "tuple[int, Hex] | None", lang.TakesFile: "str",
}

// typeOf returns the type of what is called a "static call": StaticCall.
func typeOf(what string) string {
	var b strings.Builder
	for word := range strings.FieldsSeq(what) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// stubs returns a stub of each function of the language.
func stubs() string {
	var b strings.Builder
	b.WriteString(`# The language of kpsim's scenarios, as stubs in Python's form. Made from the language's rows by
# go test ./internal/scenario/lang -run Editors -update-editors
from typing import Any, Literal, Self, Sequence

class Place:
    """A place in memory: f + 4 is one, too. Where a number is wanted it is its address."""
    def __add__(self, n: int) -> Self: ...
    def __radd__(self, n: int) -> Self: ...
    def __sub__(self, n: int) -> Self: ...
class Object:
    """An object file: o.f, or o["f.part.0"], is its function f, o.counter its data."""
    def __getattr__(self, name: str) -> Any: ...
    def __getitem__(self, name: str) -> Any: ...
class Step: ...
class Op: ...
class Written: ...
class _Both(Op, Step): ...
`)
	var types []string
	for _, w := range lang.Words() {
		for _, of := range append([]string{w.Of}, parts(w)...) {
			if of != "" && !slices.Contains(types, of) {
				types = append(types, of)
			}
		}
	}
	for _, of := range types {
		base := ""
		if slices.Contains([]string{"function", "data", "alias"}, of) {
			base = "(Place)"
		}
		fmt.Fprintf(&b, "class %s%s: ...\n", typeOf(of), base)
	}
	b.WriteString("Word = int | Place\nHex = str | bytes | Sequence[int | str]\n")
	names := []string{"0"}
	for _, e := range kpev.Errnos {
		names = append(names, lang.Quote(e.Name))
	}
	fmt.Fprintf(&b, "Errno = Literal[%s] | None\n", strings.Join(names, ", "))
	for _, w := range lang.Words() {
		stub(&b, w)
	}
	return b.String()
}

// parts returns what the parameters of a function name.
func parts(w lang.Word) (list []string) {
	for _, p := range w.Params {
		list = append(list, p.Of)
	}
	return list
}

// stub writes the stub of one function.
func stub(b *strings.Builder, w lang.Word) {
	gives := map[lang.Gives]string{lang.GivesNothing: "None", lang.GivesPart: typeOf(w.Of), lang.GivesObject: "Object",
		lang.GivesInts: "list[int]", lang.GivesStep: "Step", lang.GivesOp: "Op", lang.GivesBoth: "_Both",
		lang.GivesWritten: "Written"}[w.Gives]
	var params []string
	for _, p := range w.Params {
		params = append(params, parameter(p))
	}
	fmt.Fprintf(b, "\ndef %s(%s) -> %s:\n    \"\"\"%s", w.Name, strings.Join(params, ", "), gives, sentence(w.Says))
	for _, p := range w.Params {
		if p.Says != "" {
			fmt.Fprintf(b, "\n\n    %s: %s", p.Name, sentence(p.Says))
		}
	}
	b.WriteString("\"\"\"\n    ...\n")
}

// parameter returns a parameter with its type and its default.
func parameter(p lang.Param) string {
	var is string
	switch p.Takes {
	case lang.TakesChoice:
		words := make([]string, len(p.Words))
		for i, w := range p.Words {
			words[i] = lang.Quote(w)
		}
		is = "Literal[" + strings.Join(words, ", ") + "]"
	case lang.TakesPart:
		is = typeOf(p.Of) + " | str"
	case lang.TakesParts:
		is = "Sequence[" + typeOf(p.Of) + " | str]"
	default:
		is = takenAs[p.Takes]
	}
	if (p.Default == "None" || p.None) && !strings.Contains(is, "None") && is != "Errno" {
		is += " | None"
	}
	if p.Takes == lang.TakesRest {
		return "*" + p.Name + ": " + is
	}
	if p.Default == "" {
		return p.Name + ": " + is
	}
	return p.Name + ": " + is + " = " + p.Default
}

// TestVim: Vim takes the files for what they are, and each word for its kind.
func TestVim(t *testing.T) {
	vim, err := exec.LookPath("vim")
	if err != nil {
		t.Skip("vim isn't here")
	}
	if has, _ := exec.Command(vim, "--version").Output(); !strings.Contains(string(has), "+syntax") {
		t.Skip("this vim highlights nothing")
	}
	runtime, err := filepath.Abs("../../../editors/vim")
	require.NoError(t, err)
	trace, err := filepath.Abs("../../../traces/corpus/T1-torn-jump.kps")
	require.NoError(t, err)
	dir := t.TempDir()
	star, other := filepath.Join(dir, "mine.star"), filepath.Join(dir, "other.star")
	const scenario = `machine(cpus = 2)  # 2
k = kprobe("k", at = f, pre = [count()])
task(ops = [call(f)])
never()
`
	require.NoError(t, os.WriteFile(star, []byte(scenario), 0o666))
	require.NoError(t, os.WriteFile(other, []byte("load(\"x\", \"y\")\n"), 0o666))
	out := filepath.Join(dir, "out")
	for _, c := range []struct{ file, at, want string }{
		{star, "machine(", "kpsimPart"}, {star, "# 2", "pythonComment"}, {star, "kprobe(", "kpsimPart"},
		{star, `k", at`, "pythonString"}, {star, "count(", "kpsimStep"}, {star, "call(", "kpsimOperation"},
		{star, "never(", "kpsimExpectation"}, {other, "load(", ""},
		{trace, "-- scenario.star --", "kpsSection"}, {trace, "machine(", "kpsimPart"},
		{trace, "-- schedule --", "kpsSection"}, {trace, `1st time`, "kpsTime"},
		{trace, "property:", "kpsKey"}, {trace, "0x", "kpsNumber"}, {trace, "schedule format", "kpsKey"},
	} {
		from := "1"
		if c.at == "0x" {
			from = "search('^-- digest')"
		}
		cmd := exec.Command(vim, "-Nu", "NONE", "-es", "--cmd", "set runtimepath^="+runtime, "--cmd",
			"filetype on | syntax on", c.file, "-c", "call cursor("+from+", 1)", "-c",
			`call search('\V`+c.at+`', 'c')`, "-c",
			`call writefile([synIDattr(synID(line('.'), col('.'), 1), 'name')], '`+out+`')`, "-c", "qa!")
		cmd.Run()
		is, err := os.ReadFile(out)
		require.NoError(t, err)
		require.Equal(t, c.want, strings.TrimSpace(string(is)), "%s in %s", c.at, c.file)
		require.NoError(t, os.Remove(out))
	}
}

var link = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// sentence returns a paragraph of the reference for a docstring.
func sentence(says string) string {
	says = strings.NewReplacer(`\`, `\\`).Replace(link.ReplaceAllString(says, "$1"))
	if strings.HasSuffix(says, `"`) {
		says += "."
	}
	return says
}

// A rule is a rule of a TextMate grammar.
type rule struct {
	Name     string          `json:"name,omitempty"`
	Match    string          `json:"match,omitempty"`
	Begin    string          `json:"begin,omitempty"`
	End      string          `json:"end,omitempty"`
	Captures map[string]rule `json:"captures,omitempty"`
	Begins   map[string]rule `json:"beginCaptures,omitempty"`
	Include  string          `json:"include,omitempty"`
	Content  string          `json:"contentName,omitempty"`
	Patterns []rule          `json:"patterns,omitempty"`
	Scope    string          `json:"scopeName,omitempty"`
	Comment  string          `json:"comment,omitempty"`
	Types    []string        `json:"fileTypes,omitempty"`
	Titled   string          `json:"displayName,omitempty"`
}

const madeBy = "Made from kpsim's rows: go test ./internal/scenario/lang -run Editors -update-editors"

func grammar(t *testing.T, g rule) string {
	g.Comment = madeBy
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	require.NoError(t, e.Encode(g))
	return b.String()
}

// A kind is the functions of the language that are highlighted alike, separated by blanks, with its names in grammars
// and in Vim.
type kind struct{ scope, group, words string }

// kinds returns the functions of the language by what they give. Each is in one kind.
func kinds() (list []kind) {
	for _, k := range []struct {
		scope, group string
		is           func(w lang.Word) bool
	}{
		{"support.function.operation.kpsim", "kpsimOperation",
			func(w lang.Word) bool { return w.Gives == lang.GivesOp || w.Gives == lang.GivesBoth }},
		{"support.function.step.kpsim", "kpsimStep",
			func(w lang.Word) bool { return w.Gives == lang.GivesStep || w.Gives == lang.GivesWritten }},
		{"keyword.other.expectation.kpsim", "kpsimExpectation",
			func(w lang.Word) bool { return w.Chapter == "What is expected" }},
		{"support.function.part.kpsim", "kpsimPart", func(lang.Word) bool { return true }},
	} {
		var words []string
		for _, w := range lang.Words() {
			if !slices.ContainsFunc(list, func(o kind) bool {
				return slices.Contains(strings.Fields(o.words), w.Name)
			}) && k.is(w) {
				words = append(words, w.Name)
			}
		}
		list = append(list, kind{k.scope, k.group, strings.Join(words, " ")})
	}
	return list
}

// scenarioGrammar is the grammar of scenarios.
func scenarioGrammar() rule {
	g := rule{Titled: "kpsim scenario", Scope: "source.starlark.kpsim", Types: []string{"star"}}
	escapes := []rule{{Name: "constant.character.escape.starlark", Match: `\\.`}}
	for _, quote := range []string{`"""`, `'''`, `"`, `'`} {
		end := quote
		if len(quote) == 1 {
			end += `|(?<!\\)$` // a trace's long lines go on behind a backslash
		}
		g.Patterns = append(g.Patterns, rule{Name: "string.quoted.starlark", Begin: `\b(?:rb|[rb])?` + quote + `|` + quote, End: end,
			Patterns: escapes})
	}
	g.Patterns = append(g.Patterns,
		rule{Name: "comment.line.number-sign.starlark", Match: `#.*$`},
		rule{Name: "constant.numeric.starlark", Match: `\b(?:0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|\d+)\b`},
		rule{Name: "constant.language.starlark", Match: `\b(?:True|False|None)\b`},
		rule{Name: "keyword.control.starlark",
			Match: `\b(?:and|break|continue|def|elif|else|for|if|in|lambda|load|not|or|pass|return)\b`},
	)
	for _, k := range kinds() {
		g.Patterns = append(g.Patterns, rule{Name: k.scope,
			Match: `(?<![\w.])(?:` + strings.ReplaceAll(k.words, " ", "|") + `)(?=\s*\()`})
	}
	g.Patterns = append(g.Patterns,
		rule{Name: "variable.parameter.starlark", Match: `\b[A-Za-z_]\w*(?=\s*=(?!=)[^\n]*[,)]|\s*=\s*$)`})
	return g
}

// traceGrammar is the grammar of traces.
func traceGrammar() rule {
	header := func(name string) string { return `^-- ` + name + ` --\s*$` }
	head := map[string]rule{"0": {Name: "markup.heading.kpsim"}}
	next := `(?=^-- )`
	remarks := []rule{{Match: `^([^:#]+)(:)\s*(.*)$`, Captures: map[string]rule{
		"1": {Name: "entity.name.tag.kpsim"}, "2": {Name: "punctuation.separator.kpsim"},
		"3": {Name: "string.unquoted.kpsim"}}}}
	schedule := []rule{
		{Name: "comment.line.number-sign.kpsim", Match: `^#.*$`},
		{Match: `^(\S+) (in) (.*), (\d+(?:st|nd|rd|th) time)(?:: (.*))?$`, Captures: map[string]rule{
			"1": {Name: "entity.name.function.cpu.kpsim"}, "2": {Name: "keyword.operator.kpsim"},
			"3": {Name: "variable.other.place.kpsim"}, "4": {Name: "constant.numeric.kpsim"},
			"5": {Name: "entity.name.function.choice.kpsim"}}},
		{Name: "entity.name.function.choice.kpsim", Match: `^\S.*$`},
	}
	return rule{Titled: "kpsim trace", Scope: "text.kpsim.trace", Types: []string{"kps"}, Patterns: []rule{
		{Begin: header(`scenario\.star`), End: next, Begins: head, Content: "meta.embedded.scenario.kpsim",
			Patterns: []rule{{Include: "source.starlark.kpsim"}}},
		{Begin: header(`schedule`), End: next, Begins: head, Patterns: schedule},
		{Begin: header(`(?:verdict|origin)`), End: next, Begins: head, Patterns: remarks},
		{Begin: header(`digest`), End: next, Begins: head,
			Patterns: []rule{{Name: "constant.numeric.kpsim", Match: `0x[0-9a-fA-F]+`}}},
	}}
}

// vimScenario is Vim's syntax of scenarios: Python's, and the language's words.
func vimScenario() string {
	var b strings.Builder
	b.WriteString(`" The language of kpsim's scenarios. Made from its rows:
" go test ./internal/scenario/lang -run Editors -update-editors
if exists("b:current_syntax")
  finish
endif
runtime! syntax/python.vim
`)
	for _, k := range kinds() {
		fmt.Fprintf(&b, "syntax keyword %s %s\n", k.group, k.words)
	}
	b.WriteString(`highlight default link kpsimOperation Function
highlight default link kpsimStep Special
highlight default link kpsimExpectation Statement
highlight default link kpsimPart Type
let b:current_syntax = "kpsim"
`)
	return b.String()
}

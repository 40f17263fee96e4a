package kprobes

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/rules"
	processors "kpsim/smp/arch/target"
)

var updateCoverage = flag.Bool("update", false, "write docs/spec-coverage.md; read the diff")

// coverageFile is what TestSpecCoverage writes, rulesFile the rules it goes by,
// and specFile the specification itself, which a clone doesn't have.
const (
	coverageFile = "../docs/spec-coverage.md"
	rulesFile    = "testdata/spec-rules.txt"
	specFile     = "../../shared/spec.md"
)

// A numbered rule of the specification.
type numbered struct {
	rule, words string
	in          []rules.Edition
}

// A specHeld is a rule that is held outside TestSpec: by a test of a package of
// this module, which a mutant of kprobes/mutants makes fail (TestMutants of
// internal/search/mutantsearch checks it), or which says why there is none.
type specHeld struct {
	rule    string
	says    string
	in      []rules.Edition // nil: all that have the rule
	test    string          // package.TestName, the package relative to the module; "": none says why nothing holds it
	mutants []string
	none    string // why there is no mutant
}

// A coverRow is a row of the document.
type coverRow struct {
	rule, says, test string
	in               []rules.Edition
	mutants          []coverMutant
	none             string
	on               []processors.Processor // of those that TestSpecElsewhere runs beside x86
	x86              string                 // why it is of x86 alone
}

// Processors that have columns of their own: i386 has all rows.
var covering = [...]processors.Processor{processors.RISCV64, processors.ARM64, processors.PPC64LE}

type coverMutant struct {
	name string
	in   []rules.Edition
}

// shows reports whether the row answers, in an edition, how it could fail.
func (r *coverRow) shows(ed rules.Edition) bool {
	return r.none != "" || slices.ContainsFunc(r.mutants, func(m coverMutant) bool { return slices.Contains(m.in, ed) })
}

// TestSpecCoverage: every numbered rule, in every edition that it applies to, is
// held by a test, and a mutant makes that test fail, or it is said why none does.
// docs/spec-coverage.md says which.
func TestSpecCoverage(t *testing.T) {
	rules := readRules(t)
	compareRules(t, rules)
	rows := coverRows(t, rules)
	holes := coverHoles(rules, rows)
	text := coverText(rules, rows)
	require.Empty(t, holes, "holes: write the row, or say in spec_elsewhere_internal_test.go what holds the rule")
	if *updateCoverage {
		require.NoError(t, os.WriteFile(coverageFile, []byte(text), 0o666))
	}
	was, err := os.ReadFile(coverageFile)
	require.NoError(t, err)
	require.Equal(t, string(was), text,
		"docs/spec-coverage.md is behind the tables: go test ./kprobes -run SpecCoverage -update")
}

// readRules reads the list of rules.
func readRules(t testing.TB) (all []numbered) {
	file, err := os.ReadFile(rulesFile)
	require.NoError(t, err)
	for line := range strings.Lines(string(file)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		parts := strings.Split(line, " | ")
		require.Len(t, parts, 3, line)
		r := numbered{rule: parts[0], words: parts[2]}
		for name := range strings.FieldsSeq(parts[1]) {
			ed, ok := rules.ParseEdition(strings.TrimSuffix(name, "+"))
			require.True(t, ok, line)
			if strings.HasSuffix(name, "+") {
				r.in = append(r.in, since(ed)...)
			} else {
				r.in = append(r.in, ed)
			}
		}
		all = append(all, r)
	}
	return all
}

// compareRules holds the list against the specification, where that is: each
// section has the rules 1, 2, 3 … in order, or none that is numbered.
func compareRules(t testing.TB, rules []numbered) {
	spec, err := os.ReadFile(specFile)
	if os.IsNotExist(err) {
		return
	}
	require.NoError(t, err)
	var want []string
	for _, section := range strings.Split(string(spec), "\n## ")[1:] {
		number, text, _ := strings.Cut(section, " ")
		n := 0
		for {
			next := regexp.MustCompile(fmt.Sprintf(`\b%s\.%d\b`, number, n+1)).FindStringIndex(text)
			if next == nil {
				break
			}
			n++
			text = text[next[1]:]
			want = append(want, fmt.Sprintf("%s.%d", number, n))
		}
		if n == 0 {
			want = append(want, number)
		}
	}
	var got []string
	for _, r := range rules {
		got = append(got, r.rule)
	}
	require.Equal(t, want, got, "%s against the specification", rulesFile)
}

// coverRows are the rows of TestSpec and those that are held elsewhere, in the
// order of the rules.
func coverRows(t testing.TB, rules []numbered) (rows []coverRow) {
	for _, part := range spec {
		for i := range part {
			r := &part[i]
			row := coverRow{rule: r.rule, says: r.says, test: "kprobes.TestSpec", in: r.editions(processors.X8664), none: r.none,
				x86: r.x86}
			for _, p := range covering {
				if r.editions(p) != nil {
					row.on = append(row.on, p)
				}
			}
			for j := range r.mutants {
				m := &r.mutants[j]
				row.mutants = append(row.mutants, coverMutant{m.name, orAll(m.in, row.in)})
			}
			rows = append(rows, row)
		}
	}
	names := mutantNames(t)
	for _, h := range specElsewhere {
		if h.test != "" {
			requireTest(t, h.test)
		}
		row := coverRow{rule: h.rule, says: h.says, test: h.test, in: orAll(h.in, ruleOf(t, rules, h.rule).in),
			none: h.none}
		for _, m := range h.mutants {
			require.Contains(t, names, m, "rule %s: no such mutant", h.rule)
			row.mutants = append(row.mutants, coverMutant{m, row.in})
		}
		require.True(t, len(row.mutants) > 0 || row.none != "", "%s, %s: no mutant, and no reason", h.rule, h.says)
		rows = append(rows, row)
	}
	for _, r := range rows {
		for _, ed := range r.in {
			require.Contains(t, ruleOf(t, rules, r.rule).in, ed, "%s, %s: edition %v doesn't have the rule", r.rule,
				r.says, ed)
		}
	}
	at := func(rule string) int {
		return slices.IndexFunc(rules, func(r numbered) bool { return r.rule == rule })
	}
	slices.SortStableFunc(rows, func(a, b coverRow) int { return cmp.Compare(at(a.rule), at(b.rule)) })
	return rows
}

func orAll(in, all []rules.Edition) []rules.Edition {
	if in != nil {
		return in
	}
	return all
}

func ruleOf(t testing.TB, rules []numbered, rule string) numbered {
	i := slices.IndexFunc(rules, func(r numbered) bool { return r.rule == rule })
	require.GreaterOrEqual(t, i, 0, "the specification has no rule %s", rule)
	return rules[i]
}

// mutantNames are those of kprobes/mutants, read from its source: kprobes is
// below it.
func mutantNames(t testing.TB) (names []string) {
	for _, f := range parsed(t, "kprobes/mutants", false) {
		ast.Inspect(f, func(n ast.Node) bool {
			kv, ok := n.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			if key, ok := kv.Key.(*ast.Ident); ok && key.Name == "Name" {
				if v, ok := kv.Value.(*ast.BasicLit); ok {
					names = append(names, strings.Trim(v.Value, `"`))
				}
			}
			return true
		})
	}
	require.NotEmpty(t, names)
	return names
}

// requireTest fails unless there is the test package.Name.
func requireTest(t testing.TB, ref string) {
	t.Helper()
	dot := strings.LastIndexByte(ref, '.')
	require.Positive(t, dot, ref)
	for _, f := range parsed(t, ref[:dot], true) {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == ref[dot+1:] {
				return
			}
		}
	}
	t.Fatalf("there is no test %s", ref)
}

// parsed are the files of a package: its tests, or the others.
func parsed(t testing.TB, pkg string, tests bool) (files []*ast.File) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(pkg), "*.go"))
	require.NoError(t, err)
	for _, p := range paths {
		if strings.HasSuffix(p, "_test.go") == tests {
			f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			files = append(files, f)
		}
	}
	require.NotEmpty(t, files, "package %s", pkg)
	return files
}

// coverHoles are the rules that no test holds in some editions, or none that has
// been seen to fail there.
func coverHoles(list []numbered, rows []coverRow) (holes []string) {
	for _, r := range list {
		var bare, unshown []rules.Edition
		for _, ed := range r.in {
			switch held, shown := covered(rows, r.rule, ed); {
			case !held:
				bare = append(bare, ed)
			case !shown:
				unshown = append(unshown, ed)
			}
		}
		if bare != nil {
			holes = append(holes, fmt.Sprintf("%s in %s: no test (%s)", r.rule, editionsText(bare, r.in), r.words))
		}
		if unshown != nil {
			holes = append(holes, fmt.Sprintf("%s in %s: no mutant, and no reason (%s)", r.rule,
				editionsText(unshown, r.in), r.words))
		}
	}
	return holes
}

// covered reports whether a row holds the rule in an edition, and whether one of
// them says how it fails.
func covered(rows []coverRow, rule string, ed rules.Edition) (held, shown bool) {
	for i := range rows {
		if r := &rows[i]; r.rule == rule && slices.Contains(r.in, ed) {
			held = true
			shown = shown || r.shows(ed)
		}
	}
	return held, shown
}

// coverText is the document.
func coverText(rules []numbered, rows []coverRow) string {
	var b strings.Builder
	pairs := 0
	for _, r := range rules {
		pairs += len(r.in)
	}
	fmt.Fprintf(&b, `# What holds each rule of the specification

Written by `+"`go test ./kprobes -run SpecCoverage -update`"+` from the tables that the tests run; a hole, or a document that is behind them, fails that test.
%d rules; %d pairs of a rule and an edition that it applies to.

In the first table a dot is an edition that the rule doesn't apply to, a number says how many tests hold it there, none that its row says why nothing does. In the others a test is run in
each edition named, and once more with each mutant, which must make it fail there (of kprobes: TestSpecMutants; of the other packages: TestMutants in internal/search/mutantsearch).
i386 has all rows of x86-64. riscv64, arm64 and ppc64le have those of edition 6.9 that the last column of a section's table names:
each is run there, too, with its mutants.

| rule | in a few words |`, len(rules), pairs)
	for _, ed := range every {
		fmt.Fprintf(&b, " %v |", ed)
	}
	for _, p := range covering {
		fmt.Fprintf(&b, " %v |", p)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(every)+len(covering)) + "\n")
	for _, r := range rules {
		fmt.Fprintf(&b, "| %s | %s |", r.rule, r.words)
		for _, ed := range every {
			n := 0
			for i := range rows {
				if rows[i].rule == r.rule && rows[i].test != "" && slices.Contains(rows[i].in, ed) {
					n++
				}
			}
			switch _, shown := covered(rows, r.rule, ed); {
			case !slices.Contains(r.in, ed):
				b.WriteString(" · |")
			case !shown:
				b.WriteString(" **hole** |")
			case n == 0:
				b.WriteString(" none |")
			default:
				fmt.Fprintf(&b, " %d |", n)
			}
		}
		for _, p := range covering {
			n := 0
			for i := range rows {
				if rows[i].rule == r.rule && slices.Contains(rows[i].on, p) {
					n++
				}
			}
			if b.WriteString(" "); n == 0 {
				b.WriteString("· |")
			} else {
				fmt.Fprintf(&b, "%d |", n)
			}
		}
		b.WriteByte('\n')
	}
	section := ""
	for i := range rows {
		r := &rows[i]
		if s, _, _ := strings.Cut(r.rule, "."); s != section {
			section = s
			fmt.Fprintf(&b, "\n## Section %s\n\n| rule | what is looked at | editions | test | fails with | beside x86 |\n"+
				"|---|---|---|---|---|---|\n", s)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", r.rule, r.says, editionsText(r.in, every),
			cmp.Or(r.test, "—"), r.fails(), r.beside())
	}
	return b.String()
}

// beside says on which other processors a row of TestSpec is run, or why on none.
func (r *coverRow) beside() string {
	switch {
	case r.x86 != "":
		return "none: " + r.x86
	case len(r.on) == len(covering):
		return "all"
	}
	var names []string
	for _, p := range r.on {
		names = append(names, p.String())
	}
	return cmp.Or(strings.Join(names, ", "), "—")
}

// fails says which mutants make a row fail, and where, or why none does.
func (r *coverRow) fails() string {
	var all []string
	for _, m := range r.mutants {
		text := "`" + m.name + "`"
		if !slices.Equal(m.in, r.in) {
			text += " (" + editionsText(m.in, every) + ")"
		}
		all = append(all, text)
	}
	if r.none != "" {
		all = append(all, "none: "+r.none)
	}
	return strings.Join(all, ", ")
}

// editionsText names editions, "all" and "4.15+" where that is shorter.
func editionsText(in, all []rules.Edition) string {
	if slices.Equal(in, all) {
		return "all"
	}
	if n := len(all) - len(in); len(in) > 1 && slices.Equal(in, all[n:]) {
		return in[0].String() + "+"
	}
	var names []string
	for _, ed := range in {
		names = append(names, ed.String())
	}
	return strings.Join(names, ", ")
}

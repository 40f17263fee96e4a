package mutants_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/kprobes/mutants"
	"kpsim/kprobes/rules"
)

var updateHistory = flag.Bool("update-history", false, "rewrite docs/history.md; read the diff")

const takeBack = "../../scripts/take-back.d"

// TestHistory: each row is whole, its words are those there are, and what it names exists.
func TestHistory(t *testing.T) {
	commits, says := map[string]bool{}, map[string]bool{}
	last := mutants.First
	for i := range mutants.History() {
		f := &mutants.History()[i]
		t.Run(fmt.Sprintf("%d/%s", i+2, f.Commit), func(t *testing.T) {
			if f.Commit == "" {
				assert.Contains(t, []string{"no", "run", "study"}, f.Seen)
				assert.Equal(t, f.Seen == "no", f.Fixed != mutants.Never, "what is mended has a commit, known or not")
			} else {
				assert.Regexp(t, `^[0-9a-f]{12}$`, f.Commit)
				assert.NotContains(t, commits, f.Commit)
				assert.NotContains(t, []string{"no", "run"}, f.Seen)
			}
			commits[f.Commit] = true
			assert.LessOrEqual(t, f.Introduced, f.Fixed)
			assert.LessOrEqual(t, last, f.Fixed, "the rows are in the order of the releases that mended them")
			last = f.Fixed
			assert.Contains(t, mutants.Areas, f.Area)
			assert.Contains(t, mutants.Kinds, f.Kind)
			assert.True(t, slices.ContainsFunc(mutants.Sources, func(r mutants.Reason) bool {
				return r.Word == f.Seen
			}), f.Seen)
			assert.NotContains(t, says, f.Says)
			says[f.Says] = true
			assert.Regexp(t, `^\S.*[^.\s]$`, f.Says)
			require.NotEmpty(t, f.Back)
			for _, b := range f.Back {
				requireBack(t, f, b)
			}
		})
	}
}

// requireBack requires that there is what a row names.
func requireBack(t *testing.T, f *mutants.Fix, b mutants.Back) {
	t.Helper()
	switch b.How {
	case mutants.AMutant, mutants.LikeOne:
		_, ok := mutants.ByName(b.Name)
		require.True(t, ok, b.Name)
	case mutants.ARule:
		require.Contains(t, mutants.RuleNames(), b.Name)
	case mutants.TakenBack:
		require.Regexp(t, `(?m)^# commit: `+f.Commit+`, `+regexp.QuoteMeta(f.Fixed.String())+`$`,
			read(t, filepath.Join(takeBack, b.Name)))
	case mutants.AScenario:
		require.FileExists(t, "../../scripts/take-back.scenarios/"+b.Name+".star")
	case mutants.ASetting:
		require.Empty(t, b.Name)
	case mutants.NotHere:
		require.Len(t, f.Back, 1)
		require.True(t, slices.ContainsFunc(mutants.Reasons, func(r mutants.Reason) bool { return r.Word == b.Name }),
			b.Name)
	}
}

// ofOthers finds the files of a fix that is of another processor than x86.
var ofOthers = regexp.MustCompile(`(?m)^# files: .*arch/(riscv|arm64|powerpc)/`)

// TestHistoryHasAll: each fix that can be taken back has a row, each reason and source is used. Those of other
// processors have rows on docs/taken-back.md: the history is of x86.
func TestHistoryHasAll(t *testing.T) {
	words := map[string]bool{}
	for i := range mutants.History() {
		words[mutants.History()[i].Seen] = true
		for _, b := range mutants.History()[i].Back {
			words[b.String()] = true
		}
	}
	files, err := os.ReadDir(takeBack)
	require.NoError(t, err)
	page := read(t, "../../docs/taken-back.md")
	for _, file := range files {
		if ofOthers.MatchString(read(t, filepath.Join(takeBack, file.Name()))) {
			assert.Contains(t, page, "`"+file.Name()+"`")
			continue
		}
		assert.Contains(t, words, "taken back "+file.Name())
	}
	for _, r := range mutants.Reasons {
		assert.Contains(t, words, "not: "+r.Word)
	}
	for _, r := range mutants.Sources {
		assert.Contains(t, words, r.Word)
	}
}

// TestHistoryMalformed: a line that isn't a row is refused by its number.
func TestHistoryMalformed(t *testing.T) {
	row := func(c ...string) string { return "head\n" + strings.Join(c, "\t") + "\n" }
	good := []string{"5c02ece81848", "2.6.9", "5.6", "kprobes", "race", "mail", "mutant no-sync-arm; not: open", "what"}
	list, err := mutants.ParseHistory(row(good...))
	require.NoError(t, err)
	require.Equal(t, "until 5.5", list[0].Releases())
	for column, bad := range map[int][]string{
		1: {"", "2.6", "2.7.1", "2.6.8", "2.6.40", "3.20", "3.1.1", "3", "5.013", "-1.2", "5.13-rc1", "5.1024",
			"99999999999.1"},
		2: {"", "ever"},
		6: {"", "mutants no-grace?;", "none"},
	} {
		for _, cell := range bad {
			if column == 6 && strings.HasPrefix(cell, "mutants") {
				continue // a prefix is read; TestHistory finds that there is no such mutant
			}
			cells := slices.Clone(good)
			cells[column] = cell
			_, err := mutants.ParseHistory(row(cells...))
			require.ErrorContains(t, err, "history.tsv:2: ", "%q", cell)
		}
	}
	_, err = mutants.ParseHistory(row(good[1:]...))
	require.ErrorContains(t, err, "7 columns, not 8")
}

// TestReleases: releases are ordered as they came, and a span is said in words.
func TestReleases(t *testing.T) {
	before := mutants.Release(0)
	for _, s := range []string{"2.6.9", "2.6.39", "3.0", "3.19", "4.0", "4.20", "5.0", "5.19", "6.0", "6.19", "7.0",
		"7.3", "never"} {
		r, err := mutants.ParseRelease(s)
		require.NoError(t, err)
		require.Equal(t, s, r.String())
		require.Greater(t, r, before)
		before = r
	}
	for _, c := range []struct{ since, until, says string }{
		{"2.6.9", "2.6.34", "until 2.6.33"}, {"2.6.9", "3.0", "until 2.6.39"}, {"5.13", "6.0", "5.13 to 5.19"},
		{"6.7", "never", "6.7 and later"},
		{"5.6", "5.6", "5.6-rc"}, {"5.5", "5.6", "5.5"}, {"4.15", "7.0", "4.15 to 6.19"},
		{"2.6.38", "2.6.39", "2.6.38"},
	} {
		f := mutants.Fix{}
		var err error
		f.Introduced, err = mutants.ParseRelease(c.since)
		require.NoError(t, err)
		f.Fixed, err = mutants.ParseRelease(c.until)
		require.NoError(t, err)
		require.Equal(t, c.says, f.Releases())
		require.Equal(t, c.since != c.until, f.In(f.Introduced))
		require.False(t, f.In(f.Fixed))
	}
}

// TestTally: of each edition that stands for a release the faults that are brought back and those that
// aren't add up.
func TestTally(t *testing.T) {
	for _, e := range rules.AllEditions() {
		tally, ok := mutants.TallyOf(e)
		require.Equal(t, mutants.CheckShipped(e) == nil, ok, "%v", e)
		not := 0
		for _, m := range tally.Missing {
			not += m.Faults
		}
		require.Equal(t, tally.Known, tally.BroughtBack+not, "%v", e)
		require.GreaterOrEqual(t, tally.BroughtBack, len(mutants.ShippedIn(e)), "%v", e)
	}
}

// TestHistoryPage: docs/history.md is what the table says.
func TestHistoryPage(t *testing.T) {
	const name = "../../docs/history.md"
	page := historyPage(t)
	if *updateHistory {
		require.NoError(t, os.WriteFile(name, []byte(page), 0o644))
	}
	require.Equal(t, page, read(t, name), "go test ./kprobes/mutants -run HistoryPage -update-history")
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(data)
}

func historyPage(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	known, back := 0, 0
	for i := range mutants.History() {
		if known++; mutants.History()[i].Back[0].How != mutants.NotHere {
			back++
		}
	}
	fmt.Fprintf(&b, `# History

Faults of kprobes, of return probes, and of what rewrites text beside them (alternatives, jump labels, static calls, ftrace as far as probes use it) that Linux had since 2.6.9, on x86 or everywhere: %d rows, of which %d are brought back, by one means or another.
The page is made from [history.tsv](../kprobes/mutants/history.tsv); no line of it is written by hand. A release candidate's fault, which no release had, says -rc.

    go run ./cmd/kpsim list history               # the same in a terminal; --json too
    go run ./cmd/kpsim list 5c02ece81848          # one row

`+"`--as-shipped`"+` is made from the table: it brings back each row of the edition's release that a mutant is (`+"`mutant NAME`"+`), and prints how many it can't and why. What else brings a fault back: `+"`taken back FIX`"+`, [the kernel's own source without the fix](taken-back.md); `+"`rule NAME`"+`, a mutant that
only the tests of [the specification's rules](spec-coverage.md) notice; `+"`scenario NAME`"+`, kernels show it as they are; `+"`setting`"+`, the right engine does so in some edition. `+"`like NAME`"+` is a mutant that does more than the kernel did, or only something like it: it is no part of `+"`--as-shipped`"+`.

## How complete it is

`, known, back)
	fmt.Fprintf(&b, "To 2.6.39 the subject of every commit that touched kprobes, alternatives, the instruction decoder or jump labels was read in the source's history, and the messages of about a hundred of them. For later kernels there was no such history: the rows are from lists of what the stable kernels took, from archived mail, and from the notes that this engine was built from. "+
		"Fixes of 3.0 to 4.19 that were not sent to stable kernels are the most likely to be missing, and so are fixes of fprobe. Fixes for other architectures are left out.\n\nWhere commit and fault were looked up:\n\n| word | where | rows |\n|---|---|--:|\n")
	for _, s := range mutants.Sources {
		fmt.Fprintf(&b, "| %s | %s | %d |\n", s.Word, s.Says, count(func(f *mutants.Fix) bool {
			return f.Seen == s.Word
		}))
	}
	b.WriteString("\nWhy a row isn't brought back:\n\n| word | why | rows |\n|---|---|--:|\n")
	for _, r := range mutants.Reasons {
		fmt.Fprintf(&b, "| %s | %s | %d |\n", r.Word, r.Says, count(func(f *mutants.Fix) bool {
			return f.Back[0] == mutants.Back{How: mutants.NotHere, Name: r.Word}
		}))
	}
	b.WriteString("\nWhat `--as-shipped` has of each edition:\n\n| edition | stands for | known | brought back |\n|---|---|--:|--:|\n")
	for _, e := range rules.AllEditions() {
		if tally, ok := mutants.TallyOf(e); ok {
			fmt.Fprintf(&b, "| %v | %v | %d | %d |\n", e, tally.Release, tally.Known, tally.BroughtBack)
		}
	}
	b.WriteString("\n## The rows\n\n| fix | mended in | kernels | area | kind | what goes wrong | brought back by | seen |\n|---|---|---|---|---|---|---|---|\n")
	for i := range mutants.History() {
		f := &mutants.History()[i]
		commit := "-"
		if f.Commit != "" {
			commit = "`" + f.Commit + "`"
		}
		fmt.Fprintf(&b, "| %s | %v | %s | %s | %s | %s | %s | %s |\n", commit, f.Fixed, f.Releases(), f.Area, f.Kind,
			f.Says, backs(f), f.Seen)
	}
	return b.String()
}

func count(is func(f *mutants.Fix) bool) (n int) {
	for i := range mutants.History() {
		if is(&mutants.History()[i]) {
			n++
		}
	}
	return n
}

func backs(f *mutants.Fix) string {
	var words []string
	for _, b := range f.Back {
		word := b.String()
		if b.Name != "" && b.How != mutants.NotHere {
			word = strings.TrimSuffix(word, b.Name) + "`" + b.Name + "`"
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

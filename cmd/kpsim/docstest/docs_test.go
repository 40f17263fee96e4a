package docstest

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/proctest"
	"kpsim/internal/testkit/thorough"
)

// The pages for readers, README.md, docs/*.md and docs/reports/*.md, are tests. In a block, which is
// fenced or indented by four, each line that begins like commandStart is a command; if the first line
// begins with $, only lines with $ are. The command is run. The lines after it, up to the next
// command, are its output, standard output and error together. A line ... stands for any number of
// lines, ... within a line for any text. A command with no lines after it must only have the right
// exit status. Lines that begin with kpsim> are given to the last shell on standard input, and the
// block is the transcript.
//
// A comment before a block, <!-- WORD: WHAT -->, says:
//
//	not run: WHY    its commands aren't run
//	kernel: WHY     they are run where a kernel of Debian's 6.1 is at hand, with its headers and
//	                source; $K is its folder, $RELEASE its release; WHY may end with "; status N"
//	newer: WHY      likewise of Debian's 6.12; $N is its folder, $NEWER its release
//	long: WHY       they are run with -long only
//	status: N       they end with this exit status, or one of these digits, not with 0
//	output: of it   it has lines of the last command's output, in that order
//	file: NAME      it is written to a file, for the commands further down
//	from: FILE      it is a literal part of this file of the repository
//
// Commands run in a directory that has traces/corpus, docs/cures, docs/reports, the scenarios of the library and
// testdata/mine, as a clone has, and the files that the page has written. go run ./cmd/kpsim is the
// program under test.

var updateScripts = flag.Bool("update-scripts", false, "rewrite the output that pages show; read the diff")

// TestMain compiles the program under test.
func TestMain(m *testing.M) { proctest.Main(m) }

var longPages = flag.Bool("long", false, "also run the commands that pages mark as long")

// Bounds on the commands that no test runs, and on those that only -long runs.
const (
	notRunMax = 14
	longMax   = 5
)

var commandStart = regexp.MustCompile(`^(\$|go|kpsim|gcc|cat|cp|sed|scripts/\S+) `)

var blockMarks = []string{"not run", "kernel", "newer", "long", "status", "output", "file", "from"}

// A block is a part of a page that isn't prose.
type block struct {
	line       int // number of its first line, from 0
	indent     string
	language   string // of a fence
	mark, what string
	lines      []string
}

var (
	blockMark = regexp.MustCompile(`^<!-- ([a-z ]+): (.*) -->$`)
	fence     = regexp.MustCompile("^```(\\S*)$")
)

// blocks splits a page into its blocks.
func blocks(page string) (list []*block) {
	lines := strings.Split(page, "\n")
	next := new(block)
	prose := true // the line above is
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if m := blockMark.FindStringSubmatch(line); m != nil {
			next.mark, next.what, prose = m[1], m[2], false
			continue
		}
		m := fence.FindStringSubmatch(line)
		switch {
		case m != nil:
			next.language, next.line = m[1], i+1
			for i++; i < len(lines) && lines[i] != "```"; i++ {
				next.lines = append(next.lines, lines[i])
			}
		case !prose && strings.HasPrefix(line, "    "):
			next.indent, next.line = "    ", i
			for ; i < len(lines) && (lines[i] == "" || strings.HasPrefix(lines[i], "    ")); i++ {
				next.lines = append(next.lines, strings.TrimPrefix(lines[i], "    "))
			}
			i--
			next.lines = withoutEnd(next.lines)
		default:
			prose = line != ""
			continue
		}
		list, next, prose = append(list, next), new(block), false
	}
	return list
}

// withoutEnd drops the empty lines at the end.
func withoutEnd(lines []string) []string {
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// A pageCommand is one line of a block, and the output that the page shows for it.
type pageCommand struct {
	*block
	at    int // line in the block
	words string
	shown []string
}

func (b *block) commands() (list []*pageCommand) {
	if slices.Contains([]string{"python", "c", "go", "text"}, b.language) || b.mark == "output" || b.transcript() {
		return nil
	}
	prompts := strings.HasPrefix(b.lines[0], "$ ") // then only such lines are
	for i, line := range b.lines {
		if commandStart.MatchString(line) && (!prompts || strings.HasPrefix(line, "$ ")) {
			list = append(list, &pageCommand{block: b, at: i, words: strings.TrimPrefix(line, "$ ")})
		} else if len(list) > 0 {
			c := list[len(list)-1]
			c.shown = append(c.shown, line)
		}
	}
	for _, c := range list {
		c.shown = withoutEnd(c.shown)
	}
	return list
}

func (b *block) transcript() bool {
	return slices.ContainsFunc(b.lines, func(l string) bool { return strings.HasPrefix(l, "kpsim> ") })
}

// asRun is a line of a page as it is given to the program under test.
func asRun(line string) string { return strings.ReplaceAll(line, "go run ./cmd/kpsim", "kpsim") }

// same reports whether the printed lines match the shown ones.
func same(shown, printed []string) bool {
	if len(shown) == 0 {
		return len(printed) == 0
	}
	if strings.TrimSpace(shown[0]) == "..." {
		for i := range len(printed) + 1 {
			if same(shown[1:], printed[i:]) {
				return true
			}
		}
		return false
	}
	return len(printed) > 0 && sameLine(shown[0], printed[0]) && same(shown[1:], printed[1:])
}

func sameLine(shown, printed string) bool {
	re := strings.ReplaceAll(regexp.QuoteMeta(asRun(strings.TrimRight(shown, " "))), `\.\.\.`, ".*")
	return regexp.MustCompile("^" + re + "$").MatchString(strings.TrimRight(printed, " "))
}

// A pageReader goes through a page and runs its blocks.
type pageReader struct {
	ts       *testscript.TestScript
	root     string
	page     string
	lines    []string // of the page
	edits    []func() // applied from the last to the first
	printed  []string // by the last command
	compiled bool     // the last command was go run ./cmd/kpsim
	shell    string   // the last command that opened one
	skipped  bool     // the last commands weren't run: no kernel is at hand
}

func (r *pageReader) fatalf(b *block, at int, format string, args ...any) {
	r.ts.Fatalf("%s:%d: "+format, append([]any{r.page, b.line + at + 1}, args...)...)
}

// run runs a command line and keeps its output.
func (r *pageReader) run(b *block, at int, words string) {
	want := "0"
	if b.mark == "status" {
		want = b.what
	} else if _, status, said := strings.Cut(b.what, "; status "); said && (b.mark == "kernel" || b.mark == "newer") {
		want = status
	}
	r.compiled = strings.Contains(words, "go run ./cmd/kpsim")
	got, printed := r.output(asRun(words))
	r.printed = withoutEnd(strings.Split(printed, "\n"))
	if !strings.Contains(want, string(rune('0'+got))) {
		r.fatalf(b, at, "exit status %d, want %s: %s\n%s", got, want, words, printed)
	}
}

// plainWords are the command lines of kpsim that say the same to a shell and to strings.Fields.
var plainWords = regexp.MustCompile(`^kpsim( +[\w./:=,+@%-]+)+$`)

// output runs a command line and returns its exit status and what it prints, all as one.
func (r *pageReader) output(line string) (status int, printed string) {
	if plainWords.MatchString(line) {
		if reply, ok := proctest.Run(r.ts, "", true, strings.Fields(line)[1:]...); ok {
			return reply.Status, string(reply.Stdout)
		}
	}
	err := r.ts.Exec("sh", "-c", "{ "+line+"\n} 2>&1")
	return proctest.ExitStatus(r.ts, err), r.ts.ReadFile("stdout")
}

// compare compares lines [from, to) of a block with the output, or rewrites them.
func (r *pageReader) compare(b *block, from, to int) {
	shown := b.lines[from:to]
	if same(shown, r.printed) {
		return
	}
	if !*updateScripts || strings.Contains(strings.Join(shown, "\n"), "...") {
		r.fatalf(b, from, "shown:\n%s\n\nprinted:\n%s\n\ngo test ./cmd/kpsim/docstest -run Pages/%s -update-scripts  rewrites it, if it has no ... in it",
			strings.Join(shown, "\n"), strings.Join(r.printed, "\n"), strings.TrimSuffix(filepath.Base(r.page), ".md"))
	}
	var lines []string
	for _, l := range r.printed {
		if r.compiled {
			l = strings.ReplaceAll(l, ":  kpsim ", ":  go run ./cmd/kpsim ")
		}
		lines = append(lines, strings.TrimRight(b.indent+l, " "))
	}
	r.edits = append(r.edits, func() { r.lines = slices.Replace(r.lines, b.line+from, b.line+to, lines...) })
}

// save writes the page if it has edits.
func (r *pageReader) save(path string) {
	for _, edit := range slices.Backward(r.edits) {
		edit()
	}
	if len(r.edits) > 0 {
		r.ts.Check(os.WriteFile(path, []byte(strings.Join(r.lines, "\n")), 0o644))
	}
}

// do runs a block.
func (r *pageReader) do(b *block) {
	text := strings.Join(b.lines, "\n") + "\n"
	switch b.mark {
	case "not run":
		return
	case "kernel", "newer":
		if r.skipped = !thorough.Set(); r.skipped {
			r.ts.Logf("%s:%d: not run, it takes long: KPSIM_THOROUGH=1 runs it", r.page, b.line+1)
			return
		}
		k := pageKernels[b.mark]
		if r.skipped = r.ts.Getenv(k.dir) == ""; r.skipped {
			r.ts.Logf("%s:%d: not run, no %s kernel is at hand with headers and source: scripts/fetch-kernel and scripts/fetch-kernel-source get them", r.page, b.line+1, k.series)
			return
		}
	case "long":
		if !*longPages {
			return
		}
	case "file":
		r.ts.Check(os.WriteFile(r.ts.MkAbs(b.what), []byte(text), 0o644))
		return
	case "from":
		file, err := os.ReadFile(filepath.Join(r.root, b.what))
		r.ts.Check(err)
		if !strings.Contains(string(file), text) {
			r.fatalf(b, 0, "%s doesn't contain this literally", b.what)
		}
		return
	case "output":
		if r.skipped {
			return
		}
		rest := r.printed
		for i, line := range b.lines {
			n := slices.IndexFunc(rest, func(l string) bool { return sameLine(line, l) })
			if n < 0 {
				r.fatalf(b, i, "not printed, or not in this place:\n%s\n\nthere is left\n%s", line,
					strings.Join(rest, "\n"))
			}
			rest = rest[n+1:]
		}
		return
	}
	if b.transcript() {
		if r.shell == "" {
			r.fatalf(b, 0, "no shell was opened above")
		}
		var in strings.Builder
		for _, line := range b.lines {
			if typed, ok := strings.CutPrefix(line, "kpsim> "); ok {
				in.WriteString(typed + "\n")
			}
		}
		r.ts.Check(os.WriteFile(r.ts.MkAbs("typed"), []byte(in.String()), 0o644))
		r.run(b, 0, r.shell+" <typed")
		r.compare(b, 0, len(b.lines))
		return
	}
	for _, c := range b.commands() {
		words := c.words
		if strings.HasPrefix(asRun(words), "kpsim shell ") {
			r.shell = words
			words = "echo help | " + words
		}
		r.run(b, c.at, words)
		if len(c.shown) > 0 {
			r.compare(b, c.at+1, c.at+1+len(c.shown))
		}
	}
}

func pages(t *testing.T) []string {
	list, err := filepath.Glob("../../../docs/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, list)
	reports, err := filepath.Glob("../../../docs/reports/*.md")
	require.NoError(t, err)
	return append(append(list, reports...), "../../../README.md")
}

// pageScripts makes a script of each page. The script reads the page.
func pageScripts(t *testing.T, pages []string) testscript.Params {
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	dir := t.TempDir()
	for _, page := range pages {
		path, err := filepath.Abs(page)
		require.NoError(t, err)
		name := strings.TrimSuffix(filepath.Base(page), ".md") + ".txt"
		switch filepath.Base(filepath.Dir(path)) {
		case "reports":
			name = "report-" + name
		case "docs":
			if name == "README.txt" {
				name = "all-pages.txt"
			}
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("page '"+path+"'\n"), 0o644))
	}
	return testscript.Params{
		Dir: dir,
		Setup: func(e *testscript.Env) error {
			proctest.Setup(e)
			for _, d := range []string{"traces", "internal/scenario", "docs"} {
				if err := os.MkdirAll(filepath.Join(e.WorkDir, d), 0o755); err != nil {
					return err
				}
			}
			for _, link := range []string{"traces/corpus", "docs/ci", "docs/cures", "docs/reports",
				"internal/scenario/library", "internal/scenario/testdata"} {
				if err := os.Symlink(filepath.Join(root, link), filepath.Join(e.WorkDir, link)); err != nil {
					return err
				}
			}
			if err := kernelsAtHand(e, filepath.Join(root, "scripts")); err != nil {
				return err
			}
			return os.CopyFS(e.WorkDir, os.DirFS("../testdata/mine"))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"page": func(ts *testscript.TestScript, neg bool, args []string) {
				text, err := os.ReadFile(args[0])
				ts.Check(err)
				r := &pageReader{ts: ts, root: root, page: args[0], lines: strings.Split(string(text), "\n")}
				defer r.save(args[0])
				before := files(ts)
				for _, b := range blocks(string(text)) {
					r.do(b)
				}
				r.ignored(before)
			},
		},
	}
}

// files lists what is in the script's folder.
func files(ts *testscript.TestScript) map[string]bool {
	list := make(map[string]bool)
	ts.Check(fs.WalkDir(os.DirFS(ts.MkAbs(".")), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasPrefix(path, ".") {
			list[path] = true
		}
		return err
	}))
	return list
}

// ignored checks that git ignores each file that the page's commands have made: a clone in which a reader has typed
// them stays clean.
func (r *pageReader) ignored(before map[string]bool) {
	var made []string
	for path := range files(r.ts) {
		if !before[path] && path != "typed" {
			made = append(made, path)
		}
	}
	slices.Sort(made)
	if _, err := os.Stat(filepath.Join(r.root, ".git")); err != nil || len(made) == 0 {
		return // no clone
	}
	git := exec.Command("git", "-C", r.root, "check-ignore", "--no-index", "--stdin")
	git.Stdin = strings.NewReader(strings.Join(made, "\n"))
	out, _ := git.Output() // it exits with 1 if it ignores none
	ignored := strings.Split(string(out), "\n")
	made = slices.DeleteFunc(made, func(path string) bool { return slices.Contains(ignored, path) })
	if len(made) > 0 {
		r.ts.Fatalf("%s: its commands make %s, which git doesn't ignore: name it so that .gitignore has it", r.page,
			strings.Join(made, " "))
	}
}

// pageKernels are the kernels of blocks, by their marks, with the variables that have their folder and release.
var pageKernels = map[string]struct{ series, dir, release string }{
	"kernel": {"6.1", "K", "RELEASE"},
	"newer":  {"6.12", "N", "NEWER"},
}

// kernelsAtHand tells a script where kernels are that can be compiled for, as far as there are some.
func kernelsAtHand(e *testscript.Env, scripts string) error {
	shelved := ""
	for _, k := range pageKernels {
		for _, path := range slices.Backward(kerneltest.Files(k.series)) {
			dir := filepath.Dir(path)
			_, headers := os.Stat(filepath.Join(dir, "headers"))
			_, source := os.Stat(filepath.Join(dir, "source"))
			if headers == nil && source == nil {
				e.Setenv(k.dir, dir)
				e.Setenv(k.release, filepath.Base(dir))
				shelved = filepath.Dir(dir)
				break
			}
		}
	}
	if shelved == "" {
		return nil
	}
	e.Setenv("KPSIM_KERNELS", shelved)
	cache := filepath.Join(e.Getenv("XDG_CACHE_HOME"), "kpsim")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	// where fetch-kernel looks
	if err := os.Symlink(shelved, filepath.Join(cache, "kernels")); err != nil && !os.IsExist(err) {
		return err
	}
	return os.Symlink(scripts, filepath.Join(e.WorkDir, "scripts"))
}

// TestPages runs the commands of each page.
func TestPages(t *testing.T) {
	if proctest.Race {
		t.Skip("the commands are those of scripts; with the race detector they take minutes")
	}
	list := pages(t)
	if !thorough.Set() {
		list = slices.DeleteFunc(list, func(page string) bool {
			long := slices.Contains(longRead, filepath.Base(page))
			if long {
				t.Logf("%s: not run, it takes long: KPSIM_THOROUGH=1 runs it", page)
			}
			return long
		})
	}
	testscript.Run(t, pageScripts(t, list))
}

// longRead are the pages whose commands take longest.
var longRead = []string{"campaigns.md", "editions.md", "fuzz.md", "overhead.md", "proofs.md", "reports.md", "small.md"}

// A quietT records the failures of scripts that must fail.
type quietT struct {
	testing.TB
	failed map[string]bool
	name   string
}

func (q *quietT) Run(name string, f func(testscript.T)) {
	defer func() { recover() }() // of FailNow
	f(&quietT{q.TB, q.failed, name})
}
func (q *quietT) FailNow()      { q.failed[q.name] = true; panic("failed") }
func (q *quietT) Fatal(...any)  { q.FailNow() }
func (q *quietT) Log(...any)    {}
func (q *quietT) Parallel()     {}
func (q *quietT) Verbose() bool { return false }
func (q *quietT) Skip(...any)   { panic("skipped") }

// TestPagesNotice: a page with wrong output fails, and one with the right output passes.
func TestPagesNotice(t *testing.T) {
	if *updateScripts {
		t.Skip("it would rewrite them")
	}
	const edition = "    kpsim check --func checksum --profile k61 mine.o\n"
	list := map[string]struct {
		page  string
		fails bool
	}{
		"right": {edition + "    mine.o, as loaded by k61 (Debian 6.1.192), edition 6.5\n    ...\n", false},
		"wrong": {edition + "    mine.o, as loaded by k61 (Debian 6.1.193), edition 6.5\n    ...\n", true},
		"less":  {edition + "    mine.o, as loaded by k61 (Debian 6.1.192), edition 6.5\n", true},
		"output": {edition + "\n<!-- output: of it -->\n\n    with PREEMPTION RETPOLINE FTRACE OPTPROBES\n",
			false},
		"no-output":   {edition + "\n<!-- output: of it -->\n\n    with RETPOLINE\n", true},
		"order":       {edition + "\n<!-- output: of it -->\n\n    with ...\n    mine.o, ...\n", true},
		"status":      {"<!-- status: 2 -->\n\n    kpsim check no.o\n", false},
		"no-status":   {"    kpsim check no.o\n", true},
		"less-status": {"<!-- status: 1 -->\n\n    kpsim check no.o\n", true},
		"file":        {"<!-- file: no.star -->\n\n```python\ntext(1)\n```\n\n    cat no.star\n    text(1)\n", false},
		"from":        {"<!-- from: go.mod -->\n\n    module kpsim\n", false},
		"not-from":    {"<!-- from: go.mod -->\n\n    module kp\n", true},
		"not-run":     {"<!-- not run: no -->\n\n    kpsim check no.o\n", false},
		"shell": {"    kpsim shell safe-full\n\nSo:\n\n    kpsim> register k\n    register_kprobe(k) = 0\n",
			false},
		"wrong-shell": {"    kpsim shell safe-full\n\nSo:\n\n    kpsim> register k\n    register_kprobe(k) = 1\n",
			true},
		"no-shell": {"    kpsim> register k\n    register_kprobe(k) = 0\n", true},
		"prompt":   {"```console\n$ cat mine.c | sed -n '1p'\nunsigned long ...\n```\n", false},
	}
	dir := t.TempDir()
	var paths []string
	for name, c := range list {
		paths = append(paths, filepath.Join(dir, name+".md"))
		require.NoError(t, os.WriteFile(paths[len(paths)-1], []byte("\n"+c.page), 0o644))
	}
	q := &quietT{TB: t, failed: make(map[string]bool)}
	testscript.RunT(q, pageScripts(t, paths))
	for name, c := range list {
		require.Equal(t, c.fails, q.failed[name], name)
	}
}

// TestPagesAreRun: all marks are known; few commands aren't run, and each says why.
func TestPagesAreRun(t *testing.T) {
	marked, bare := make(map[string]int), 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, b := range blocks(string(text)) {
			if b.mark == "" {
				if len(b.commands()) == 0 && !b.transcript() {
					t.Logf("%s:%d: %.60s", page, b.line, b.lines[0])
					bare++
				}
				continue
			}
			require.Contains(t, blockMarks, b.mark, "%s:%d", page, b.line)
			require.NotEmpty(t, b.what, "%s:%d", page, b.line)
			if n := len(b.commands()); b.mark == "not run" || b.mark == "long" {
				require.NotZero(t, n, "%s:%d: there is no command in it", page, b.line)
				marked[b.mark] += n
			}
		}
	}
	require.LessOrEqual(t, marked["not run"], notRunMax)
	require.LessOrEqual(t, marked["long"], longMax)
	t.Logf("%d commands aren't run, %d with -long only", marked["not run"], marked["long"])
}

var pageLink = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)

// TestPageLinks: links of a page into the repository have a target.
func TestPageLinks(t *testing.T) {
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range pageLink.FindAllStringSubmatch(string(text), -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(page), m[1]))
			require.NoError(t, err, page)
		}
	}
}

const readmeBytesMax = 10_000

// TestReadmeIsShort: README.md is a first screen. Everything else is a page of docs.
func TestReadmeIsShort(t *testing.T) {
	text, err := os.ReadFile("../../../README.md")
	require.NoError(t, err)
	require.LessOrEqual(t, len(text), readmeBytesMax)
}

// TestIndex: docs/README.md links to each page beside it.
func TestIndex(t *testing.T) {
	index, err := os.ReadFile("../../../docs/README.md")
	require.NoError(t, err)
	list, err := filepath.Glob("../../../docs/*.md")
	require.NoError(t, err)
	for _, page := range list {
		if name := filepath.Base(page); name != "README.md" {
			require.Contains(t, string(index), "]("+name+")", "docs/README.md doesn't link to %s", name)
		}
	}
}

// TestSame: the shown lines are compared with the printed ones.
func TestSame(t *testing.T) {
	printed := []string{"a", "  b 12", "c", "d"}
	for _, c := range []struct {
		shown string
		want  bool
	}{
		{"a/  b 12/c/d", true}, {"a/  b 12/c", false}, {"a/b 12/c/d", false}, {"a/...", true}, {".../d", true},
		{"a/.../d", true},
		{"...", true}, {"a/.../c/...", true}, {"a/.../c", false}, {"a/  b .../c/d", true}, {"a/.../e/...", false},
		{"b/...", false}, {"a/  b 12/c/d/e", false},
	} {
		require.Equal(t, c.want, same(strings.Split(c.shown, "/"), printed), c.shown)
	}
}

// TestLimitsPage: docs/limits.md links to each package whose doc.go has limits.
func TestLimitsPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/limits.md")
	require.NoError(t, err)
	require.NoError(t, fs.WalkDir(os.DirFS("../../.."), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "doc.go" || path == "doc.go" {
			return err
		}
		text, err := os.ReadFile(filepath.Join("../../..", path))
		if bytes.Contains(text, []byte("imits")) {
			require.True(t, bytes.Contains(page, []byte("](../"+path+")")), "%s has limits: link to it", path)
		}
		return err
	}))
}

var (
	boldFind   = regexp.MustCompile(`(?m)^(?:\| |- )?\*\*([a-z0-9-]+)(?:\.\*\*|\*\* \()`)
	scriptLink = regexp.MustCompile(`\]\(\.\./scripts/on-a-kernel/([a-z0-9-]+)\)`)
	statusRow  = regexp.MustCompile(`(?m)^\| ([a-z0-9-]+) \| .* \|$`)
	statusWord = regexp.MustCompile(`^(whole|own|part|engine|read|not seen|no|-)$`)
)

// statusLogs are the columns of docs/status.md that name a kernel, and how the logs of that begin its version.
var statusLogs = map[int]string{3: "6.1.192", 4: "6.12.1", 5: "7.2.13", 6: "7.3.4"}

// TestStatusPage: docs/status.md has one row for each find of docs/findings.md in kernels, and for each reproducer. A
// row has words of the page, and what was shown on a whole kernel has a log of that.
func TestStatusPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/status.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "\n| find | what |")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	rows := map[string][]string{}
	for _, m := range statusRow.FindAllStringSubmatch(table, -1) {
		require.NotContains(t, rows, m[1])
		rows[m[1]] = strings.Split(strings.Trim(m[0], "| "), " | ")
		require.Len(t, rows[m[1]], 10, m[0])
	}

	findings, err := os.ReadFile("../../../docs/findings.md")
	require.NoError(t, err)
	text, _, found := strings.Cut(string(findings), "\n## Of the order of memory\n")
	require.True(t, found)
	named := boldFind.FindAllStringSubmatch(text, -1)
	require.Greater(t, len(named), 20)
	for _, m := range slices.Concat(named, scriptLink.FindAllStringSubmatch(string(findings), -1)) {
		require.Contains(t, rows, m[1], "docs/status.md has no row for %s", m[1])
	}

	for name, cells := range rows {
		for i, version := range statusLogs {
			require.Regexp(t, statusWord, cells[i], name)
			if cells[i] == "whole" {
				logs, err := filepath.Glob("../../../docs/reports/logs/" + name + "." + version + "*.txt")
				require.NoError(t, err)
				require.NotEmpty(t, logs, "%s has no log of %s", name, version)
			}
		}
		_, err := os.Stat("../../../docs/reports/" + name + ".md")
		require.Equal(t, err == nil, cells[8] != "[none](reports/README.md)", name)
		_, err = os.Stat("../../../scripts/on-a-kernel/" + name)
		require.Equal(t, err == nil, cells[9] != "none", name)
	}
}

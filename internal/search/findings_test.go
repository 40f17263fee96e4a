package search_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/kprobes/mutants"
)

const (
	findingsPage = "../../docs/findings.md"
	reportsDir   = "../../docs/reports"
	onAKernel    = "../../scripts/on-a-kernel"

	twoEnginesPage = "../../docs/two-engines.md"
)

// A claim is a row of "In kernels" on docs/findings.md.
type claim struct {
	name      string // of reproducer, report and log
	mutants   []string
	scenarios []string
	traces    []string
}

var (
	inBackquotes = regexp.MustCompile("`([^`]+)`")
	rowScript    = regexp.MustCompile(`\]\(\.\./scripts/on-a-kernel/([a-z0-9-]+)\)`)
	caseRow      = regexp.MustCompile("^\\| [^|]+ \\| `([^`]+)`, ([a-z0-9-]+) \\| (`([^`]+)`|none) \\|$")
	rowReport    = regexp.MustCompile(`\]\(reports/([a-z0-9-]+)\.md\)`)
)

// readClaims reads the table. Its columns: claim, kernels, mutants and scenarios, traces,
// reproducer, report. Of mutants and scenarios, mutants are in backquotes.
func readClaims(t *testing.T) (list []claim) {
	page, err := os.ReadFile(findingsPage)
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## In kernels\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	_, section, found = strings.Cut(section, "\n| claim | kernels |")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n\n")
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		require.Len(t, cells, 6, line)
		var c claim
		for word := range strings.SplitSeq(cells[2], ",") {
			if m := inBackquotes.FindStringSubmatch(word); m != nil {
				c.mutants = append(c.mutants, m[1])
			} else {
				c.scenarios = append(c.scenarios, strings.TrimSpace(word))
			}
		}
		for _, m := range inBackquotes.FindAllStringSubmatch(cells[3], -1) {
			c.traces = append(c.traces, m[1])
		}
		script, report := rowScript.FindStringSubmatch(cells[4]), rowReport.FindStringSubmatch(cells[5])
		require.NotNil(t, script, "%s: no reproducer", line)
		require.NotNil(t, report, "%s: no report", line)
		require.Equal(t, script[1], report[1], line)
		c.name = script[1]
		list = append(list, c)
	}
	return list
}

// readCases reads the table of cases of the claims. Its columns: case, mutant and scenario,
// trace, "none" for none.
func readCases(t *testing.T) (list []claim) {
	page, err := os.ReadFile(findingsPage)
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "\n| case | mutant, scenario | trace |\n|---|---|---|\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	for line := range strings.Lines(table) {
		m := caseRow.FindStringSubmatch(strings.TrimSpace(line))
		require.NotNil(t, m, line)
		c := claim{name: m[2], mutants: m[1:2], scenarios: m[2:3]}
		if m[4] != "" {
			c.traces = m[4:5]
		}
		list = append(list, c)
	}
	require.NotEmpty(t, list)
	return list
}

// exist checks that mutants, scenarios and traces are there and belong together.
func (c *claim) exist(t *testing.T) {
	for _, m := range c.mutants {
		_, known := mutants.ByName(m)
		require.True(t, known, m)
	}
	for _, s := range c.scenarios {
		_, err := library.Load(s)
		require.NoError(t, err)
	}
	for _, name := range c.traces {
		i := slices.IndexFunc(corpus, func(r row) bool { return r.file+".kps" == name })
		require.GreaterOrEqual(t, i, 0, "%s is no trace of traces/corpus", name)
		require.Contains(t, c.scenarios, corpus[i].scenario, name)
		require.Contains(t, c.mutants, corpus[i].mutant, name)
		require.FileExists(t, filepath.Join(corpusDir, name))
	}
}

// reproducers are the scripts of scripts/on-a-kernel that are named for a claim of the page.
func reproducers(t *testing.T) (names []string) {
	files, err := filepath.Glob(onAKernel + "/*-*")
	require.NoError(t, err)
	others := slices.Concat(ofTwoEngines(t), byKernels(t), byDrawn(t), ofProcessors(t))
	for _, f := range files {
		if name := filepath.Base(f); name != "build-kernel" && !slices.Contains(others, name) {
			names = append(names, name)
		}
	}
	require.NotEmpty(t, names, "%s has no reproducer", onAKernel)
	return names
}

// ofTwoEngines are those of docs/two-engines.md: what a kernel's own engine does in a
// scenario of internal/search/twoengines, so that there is no mutant.
func ofTwoEngines(t *testing.T) (names []string) {
	page, err := os.ReadFile(twoEnginesPage)
	require.NoError(t, err)
	for _, m := range rowScript.FindAllStringSubmatch(string(page), -1) {
		names = append(names, m[1])
	}
	require.NotEmpty(t, names)
	return names
}

// TestTwoEnginesComplete: each claim of docs/two-engines.md that was asked of a real kernel
// has a reproducer, its log, and the scenario.
func TestTwoEnginesComplete(t *testing.T) {
	for _, name := range ofTwoEngines(t) {
		info, err := os.Stat(filepath.Join(onAKernel, name))
		require.NoError(t, err)
		require.NotZero(t, info.Mode()&0o111, "%s can't be run", name)
		logs, err := filepath.Glob(filepath.Join(reportsDir, "logs", name+".*.txt"))
		require.NoError(t, err)
		require.NotEmpty(t, logs, "no log of a run")
		require.FileExists(t, "twoengines/testdata/"+name+".star")
	}
}

// byKernels are the reproducers of the finds that only kernels' own engines show, which
// have no mutant: the table "By kernels' own engines" of docs/findings.md.
func byKernels(t *testing.T) (names []string) {
	for _, line := range kernelRows(t) {
		for _, m := range rowScript.FindAllStringSubmatch(line, -1) {
			names = append(names, m[1])
		}
	}
	require.NotEmpty(t, names)
	return names
}

// byDrawn are the reproducers of what drawn scenarios found here and real kernels do, too.
func byDrawn(t *testing.T) (names []string) {
	page, err := os.ReadFile(findingsPage)
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## By drawn scenarios, here\n")
	require.True(t, found)
	for _, m := range rowScript.FindAllStringSubmatch(section, -1) {
		names = append(names, m[1])
	}
	require.NotEmpty(t, names)
	return names
}

// ofProcessors are the reproducers for kernels of other processors than x86.
func ofProcessors(t *testing.T) (names []string) {
	files, err := filepath.Glob(onAKernel + "/*-*")
	require.NoError(t, err)
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && bytes.Contains(text, []byte(" processor=")) {
			names = append(names, filepath.Base(f))
		}
	}
	require.NotEmpty(t, names)
	return names
}

// TestProcessorsComplete: each reproducer for another processor has a row on docs/findings.md, a log and a report.
func TestProcessorsComplete(t *testing.T) {
	page, err := os.ReadFile(findingsPage)
	require.NoError(t, err)
	for _, name := range ofProcessors(t) {
		require.Contains(t, string(page), "[report](reports/"+name+".md)")
		require.FileExists(t, filepath.Join(reportsDir, name+".md"))
		logs, err := filepath.Glob(filepath.Join(reportsDir, "logs", name+".*.txt"))
		require.NoError(t, err)
		require.NotEmpty(t, logs, "no log of a run")
	}
}

// kernelRows are the rows of that table.
func kernelRows(t *testing.T) (rows []string) {
	page, err := os.ReadFile(findingsPage)
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page),
		"\n| find | scenario, property | witness | status |\n|---|---|---|---|\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	return strings.Split(strings.TrimSpace(table), "\n")
}

var (
	rowWitness = regexp.MustCompile("`([^`]+\\.kps)`")
	rowStatus  = regexp.MustCompile(`(^| )(confirmed|not confirmed|simulator only|documented)( |:|;|,|$)`)
)

// TestKernelFindsComplete: each find of that table has a witness in traces/kernels and a
// status; one that is confirmed has a reproducer and its log, as has what drawn scenarios found.
func TestKernelFindsComplete(t *testing.T) {
	for _, line := range kernelRows(t) {
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		require.Len(t, cells, 4, line)
		files := rowWitness.FindAllStringSubmatch(cells[2], -1)
		require.NotEmpty(t, files, line)
		for _, m := range files {
			require.FileExists(t, filepath.Join("../../traces/kernels", m[1]), line)
		}
		require.Regexp(t, rowStatus, cells[3], line)
	}
	for _, name := range append(byKernels(t), byDrawn(t)...) {
		info, err := os.Stat(filepath.Join(onAKernel, name))
		require.NoError(t, err)
		require.NotZero(t, info.Mode()&0o111, "%s can't be run", name)
		logs, err := filepath.Glob(filepath.Join(reportsDir, "logs", name+".*.txt"))
		require.NoError(t, err)
		require.NotEmpty(t, logs, "no log of a run")
	}
}

// TestFindingsComplete: each claim about kernels has a mutant, a scenario and a trace
// that belong together, as has each case of one, a reproducer, its log, and a report that says what a maintainer asks.
func TestFindingsComplete(t *testing.T) {
	list := readClaims(t)
	var named []string
	for _, c := range list {
		t.Run(c.name, func(t *testing.T) {
			require.NotEmpty(t, c.mutants)
			require.NotEmpty(t, c.scenarios)
			require.NotEmpty(t, c.traces)
			c.exist(t)
			info, err := os.Stat(filepath.Join(onAKernel, c.name))
			require.NoError(t, err)
			require.NotZero(t, info.Mode()&0o111, "%s can't be run", c.name)
			logs, err := filepath.Glob(filepath.Join(reportsDir, "logs", c.name+".*.txt"))
			require.NoError(t, err)
			require.NotEmpty(t, logs, "no log of a run")
			report, err := os.ReadFile(filepath.Join(reportsDir, c.name+".md"))
			require.NoError(t, err)
			for _, part := range []string{"\nSubject: ", "\n## Versions\n", "\n## What happens\n", "\n## Seen\n",
				"\n## Schedule\n",
				"\n## To reproduce\n", "\n## Impact\n", "\n## A fix that was tried\n", "\n## Status\n",
				"scripts/on-a-kernel/" + c.name} {
				require.Contains(t, string(report), part)
			}
		})
		named = append(named, c.name)
	}
	for _, c := range readCases(t) {
		t.Run("case "+c.name, func(t *testing.T) { c.exist(t) })
	}
	slices.Sort(named)
	require.Equal(t, reproducers(t), named, "a reproducer, and no row of docs/findings.md, or two")
	index, err := os.ReadFile(reportsDir + "/README.md")
	require.NoError(t, err)
	for _, name := range named {
		require.Contains(t, string(index), "("+name+".md)")
	}
}

// TestReportsQuoteLogs: what a report shows under "Seen" is, line by line, in a log that is
// committed; ... stands for what is left out. A report without a log says that kpsim has seen it.
func TestReportsQuoteLogs(t *testing.T) {
	reports, err := filepath.Glob(reportsDir + "/*-*.md")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(reports), len(reproducers(t)))
	for _, path := range reports {
		name := strings.TrimSuffix(filepath.Base(path), ".md")
		report, err := os.ReadFile(path)
		require.NoError(t, err)
		_, seen, found := strings.Cut(string(report), "\n## Seen\n")
		require.True(t, found, name)
		seen, _, _ = strings.Cut(seen, "\n## ")
		files, err := filepath.Glob(filepath.Join(reportsDir, "logs", name+".*.txt"))
		require.NoError(t, err)
		if len(files) == 0 {
			require.Contains(t, seen, "By kpsim", name)
			continue
		}
		var logs strings.Builder
		for _, f := range files {
			text, err := os.ReadFile(f)
			require.NoError(t, err)
			logs.Write(text)
		}
		quoted, in := 0, false
		for line := range strings.Lines(seen) {
			line = strings.TrimSpace(line)
			switch {
			case strings.HasPrefix(line, "```"):
				in = !in
			case in && line != "" && line != "...":
				require.True(t, strings.Contains(logs.String(), line), "%s: no log has %q", name, line)
				quoted++
			}
		}
		require.NotZero(t, quoted, "%s quotes no log", name)
	}
}

// bash runs a script and returns what it prints, on both outputs, and its status.
func bash(t *testing.T, env []string, args ...string) (out string, status int) {
	t.Helper()
	path, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	c := exec.Command(path, args...)
	c.Env = append(os.Environ(), env...)
	b, err := c.CombinedOutput()
	if err != nil {
		require.IsType(t, (*exec.ExitError)(nil), err)
	}
	return string(b), c.ProcessState.ExitCode()
}

// TestOnAKernelScripts: the scripts are well-formed, have help with examples, list what
// there is, and answer bad input, or a tool that is missing, in one line with status 2.
func TestOnAKernelScripts(t *testing.T) {
	names := reproducers(t)
	require.Len(t, names, 11)
	names = slices.Concat(names, ofTwoEngines(t), byKernels(t), byDrawn(t), ofProcessors(t))
	slices.Sort(names)
	names = slices.Compact(names) // one is on two pages
	for _, name := range append(names, "run", "build-kernel", "guest/init") {
		out, status := bash(t, nil, "-n", filepath.Join(onAKernel, name))
		require.Zero(t, status, "%s: %s", name, out)
	}
	for _, name := range append(names, "run", "build-kernel") {
		out, status := bash(t, nil, filepath.Join(onAKernel, name), "--help")
		require.Zero(t, status, "%s: %s", name, out)
		require.Contains(t, out, "examples:", name)
		require.Contains(t, out, "exit status:", name)
		if slices.Contains(names, name) {
			require.True(t, strings.HasPrefix(out, name+": "), out)
		}
	}
	listed, status := bash(t, nil, onAKernel+"/run", "--list")
	require.Zero(t, status, listed)
	for _, name := range names {
		require.Regexp(t, "(?m)^"+name+" +[a-zA-Z].*\\.$", listed)
	}

	bare := []string{"PATH=" + barePath(t)}
	for _, c := range []struct {
		env  []string
		args []string
		want string
	}{
		{nil, []string{"run"}, "which reproducer"},
		{nil, []string{"run", "enable-lots"}, "no reproducer enable-lots"},
		{nil, []string{"run", "--speed", "9", "enable-lost"}, "no option --speed"},
		{nil, []string{"run", "enable-lost", "--cpus", "0"}, "--cpus 0: it takes a number from 1 to 64"},
		{nil, []string{"run", "enable-lost", "--cpus", "18446744073709551615"}, "it takes a number"},
		{nil, []string{"run", "enable-lost", "--timeout"}, "--timeout wants a value"},
		{bare, []string{"run", "enable-lost"}, "no qemu-system-x86_64 here: apt-get install qemu-system-x86"},
		{bare, []string{"enable-lost", "6.1"}, "no qemu-system-x86_64 here"},
		{nil, []string{"build-kernel"}, "usage: "},
		{nil, []string{"build-kernel", "--fix", "none", "d"}, "--fix none: there is none"},
		{bare, []string{"build-kernel", t.TempDir()}, "no apt-get here"},
	} {
		args := slices.Clone(c.args)
		args[0] = filepath.Join(onAKernel, args[0])
		out, status := bash(t, c.env, args...)
		require.Equal(t, 2, status, "%v: %s", c.args, out)
		require.Contains(t, out, c.want, c.args)
		require.Equal(t, 1, strings.Count(out, "\n"), "%v: more than a line: %s", c.args, out)
	}
}

// barePath is a folder that has what a script needs to get as far as to look for its tools.
func barePath(t *testing.T) string {
	dir := t.TempDir()
	for _, tool := range []string{"bash", "sed", "grep", "dirname", "basename", "env"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Skipf("no %s here", tool)
		}
		require.NoError(t, os.Symlink(path, filepath.Join(dir, tool)))
	}
	return dir
}

var modulesOf = regexp.MustCompile(`(?m)^modules=\(([a-z0-9_ ]*)\)( processor=[a-z0-9]+)?$`)

// TestOnAKernelModules: each reproducer names modules that are there, and each module has one.
func TestOnAKernelModules(t *testing.T) {
	var named, there []string
	for _, name := range slices.Concat(reproducers(t), ofTwoEngines(t), byKernels(t), byDrawn(t), ofProcessors(t)) {
		text, err := os.ReadFile(filepath.Join(onAKernel, name))
		require.NoError(t, err)
		m := modulesOf.FindStringSubmatch(string(text))
		require.NotNil(t, m, name)
		for _, module := range strings.Fields(m[1]) {
			named = append(named, module+".c")
		}
		for _, word := range []string{"# Moment: ", "\n# Expected:", "\n# Control: ", "\nguest() {", "\nexpect() {"} {
			require.Contains(t, string(text), word, name)
		}
	}
	files, err := filepath.Glob(onAKernel + "/modules/*.c")
	require.NoError(t, err)
	for _, f := range files {
		there = append(there, filepath.Base(f))
	}
	slices.Sort(named)
	require.Equal(t, there, slices.Compact(named)) // one is on two pages
}

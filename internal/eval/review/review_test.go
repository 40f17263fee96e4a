package review

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kpsim/internal/eval/overhead/kernelcost"
	"kpsim/internal/search/change"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/pagetest"
	"kpsim/internal/testkit/thorough"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs/kernels"
	"kpsim/linux"
	"kpsim/linux/closure"
)

// compiled is a kprobes.c of Debian's 6.1, changed by a function and compiled, and the patch of it.
func compiled(t *testing.T, edit func(text string) string) (object, patch string) {
	t.Helper()
	return compiledFor(t, kerneltest.Path(t, "6.1"), edit)
}

// compiledFor is one for the kernel of a file.
func compiledFor(t *testing.T, path string, edit func(text string) string) (object, patch string) {
	t.Helper()
	release := filepath.Base(filepath.Dir(path))
	text, err := os.ReadFile(filepath.Join(filepath.Dir(path), "source", "kernel", "kprobes.c"))
	if err != nil {
		t.Skipf("no source at hand: run scripts/fetch-kernel-source %s", release)
	}
	now := edit(string(text))
	dir := t.TempDir()
	edited := filepath.Join(dir, "kernel", "kprobes.c")
	require.NoError(t, os.Mkdir(filepath.Dir(edited), 0o755))
	require.NoError(t, os.WriteFile(edited, []byte(now), 0o644))
	out, err := exec.Command("../../../scripts/kernel-objects", "-d", filepath.Dir(filepath.Dir(path)), "-o",
		filepath.Join(dir, "out"), release, edited).Output()
	if err != nil {
		t.Skipf("kernel-objects: %v: no compiler is at hand", err)
	}
	old := filepath.Join(dir, "old.c")
	require.NoError(t, os.WriteFile(old, text, 0o644))
	diff, _ := exec.Command("diff", "-u", "--label", "a/kernel/kprobes.c", "--label", "b/kernel/kprobes.c", old,
		edited).Output()
	patch = filepath.Join(dir, "my.patch")
	require.NoError(t, os.WriteFile(patch, diff, 0o644))
	return strings.TrimSpace(string(out)), patch
}

// An object of those that --json prints.
type object = map[string]any

// reviewed runs a review of an object that lies over Debian's 6.1.
func reviewed(t *testing.T, status int, c *Review) (list []object, page string) {
	t.Helper()
	c.Kernel.Kernel = cli.FileName(kerneltest.Path(t, "6.1"))
	return told(t, status, c)
}

// told runs a review, with --json and a page.
func told(t *testing.T, status int, c *Review) (list []object, page string) {
	t.Helper()
	dir := t.TempDir()
	c.Traces, c.HTML, c.JSON = filepath.Join(dir, "traces"), cli.FileName(filepath.Join(dir, "page.html")), true
	c.Seed, c.Slower, c.Budget = 1, 5, 3000
	var out, errs bytes.Buffer
	got, err := c.Run(cli.New(&out, &errs))
	require.NoError(t, err)
	require.Equal(t, status, got, out.String())
	for _, l := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		var o object
		require.NoError(t, json.Unmarshal([]byte(l), &o), l)
		list = append(list, o)
	}
	b, err := os.ReadFile(string(c.HTML))
	require.NoError(t, err)
	pagetest.Check(t, string(b))
	if status == cli.Against { // it has most to say
		if _, err := pagetest.Chromium(); err == nil {
			pagetest.Fits(t, string(c.HTML))
		}
	}
	require.NotContains(t, string(b), dir, "a page names no folder")
	return list, string(b)
}

// what are the objects of a kind.
func what(list []object, kind string) (of []object) {
	for _, o := range list {
		if o["what"] == kind {
			of = append(of, o)
		}
	}
	return of
}

// A review of a change for i386 is as one for x86-64: the verdict that is gained, the line that
// was reached, and what hits cost.
func TestRacy386(t *testing.T) {
	thorough.Only(t, "half a minute; the tests of x86-64 ask the same")
	path := kerneltest.I386(t)
	o, patch := compiledFor(t, path, func(s string) string {
		return strings.Replace(s, "\tsynchronize_rcu_tasks();\n", "\tsynchronize_rcu();\n", 1)
	})
	list, _ := told(t, cli.Against,
		&Review{Kernel: kernels.Kernel{Kernel: cli.FileName(path), Objects: []cli.FileName{cli.FileName(o)}},
			Patch: cli.FileName(patch), Runs: 60, Scenarios: []string{"safe-386", "full-rcu"}})
	gained := what(list, "gained")
	require.Len(t, gained, 1)
	require.Equal(t, "safe-386", gained[0]["scenario"])
	require.Equal(t, "no-start-inside", gained[0]["property"])
	require.Zero(t, gained[0]["violations_of_the_other"])
	functions := what(list, "function")
	require.Len(t, functions, 1)
	require.Equal(t, "kprobe_optimizer", functions[0]["name"])
	require.Equal(t, []any{"synchronize_rcu_tasks"}, functions[0]["called_before"])
	lines := what(list, "lines")
	require.Len(t, lines, 1)
	require.Positive(t, lines[0]["runs"])
	require.NotEmpty(t, what(list, "cost"))
}

// A comment and other names are no change: nothing differs, and nothing is worse.
func TestHarmless(t *testing.T) {
	o, _ := compiled(t, func(s string) string {
		return strings.ReplaceAll(strings.Replace(s, "do_optimize_kprobes();", "/* now */ do_optimize_kprobes();", 1),
			"struct kprobe *p", "struct kprobe /* it */ *p")
	})
	laid := kernels.Kernel{Objects: []cli.FileName{cli.FileName(o)}}
	list, text := reviewed(t, cli.OK, &Review{Kernel: laid, Runs: 20,
		Scenarios: []string{"full-rcu", "return-probes"}})
	require.Empty(t, what(list, "gained"))
	require.Empty(t, what(list, "lost"))
	require.Empty(t, what(list, "behaviour"))
	require.Empty(t, what(list, "function"))
	require.Len(t, what(list, "scenario"), 2)
	for _, c := range what(list, "cost") {
		require.False(t, c["dearer"].(bool))
	}
	require.Contains(t, text, "Nothing worse was seen")
	require.Contains(t, text, "No function of the engine differs in machine code")
}

// The wait for tasks that is taken away shows as a verdict that is gained, with a witness that
// the changed kernel replays; its line as one that was reached.
func TestRacy(t *testing.T) {
	o, patch := compiled(t, func(s string) string {
		return strings.Replace(s, "\tsynchronize_rcu_tasks();\n",
			"\tcpu_relax();\n\tif (kprobes_all_disarmed)\n\t\tpr_info(\"off\\n\");\n", 1)
	})
	list, text := reviewed(t, cli.Against, &Review{Kernel: kernels.Kernel{Objects: []cli.FileName{cli.FileName(o)}},
		Patch: cli.FileName(patch), Runs: 60, Scenarios: []string{"second-instruction", "emulated"}})
	gained := what(list, "gained")
	require.Len(t, gained, 1)
	require.Equal(t, "no-start-inside", gained[0]["property"])
	require.Zero(t, gained[0]["violations_of_the_other"])
	require.FileExists(t, gained[0]["trace"].(string))
	require.NotEmpty(t, gained[0]["sentences"])
	require.Empty(t, what(list, "lost"))
	require.Len(t, what(list, "both"), 1, "emulated breaks without the change, too")

	functions := what(list, "function")
	require.Len(t, functions, 2)
	require.Equal(t, "kprobe_optimizer", functions[0]["name"])
	require.Equal(t, []any{"synchronize_rcu_tasks"}, functions[0]["called_before"])
	require.Equal(t, "kprobe_optimizer.cold", functions[1]["name"])
	require.Equal(t, "new", functions[1]["is"])
	reached := map[string]float64{}
	for _, l := range what(list, "lines") {
		require.Equal(t, "kernel/kprobes.c", l["file"])
		if l["has_code"].(bool) {
			reached[kprobesLine(t, patch, int(l["from"].(float64)))] = l["runs"].(float64)
		}
	}
	require.Positive(t, reached["cpu_relax();"])
	require.Contains(t, reached, "pr_info(\"off\\n\");")
	require.Zero(t, reached["pr_info(\"off\\n\");"], "nothing turns probes off here")
	sum := what(list, "summary")[0]
	require.Equal(t, float64(1), sum["patch_removes"])
	require.Equal(t, true, sum["worse"])
	require.Contains(t, text, "synchronize_rcu_tasks")

	// From the other side it is a verdict that is lost, which is nothing worse.
	k := cli.FileName(kerneltest.Path(t, "6.1"))
	c := &Review{Before: k, BeforeObjects: []cli.FileName{cli.FileName(o)}, Runs: 60,
		Scenarios: []string{"second-instruction"}}
	list, _ = reviewed(t, cli.OK, c)
	require.Empty(t, what(list, "gained"))
	require.Len(t, what(list, "lost"), 1)
}

// kprobesLine is a line of the changed file.
func kprobesLine(t *testing.T, patch string, number int) string {
	b, err := os.ReadFile(filepath.Join(filepath.Dir(patch), "kernel", "kprobes.c"))
	require.NoError(t, err)
	return strings.TrimSpace(strings.Split(string(b), "\n")[number-1])
}

// A condition that is put into a function, which the compiler puts back, is reached where it was, and
// changes nothing; a patch of another file than was compiled is refused.
func TestRefactored(t *testing.T) {
	const was = "!list_empty(&optimizing_list) || !list_empty(&unoptimizing_list)"
	o, patch := compiled(t, func(s string) string {
		s = strings.ReplaceAll(s, was, "kprobe_optimizer_pending()")
		return strings.Replace(s, "static void kprobe_optimizer(struct work_struct *work)\n{",
			"static bool kprobe_optimizer_pending(void)\n{\n\treturn "+was+
				";\n}\n\nstatic void kprobe_optimizer(struct work_struct *work)\n{", 1)
	})
	c := &Review{Kernel: kernels.Kernel{Objects: []cli.FileName{cli.FileName(o)}}, Patch: cli.FileName(patch), Runs: 20,
		Scenarios: []string{"full-rcu"}}
	list, text := reviewed(t, cli.OK, c)
	require.Contains(t, text, "Nothing worse was seen")
	for _, l := range what(list, "lines") {
		if kprobesLine(t, patch, int(l["from"].(float64))) == "if (kprobe_optimizer_pending())" {
			require.Equal(t, 20.0, l["runs"], l)
		}
	}
	for _, f := range what(list, "function") {
		require.NotContains(t, append(f["called"].([]any), f["called_before"].([]any)...), "mutex_unlock", f)
	}

	other := filepath.Join(t.TempDir(), "other.patch")
	require.NoError(t, os.WriteFile(other,
		[]byte("--- a/arch/x86/kernel/kprobes/opt.c\n+++ b/arch/x86/kernel/kprobes/opt.c\n@@ -3,2 +3,3 @@\n one\n+and\n two\n"), 0o644))
	_, err := (&Review{Kernel: c.Kernel, Patch: cli.FileName(other), Runs: 1}).Run(cli.New(new(bytes.Buffer),
		new(bytes.Buffer)))
	require.ErrorContains(t, err,
		"other.patch changes arch/x86/kernel/kprobes/opt.c, and the objects were compiled from kernel/kprobes.c; give the objects")
}

// A review that is stopped tells what it has seen.
func TestStopped(t *testing.T) {
	thorough.Only(t, "half a minute: two kernels are compared until the time is up")
	k := cli.FileName(kerneltest.Path(t, "6.1"))
	newer := cli.FileName(kerneltest.Path(t, "6.12"))
	dir := t.TempDir()
	run := func(d time.Duration) (string, error) {
		c := &Review{Kernel: kernels.Kernel{Kernel: newer}, Before: k, Runs: 1, For: d, Seed: 1, Slower: 1000,
			Budget: 3000, Traces: dir}
		var out bytes.Buffer
		_, err := c.Run(cli.New(&out, new(bytes.Buffer)))
		return out.String(), err
	}
	_, err := run(1)
	require.ErrorContains(t, err, "--for: no scenario was run on both kernels in 1ns; give more")
	text, err := run(6 * time.Second)
	for d := 12 * time.Second; err != nil && d < time.Minute; d *= 2 { // a busy computer
		text, err = run(d)
	}
	require.NoError(t, err)
	require.Regexp(t, `Not all was run: \d+ of \d+ scenarios`, text)
}

// A loop that is added makes hits dearer, and nothing else.
func TestSlower(t *testing.T) {
	o, _ := compiled(t, func(s string) string {
		a, b, ok := strings.Cut(s, "*get_kprobe(void *addr)")
		require.True(t, ok)
		return a + "*get_kprobe(void *addr)" +
			strings.Replace(b, "\thead = ", "\tfor (int i = 0; i < 64; i++)\n\t\tbarrier();\n\thead = ", 1)
	})
	list, text := reviewed(t, cli.Against, &Review{Kernel: kernels.Kernel{Objects: []cli.FileName{cli.FileName(o)}},
		Runs: 20, Scenarios: []string{"full-rcu"}})
	require.Empty(t, what(list, "gained"))
	dearer := map[string]bool{}
	for _, c := range what(list, "cost") {
		dearer[c["kind"].(string)] = c["dearer"].(bool)
	}
	require.True(t, dearer["k"])
	require.True(t, dearer["f"])
	require.False(t, dearer["o"], "an optimized probe isn't looked up")
	require.Contains(t, text, "dearer by more than 5 %")
}

// A function that is new runs as it was compiled; a table that is renamed is refused, because it
// is looked at by its name.
func TestNewFunction(t *testing.T) {
	o, _ := compiled(t, func(s string) string {
		a, b, ok := strings.Cut(s, "static void kprobe_optimizer(struct work_struct *work)\n{")
		require.True(t, ok)
		return a + "static noinline void wait_for_tasks(void)\n{\n\tsynchronize_rcu_tasks();\n}\n\nstatic void kprobe_optimizer(struct work_struct *work)\n{" +
			strings.Replace(b, "\tsynchronize_rcu_tasks();\n", "\twait_for_tasks();\n", 1)
	})
	list, _ := reviewed(t, cli.OK, &Review{Kernel: kernels.Kernel{Objects: []cli.FileName{cli.FileName(o)}}, Runs: 20,
		Scenarios: []string{"full-rcu"}})
	var of []any
	for _, f := range what(list, "function") {
		of = append(of, f["name"], f["is"], f["entered_in_runs"])
	}
	require.Equal(t, []any{"kprobe_optimizer", "differs", 20.0, "wait_for_tasks", "new", 20.0}, of)

	o, _ = compiled(t, func(s string) string { return strings.ReplaceAll(s, "kprobe_table", "probes_by_address") })
	c := &Review{Kernel: kernels.Kernel{Kernel: cli.FileName(kerneltest.Path(t, "6.1")),
		Objects: []cli.FileName{cli.FileName(o)}}, Runs: 1}
	_, err := c.Run(cli.New(new(bytes.Buffer), new(bytes.Buffer)))
	require.ErrorContains(t, err, "no kprobe_table, which is looked at by that name")
}

// Lines that were reached in as many runs, one after another, are one stretch.
func TestStretches(t *testing.T) {
	r := &found{patchedLines: patchedLines{runsAfter: 9, reached: []uint64{4, 4, 0}, lines: []line{{"a.c", 1, -1},
		{"a.c", 5, 0}, {"a.c", 6, 1}, {"a.c", 7, 2}, {"b.c", 8, 2}}}}
	r.code = &change.Code{Places: []change.Place{{Func: "f"}, {Func: "f"}, {Func: "f"}}}
	var says []string
	for _, s := range r.stretches() {
		says = append(says, s.File+" "+s.says())
	}
	require.Equal(t, []string{
		"a.c line 1: no instruction of its own that runs here", "a.c lines 5–6 (f) were reached in 4 of 9 runs",
		"a.c line 7 (f) was never reached", "b.c line 8 (f) was never reached",
	}, says)
}

// What is worse is said, each with its number; a call that is dearer isn't worse.
func TestWorse(t *testing.T) {
	hit := func(kind string, call bool, cycles float64) kernelcost.Hit {
		return kernelcost.Hit{Kind: kind, Says: kind, Call: call, Counted: true, Cycles: cycles}
	}
	r := &found{c: &Review{Slower: 5}, hitsBefore: []kernelcost.Hit{hit("k", false, 100), hit("r", false, 100),
		hit("register", true, 100)}}
	r.hitsAfter = []kernelcost.Hit{hit("k", false, 105), hit("r", false, 99), hit("register", true, 300)}
	require.Empty(t, r.worse())
	r.hitsAfter[0].Cycles = 106
	r.gained = make([]difference, 2)
	require.Equal(t, []string{"2 verdicts that only the changed engine has, or has far more often",
		"1 kind of hit dearer by more than 5 %: k by 6 %"}, r.worse())
}

// A patch's lines are those it adds, by the numbers of the new file.
func TestPatch(t *testing.T) {
	read := func(text string) (*found, error) {
		name := filepath.Join(t.TempDir(), "x.patch")
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
		r := &found{c: &Review{Patch: cli.FileName(name)}, code: new(change.Code),
			after: &linux.Kernel{Closure: new(closure.Closure)}}
		return r, r.readPatch()
	}
	mail := "From 0123 Mon Sep 17 00:00:00 2001\nFrom: A <a@b.c>\nSubject: [PATCH] x\n\nwords\n---\n a.c | 3 +-\n\n"
	for _, head := range []string{"", mail + "diff --git a/a.c b/a.c\nindex 1..2 100644\n"} {
		r, err := read(head + "--- a/a.c\n+++ b/a.c\n@@ -3,3 +3,4 @@ f()\n one\n-two\n+2\n+and\n three\n@@ -90 +91 @@\n-x\n+y\n")
		require.NoError(t, err)
		require.Equal(t, []line{{"a.c", 4, -1}, {"a.c", 5, -1}, {"a.c", 91, -1}}, r.lines)
		require.Equal(t, 2, r.removed)
	}
	for _, text := range []string{"", "words\n", "--- a/a.c\n+++ b/a.c\n@@ -3,3 +3,4 @@\n one\n"} {
		_, err := read(text)
		require.ErrorContains(t, err, "give a unified diff")
		require.NotContains(t, err.Error(), "\n")
	}
}

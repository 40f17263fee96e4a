package bisect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/thorough"
	"kpsim/internal/ui/cli"
	"kpsim/linux/compile"
	"kpsim/linux/vmlinux/shelf"
)

// onShelf makes a shelf with a release that has a few lines, and returns its source.
func onShelf(t *testing.T) (dir string) {
	shelved := t.TempDir()
	t.Setenv(shelf.Variable, shelved)
	dir = filepath.Join(shelved, "1.2.3", "source")
	put(t, filepath.Join(shelved, "1.2.3", "headers", ".config"), "")
	put(t, filepath.Join(dir, "kernel", "kprobes.c"), "a\nb\nc\n")
	return dir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// mbox is a series that replaces one line of kernel/kprobes.c after another.
func mbox(lines ...[2]string) string {
	var b strings.Builder
	for i, l := range lines {
		fmt.Fprintf(&b, "From 0123456789abcdef0123456789abcdef01234567 Mon Sep 17 00:00:00 2001\nFrom: A <a@b.c>\n"+
			"Subject: [PATCH %d/%d] kprobes: Change %d\n\n---\n--- a/kernel/kprobes.c\n+++ b/kernel/kprobes.c\n@@ -%d +%d @@\n"+
			"-%s\n+%s\n-- \n2.47.3\n\n", i+1, len(lines), i+1, i+1, i+1, l[0], l[1])
	}
	return b.String()
}

// A series of mails has a step for each, and one before the first; each says where it changes the source.
func TestMails(t *testing.T) {
	onShelf(t)
	file := filepath.Join(t.TempDir(), "series.mbox")
	put(t, file, mbox([2]string{"a", "A"}, [2]string{"b", "B"}, [2]string{"c", "C"}))
	steps, err := mails("1.2.3", "", file)
	require.NoError(t, err)
	require.Len(t, steps, 4)
	require.Equal(t, `"kprobes: Change 2"`, steps[2].title)
	require.Equal(t, []string{"kernel/kprobes.c:2"}, steps[2].changes(&steps[1]))
	objects, err := steps[0].objects(nil)
	require.NoError(t, err)
	require.Empty(t, objects, "it is the kernel's own code")

	cut, first, err := cutTo(steps, "1", "")
	require.NoError(t, err)
	require.Len(t, cut, 3)
	require.Equal(t, 1, first)
	for _, c := range [][3]string{{"3", "2", "step 3 isn't before step 2"}, {"4", "",
		"--good: 4 is no step of the series; give a number from 0, which is before the first, to 3"},
		{"", "x", "--bad: x is no step"}} {
		_, _, err := cutTo(steps, c[0], c[1])
		require.ErrorContains(t, err, c[2])
	}

	put(t, file, mbox([2]string{"a", "A"}, [2]string{"x", "B"}))
	_, err = mails("1.2.3", "", file)
	require.ErrorContains(t, err, `"kprobes: Change 2": hunk 1 of 1 of kernel/kprobes.c:2 doesn't apply`)
}

// A range of commits has a step for each that changes the engine.
func TestCommits(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git is here")
	}
	onShelf(t)
	repo := t.TempDir()
	t.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	run := func(args ...string) {
		t.Helper()
		_, err := git(repo, append([]string{"-c", "user.name=a", "-c", "user.email=a@b.c", "-c",
			"commit.gpgsign=false"}, args...)...)
		require.NoError(t, err)
	}
	run("init", "-q")
	for i, c := range [][2]string{{"kernel/kprobes.c", "a\nb\nc\n"}, {"kernel/kprobes.c", "A\nb\nc\n"}, {"README",
		"words"},
		{"kernel/kprobes.c", "A\nb\nC\n"}} {
		put(t, filepath.Join(repo, c[0]), c[1])
		run("add", "-A")
		run("commit", "-q", "-m", fmt.Sprintf("Change %d", i))
	}
	steps, err := commits("1.2.3", repo, "HEAD~3", "HEAD")
	require.NoError(t, err)
	require.Len(t, steps, 3, "README is no file of the engine")
	require.Contains(t, steps[2].title, `"Change 3"`)
	require.Equal(t, []string{"kernel/kprobes.c:3"}, steps[2].changes(&steps[1]))
	for _, c := range [][3]string{{"nothing", "HEAD", "--good: nothing is no commit of"}, {"HEAD", "--exec=x",
		"--bad: --exec=x is no commit"},
		{"HEAD", "HEAD", "no commit from HEAD to HEAD changes a file"}} {
		_, err := commits("1.2.3", repo, c[0], c[1])
		require.ErrorContains(t, err, c[2])
		require.NotContains(t, err.Error(), "\n")
	}
}

// Sets are files and folders with objects.
func TestSets(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "one", "kernel", "a.o"), "x")
	put(t, filepath.Join(dir, "one", "b.o"), "x")
	put(t, filepath.Join(dir, "two.o"), "x")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	steps, err := sets([]cli.FileName{cli.FileName(filepath.Join(dir, "one")), cli.FileName(filepath.Join(dir,
		"two.o"))})
	require.NoError(t, err)
	require.Len(t, steps, 3)
	objects, err := steps[1].objects(nil)
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(dir, "one", "b.o"), filepath.Join(dir, "one", "kernel", "a.o")}, objects)
	_, err = sets([]cli.FileName{cli.FileName(filepath.Join(dir, "empty"))})
	require.ErrorContains(t, err, "it has no object (*.o); give folders with objects, or objects")
	_, err = sets([]cli.FileName{"missing"})
	require.EqualError(t, err, "--sets: missing: no such file or directory")
}

// The third of five patches takes a fix back. It is named, with its line and a witness; a tree with it is bad for
// --run, one without is good, and one that doesn't compile is passed over.
func TestCulprit(t *testing.T) {
	thorough.Only(t, "half a minute: a series is compiled and searched")
	path := kerneltest.Path(t, "6.12")
	release := filepath.Base(filepath.Dir(path))
	source := compile.Source(release)
	if _, err := compile.Headers(release); err != nil || source == "" {
		t.Skipf("no headers and source at hand: run scripts/fetch-kernel-source %s", release)
	}
	text, err := os.ReadFile(filepath.Join(source, "kernel", "kprobes.c"))
	require.NoError(t, err)
	t.Setenv(shelf.Variable, shelf.Folder())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()

	var series strings.Builder
	now := string(text)
	for i, e := range [][2]string{{"static void do_unoptimize_kprobes(void)\n{\n", "\tbarrier();\n"},
		{"static void do_optimize_kprobes(void)\n{\n", "\tbarrier();\n"},
		{"\tlockdep_assert_held(&kprobe_mutex);\n\n\tif (!list_empty(&unoptimizing_list))\n", "-"},
		{"static void kprobe_optimizer(struct work_struct *work)\n{\n", "\tbarrier();\n"},
		{"void wait_for_kprobe_optimizer(void)\n{\n", "\tbarrier();\n"}} {
		was := now
		if e[1] == "-" {
			now = strings.Replace(now, "\tif (!list_empty(&unoptimizing_list))\n",
				"\tif (list_empty(&unoptimizing_list))\n\t\treturn;\n\tif (!list_empty(&unoptimizing_list))\n", 1)
		} else {
			now = strings.Replace(now, e[0], e[0]+e[1], 1)
		}
		require.NotEqual(t, was, now, e[0])
		put(t, filepath.Join(dir, "was"), was)
		put(t, filepath.Join(dir, "now"), now)
		diff, _ := exec.Command("diff", "-u", "--label", "a/kernel/kprobes.c", "--label", "b/kernel/kprobes.c",
			filepath.Join(dir, "was"), filepath.Join(dir, "now")).Output()
		fmt.Fprintf(&series, "From 0123456789abcdef0123456789abcdef01234567 Mon Sep 17 00:00:00 2001\nFrom: A "+
			"<a@b.c>\n"+
			"Subject: [PATCH %d/5] kprobes: Change %d\n\n---\n%s-- \n2.47.3\n\n", i+1, i+1, diff)
	}
	file := filepath.Join(dir, "series.mbox")
	put(t, file, series.String())
	c := &Bisect{Kernel: cli.FileName(path), Patch: cli.FileName(file), Scenarios: []string{"forced-away"}, Runs: 150,
		Seed:   1,
		Traces: filepath.Join(dir, "traces"), JSON: true}
	var out bytes.Buffer
	status, err := c.Run(cli.New(&out, new(bytes.Buffer)))
	require.NoError(t, err)
	require.Equal(t, cli.OK, status, out.String())
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.LessOrEqual(t, len(lines), 3+1, "five steps are halved in three")
	var j jsonCulprit
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &j))
	require.Equal(t, []int{3}, j.Numbers)
	require.Equal(t, []string{`"kprobes: Change 3"`}, j.Titles)
	require.Regexp(t, `^kernel/kprobes.c:\d+$`, j.Places[0])
	require.FileExists(t, j.Trace)
	require.Contains(t, j.Explain, "explain "+j.Trace)

	tree := filepath.Join(dir, "tree")
	require.NoError(t, os.CopyFS(tree, os.DirFS(source)))
	for _, s := range []struct {
		text   string
		status int
	}{{string(text), cli.OK}, {now, cli.Against}, {now + "int x = ;\n", cantTest}} {
		put(t, filepath.Join(tree, "kernel", "kprobes.c"), s.text)
		c := &Bisect{Kernel: cli.FileName(path), Source: cli.FileName(tree), Step: true,
			Witness: cli.FileName(j.Trace), Runs: 150,
			Seed: 1, Traces: c.Traces}
		status, err := c.Run(cli.New(new(bytes.Buffer), new(bytes.Buffer)))
		require.NoError(t, err)
		require.Equal(t, s.status, c.Exit(status))
	}
	require.Equal(t, cantGoOn, (&Bisect{Step: true}).Exit(cli.BadInput))
}

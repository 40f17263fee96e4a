package review

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs/kernels"
	"kpsim/linux/compile"
	"kpsim/linux/vmlinux/shelf"
)

// mail writes a mail with a patch of kernel/kprobes.c's optimizer of Debian's 6.12, and names the kernel. The cache
// is the test's own.
func mail(t *testing.T, now string) (kernel, patch cli.FileName) {
	t.Helper()
	path := kerneltest.Path(t, "6.12")
	release := filepath.Base(filepath.Dir(path))
	source := compile.Source(release)
	if _, err := compile.Headers(release); err != nil || source == "" {
		t.Skipf("no headers and source at hand: run scripts/fetch-kernel-source %s", release)
	}
	text, err := os.ReadFile(filepath.Join(source, "kernel", "kprobes.c"))
	require.NoError(t, err)
	require.Contains(t, string(text), " */\n\tsynchronize_rcu_tasks();\n\n")
	t.Setenv(shelf.Variable, shelf.Folder())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	name := filepath.Join(t.TempDir(), "0001-my.patch")
	require.NoError(t, os.WriteFile(name,
		[]byte("From 0123456789abcdef0123456789abcdef01234567 Mon Sep 17 00:00:00 2001"+
			"\nFrom: A <a@b.c>\nSubject: [PATCH 1/1] kprobes: Wait less\n\n---\n kernel/kprobes.c | 2 +-\n\n"+
			"diff --git a/kernel/kprobes.c b/kernel/kprobes.c\n--- a/kernel/kprobes.c\n+++ b/kernel/kprobes.c\n"+
			"@@ -500,3 +500,3 @@\n \t */\n-\tsynchronize_rcu_tasks();\n+\t"+now+"\n \n-- \n2.47.3\n"), 0o644))
	return cli.FileName(path), cli.FileName(name)
}

// A mail is applied, compiled and reviewed: what it breaks is gained, its line is reached by the scenario. The second
// time the unchanged kernel doesn't run, and the review says the same.
func TestMail(t *testing.T) {
	kernel, patch := mail(t, "cpu_relax();")
	var says [2]string
	for i := range says {
		list, page := told(t, cli.Against, &Review{Kernel: kernels.Kernel{Kernel: kernel}, Patch: patch, Runs: 60,
			Scenarios: []string{"second-instruction"}})
		gained := what(list, "gained")
		require.NotEmpty(t, gained)
		require.Equal(t, "no-start-inside", gained[0]["property"])
		lines := what(list, "lines")
		require.Len(t, lines, 1)
		require.Equal(t, "kernel/kprobes.c", lines[0]["file"])
		require.Positive(t, lines[0]["runs"])
		require.Equal(t, "second-instruction", lines[0]["by"].([]any)[0].(object)["scenario"])
		require.Contains(t, page, "hunk 1 of kernel/kprobes.c was found")
		delete(gained[0], "trace")
		says[i] = strings.Join(strings.Fields(page), " ")
		from, _, _ := strings.Cut(says[i], "To replay")
		says[i] = from
	}
	require.Equal(t, says[0], says[1])
	kept, err := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "kpsim", "baseline", "*"))
	require.NoError(t, err)
	require.Len(t, kept, 1)
}

// What can't be compiled or applied is said with its place, and leaves nothing.
func TestMailRefused(t *testing.T) {
	kernel, patch := mail(t, "synchronize_rcu_task();")
	var errs bytes.Buffer
	c := &Review{Kernel: kernels.Kernel{Kernel: kernel}, Patch: patch, Runs: 1,
		Traces: filepath.Join(t.TempDir(), "traces")}
	_, err := c.Run(cli.New(new(bytes.Buffer), &errs))
	require.ErrorContains(t, err, "0001-my.patch doesn't compile for ")
	require.Regexp(t, `: kernel/kprobes.c:\d+:\d+: error: implicit declaration of function .synchronize_rcu_task.`, err)
	require.Contains(t, errs.String(), "In function")
	require.NoDirExists(t, c.Traces)
	made, err := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "kpsim", "objects", "*"))
	require.NoError(t, err)
	require.Empty(t, made)

	text, err := os.ReadFile(string(patch))
	require.NoError(t, err)
	text = bytes.ReplaceAll(text, []byte("rcu_tasks();"), []byte("rcu_task();"))
	require.NoError(t, os.WriteFile(string(patch), text, 0o644))
	_, err = c.Run(cli.New(new(bytes.Buffer), &errs))
	require.ErrorContains(t, err, `"kprobes: Wait less": hunk 1 of 1 of kernel/kprobes.c:`)
	require.ErrorContains(t, err, `give the source that it was made for with --source`)
}

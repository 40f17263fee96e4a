package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"kpsim/internal/ui/cli"
)

// man runs kpsim man.
func man(args ...string) (status int, out, errs string) {
	var o, e bytes.Buffer
	status = run(append([]string{"man"}, args...), &o, &e)
	return status, o.String(), e.String()
}

// Each command that --help lists has a page, with all its flags and arguments, and nothing
// that formatters warn of.
func TestMan(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man", "man1")
	status, out, errs := man("--dir", dir, "--date", "2026-11-25")
	require.Equal(t, cli.OK, status, errs)
	pages := 1
	plain := strings.NewReplacer(`\-`, "-", `\fB`, "", `\fI`, "", `\fR`, "")
	everyCommand(func(words []string, n *kong.Node) {
		pages++
		file, err := os.ReadFile(filepath.Join(dir, "kpsim-"+strings.Join(words, "-")+".1"))
		require.NoError(t, err)
		page := plain.Replace(string(file))
		for _, f := range n.Flags {
			require.Contains(t, page, "--"+f.Name, words)
		}
		for _, v := range n.Positional {
			require.Contains(t, page, "\n"+v.Summary()+"\n", words)
		}
		require.Contains(t, page, ".SH EXAMPLES\n.RS", words)
		require.Contains(t, page, ".SH EXIT STATUS\n", words)
		_, one, _ := man(append([]string{"--date", "2026-11-25"}, words...)...)
		require.Equal(t, string(file), one, words)
	})
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, files, pages)
	require.Contains(t, out, ": "+cli.Number(pages, "page")+"\n")
	for tool, args := range map[string][]string{"mandoc": {"-T", "lint", "-W", "warning"},
		"groff": {"-man", "-ww", "-z"}} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Logf("no %s here", tool)
			continue
		}
		out, err := exec.Command(tool, append(args, files...)...).CombinedOutput() // a line names the file
		if err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", tool, err, out)
		}
	}
}

func TestManRefuses(t *testing.T) {
	for typed, want := range map[string]string{
		"explor":                 `no command of kpsim is called "explor"; did you mean "explore"`,
		"overhead fits":          `no command of kpsim overhead is called "fits"; did you mean "fit"`,
		"explore x":              `kpsim explore has no commands below it; leave "x" out`,
		"complete":               `no command of kpsim is called "complete"; did you mean "compare"`, // hidden
		"--date 1":               `--date: "1" is no date; write it as 2026-11-25`,
		"--dir x explore":        `--dir writes the pages of all commands; leave "explore" out`,
		"--dir man_test.go/here": `--dir: man_test.go/here: not a directory; name a folder that can be written to`,
	} {
		status, out, errs := man(strings.Fields(typed)...)
		require.Equal(t, cli.BadInput, status, typed)
		require.Empty(t, out)
		require.True(t, strings.HasPrefix(errs, "kpsim: "+want) && strings.Count(errs, "\n") == 1, "%s: %s", typed,
			errs)
	}
}

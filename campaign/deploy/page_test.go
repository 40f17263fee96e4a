package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	page    = "../../docs/campaigns.md"
	runHere = "<!-- run by campaign/deploy -->"
)

var written = regexp.MustCompile(`(?s)<!-- file: (\S+) -->\n\n` + "```python\n(.*?)```\n")

// typed is how lines of the page begin that are commands, of a clone and of a program that is built.
var typed = regexp.MustCompile(`^(?:cd campaign && go run \./cmd/)?kpsim-campaign ([a-z]+.*)$`)

// TestPage runs the commands of docs/campaigns.md that are marked so, in one folder, and compares
// what is shown below them. A line ... stands for any lines, ... within one for any text. What ends
// with & runs until the end.
func TestPage(t *testing.T) {
	text := read(t, page)
	s := newSession(t)
	for _, m := range written.FindAllStringSubmatch(text, -1) {
		require.NoError(t, os.WriteFile(filepath.Join(s.dir, m[1]), []byte(m[2]), 0o644))
	}
	parts := strings.Split(text, runHere+"\n\n")
	require.Greater(t, len(parts), 3)
	for _, p := range parts[1:] {
		var args string
		var shown []string
		run := func() {
			if args == "" {
				return
			}
			if args, background := strings.CutSuffix(args, " &"); background {
				if strings.HasPrefix(args, "serve") {
					_ = os.Remove(filepath.Join(s.folder(), "url")) // of the server before; it may not be there
				}
				s.start(s.command(program, words(args)...))
				s.url()
				return
			}
			out, err := s.command(program, words(args)...).CombinedOutput()
			require.NoError(t, err, "%s\n%s", args, out)
			require.Regexp(t, pattern(shown), string(out), args)
		}
		for line := range strings.Lines(p) {
			line, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
			if !ok && line != "" {
				break
			}
			if m := typed.FindStringSubmatch(line); m != nil {
				run()
				args, shown = m[1], nil
			} else {
				shown = append(shown, line)
			}
		}
		run()
	}
}

// pattern is what lines that are shown let through.
func pattern(shown []string) string {
	var all strings.Builder
	for _, line := range strings.Split(strings.TrimRight(strings.Join(shown, "\n"), "\n"), "\n") {
		if line == "..." {
			all.WriteString(`(?:.*\n)*?`)
			continue
		}
		all.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), `\.\.\.`, ".*") + `\n`)
	}
	return `\A` + all.String() + `\z`
}

// TestPagePattern: what isn't shown is noticed.
func TestPagePattern(t *testing.T) {
	require.Regexp(t, pattern([]string{"a", "...", "d ..."}), "a\nb\nc\nd e\n")
	require.Regexp(t, pattern([]string{"a", "", ""}), "a\n")
	require.NotRegexp(t, pattern([]string{"a"}), "a\nb\n")
	require.NotRegexp(t, pattern([]string{"a", "...", "d"}), "a\nd\ne\n")
	require.NotRegexp(t, pattern([]string{"a"}), "aa\n")
}

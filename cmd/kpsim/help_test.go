package main

import (
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/flags"

	"github.com/alecthomas/kong"
)

// everyCommand calls f with each command that --help lists, and those that only have others.
func everyCommand(f func(words []string, n *kong.Node)) {
	var walk func(words []string, n *kong.Node)
	walk = func(words []string, n *kong.Node) {
		for _, c := range n.Children {
			if !c.Hidden {
				words := append(words[:len(words):len(words)], c.Name)
				f(words, c)
				walk(words, c)
			}
		}
	}
	walk(nil, newParser(verbs, io.Discard, io.Discard).Model.Node)
}

// Each command that has no commands below it can be run.
func TestCommandsRun(t *testing.T) {
	everyCommand(func(words []string, n *kong.Node) {
		if _, ok := n.Target.Addr().Interface().(command); !ok && n.Leaf() {
			t.Errorf("%s has no method Run", strings.Join(words, " "))
		}
	})
}

// The help of each command shows how it is typed and what it exits with, and its examples
// are lines that this program takes.
func TestHelp(t *testing.T) {
	met := 0
	everyCommand(func(words []string, n *kong.Node) {
		met++
		name := "kpsim " + strings.Join(words, " ")
		if !strings.HasSuffix(n.Help, ".") {
			t.Errorf("%s: %q is no sentence", name, n.Help)
		}
		_, examples, ok := strings.Cut(n.Detail, "Examples:\n\n")
		if !ok {
			t.Errorf("%s --help has no examples", name)
			return
		}
		if !strings.Contains(n.Detail, "Exit status: ") {
			t.Errorf("%s --help doesn't say what it exits with", name)
		}
		examples, _, _ = strings.Cut(examples, "\n\n")
		own := false
		for line := range strings.Lines(examples) {
			own = own || strings.Contains(line, strings.TrimSuffix(name, " table")) // which may be left out
			_, line, ok := strings.Cut(line, "kpsim ")
			for _, end := range []string{")", ">", "|", ";", "<", "#", "&&"} {
				line, _, _ = strings.Cut(line, end)
			}
			if !ok || line == "--version\n" { // which stands for the command
				continue
			}
			if _, err := newParser(verbs, io.Discard,
				io.Discard).Parse(strings.Fields(strings.ReplaceAll(line, "'", ""))); err != nil {
				t.Errorf("%s --help: kpsim %s: %v", name, line, err)
			}
		}
		if !own {
			t.Errorf("%s --help shows another command", name)
		}
	})
	if met < 30 {
		t.Errorf("%d commands were looked at", met)
	}
}

// Requests for help or the version in the words of other programs are answered.
func TestMeant(t *testing.T) {
	for _, c := range []struct{ typed, as string }{
		{"", ""},
		{"help", "--help"},
		{"help help", "--help"},
		{"-help", "--help"},
		{"-h", "-h"},
		{"help explore", "explore --help"},
		{"explore help", "explore --help"},
		{"explore -help", "explore --help"},
		{"explore -h", "explore -h"},
		{"help overhead pauses", "overhead pauses --help"},
		{"overhead help", "overhead --help"},
		{"overhead pauses help", "overhead pauses --help"},
		{"help explor", "explor --help"}, // which suggests
		{"run torn-jump help", "run torn-jump help"},
		{"complete -- help", "complete -- help"},
		{"--version", "version"},
		{"-version", "version"},
		{"-v", "version"},
		{"-V", "version"},
		{"explore -v", "explore -v"},
	} {
		if got := strings.Join(flags.Meant(newParser(verbs, io.Discard, io.Discard).Model.Node,
			strings.Fields(c.typed)), " "); got != c.as {
			t.Errorf("kpsim %s is taken for %s, want %s", c.typed, got, c.as)
		}
	}
}

// The exit statuses are those of main.go wherever they are listed, and of each
// command's help.
func TestExitStatuses(t *testing.T) {
	table := []struct {
		status int
		says   string // in --help
		page   string
	}{
		{cli.OK, "as expected", "The exit status is 0 if"},
		{cli.Against, "against expectation", "1 if something wasn't"},
		{cli.BadInput, "bad input", "2 if"},
		{cli.Bug, "a bug of the simulator", "3 if the simulator itself"},
		{cli.Interrupted, "interrupted", "130 if it was interrupted"},
		{cli.Terminated, "by SIGTERM", "143 if by SIGTERM"},
	}
	page, err := os.ReadFile("../../docs/explore.md")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string]bool{}
	for _, row := range table {
		n := strconv.Itoa(row.status)
		allowed[n] = true
		line := regexp.MustCompile(`(?m)^ +` + n + ` +(.*)$`).FindStringSubmatch(description)
		if line == nil || !strings.Contains(line[1], row.says) {
			t.Errorf("kpsim --help: %s is %q, want %s", n, line, row.says)
		}
		if !regexp.MustCompile(`(?m)^//\t` + n + ` `).Match(doc) {
			t.Errorf("doc.go doesn't tell of %s", n)
		}
		if !strings.Contains(strings.Join(strings.Fields(string(page)), " "), row.page) {
			t.Errorf("docs/explore.md doesn't say %q", row.page)
		}
	}
	forGit := []string{"125", "128"} // what git bisect run takes for a commit that can't be tested, and for an end
	everyCommand(func(words []string, n *kong.Node) {
		_, says, _ := strings.Cut(n.Detail, "Exit status: ")
		says, _, _ = strings.Cut(says, "\n")
		for _, n := range regexp.MustCompile(`(?:^|, |; |, or |, and )(\d+)[ ,]`).FindAllStringSubmatch(says, -1) {
			if !allowed[n[1]] && !(slices.Equal(words, []string{"bisect"}) && slices.Contains(forGit, n[1])) {
				t.Errorf("%v --help: there is no exit status %s", words, n[1])
			}
		}
	})
}

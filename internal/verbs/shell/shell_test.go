package shell

import (
	"bytes"
	"strings"
	"testing"

	"kpsim/internal/ui/cli"
)

// At a prompt a mistake is reported, and the session goes on.
func TestShellPrompt(t *testing.T) {
	var out, errs bytes.Buffer
	c := &Shell{What: "safe-full"}
	p := cli.New(&out, &errs)
	h, err := c.begin(p)
	if err != nil {
		t.Fatal(err)
	}
	defer h.s.Close()
	h.talk(strings.NewReader("call nosuch\n\n# nothing\ncall victim 3 5  # with a comment\nexit\nnever\n"))
	for _, want := range []string{
		"start lets its tasks begin (prober, caller, other), run has them run to their end. help lists the commands",
		prompt + "no function is called nosuch; there are victim\n" + prompt + prompt + prompt +
			"victim(3, 5) = 0xffffffffffffffbb\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "never") {
		t.Error("went on after exit")
	}
}

// Each command of the shell is there once, has its words, and says what it does.
func TestShellWords(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range shellWords {
		for _, name := range append([]string{w.word}, w.also...) {
			if seen[name] {
				t.Errorf("%s is there twice", name)
			}
			seen[name] = true
		}
		if w.says == "" || w.do == nil || w.example == "" {
			t.Errorf("%s says nothing", w.word)
		}
	}
}

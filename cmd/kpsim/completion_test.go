package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"kpsim/properties/mutant"
	"kpsim/properties/scenario"
)

// What a word may become, where traces, scenarios and other files are.
func TestComplete(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"traces/corpus", "empty"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"mine.star", "mine.o", "mine.c", "traces/a.kps", "traces/b.kps", "traces/b.txt", "traces/corpus/c.kps"} {
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	model := newParser(new(commands), io.Discard, io.Discard).Model.Node
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"expl"}, "explore explain"},
		{[]string{"nosuch", "expl"}, ""},
		{[]string{"help", "expl"}, "explore explain"},
		{[]string{"help", "overhead", "ma"}, "maxactive"},
		{[]string{"overhead", "ma"}, "maxactive"},
		{[]string{"overhead", "--mach"}, "--machine"}, // of table, which may be left out
		{[]string{"overhead", "fit", ""}, ""},
		{[]string{"overhead", "pauses", "--tier", "c"}, "calibrated"},
		{[]string{"explore", "--mutant", "no-sync-a"}, "no-sync-arm"},
		{[]string{"explore", "--mutant=no-sync-a"}, "--mutant=no-sync-arm"},          // zsh, fish
		{[]string{"explore", "--mutant", "=", "no-sync-a"}, "no-sync-arm"},           // bash
		{[]string{"explore", "--strategy", "="}, strings.Join(strategyNames(), " ")}, // bash
		{[]string{"explore", "--nosuch=x"}, ""},
		{[]string{"explore", "--json", "torn-jump-"}, "torn-jump-bp"}, // no value follows
		{[]string{"explore", "--seed", "torn-j"}, ""},
		{[]string{"explore", "--seed=1", "torn-jump-"}, "torn-jump-bp"},
		{[]string{"explore", "torn-jump", "safe-f"}, "safe-full safe-full-stop"},
		{[]string{"explore", "mi"}, "mine.star"},
		{[]string{"explore", "--traces", ""}, "empty/ traces/"},
		{[]string{"explore", "--out", "mine."}, "mine.c mine.o mine.star"},
		{[]string{"replay", ""}, "empty/ traces/"},
		{[]string{"replay", "traces/"}, "traces/a.kps traces/b.kps traces/corpus/"},
		{[]string{"replay", "traces/a.kps", ""}, ""}, // it takes one
		{[]string{"replay", "nosuch/"}, ""},
		{[]string{"view", "traces/a.kps", "traces/b"}, "traces/b.kps"},
		{[]string{"shell", "traces/b"}, "traces/b.kps"},
		{[]string{"shell", "mi"}, "mine.star"},
		{[]string{"rerecord", "traces/a.kps", "traces/b"}, "traces/b.kps"},
		{[]string{"disasm", "mi"}, "mine.o"},
		{[]string{"disasm", "mine.o", ""}, ""},
		{[]string{"check", "--profile", ""}, "k61 k612"},
		{[]string{"check", "--edition", "5"}, "5.14"},
		{[]string{"overhead", "--machine", "xeon"}, "xeon-e5410/i386 xeon-e5410/x86_64"},
		{[]string{"overhead", "--probe", "r"}, "r rb ro"},
		{[]string{"overhead", "pauses", "--patch", ""}, "breakpoint stop_machine"},
		{[]string{"overhead", "pauses", "--schedule", ""}, "timed sticky"},
		{[]string{"storm", "--preempt", "f"}, "full"},
		{[]string{"verify", "--fetch", "m"}, "mixing"},
		{[]string{"verify", "--by", ""}, "states classes"},
		{[]string{"matrix", "jump/sched/n"}, "jump/sched/naive"},
		{[]string{"mutants", "no-quiesce", "no-sync-1-"}, "no-sync-1-at-probe"},
		{[]string{"export", "-o", "mine.c"}, "mine.c"},
		{[]string{"export", "--to", "c"}, "chrome"},
		{[]string{"completion", ""}, "bash zsh fish"},
		{[]string{"comple"}, "completion"}, // not what its scripts call
	} {
		if got := strings.Join(complete(model, c.words), " "); got != c.want {
			t.Errorf("%q: %s, want %s", c.words, got, c.want)
		}
	}
	if got := complete(model, nil); !slices.Contains(got, "explore") {
		t.Errorf("nothing typed: %q", got)
	}
	if got := complete(model, []string{"explore", ""}); !slices.Contains(got, "mine.star") || len(got) != len(scenario.BuiltinNames())+3 {
		t.Errorf("explore: %q", got)
	}
}

// Whatever takes names or files is completed; numbers and what is free aren't.
func TestCompleteAll(t *testing.T) {
	free := []string{"--func", "--at", "--cpu", "--config", "--cpus", "--count", "--shard", "--for", "<func>", "--tasks", "--maxactive"}
	met := map[string]bool{}
	see := func(words []string, v *kong.Value, name, placeholder string) {
		met[name] = true
		offered := len(valuesOf(v, "")) > 0
		text := v.Target.Kind().String() == "string" || v.IsCumulative() && v.Target.Type().Elem().Kind().String() == "string"
		if text && !offered && !slices.Contains(free, name) {
			t.Errorf("%v: nothing completes %s %s", words, name, placeholder)
		}
	}
	everyCommand(func(words []string, n *kong.Node) {
		for _, f := range n.Flags {
			see(words, f.Value, "--"+f.Name, f.PlaceHolder)
		}
		for _, v := range n.Positional {
			see(words, v, "<"+v.Name+">", "")
		}
	})
	for name := range namings {
		if !met[name] {
			t.Errorf("no command has %s", name)
		}
	}
}

// The script of a shell, where there is one, completes as the shell asks it to.
func TestCompletionScripts(t *testing.T) {
	kpsim := thisProgram(t)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("two words.kps", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("folder", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, sh := range []string{"bash", "zsh", "fish"} {
		var script, errs bytes.Buffer
		if status := run([]string{"completion", sh}, &script, &errs); status != exitOK || errs.Len() > 0 {
			t.Fatalf("%s: status %d, %s", sh, status, &errs)
		}
		if err := os.WriteFile("script."+sh, script.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := exec.LookPath(sh); err != nil {
			t.Logf("no %s here", sh)
			continue
		}
		for line, want := range map[string]string{
			"explore --mutant no-sync-": strings.Join(startingWith("no-sync-", mutant.Names()), "\n"),
			"expl":                      "explore\nexplain",
			"replay tw":                 map[string]string{"bash": `two\ words.kps`, "fish": "two words.kps"}[sh],
			"replay f":                  map[string]string{"bash": "-o nospace\nfolder/", "fish": "folder/"}[sh],
			"replay nosuch":             "",
		} {
			var command string
			switch sh {
			case "bash": // what readline does
				command = fmt.Sprintf("compopt() { echo \"$@\"; }; source script.bash; COMP_WORDS=(kpsim %s); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); "+
					"complete -p kpsim >/dev/null || exit 1; _kpsim %s; [[ ${#COMPREPLY[@]} == 0 ]] || printf '%%s\\n' \"${COMPREPLY[@]}\"", line, kpsim)
			case "fish":
				command = fmt.Sprintf("source script.fish; complete -C '%s %s'", kpsim, line)
			case "zsh": // its completion wants a terminal: the script is only read
				command, want = "zsh -n script.zsh", ""
			}
			out, err := exec.Command(sh, "-c", command).CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil || got != want {
				t.Errorf("%s: %s: %q, want %q, %v", sh, line, got, want, err)
			}
		}
	}
}

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"kpsim/internal/scenario/library"
	"kpsim/internal/testkit/thorough"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/flags"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/kprobes/mutants"
)

// What a word may become, where traces, scenarios and other files are.
func TestComplete(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"traces/corpus", "empty"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"mine.star", "mine.o", "mine.c", "sb.litmus", "traces/a.kps", "traces/b.kps",
		"traces/b.txt", "traces/corpus/c.kps"} {
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	model := newParser(verbs, io.Discard, io.Discard).Model.Node
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
		{[]string{"explore", "--mutant=no-sync-a"}, "--mutant=no-sync-arm"},                 // zsh, fish
		{[]string{"explore", "--mutant", "=", "no-sync-a"}, "no-sync-arm"},                  // bash
		{[]string{"explore", "--strategy", "="}, strings.Join(inputs.StrategyNames(), " ")}, // bash
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
		{[]string{"disasm", "mi"}, "mine.o mine.star"},
		{[]string{"litmus", "s"}, "sb.litmus"},
		{[]string{"disasm", "mine.o", ""}, ""},
		{[]string{"new", "x", "--for", "m"}, "module"},
		{[]string{"fuzz", "--for", "m"}, ""}, // a time
		{[]string{"list", "--kind", "j"}, "jprobe jump-label"},
		{[]string{"list", "--engine", ""}, "kprobes linux"},
		{[]string{"list", "--property", "T6"}, "T6"},
		{[]string{"check", "--profile", ""}, "k61 k612"},
		{[]string{"check", "--edition", "5"}, "5.14"},
		{[]string{"overhead", "--machine", "xeon"}, "xeon-e5410/i386 xeon-e5410/x86_64"},
		{[]string{"overhead", "--probe", "r"}, "r rb ro"},
		{[]string{"overhead", "pauses", "--patch", ""}, "breakpoint stop_machine"},
		{[]string{"overhead", "pauses", "--schedule", ""}, "timed sticky"},
		{[]string{"fuzz", "--preempt", "f"}, "full"},
		{[]string{"verify", "--fetch", "m"}, "mixing"},
		{[]string{"verify", "--by", ""}, "states classes"},
		{[]string{"matrix", "jump/sched/n"}, "jump/sched/naive"},
		{[]string{"mutants", "no-quiesce", "no-sync-1-"}, "no-sync-1-at-probe"},
		{[]string{"export", "-o", "mine.c"}, "mine.c"},
		{[]string{"export", "--to", "c"}, "chrome columns"},
		{[]string{"completion", ""}, "bash zsh fish"},
		{[]string{"comple"}, "completion"}, // not what its scripts call
	} {
		if got := strings.Join(flags.Complete(model, c.words, completions), " "); got != c.want {
			t.Errorf("%q: %s, want %s", c.words, got, c.want)
		}
	}
	if got := flags.Complete(model, nil, completions); !slices.Contains(got, "explore") {
		t.Errorf("nothing typed: %q", got)
	}
	if got := flags.Complete(model, []string{"explore", ""}, completions); !slices.Contains(got, "mine.star") ||
		len(got) != len(library.Names())+3 {
		t.Errorf("explore: %q", got)
	}
}

// Whatever takes names or files is completed; numbers and what is free aren't.
func TestCompleteAll(t *testing.T) {
	free := []string{"--func", "--at", "--words", "--cpu", "--config", "--cpus", "--count", "--shard", "--for",
		"<func>", "--tasks", "--maxactive", "--date", "--good", "--bad", "--search", "--name", "<new-file>"}
	met := map[string]bool{}
	see := func(words []string, v *kong.Value, name, placeholder string) {
		met[name], met[name+"="+placeholder] = true, true
		offered := len(flags.ValuesOf(completions, v, "")) > 0
		text := v.Target.Kind().String() == "string" || v.IsCumulative() &&
			v.Target.Type().Elem().Kind().String() == "string"
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
	for name := range completions {
		if !met[name] {
			t.Errorf("no command has %s", name)
		}
	}
}

// The script of a shell, where there is one, completes as the shell asks it to: with what it
// makes of quotes and ~, and whether a blank follows.
func TestCompletionScripts(t *testing.T) {
	kpsim := thisProgram(t)
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("PATH", filepath.Dir(kpsim)+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Chdir(t.TempDir())
	for _, name := range []string{"two words.kps", "it's.kps", filepath.Join(home, "zz.kps")} {
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("folder", 0o755); err != nil {
		t.Fatal(err)
	}
	noSync := flags.StartingWith("no-sync-", mutants.Names())
	slices.Sort(noSync)
	lines := []struct{ line, bash, zsh, fish string }{
		{"kpsim expl", "explore\nexplain", "kpsim explain explore ", "explain\nexplore"},
		{"kpsim help expl", "explore\nexplain", "kpsim help explain explore ", "explain\nexplore"},
		{"kpsim overhead pa", "pauses", "kpsim overhead pauses ", "pauses"},
		{"kpsim explore --mutant no-sync-", strings.Join(flags.StartingWith("no-sync-", mutants.Names()), "\n"),
			"kpsim explore --mutant " + strings.Join(noSync, " ") + " ", strings.Join(noSync, "\n")},
		// bash's readline makes three words of it
		{"kpsim explore --mutant=no-sync-a", "--mutant=no-sync-arm", "kpsim explore --mutant=no-sync-arm ",
			"--mutant=no-sync-arm"},
		{"kpsim replay tw", `two\ words.kps`, `kpsim replay two\ words.kps `, "two words.kps"},
		{`kpsim replay two\ w`, `two\ words.kps`, `kpsim replay two\ words.kps `, "two words.kps"},
		{"kpsim replay 'tw", "two words.kps", "kpsim replay 'two words.kps' ", "two words.kps"},
		{`kpsim replay "it'`, "it's.kps", `kpsim replay "it's.kps" `, "it's.kps"},
		{"kpsim replay it", `it\'s.kps`, `kpsim replay it\'s.kps `, "it's.kps"},
		{"kpsim replay ~/z", "~/zz.kps", "kpsim replay ~/zz.kps ", "~/zz.kps"},
		{"kpsim replay fo", "-o nospace\nfolder/", "kpsim replay folder/", "folder/"},
		{"kpsim replay nosuch", "", "kpsim replay nosuch", ""},
		{"kpsim completion fish ", "", "kpsim completion fish ", ""}, // it takes no more
	}
	lines = lines[:thorough.Of(4, len(lines))]
	ask := map[string]func(line string) []string{
		"bash": func(line string) []string { // what readline does
			const ask = `compopt() { echo "$@"; }; source script.bash; complete -p kpsim >/dev/null || exit 1; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1))
				_kpsim kpsim; [[ ${#COMPREPLY[@]} == 0 ]] || printf '%s\n' "${COMPREPLY[@]}"`
			args := []string{"-c", ask, "bash"}
			for _, word := range strings.Split(strings.ReplaceAll(line, `\ `, "\x00"), " ") {
				args = append(args, strings.ReplaceAll(word, "\x00", `\ `))
			}
			return args
		},
		"zsh": func(line string) []string { return []string{"-f", "outer.zsh", line} },
		"fish": func(line string) []string {
			return []string{"-N", "-c", "source script.fish; complete -C $argv[1]", line}
		},
	}
	for name, text := range map[string]string{"inner.zsh": zshInner, "outer.zsh": zshOuter} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, sh := range flags.Shells() {
		var script, errs bytes.Buffer
		if status := run([]string{"completion", sh}, &script, &errs); status != cli.OK || errs.Len() > 0 {
			t.Fatalf("%s: status %d, %s", sh, status, &errs)
		}
		if err := os.WriteFile("script."+sh, script.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := exec.LookPath(sh); err != nil {
			t.Logf("no %s here", sh)
			continue
		}
		for _, l := range lines {
			want := map[string]string{"bash": l.bash, "zsh": "[" + l.zsh + "]", "fish": l.fish}[sh]
			out, err := exec.Command(sh, ask[sh](l.line)...).CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil || got != strings.TrimSpace(want) {
				t.Errorf("%s: %s: %q, want %q, %v", sh, l.line, got, want, err)
			}
		}
	}
	if _, err := exec.LookPath("zsh"); err == nil { // in a folder of fpath
		if err := os.Rename("script.zsh", "_kpsim"); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("zsh", "-f", "outer.zsh", "kpsim overhead pa").CombinedOutput(); err != nil ||
			string(out) != "[kpsim overhead pauses ]\n" {
			t.Errorf("zsh, by fpath: %s, %v", out, err)
		}
	}
}

// zsh completes at a prompt only. outer.zsh is given a line, runs an interactive zsh at a
// pseudo-terminal, and prints what becomes of the line if all that completes it is put in.
const (
	zshInner = `[[ -e script.zsh ]] || fpath=($PWD $fpath)
autoload -Uz compinit && compinit -u -D
[[ ! -e script.zsh ]] || source script.zsh
all() { _main_complete "$@"; compstate[insert]=all }
zle -C all complete-word all
zle-line-init() {
    BUFFER=$LINE CURSOR=$#LINE
    zle all
    print -r -- "[$BUFFER]" > got
    exit
}
zle -N zle-line-init
`
	zshOuter = `zmodload zsh/zpty
export LINE=$1
rm -f got
zpty z zsh -f -i
zpty -w z 'source ./inner.zsh'
while zpty -r z out; do :; done
cat got
`
)

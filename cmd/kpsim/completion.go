package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"kpsim/internal/cli"
	"kpsim/internal/eval/matrix"
	"kpsim/internal/scenario"
	"kpsim/kprobes/mutants"
)

type completionCmd struct {
	Shell string `arg:"" help:"bash, zsh or fish."`
}

// Help implements kong.HelpProvider.
func (completionCmd) Help() string {
	return `Prints a script for a shell, by which it completes commands, flags, the names of scenarios, mutants, strategies, editions, machines and the like, and files that fit (NAME.kps where a trace is wanted). The script asks kpsim itself, so it needs no renewal.

Examples:

  source <(kpsim completion bash)
  kpsim completion bash > ~/.local/share/bash-completion/completions/kpsim
  kpsim completion zsh > ~/.zsh/completions/_kpsim
  kpsim completion fish > ~/.config/fish/completions/kpsim.fish

The folder of zsh has to be in its fpath, before compinit is run.

Exit status: 0, or 2 for bad input.`
}

// completionScripts hand all words up to the cursor to kpsim complete, as they are typed, and
// get a line for each that the last may become, without quotes. A folder ends with a slash,
// which no blank follows; a ~ is left to be expanded.
var completionScripts = map[string]string{
	"bash": `_kpsim() {
    local word last=${COMP_WORDS[COMP_CWORD]} program=$1
    COMPREPLY=()
    while IFS= read -r word; do
        case $last in
        [\'\"]*) ;;
        '~/'*) printf -v word '~/%q' "${word#'~/'}" ;;
        *) printf -v word %q "$word" ;;
        esac
        COMPREPLY+=("$word")
    done < <("${program/#'~/'/$HOME/}" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == */ ]]; then
        compopt -o nospace 2>/dev/null
    fi
    return 0
}
complete -F _kpsim kpsim
`,
	"zsh": `#compdef kpsim
_kpsim() {
    local -a found
    local program=${(Q)words[1]}
    found=(${(f)"$("${program/#\~\//$HOME/}" complete -- "${(@)words[2,CURRENT-1]}" "${QIPREFIX}${PREFIX}" 2>/dev/null)"})
    if [[ $PREFIX == \~/* ]]; then
        found=(${found#\~/})
        compset -P '\~/'
    fi
    compadd -S '' -- ${(M)found:#*/}
    compadd -- ${found:#*/}
}
if [[ ${funcstack[1]} == _kpsim ]]; then
    _kpsim "$@"
else
    compdef _kpsim kpsim
fi
`,
	"fish": `function __kpsim_complete
    set -l before (commandline -opc)
    set -l program (string replace -r '^~/' "$HOME/" -- $before[1])
    $program complete -- $before[2..-1] (commandline -ct) 2>/dev/null
end
complete -c kpsim -f -a '(__kpsim_complete)'
`,
}

func (c *completionCmd) run(p *cli.Program) (int, error) {
	if err := cli.Known("shell", c.Shell, shellNames()); err != nil {
		return 0, err
	}
	_, err := fmt.Fprint(p.Out, completionScripts[c.Shell])
	return cli.OK, err
}

func shellNames() []string { return []string{"bash", "zsh", "fish"} }

type completeCmd struct {
	Words []string `arg:"" optional:""`
}

func (c *completeCmd) run(p *cli.Program) (int, error) {
	words := make([]string, len(c.Words))
	for i, w := range c.Words {
		words[i] = unquoted(w)
	}
	for _, w := range complete(newParser(new(commands), p.Out, p.Err).Model.Node, words) {
		fmt.Fprintln(p.Out, w)
	}
	return cli.OK, nil
}

// unquoted is a word without the quotes that a shell takes away, of which the last may not be
// there yet.
func unquoted(word string) string {
	var b strings.Builder
	var quote rune
	escaped := false
	for _, c := range word {
		switch {
		case escaped:
			b.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped = true
		case c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// complete returns what the last word may become. bash makes three words of --flag=value.
func complete(at *kong.Node, words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	if len(words) > 1 && words[0] == "help" { // as in help explore
		words = words[1:]
	}
	var waiting *kong.Flag // for its value
	given := 0             // positional arguments
	for i, w := range words[:len(words)-1] {
		switch {
		case w == "=" && i > 0 && waiting != nil:
		case waiting != nil:
			waiting = nil
		case strings.HasPrefix(w, "-"):
			name, _, whole := strings.Cut(w, "=")
			if f := flagOf(at, name); f != nil && !f.IsBool() && !whole {
				waiting = f
			}
		default:
			if n := child(at, w); n != nil {
				at = n
			} else {
				given++
			}
		}
	}

	last := words[len(words)-1]
	name, value, whole := strings.Cut(last, "=")
	switch {
	case waiting != nil:
		return startingWith(strings.TrimPrefix(last, "="), valuesOf(waiting.Value, strings.TrimPrefix(last, "=")))
	case strings.HasPrefix(last, "-") && whole:
		var list []string
		if f := flagOf(at, name); f != nil {
			for _, v := range startingWith(value, valuesOf(f.Value, value)) {
				list = append(list, name+"="+v)
			}
		}
		return list
	case strings.HasPrefix(last, "-"):
		return startingWith(last, flagNames(at))
	}
	list := commandNames(at)
	if n := len(at.Positional); n > 0 { // the last one may stand for all that follow
		list = valuesOf(at.Positional[min(given, n-1)], last)
		if given >= n && !at.Positional[n-1].IsCumulative() {
			list = nil
		}
	} else if given > 0 {
		list = nil
	}
	return startingWith(last, list)
}

func child(at *kong.Node, name string) *kong.Node {
	i := slices.IndexFunc(at.Children, func(n *kong.Node) bool { return n.Name == name })
	if i < 0 {
		return nil
	}
	return at.Children[i]
}

func flagOf(at *kong.Node, name string) *kong.Flag {
	for _, f := range flags(at) {
		if "--"+f.Name == name || f.Short != 0 && "-"+string(f.Short) == name {
			return f
		}
	}
	return nil
}

func startingWith(with string, words []string) (list []string) {
	for _, w := range words {
		if strings.HasPrefix(w, with) {
			list = append(list, w)
		}
	}
	return list
}

// A naming has the names that there are of something. begun is what is typed already: only
// files need it.
type naming func(begun string) []string

// namings has those of flags, by name, and of arguments, in brackets. What isn't in it is
// completed with files if its placeholder says so, or else not at all.
var namings = map[string]naming{
	"--ignore":    fixed(propertyNames),
	"--mutant":    fixed(mutants.Names),
	"--mutants":   fixed(mutants.Names),
	"--strategy":  fixed(strategyNames),
	"--edition":   fixed(func() []string { return stormNames(0) }),
	"--preempt":   fixed(func() []string { return stormNames(1) }),
	"--fetch":     fixed(fetchNames),
	"--machine":   fixed(machineIDs),
	"--probe":     fixed(probeIDs),
	"--profile":   fixed(func() []string { return []string{"k61", "k612"} }),
	"--tier":      fixed(tierNames),
	"--schedule":  fixed(scheduleNames),
	"--patch":     fixed(patchNames),
	"--to":        fixed(func() []string { return exports }),
	"<file|name>": either(fixed(scenario.BuiltinNames), files(".star")),
	"<scenario>":  either(fixed(scenario.BuiltinNames), files(".star")),
	"<what>":      either(fixed(scenario.BuiltinNames), files(".star", ".kps")),
	"<listed>":    fixed(listed),
	"<trace>":     files(".kps"),
	"<beside>":    files(".kps"),
	"<object>":    either(fixed(scenario.BuiltinNames), files(".o", ".ko", ".star", ".kps")),
	"<file>":      files(""),
	"<file.csv>":  files(".csv"),
	"<name>":      fixed(mutants.Names),
	"<row>":       fixed(matrix.RowNames),
	"<shell>":     fixed(shellNames),
}

func valuesOf(v *kong.Value, begun string) []string {
	name := "<" + v.Name + ">"
	if v.Flag != nil {
		name = "--" + v.Flag.Name
		switch v.Flag.PlaceHolder {
		case "FILE", "PAGE":
			return files("")(begun)
		case "DIR":
			return files("/")(begun)
		}
	}
	switch n := namings[name]; {
	case v.Enum != "":
		return strings.Split(v.Enum, ",")
	case n != nil:
		return n(begun)
	}
	return nil
}

func fixed(names func() []string) naming { return func(string) []string { return names() } }

func either(a, b naming) naming {
	return func(begun string) []string { return append(a(begun), b(begun)...) }
}

// files are those that end so, and folders.
func files(ends ...string) naming {
	return func(begun string) (list []string) {
		dir, _ := filepath.Split(begun)
		in := dir
		if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(dir, "~/") {
			in = home + dir[1:]
		}
		entries, err := os.ReadDir(filepath.Join(in, "."))
		if err != nil {
			return nil // what isn't there isn't offered
		}
		for _, e := range entries {
			name := dir + e.Name()
			if s, err := os.Stat(in + e.Name()); err == nil && s.IsDir() {
				name += "/"
			}
			fits := slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(name, end) })
			if fits || strings.HasSuffix(name, "/") {
				list = append(list, name)
			}
		}
		return list
	}
}

package inputs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"kpsim/internal/cli"
	"kpsim/internal/lazyregexp"
	"kpsim/internal/nearest"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/library"
	"kpsim/kprobes/mutants"
	"kpsim/traces"
)

// What a command is given is decided here: the name of a built-in scenario, a scenario's
// file, a trace, or what is none of these. What a file is its content says, not its name.

// isTraceName reports whether a file is called as a trace is. It is never taken for a
// scenario, and run: it may have come by mail.
func isTraceName(path string) bool { return strings.HasSuffix(path, ".kps") }

func isObject(data []byte) bool { return bytes.HasPrefix(data, []byte("\x7fELF")) }

func IsTraceFile(path string) bool {
	if !IsFile(path) { // what can be read once
		return false
	}
	data, err := cli.ReadFile(path, cli.MostTrace)
	return err == nil && traces.IsTrace(data)
}

// giveTrace says what is wanted where a trace is.
func giveTrace() string {
	return fmt.Sprintf("give a trace, which %s explore writes to traces/", cli.Typed())
}

// givenTrace reads a file that should be a trace. If it is something else the
// error says what it is and, as far as can be guessed, the line that was meant.
func givenTrace(arg string) ([]byte, error) {
	data, err := cli.ReadFile(arg, cli.MostTrace)
	if err == nil && traces.IsTrace(data) {
		return data, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		if s, err := library.Load(arg); err == nil {
			return nil, noTrace(arg, arg, s)
		}
		if program, err := cli.ReadFile(arg+".star", cli.MostTrace); err == nil {
			return nil, noTrace(arg, arg+".star", glimpse(arg+".star", program))
		}
		return nil, fmt.Errorf("%s; %s", cli.Cause(err, arg), elsewhere(arg))
	}
	if err != nil && !isFolder(arg) {
		return nil, fmt.Errorf("%s; %s", cli.Cause(err, arg), giveTrace())
	}
	if err := isNothing(arg, data, ".kps", giveTrace()); err != nil {
		return nil, err
	}
	if !isTraceName(arg) && (strings.HasSuffix(arg, ".star") || scenarioLine().Match(data)) {
		return nil, noTrace(arg, arg, glimpse(arg, data))
	}
	return data, nil // traces.Parse says what it lacks
}

// Lines by which a scenario is recognised without running it: it may have come
// by mail.
var (
	scenarioLine = lazyregexp.New(`(?m)^(?:\w+ *= *)?(?:scenario|machine|text|elf|kprobe|kretprobe|task|never|sometimes)\(`)
	nameLine     = lazyregexp.New(`(?m)^scenario\((?:name *= *)?"([^"\\]+)"`)
	canaryLine   = lazyregexp.New(`(?m)^never\((?:canary *= *)?"([^"\\]+)"\)`)
)

// glimpse is what a scenario's program says of its name, and of its canary.
func glimpse(name string, program []byte) *scenario.Scenario {
	s := &scenario.Scenario{Name: strings.TrimSuffix(filepath.Base(name), ".star")}
	if m := nameLine().FindSubmatch(program); m != nil {
		s.Name = string(m[1])
	}
	if m := canaryLine().FindSubmatch(program); m != nil && slices.Contains(mutants.Known(), string(m[1])) {
		s.Expect.Canary = string(m[1])
	}
	return s
}

// noTrace says of a scenario, or what names one, that was given for a trace where its trace
// is, or how to find one.
func noTrace(arg, name string, s *scenario.Scenario) error {
	if path := defaultTrace(s.Name); IsFile(path) {
		return fmt.Errorf("%s is a scenario, not a trace; its trace is %s: %s", name, path, instead(arg, path))
	}
	words := []string{cli.Typed(), "explore", cli.AsFile(name)}
	if !s.Expect.Sometimes && s.Expect.Canary != "" { // else there would be none
		words = append(words, "--mutant", s.Expect.Canary)
	}
	return fmt.Errorf("%s is a scenario, not a trace; to find one of it: %s", name, cli.Line(words...))
}

// defaultTrace is where explore writes the trace of a scenario.
func defaultTrace(name string) string { return filepath.Join("traces", TraceName(name)+".kps") }

// elsewhere ends what is said of a trace that isn't there: what may have been meant.
func elsewhere(arg string) string {
	for _, path := range []string{filepath.Join("traces", arg), filepath.Join("traces", arg+".kps"), arg + ".kps"} {
		if arg != "" && IsFile(path) {
			return fmt.Sprintf("there is %s: %s", path, instead(arg, path))
		}
	}
	near := nearest.Names(arg, append(inFolder(arg, ".kps"), library.Names()...))
	if len(near) > 0 {
		return fmt.Sprintf("did you mean %s?", cli.List(near))
	}
	return giveTrace()
}

// givenScenario reads a file that should be a scenario; arg names no built-in
// one.
func givenScenario(arg string) ([]byte, error) {
	data, err := cli.ReadFile(arg, cli.MostTrace)
	const give = "give the path of a scenario file, or a name that %s list prints"
	switch {
	case isFolder(arg):
		return nil, isNothing(arg, nil, ".star", fmt.Sprintf(give, cli.Typed()))
	case isObject(data):
		return nil, fmt.Errorf("%s is an object file, not a scenario; write one that has elf(%q), or look at "+
			"its functions: %s", arg, filepath.Base(arg), cli.Line(cli.Typed(), "check", cli.AsFile(arg)))
	case err == nil && traces.IsTrace(data):
		return nil, fmt.Errorf("%s is a trace, not a scenario; to run it: %s", arg,
			cli.Line(cli.Typed(), "replay", cli.AsFile(arg)))
	case err == nil && isTraceName(arg):
		return nil, fmt.Errorf("%s is called as a trace, and isn't one, so it isn't run; if it is a scenario "+
			"that you trust, rename it to %s.star", arg, strings.TrimSuffix(arg, ".kps"))
	case err == nil && strings.HasSuffix(arg, ".star") && utf8.Valid(data): // lang.Load says what it lacks
		return data, nil
	case err == nil:
		if err := isNothing(arg, data, ".star", fmt.Sprintf(give, cli.Typed())); err != nil {
			return nil, err
		}
		return data, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s; %s", cli.Cause(err, arg), fmt.Sprintf(give, cli.Typed()))
	}
	bare := strings.TrimSuffix(filepath.Base(arg), ".star")
	name := strings.TrimSuffix(bare, ".kps")
	plain := arg == bare && arg == name // as that of a built-in one
	switch trace := filepath.Join("traces", arg); {
	case arg != bare && slices.Contains(library.Names(), bare):
		return nil, fmt.Errorf("%s; %s is built in: %s", cli.Cause(err, arg), bare, instead(arg, bare))
	case arg != "" && IsFile(arg+".star"):
		return nil, fmt.Errorf("%s; there is %s.star: %s", cli.Cause(err, arg), arg, instead(arg, arg+".star"))
	case arg != name && IsFile(trace):
		return nil, fmt.Errorf("%s; %s is a trace, not a scenario; to run it: %s", cli.Cause(err, arg), trace,
			cli.Line(cli.Typed(), "replay", trace))
	}
	if near := nearest.Names(arg, inFolder(arg, ".star")); len(near) > 0 {
		return nil, fmt.Errorf("%s; did you mean %s?", cli.Cause(err, arg), cli.List(near))
	}
	if plain && arg != "" {
		return nil, fmt.Errorf("no built-in scenario %q; %s (one of your own is a file NAME.star)", arg,
			cli.Suggest(arg, library.Names()))
	}
	return nil, fmt.Errorf("%s; %s", cli.Cause(err, arg), fmt.Sprintf(give, cli.Typed()))
}

// isNothing says of what can't be what is wanted, a file that ends so, what it is: a folder,
// an object, empty, or no text. It returns nil for other text.
func isNothing(arg string, data []byte, end, give string) error {
	switch {
	case isFolder(arg):
		if files := inFolder(arg+string(filepath.Separator), end); len(files) > 0 {
			return fmt.Errorf("%s: is a directory; give what is in it, as %s", arg, instead(arg, files[0]))
		}
		return fmt.Errorf("%s: is a directory; %s", arg, give)
	case isObject(data):
		return fmt.Errorf("%s is an object file, not a trace; to see what can be probed in it: %s", arg,
			cli.Line(cli.Typed(), "check", cli.AsFile(arg)))
	case len(bytes.TrimSpace(data)) == 0:
		return fmt.Errorf("%s is empty; %s", arg, give)
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return fmt.Errorf("%s is no text; %s", arg, give)
	}
	return nil
}

// inCode is what InCode has set.
var inCode bool

// InCode has advice on the name of a scenario be a Go string: names are given in the code of a
// test, whose command line has nothing of them. It is called before any other goroutine runs.
func InCode() { inCode = true }

// instead is the line that was typed, with another word for the one that was wrong.
func instead(word, by string) string {
	if inCode {
		return fmt.Sprintf("write %q", by)
	}
	words := append([]string{cli.Typed()}, os.Args[1:]...)
	for i := len(words) - 1; i > 1; i-- { // after the command
		if words[i] == word {
			words[i] = cli.AsFile(by)
			break
		}
	}
	return cli.Line(words...)
}

// inFolder are the files that end so in the folder of a path.
func inFolder(path, end string) (list []string) {
	for _, name := range FilesLike(path, end) {
		if !strings.HasSuffix(name, "/") {
			list = append(list, name)
		}
	}
	return list
}

func IsFile(path string) bool {
	s, err := os.Stat(path)
	return err == nil && s.Mode().IsRegular()
}

func isFolder(path string) bool {
	s, err := os.Stat(path)
	return err == nil && s.IsDir()
}

// FilesLike returns the folders, and the files with one of the ends, whose paths begin so.
func FilesLike(begun string, ends ...string) (list []string) {
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

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

	"kpsim/internal/lazyregexp"
	"kpsim/internal/nearest"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/library"
	"kpsim/internal/ui/cli"
	"kpsim/kprobes/mutants"
	"kpsim/traces"
)

// This file classifies the argument of a command: the name of a built-in scenario, a scenario's
// file, a trace, or something else. A file's kind is decided by its content, not by its name.

// isTraceName reports whether a file has the name of a trace. Such a file is never run as a
// scenario, since it may have come by mail.
func isTraceName(path string) bool { return strings.HasSuffix(path, ".kps") }

func isObject(data []byte) bool { return bytes.HasPrefix(data, []byte("\x7fELF")) }

func IsTraceFile(path string) bool {
	if !IsFile(path) { // a pipe can be read only once
		return false
	}
	data, err := cli.ReadFile(path, cli.MostTrace)
	return err == nil && traces.IsTrace(data)
}

// giveTrace is the remedy where a trace is expected.
func giveTrace() string {
	return fmt.Sprintf("give a trace, which %s explore writes to traces/", cli.Typed())
}

// givenTrace reads a file that should be a trace. If it is something else, the error says what it
// is and, if it can be guessed, the command line that was meant.
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
	return data, nil // traces.Parse reports what is missing
}

// Patterns that recognise a scenario without running it, since it may have come by mail.
var (
	scenarioLine = lazyregexp.New(`(?m)^(?:\w+ *= *)?(?:scenario|machine|text|elf|kprobe|kretprobe|task|never|sometimes)\(`)
	nameLine     = lazyregexp.New(`(?m)^scenario\((?:name *= *)?"([^"\\]+)"`)
	canaryLine   = lazyregexp.New(`(?m)^never\((?:canary *= *)?"([^"\\]+)"\)`)
)

// glimpse extracts a scenario's name and canary from its program.
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

// noTrace is the error for a scenario given as a trace: it says where its trace is, or how to
// find one.
func noTrace(arg, name string, s *scenario.Scenario) error {
	if path := defaultTrace(s.Name); IsFile(path) {
		return fmt.Errorf("%s is a scenario, not a trace; its trace is %s: %s", name, path, instead(arg, path))
	}
	words := []string{cli.Typed(), "explore", cli.AsFile(name)}
	if !s.Expect.Sometimes && s.Expect.Canary != "" { // otherwise there is no trace
		words = append(words, "--mutant", s.Expect.Canary)
	}
	return fmt.Errorf("%s is a scenario, not a trace; to find one of it: %s", name, cli.Line(words...))
}

// defaultTrace returns the file to which explore writes the trace of a scenario.
func defaultTrace(name string) string { return filepath.Join("traces", TraceName(name)+".kps") }

// elsewhere suggests what was meant by the name of a missing trace.
func elsewhere(arg string) string {
	for _, path := range []string{filepath.Join("traces", arg), filepath.Join("traces", arg+".kps"), arg + ".kps"} {
		if arg != "" && IsFile(path) {
			return fmt.Sprintf("there is %s: %s", path, instead(arg, path))
		}
	}
	if bare := strings.TrimSuffix(filepath.Base(arg), ".kps"); bare != arg && slices.Contains(library.Names(), bare) {
		return fmt.Sprintf("it isn't written yet in this folder; to write it: %s",
			cli.Line(cli.Typed(), "explore", bare))
	}
	if near := nearest.Names(arg, inFolder(arg, ".kps")); len(near) > 0 {
		return fmt.Sprintf("did you mean %s?", cli.List(near))
	}
	for _, name := range nearest.Names(strings.TrimSuffix(filepath.Base(arg), ".kps"), library.Names()) {
		if s, err := library.Load(name); err == nil {
			return noTrace(arg, name, s).Error()
		}
	}
	return giveTrace()
}

// givenScenario reads a file that should be a scenario; arg isn't the name of a built-in one.
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
	case err == nil && strings.HasSuffix(arg, ".star") && utf8.Valid(data): // lang.Load reports what is missing
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
	plain := arg == bare && arg == name // typed like a built-in scenario's name
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

// isNothing returns an error if a file can't be of the wanted kind: it is a folder, an object,
// empty, or not text. It returns nil for other text.
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

// inCode is set by InCode.
var inCode bool

// InCode makes advice about a scenario's name use a Go string, because a test names it in code,
// not on its command line. It must be called before other goroutines run.
func InCode() { inCode = true }

// instead returns the typed command line with one word replaced.
func instead(word, by string) string {
	if inCode {
		return fmt.Sprintf("write %q", by)
	}
	words := append([]string{cli.Typed()}, os.Args[1:]...)
	for i := len(words) - 1; i > 1; i-- { // after the command's name
		if words[i] == word {
			words[i] = cli.AsFile(by)
			break
		}
	}
	return cli.Line(words...)
}

// inFolder lists the files with an ending in the folder of a path.
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

// FilesLike returns the folders, and the files with one of the endings, whose paths begin with
// begun.
func FilesLike(begun string, ends ...string) (list []string) {
	dir, _ := filepath.Split(begun)
	in := dir
	if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(dir, "~/") {
		in = home + dir[1:]
	}
	entries, err := os.ReadDir(filepath.Join(in, "."))
	if err != nil {
		return nil // missing folders aren't suggested
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

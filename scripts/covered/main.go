// Command covered measures which statements of the engine in Go, and of the kernel around it, searches run, and lists
// those that they don't.
//
//	go run ./scripts/covered                     ten minutes of kpsim fuzz
//	go run ./scripts/covered --search "fuzz --for 1m" --search "explore"
//	go run ./scripts/covered --profile c.out     of an existing profile
//
// kpsim is built with -cover. Blocks that no search runs are listed by file and line, unless excused.txt says why
// none has to. Exit status: 0 enough was run and no excuse is stale, 1 not, 2 bad input.
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"golang.org/x/tools/cover"
)

type options struct {
	Search  []string `help:"What to run, one after the other, in place of fuzz --for 10m." placeholder:"ARGS"`
	Profile string   `help:"Run nothing: read this profile, as go tool covdata textfmt writes it." placeholder:"FILE"`
	Least   float64  `help:"How much must be run of what isn't excused, in percent." default:"98"`
	Keep    string   `help:"Keep the profile here." placeholder:"FILE"`
}

// rooms are the packages whose statements count.
var rooms = []string{"kprobes", "smp/kernel"}

//go:embed excused.txt
var excusedText string

// An excuse is a line of excused.txt: blocks of a function that no search has to run, by the text that they begin
// with; "*" is the whole function.
type excuse struct {
	file, function, text, why string
	used                      bool
}

// A block is a piece of code that runs as a whole.
type block struct {
	file, function, text string
	line, statements     int
	run                  bool
}

func main() {
	var o options
	kong.Parse(&o, kong.Description("Measures which statements of the engine and the kernel searches run."))
	enough, err := run(&o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "covered:", err)
		os.Exit(2)
	}
	if !enough {
		os.Exit(1)
	}
}

func run(o *options) (enough bool, err error) {
	excuses, err := readExcuses(excusedText)
	if err != nil {
		return false, err
	}
	if o.Profile == "" {
		dir, err := os.MkdirTemp("", "covered")
		if err != nil {
			return false, err
		}
		defer os.RemoveAll(dir)
		if o.Profile, err = measure(o, dir); err != nil {
			return false, err
		}
	}
	profiles, err := cover.ParseProfiles(o.Profile)
	if err != nil {
		return false, fmt.Errorf("%s: %w; give one that go tool covdata textfmt has written", o.Profile, err)
	}
	blocks, err := read(profiles)
	if err != nil {
		return false, err
	}
	if len(blocks) == 0 {
		return false, fmt.Errorf("%s has no statement of %s", o.Profile, strings.Join(rooms, " and "))
	}
	return report(blocks, excuses, o.Least), nil
}

// measure builds kpsim, runs the searches, and returns the name of their profile.
func measure(o *options, dir string) (string, error) {
	binary, data, profile := filepath.Join(dir, "kpsim"), filepath.Join(dir, "data"), filepath.Join(dir, "profile")
	if o.Keep != "" {
		profile = o.Keep
	}
	if err := os.Mkdir(data, 0o777); err != nil {
		return "", err
	}
	packages := []string{"kpsim/cmd/kpsim"} // which writes the data when it ends
	for _, r := range rooms {
		packages = append(packages, "kpsim/"+r)
	}
	command := func(env, name string, args ...string) error {
		c := exec.Command(name, args...)
		c.Env = append(os.Environ(), env)
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		return c.Run()
	}
	if err := command("", "go", "build", "-cover", "-coverpkg="+strings.Join(packages, ","), "-o", binary,
		"./cmd/kpsim"); err != nil {
		return "", fmt.Errorf("go build: %w; run it at the root of the repository", err)
	}
	if len(o.Search) == 0 {
		o.Search = []string{"fuzz --for 10m"}
	}
	for _, s := range o.Search {
		args := append(strings.Fields(s), "--traces", filepath.Join(dir, "traces"))
		var ended *exec.ExitError
		if err := command("GOCOVERDIR="+data, binary, args...); errors.As(err, &ended) && ended.ExitCode() == 1 {
			fmt.Printf("kpsim %s has found something; the tree should be right\n", s)
		} else if err != nil {
			return "", fmt.Errorf("kpsim %s: %w", s, err)
		}
	}
	if err := command("", "go", "tool", "covdata", "textfmt", "-i="+data, "-o="+profile); err != nil {
		return "", fmt.Errorf("go tool covdata: %w", err)
	}
	return profile, nil
}

// read makes blocks from the rooms' profiles, in the order of files and lines.
func read(profiles []*cover.Profile) (list []block, err error) {
	for _, p := range profiles {
		file := strings.TrimPrefix(p.FileName, "kpsim/")
		if !slices.Contains(rooms, filepath.ToSlash(filepath.Dir(file))) {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		lines := bytes.Split(source, []byte("\n"))
		functions, err := functionsOf(file, source)
		if err != nil {
			return nil, err
		}
		for _, b := range p.Blocks {
			if b.StartLine > len(lines) {
				return nil, fmt.Errorf("the profile is of another %s", file)
			}
			list = append(list, block{file, functions(b.StartLine), text(lines, b), b.StartLine, b.NumStmt,
				b.Count > 0})
		}
	}
	return list, nil
}

// text returns the first line of a block that isn't trivial. It identifies the block after lines have moved.
func text(lines [][]byte, b cover.ProfileBlock) string {
	for n := b.StartLine; n <= b.EndLine && n <= len(lines); n++ {
		l := lines[n-1]
		if n == b.StartLine {
			l = l[min(b.StartCol-1, len(l)):]
		}
		if s := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(string(l)), "{")); s != "" && s != "}" &&
			!strings.HasPrefix(s, "//") {
			return s
		}
	}
	return ""
}

// functionsOf returns a function that names the function around a line.
func functionsOf(file string, source []byte) (func(line int) string, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, source, 0)
	if err != nil {
		return nil, err
	}
	return func(line int) string {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && set.Position(fn.Pos()).Line <= line &&
				line <= set.Position(fn.End()).Line {
				return fn.Name.Name
			}
		}
		return "-"
	}, nil
}

// readExcuses reads excused.txt. Each line has file, function, the beginning of the block and why no search has to
// run it, with tabs between; # begins a comment.
func readExcuses(text string) (list []*excuse, err error) {
	for n, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 4 || slices.Contains(f, "") {
			return nil, fmt.Errorf("excused.txt:%d: %q isn't file, function, text and reason with a tab between", n+1,
				line)
		}
		list = append(list, &excuse{f[0], f[1], f[2], f[3], false})
	}
	return list, nil
}

// report prints the blocks that weren't run, and returns whether enough were.
func report(blocks []block, excuses []*excuse, least float64) bool {
	all, ran, excused, stale := 0, 0, 0, 0
	for i := range blocks {
		b := &blocks[i]
		if b.statements == 0 {
			continue
		}
		e := excuseOf(excuses, b)
		switch {
		case b.run:
			all, ran = all+b.statements, ran+b.statements
		case e != nil:
			e.used = true
			excused += b.statements
		default:
			all += b.statements
			fmt.Printf("%s:%d: %s: never run: %s\n", b.file, b.line, b.function, b.text)
		}
	}
	for _, e := range excuses {
		if !e.used {
			stale++
			fmt.Printf("excused.txt: %s: %s: %q is run, or isn't there any more\n", e.file, e.function, e.text)
		}
	}
	share := 100 * float64(ran) / float64(max(all, 1))
	fmt.Printf("%d of %d statements were run, %.2f %%, and %d more are excused; %d excuses are stale\n",
		ran, all, share, excused, stale)
	return share >= least && stale == 0
}

// excuseOf returns the excuse of a block, nil if it has none.
func excuseOf(list []*excuse, b *block) *excuse {
	for _, e := range list {
		if e.file == b.file && e.function == b.function && (e.text == "*" || e.text == b.text) {
			return e
		}
	}
	return nil
}

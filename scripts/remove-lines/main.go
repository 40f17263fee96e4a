// Command remove-lines measures the tests: it draws lines of the engine and of the kernel that wait, sync, lock,
// check or restore, removes each by itself, and checks whether the tests notice.
//
//	go run ./scripts/remove-lines --draw 30 --seed 1
//	go run ./scripts/remove-lines --only kprobes/optimize.go:123
//
// The tree isn't changed: the compiler gets the other file by
// -overlay. A line that can't be removed alone (the code doesn't compile without it) is reported, and another one is
// drawn. Exit status: 0 all were noticed, 1 some were not, 2 bad input.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

type options struct {
	Draw  int           `help:"How many lines." default:"30"`
	Seed  uint64        `help:"Which ones: the same seed draws the same lines of the same tree." default:"1"`
	Only  []string      `help:"These lines, as FILE:LINE, instead of drawn ones." placeholder:"FILE:LINE"`
	List  bool          `help:"Print the lines there are to draw from, and no more."`
	Limit time.Duration `help:"How long one stage of tests may take: one that hangs has noticed." default:"15m"`
}

// The packages whose lines are drawn.
var rooms = []string{"kprobes", "smp/kernel"}

// The tests, the quickest first: the first stage that fails ends a line's trial.
var stages = [][]string{
	{"./kprobes/...", "./smp/kernel", "./smp"},
	{"./properties", "./kprobes/mutants", "./internal/eval/matrix", "./internal/scenario/...", "./traces/...",
		"./sched"},
	{"./internal/search/...", "./cmd/kpsim", "."},
}

// called matches functions that wait, sync, lock or restore, by their names.
var called = regexp.MustCompile(`(?i)lock|wait|sync|rcu|grace|quiesce|stop|flush|drain|kick|irq|preempt|disable|enable|poke|write|restore|put|get|free|hold|release|clear|reset|serial|ipi|arm|revive|wake|complete|check|assert|forget|unregister|kill|retire|pop|push|retry|optimize|list|replace|del|drop|drain|discard|settle|sweep`)

// A line is one statement that may be removed.
type line struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Kind string `json:"kind"` // call, check or restore
	Text string `json:"text"`

	from, to int // offsets in the file
}

func (l line) where() string { return fmt.Sprintf("%s:%d", l.File, l.Line) }

func main() {
	var o options
	kong.Parse(&o, kong.Description("Removes lines of the engine and of the kernel, and sees whether the "+
		"tests notice."))
	survivors, err := run(o)
	if err != nil {
		fmt.Fprintf(os.Stderr, "remove-lines: %v\n", err)
		os.Exit(2)
	}
	if survivors > 0 {
		os.Exit(1)
	}
}

func run(o options) (survivors int, err error) {
	var all []line
	for _, room := range rooms {
		lines, err := linesOf(room)
		if err != nil {
			return 0, fmt.Errorf("%w: run it where go.mod is", err)
		}
		all = append(all, lines...)
	}
	if o.List {
		for _, l := range all {
			fmt.Printf("%-36s %-8s %s\n", l.where(), l.Kind, l.Text)
		}
		return 0, nil
	}
	left := o.Draw
	if len(o.Only) > 0 {
		all = slices.DeleteFunc(all, func(l line) bool { return !slices.Contains(o.Only, l.where()) })
		if len(all) < len(o.Only) {
			return 0, fmt.Errorf("--only: %d of %d lines are none that can be removed: --list prints those",
				len(o.Only)-len(all), len(o.Only))
		}
		left = len(all)
	} else {
		r := rand.New(rand.NewPCG(o.Seed, 0))
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	noticed, tried := 0, 0
	for _, l := range all {
		if left == 0 {
			break
		}
		by, err := try(l, o.Limit)
		if err != nil {
			return survivors, err
		}
		fmt.Printf("%-36s %-8s %-60s %s\n", l.where(), l.Kind, l.Text, by)
		switch by {
		case alone:
			continue
		case "":
			survivors++
		default:
			noticed++
		}
		left--
		tried++
	}
	fmt.Printf("%d of %d noticed\n", noticed, tried)
	return survivors, nil
}

// linesOf finds the statements of a package that may be removed, its tests left
// out, in the order of the files.
func linesOf(room string) ([]line, error) {
	names, err := filepath.Glob(filepath.Join(room, "*.go"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no Go files in %s", room)
	}
	var all []line
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		lines, err := linesOfFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, lines...)
	}
	return all, nil
}

func linesOfFile(name string) ([]line, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var lines []line
	ast.Inspect(file, func(n ast.Node) bool {
		s, is := n.(ast.Stmt)
		if !is {
			return true
		}
		from, to := set.Position(s.Pos()), set.Position(s.End())
		first, _, _ := strings.Cut(string(text[from.Offset:to.Offset]), "\n")
		if kind := kindOf(s); kind != "" {
			lines = append(lines, line{name, from.Line, kind, first, from.Offset, to.Offset})
		}
		return true
	})
	return lines, nil
}

// kindOf returns what a statement is for, judged by its form; "" if it isn't drawn.
func kindOf(s ast.Stmt) string {
	switch s := s.(type) {
	case *ast.ExprStmt:
		if call, is := s.X.(*ast.CallExpr); is && called.MatchString(nameOf(call.Fun)) {
			return "call"
		}
	case *ast.DeferStmt:
		if called.MatchString(nameOf(s.Call.Fun)) {
			return "call"
		}
	case *ast.IfStmt:
		if s.Else == nil && leaves(s.Body) {
			return "check"
		}
	case *ast.AssignStmt:
		if s.Tok == token.ASSIGN {
			switch s.Lhs[0].(type) {
			case *ast.SelectorExpr, *ast.IndexExpr:
				return "restore"
			}
		}
	}
	return ""
}

func nameOf(f ast.Expr) string {
	switch f := f.(type) {
	case *ast.SelectorExpr:
		return nameOf(f.X) + "." + f.Sel.Name
	case *ast.Ident:
		return f.Name
	}
	return ""
}

// leaves reports whether a block ends by leaving: the code after it then runs only if the
// condition before it is false.
func leaves(b *ast.BlockStmt) bool {
	if len(b.List) == 0 {
		return false
	}
	switch b.List[len(b.List)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	}
	return false
}

// alone is the answer of try for a line without which the code doesn't compile.
const alone = "(doesn't compile without)"

// try runs the tests without a line and returns which of them noticed first, or "" if none did.
func try(l line, limit time.Duration) (by string, err error) {
	dir, err := os.MkdirTemp("", "remove-lines")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	overlay, err := without(l, dir)
	if err != nil {
		return "", err
	}
	if exec.Command("go", "vet", "-overlay", overlay, "./"+filepath.Dir(l.File)).Run() != nil {
		return alone, nil
	}
	for _, packages := range stages {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		test := exec.CommandContext(ctx, "go", append([]string{"test", "-failfast", "-overlay", overlay},
			packages...)...)
		test.WaitDelay = time.Second
		said, err := test.CombinedOutput()
		late := ctx.Err() != nil
		cancel()
		switch {
		case late:
			return "a test that doesn't end", nil
		case err == nil:
			continue
		}
		if by := first(said); by != "" {
			return by, nil
		}
		return "", fmt.Errorf("%s: the tests were not run: %w\n%s", l.where(), err, said)
	}
	return "", nil
}

// without writes the file without the line into dir, and the overlay that puts
// it in the file's place.
func without(l line, dir string) (overlay string, err error) {
	text, err := os.ReadFile(l.File)
	if err != nil {
		return "", err
	}
	text, err = format.Source(slices.Concat(text[:l.from], text[l.to:]))
	if err != nil {
		return "", fmt.Errorf("%s: %w", l.where(), err)
	}
	replaced := filepath.Join(dir, "replaced.go")
	if err := os.WriteFile(replaced, text, 0o600); err != nil {
		return "", err
	}
	path, err := filepath.Abs(l.File)
	if err != nil {
		return "", err
	}
	says, err := json.Marshal(map[string]map[string]string{"Replace": {path: replaced}})
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, errors.Join(err, os.WriteFile(overlay, says, 0o600))
}

var (
	failed   = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	panicked = regexp.MustCompile(`(?m)^(panic: .*|fatal error: .*|FAIL\s+kpsim\S*)`)
)

// first returns the innermost name of the first test that failed, or what stopped it.
func first(said []byte) string {
	if all := failed.FindAllSubmatch(said, -1); all != nil {
		name := all[0][1]
		for _, m := range all[1:] {
			if !bytes.HasPrefix(m[1], append(slices.Clone(name), '/')) {
				break
			}
			name = m[1]
		}
		return string(name)
	}
	if m := panicked.Find(said); m != nil {
		return string(m)
	}
	return ""
}

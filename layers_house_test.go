package kpsim

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "kpsim"

// A finding is a line that breaks a rule, and what to do instead.
type finding struct {
	pos    token.Position
	rule   string
	remedy string
}

func (f finding) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", f.pos.Filename, f.pos.Line, f.rule, f.remedy)
}

// A house is a tree of packages that is checked against the layers.
type house struct {
	t        *testing.T
	root     string
	fset     *token.FileSet
	packages map[string]*room
	std      types.Importer // what isn't of this module, by export data
	findings []finding
}

// A room is one package of the house, parsed and type-checked.
type room struct {
	layer layer
	paths []string
	files []*ast.File
	info  *types.Info
	types *types.Package
}

func newHouse(t *testing.T, root string) *house {
	h := &house{t: t, root: root, fset: token.NewFileSet(), packages: map[string]*room{}}
	h.std = importer.ForCompiler(h.fset, "gc", exported(t))
	return h
}

func (h *house) report(pos token.Pos, rule, format string, args ...any) {
	f := finding{h.fset.Position(pos), rule, fmt.Sprintf(format, args...)}
	for _, g := range h.findings { // a float on both sides of an operator is one finding
		if g.pos.Filename == f.pos.Filename && g.pos.Line == f.pos.Line && g.rule == rule && g.remedy == f.remedy {
			return
		}
	}
	h.findings = append(h.findings, f)
}

// checkAll checks every package of the tree against every rule.
func (h *house) checkAll() {
	for _, dir := range h.dirs() {
		if dir == "." {
			continue // doc.go: no code
		}
		r := h.room(dir)
		h.checkRoom(dir, r)
	}
}

// dirs returns the directories below root that hold Go files other than tests.
func (h *house) dirs() []string {
	var dirs []string
	err := filepath.WalkDir(h.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		name := d.Name()
		if path != h.root && (name == "testdata" || name[0] == '.' || name[0] == '_') {
			return filepath.SkipDir
		}
		if len(goFiles(h.t, path)) > 0 {
			rel, err := filepath.Rel(h.root, path)
			dirs = append(dirs, filepath.ToSlash(rel))
			return err
		}
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return dirs
}

// goFiles returns the Go files of a directory, without tests.
func goFiles(t *testing.T, dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, e := range entries {
		if n := e.Name(); !e.IsDir() && strings.HasSuffix(n, ".go") && !strings.HasSuffix(n, "_test.go") &&
			built(dir, n) {
			paths = append(paths, filepath.Join(dir, n))
		}
	}
	return paths
}

// built reports whether a file is part of the build: its constraints hold.
func built(dir, name string) bool {
	ok, err := build.Default.MatchFile(dir, name)
	return ok || err != nil
}

// room parses and type-checks a package, once. A planted tree holds only what
// is wrong: what it imports besides comes from the real tree.
func (h *house) room(dir string) *room {
	if r := h.packages[dir]; r != nil {
		return r
	}
	r := &room{info: &types.Info{
		Types:      map[ast.Expr]types.TypeAndValue{},
		Uses:       map[*ast.Ident]types.Object{},
		Defs:       map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}}
	h.packages[dir] = r
	if i := slices.IndexFunc(layers, func(l layer) bool { return l.pkg == dir }); i >= 0 {
		r.layer = layers[i]
	}
	at := filepath.Join(h.root, dir)
	if _, err := os.Stat(at); err != nil {
		at = dir
	}
	r.paths = goFiles(h.t, at)
	for _, path := range r.paths {
		f, err := parser.ParseFile(h.fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			h.t.Fatal(err)
		}
		r.files = append(r.files, f)
	}
	conf := types.Config{Importer: h, Error: func(err error) {
		// Rules that go by type would be blind here, so this isn't let pass.
		if e, ok := err.(types.Error); ok && !e.Soft {
			h.report(e.Pos, "compile", "%s", e.Msg)
		}
	}}
	r.types, _ = conf.Check(module+"/"+dir, h.fset, r.files, r.info)
	return r
}

// Import implements types.Importer.
func (h *house) Import(path string) (*types.Package, error) {
	dir, ours := strings.CutPrefix(path, module+"/")
	if !ours {
		return h.std.Import(path)
	}
	if r := h.room(dir); r.types != nil {
		return r.types, nil
	}
	return nil, fmt.Errorf("import cycle through %s", path)
}

// exports asks the go tool once where the export data of every package lies
// that is imported from outside this module, here or in a planted file.
var exports = sync.OnceValues(func() (map[string]string, error) {
	var paths []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != "." && path[0] == '.' {
			return fs.SkipDir // .ci/lint is a module of its own
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, s := range f.Imports {
			if p, _ := strconv.Unquote(s.Path.Value); p != module && !strings.HasPrefix(p, module+"/") &&
				p != "unsafe" {
				paths = append(paths, p)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}"}
	cmd := exec.Command("go", append(args, slices.Compact(paths)...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %v\n%s", err, stderr.String())
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if path, file, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			files[path] = file
		}
	}
	return files, nil
})

func exported(t *testing.T) func(string) (io.ReadCloser, error) {
	files, err := exports()
	if err != nil {
		t.Fatal(err)
	}
	return func(path string) (io.ReadCloser, error) {
		file, ok := files[path]
		if !ok {
			return nil, fmt.Errorf("no export data for %s", path)
		}
		return os.Open(file)
	}
}

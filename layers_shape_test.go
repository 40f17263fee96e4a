package kpsim

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

var updateShape = flag.Bool("update-shape", false, "write testdata/shape anew, if it shrinks")

// A parsedFile is a Go file of the tree, tests and the campaign's among them.
type parsedFile struct {
	path string
	text string
	file *ast.File
}

// fileSet has the positions of parsedFiles.
var fileSet = token.NewFileSet()

// parsedFiles parses the tree once, for all rules that go by syntax.
var parsedFiles = sync.OnceValues(func() (list []parsedFile, err error) {
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != "."):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(fileSet, path, text, parser.ParseComments|parser.SkipObjectResolution)
		list = append(list, parsedFile{filepath.ToSlash(path), string(text), f})
		return err
	})
	return list, err
})

func tree(t *testing.T) []parsedFile {
	t.Helper()
	files, err := parsedFiles()
	if err != nil || len(files) < 1000 {
		t.Fatal(len(files), "files:", err)
	}
	return files
}

// The bounds of what one type, and one line, may hold.
const (
	methodsMost = 60
	fieldsMost  = 25
	columnsMost = 120
)

// TestShape holds types and lines to their bounds. testdata/shape lists what still exceeds them, and
// by how much: a number there may only shrink, and has to when there is less. Methods and fields that are
// promoted from embedded types aren't counted.
func TestShape(t *testing.T) {
	now := make(map[string]int)
	for _, f := range tree(t) {
		shapeOf(f, now)
	}
	maps.DeleteFunc(now, func(what string, n int) bool {
		rule, _, _ := strings.Cut(what, " ")
		return rule == "methods" && n <= methodsMost || rule == "fields" && n <= fieldsMost
	})
	const path = "testdata/shape"
	list, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	known := make(map[string]int)
	for line := range strings.Lines(string(list)) {
		var rule, what string
		var n int
		if _, err := fmt.Sscan(line, &rule, &what, &n); err != nil {
			t.Fatalf("%s: %q: %v", path, line, err)
		}
		known[rule+" "+what] = n
	}
	for _, what := range slices.Sorted(maps.Keys(now)) {
		if now[what] > known[what] {
			t.Errorf("%s: %d, at most %d (types: %d methods, %d fields; lines: those over %d columns in a package)",
				what, now[what], known[what], methodsMost, fieldsMost, columnsMost)
		}
	}
	if t.Failed() || maps.Equal(now, known) {
		return
	}
	if !*updateShape {
		t.Fatalf("%s says more than there is: go test . -run Shape -update-shape", path)
	}
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(now)) {
		fmt.Fprintf(&b, "%s %d\n", what, now[what])
	}
	write(t, path, b.String())
}

// TestShapeOf: a file's methods, fields and long lines are counted.
func TestShapeOf(t *testing.T) {
	text := "package p\n\ntype T struct {\n\ta, b int\n}\n\nfunc (t *T) f() {}\n\n// " +
		strings.Repeat("x", columnsMost) + "\n"
	file, err := parser.ParseFile(fileSet, "planted.go", text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]int)
	shapeOf(parsedFile{"p/planted.go", text, file}, got)
	if want := map[string]int{"methods p.T": 1, "fields p.T": 2, "lines p": 1}; !maps.Equal(got, want) {
		t.Errorf("%v, and should be %v", got, want)
	}
}

// shapeOf counts a file's methods and fields by type, and its long lines by package.
func shapeOf(f parsedFile, to map[string]int) {
	pkg := filepath.ToSlash(filepath.Dir(f.path))
	strs := make(map[int]bool) // lines that are inside a raw string
	test := strings.HasSuffix(f.path, "_test.go")
	ast.Inspect(f.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv != nil && !test {
				to["methods "+pkg+"."+receiver(n.Recv.List[0].Type)]++
			}
		case *ast.TypeSpec:
			if s, ok := n.Type.(*ast.StructType); ok && !test {
				to["fields "+pkg+"."+n.Name.Name] = s.Fields.NumFields()
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING && n.Value[0] == '`' {
				for l := fileSet.Position(n.Pos()).Line; l <= fileSet.Position(n.End()).Line; l++ {
					strs[l] = true
				}
			}
		}
		return true
	})
	n := 0
	for line := range strings.Lines(f.text) {
		n++
		if line = strings.TrimRight(line, "\r\n"); columns(line) > columnsMost && !strs[n] && !isData(line) {
			to["lines "+pkg]++
		}
	}
}

// columns is how wide a line is, with tabs of four.
func columns(line string) int { return utf8.RuneCountInString(line) + 3*strings.Count(line, "\t") }

// isData reports whether a line is a row of a table, or a string of its own.
func isData(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "{") || strings.HasPrefix(line, `"`) || strings.HasPrefix(line, "//go:")
}

// receiver is the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

// headless begins a comment without its subject.
var headless = regexp.MustCompile(`^// ?(?i:of|that|likewise)\b`)

// namedOf declares a function of that name, which is its comment's subject.
var namedOf = regexp.MustCompile(`^func (\([^)]*\) )?[Oo]f[(\[]`)

// TestCommentsHaveASubject: no comment that stands on lines of its own begins with "of", "that" or
// "likewise".
func TestCommentsHaveASubject(t *testing.T) {
	for _, f := range tree(t) {
		for _, at := range headlessIn(f.file, f.text) {
			t.Errorf("%s: a comment without a subject: name what it is about", fileSet.Position(at))
		}
	}
	planted := "package p\n\n// Of f: it is short.\nfunc f() {} // of g\n\n// Of is short.\nfunc Of() {}\n\n// g is that\n// of f.\nfunc g() {}\n"
	file, err := parser.ParseFile(fileSet, "planted.go", planted, parser.ParseComments)
	if list := headlessIn(file, planted); err != nil || len(list) != 1 {
		t.Error("one comment is planted, found are", list, err)
	}
}

func headlessIn(f *ast.File, text string) (list []token.Pos) {
	lines := strings.Split(text, "\n")
	for _, g := range f.Comments {
		line, next := lines[fileSet.Position(g.Pos()).Line-1], lines[min(fileSet.Position(g.End()).Line, len(lines)-1)]
		if headless.MatchString(g.List[0].Text) && strings.HasPrefix(strings.TrimSpace(line), "//") &&
			!namedOf.MatchString(next) {
			list = append(list, g.Pos())
		}
	}
	return list
}

// link is a link to a declaration, as go doc makes one.
var link = regexp.MustCompile(`\[\*?([A-Za-z_]\w*(?:\.\w+){0,2})\]`)

// TestLinksExist: what a doc comment names in brackets is declared in the tree.
func TestLinksExist(t *testing.T) {
	declared := make(map[string]bool)
	for _, f := range tree(t) {
		ast.Inspect(f.file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				declared[id.Name] = true
			}
			return true
		})
	}
	for _, f := range tree(t) {
		for _, d := range f.file.Decls {
			if missing := brokenLinks(docOf(d), declared); len(missing) > 0 {
				t.Errorf("%s: %v: nothing has such a name", fileSet.Position(d.Pos()), missing)
			}
		}
	}
	if missing := brokenLinks("See [TestLinksExist], [os.ReadFile] and [NoSuchThing].", declared); len(missing) != 1 {
		t.Error("one link to nothing is planted, found are", missing)
	}
}

func docOf(d ast.Decl) string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return d.Doc.Text()
	case *ast.GenDecl:
		return d.Doc.Text()
	}
	return ""
}

func brokenLinks(doc string, declared map[string]bool) (missing []string) {
	for _, m := range link.FindAllStringSubmatch(doc, -1) {
		last := m[1][strings.LastIndex(m[1], ".")+1:]
		if ast.IsExported(last) && last != strings.ToUpper(last) && !declared[last] {
			missing = append(missing, m[1])
		}
	}
	return missing
}

package kpsim

import (
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strconv"
	"strings"
)

// rules are the names that findings go by.
var rules = []string{"unlisted", "name", "lines", "compile", "layer", "import", "go", "select", "channel", "map-range",
	"float", "owner", "arch"}

// bans reports whether a rule or an import path is banned from the package.
func (l *layer) bans(what string) bool {
	return !slices.Contains(l.free, "*") && !slices.Contains(l.free, what)
}

func (h *house) checkRoom(dir string, r *room) {
	if r.layer.pkg == "" {
		for _, f := range r.files {
			h.report(f.Package, "unlisted",
				"package %s has no row in the layer table: decide what it may import and add one to layers_test.go",
				dir)
		}
		r.layer.pkg = dir
	}
	for i, f := range r.files {
		if slices.Contains(bannedNames, f.Name.Name) || slices.Contains(bannedNames, path.Base(dir)) {
			h.report(f.Package, "name", "package %s: put the code beside its user, or name the concept", f.Name.Name)
		}
		if n := h.fset.File(f.Package).LineCount(); n > fileLinesMax &&
			!strings.Contains(path.Base(r.paths[i]), "_table") {
			h.report(f.Package, "lines",
				"%d lines, at most %d: split it by concern (tables go to a file called *_table.go)", n, fileLinesMax)
		}
		h.checkImports(r, f)
		h.checkArch(dir, r.paths[i], r, f)
		ast.Inspect(f, func(n ast.Node) bool {
			h.checkNode(r, n)
			return true
		})
	}
	if r.layer.owned {
		h.checkOwners(r)
	}
}

// checkImports holds the imports against the table and the list of bans.
func (h *house) checkImports(r *room, f *ast.File) {
	for _, s := range f.Imports {
		p, _ := strconv.Unquote(s.Path.Value)
		if to, ours := strings.CutPrefix(p, module+"/"); ours {
			all := slices.Contains(r.layer.may, "*") && !strings.HasPrefix(to, "cmd/")
			if !all && !slices.Contains(r.layer.may, to) {
				h.report(s.Pos(), "layer", "%s may not import %s: go through what it may import (%s), or move the code",
					r.layer.pkg, to, strings.Join(r.layer.may, ", "))
			}
			continue
		}
		for _, b := range bannedImports {
			if (p == b.path || strings.HasPrefix(p, b.path+"/")) && r.layer.bans("import") && r.layer.bans(b.path) {
				h.report(s.Pos(), "import", "%s has no place in a run: %s", p, b.instead)
			}
		}
	}
}

// checkNode looks for what would make a run depend on more than its choices.
func (h *house) checkNode(r *room, n ast.Node) {
	found := func(rule, remedy string) {
		if r.layer.bans(rule) {
			h.report(n.Pos(), rule, "%s", remedy)
		}
	}
	const channels = "channels are a second scheduler: wait on a cell, or hand the value to a function"
	switch n := n.(type) {
	case *ast.GoStmt:
		found("go", "a goroutine is a second scheduler: use a sim.Fibre")
	case *ast.SelectStmt:
		found("select", "select chooses at random: ask the strategy")
	case *ast.ChanType, *ast.SendStmt:
		found("channel", channels)
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			found("channel", channels)
		}
	case *ast.RangeStmt:
		t := r.info.TypeOf(n.X)
		if ranges[*types.Map](t) {
			found("map-range", "the order differs from run to run: keep a slice beside the map, or sort the keys")
		}
		if ranges[*types.Chan](t) {
			found("channel", channels)
		}
	case *ast.BasicLit:
		if n.Kind == token.FLOAT || n.Kind == token.IMAG {
			found("float", "use integers and ratios: platforms round differently")
		}
	}
	if e, ok := n.(ast.Expr); ok {
		switch t := r.info.TypeOf(e); {
		case t == nil:
		case isFloat(t):
			found("float", "use integers and ratios: platforms round differently")
		default:
			if _, ok := t.Underlying().(*types.Chan); ok {
				found("channel", channels)
			}
		}
	}
}

// ranges reports whether a range over t may be a range over a K: t is one, or
// a type parameter that may stand for one.
func ranges[K types.Type](t types.Type) bool {
	if t == nil {
		return false
	}
	switch u := t.Underlying().(type) {
	case K:
		return true
	case *types.Interface: // of a type parameter: its constraint
		for e := range u.EmbeddedTypes() {
			if ranges[K](e) {
				return true
			}
		}
	case *types.Union:
		for term := range u.Terms() {
			if ranges[K](term.Type()) {
				return true
			}
		}
	}
	return false
}

func isFloat(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&(types.IsFloat|types.IsComplex) != 0
}

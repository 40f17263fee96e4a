package kpsim

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// checkOwners: state that CPUs share is a cell of kapi, so that an access is a
// point. Any other field that is written after its struct was built says who
// alone may touch it: "owned by NAME" or "set at WHEN", on its line, on the line
// above, or in a comment above the group of fields it belongs to.
func (h *house) checkOwners(r *room) {
	says := map[types.Object]bool{}
	for _, f := range r.files {
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.StructType); ok {
				h.markers(r, s, says)
			}
			return true
		})
	}
	for _, f := range r.files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok { // a variable may hold a function
				h.checkWrites(r, says, d)
				continue
			}
			if fn.Body == nil {
				continue
			}
			built := isConstructor(fn.Name.Name)
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if lit, ok := n.(*ast.FuncLit); ok && built {
					// A closure made by a constructor runs later.
					h.checkWrites(r, says, lit.Body)
					return false
				}
				if !built {
					h.checkWrite(r, says, n)
				}
				return true
			})
		}
	}
}

func (h *house) checkWrites(r *room, says map[types.Object]bool, body ast.Node) {
	ast.Inspect(body, func(n ast.Node) bool {
		h.checkWrite(r, says, n)
		return true
	})
}

// isConstructor reports whether a function builds a struct that no other code
// sees yet.
func isConstructor(name string) bool {
	for _, prefix := range []string{"New", "new", "Init", "init", "Boot", "boot"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// markers notes the fields of s whose declaration says who owns them. A comment
// above a field covers those that follow until a blank line.
func (h *house) markers(r *room, s *ast.StructType, says map[types.Object]bool) {
	line := func(p token.Pos) int { return h.fset.Position(p).Line }
	group, last := false, 0
	for _, f := range s.Fields.List {
		begin, end := line(f.Pos()), line(f.End())
		if f.Doc != nil {
			begin = line(f.Doc.Pos())
		}
		if f.Comment != nil {
			end = line(f.Comment.End())
		}
		if begin > last+1 {
			group = false
		}
		group = group || marked(f.Doc)
		last = end
		if !group && !marked(f.Comment) {
			continue
		}
		for _, name := range f.Names {
			says[r.info.Defs[name]] = true
		}
		if id := embedded(f); id != nil {
			says[r.info.Defs[id]] = true
		}
	}
}

func marked(g *ast.CommentGroup) bool {
	return g != nil && (strings.Contains(g.Text(), "owned by ") || strings.Contains(g.Text(), "set at "))
}

// embedded returns the identifier that names an embedded field, nil for others.
func embedded(f *ast.Field) *ast.Ident {
	if len(f.Names) > 0 {
		return nil
	}
	t := f.Type
	for {
		switch e := t.(type) {
		case *ast.StarExpr:
			t = e.X
		case *ast.IndexExpr:
			t = e.X
		case *ast.SelectorExpr:
			return e.Sel
		case *ast.Ident:
			return e
		default:
			return nil
		}
	}
}

// checkWrite reports the fields that a statement writes and that have no owner.
func (h *house) checkWrite(r *room, says map[types.Object]bool, n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for _, e := range n.Lhs {
			h.checkTarget(r, says, e)
		}
	case *ast.IncDecStmt:
		h.checkTarget(r, says, n.X)
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			h.checkTarget(r, says, n.Key)
			h.checkTarget(r, says, n.Value)
		}
	case *ast.CallExpr:
		// The builtins that write through their first argument.
		if id, ok := n.Fun.(*ast.Ident); ok && len(n.Args) > 0 {
			if b, ok := r.info.Uses[id].(*types.Builtin); ok &&
				(b.Name() == "delete" || b.Name() == "clear" || b.Name() == "copy") {
				h.checkTarget(r, says, n.Args[0])
			}
		}
	}
}

// checkTarget follows what is written down to the fields that hold it: writing
// x.a.b[i] changes b, and a as well if it is no pointer.
func (h *house) checkTarget(r *room, says map[types.Object]bool, e ast.Expr) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		h.checkTarget(r, says, e.X)
	case *ast.IndexExpr:
		h.checkTarget(r, says, e.X)
	case *ast.SliceExpr:
		h.checkTarget(r, says, e.X)
	case *ast.SelectorExpr:
		sel := r.info.Selections[e]
		if sel == nil || sel.Kind() != types.FieldVal {
			return
		}
		field := sel.Obj().(*types.Var).Origin()
		if field.Pkg() == r.types && !says[field] && !isCell(field.Type()) {
			h.report(e.Sel.Pos(), "owner",
				"%s is written here, but its declaration (%s) names no owner: make it a cell of kapi, or say // owned by NAME there",
				field.Name(), h.fset.Position(field.Pos()))
		}
		if _, ok := r.info.TypeOf(e.X).Underlying().(*types.Struct); ok {
			h.checkTarget(r, says, e.X)
		}
	}
}

// isCell reports whether t is a shared cell of kapi, or an array or slice of
// such cells.
func isCell(t types.Type) bool {
	switch u := t.(type) {
	case *types.Array:
		return isCell(u.Elem())
	case *types.Slice:
		return isCell(u.Elem())
	case *types.Named:
		o := u.Obj()
		if o.Pkg() == nil || o.Pkg().Path() != module+"/smp/kapi" {
			return false
		}
		switch o.Name() {
		case "Var", "List", "Table", "PerCPU":
			return true
		}
	}
	return false
}

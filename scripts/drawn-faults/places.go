package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"hash/fnv"
	"regexp"
	"strings"
)

// A Fault is one change at one place.
type Fault struct {
	ID     string `json:"id"` // place and kind as text, unchanged when lines move
	Kind   string `json:"kind"`
	File   string `json:"file"`
	Func   string `json:"func"`
	Line   int    `json:"line"`
	Before string `json:"before"`
	After  string `json:"after"`

	edits    []edit
	from, to int // the bytes that it encloses
}

// An edit is an insertion into a file, or a replacement of cut bytes. In its text $n is the
// number of the fault.
type edit struct {
	at   int
	text string
	cut  int
	ends bool // it closes an edit that ends here, and goes before those that begin here
}

// The kinds, in the order of the table.
const (
	dropped  = "statement dropped"
	swapped  = "statements swapped"
	returned = "early return"
	negated  = "condition negated"
	logic    = "&& and ||"
	offByOne = "comparison off by one"
	constant = "constant off by one"
	argument = "arguments swapped"
	once     = "loop body once"
)

var kinds = []string{dropped, swapped, returned, negated, logic, offByOne, constant, argument, once}

// helper is the import name of package on in a rewritten source.
const helper = "on__"

// A finder lists the faults of a file.
type finder struct {
	set    *token.FileSet
	info   *types.Info
	pkg    *types.Package
	file   *ast.File
	name   string // the file's, relative to the root
	text   []byte
	fn     string // the function being walked
	types  []*ast.FuncType
	seen   map[string]int // how often an ID occurred, without its number
	faults []*Fault
}

func (f *finder) offset(p token.Pos) int { return f.set.Position(p).Offset }

func (f *finder) source(n ast.Node) string {
	return string(f.text[f.offset(n.Pos()):f.offset(n.End())])
}

// find lists the faults of all functions, in the order of the text.
func (f *finder) find() []*Fault {
	for _, d := range f.file.Decls {
		if d, is := d.(*ast.FuncDecl); is && d.Body != nil {
			f.fn = funcName(d)
			f.function(d.Type, d.Body)
		}
	}
	return f.faults
}

// funcName is a function's name with its receiver's.
func funcName(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return d.Name.Name
	}
	t := d.Recv.List[0].Type
	if s, is := t.(*ast.StarExpr); is {
		t = s.X
	}
	switch i := t.(type) {
	case *ast.IndexExpr:
		t = i.X
	case *ast.IndexListExpr:
		t = i.X
	}
	return t.(*ast.Ident).Name + "." + d.Name.Name
}

func (f *finder) function(t *ast.FuncType, body *ast.BlockStmt) {
	f.types = append(f.types, t)
	f.walk(body)
	f.types = f.types[:len(f.types)-1]
}

func (f *finder) walk(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			f.function(n.Type, n.Body)
			return false
		case *ast.GenDecl:
			return n.Tok != token.CONST && n.Tok != token.TYPE
		case *ast.ArrayType, *ast.StructType, *ast.FuncType:
			return false
		case *ast.BlockStmt:
			f.block(n.Lbrace, n.List)
		case *ast.CaseClause:
			f.block(n.Colon, n.Body)
		case *ast.IfStmt:
			f.condition(n.Cond)
		case *ast.ForStmt:
			f.condition(n.Cond)
			f.loop(n.Body)
		case *ast.RangeStmt:
			f.loop(n.Body)
		case *ast.BinaryExpr:
			return f.binary(n)
		case *ast.CallExpr:
			f.call(n)
		case *ast.BasicLit:
			f.constant(n)
		case *ast.Ident:
			f.constant(n)
		case *ast.SelectorExpr:
			return !f.constant(n)
		}
		return true
	})
}

// block lists the faults of a block's statements; begin is the brace or colon before them.
func (f *finder) block(begin token.Pos, list []ast.Stmt) {
	if len(list) > 0 {
		if _, is := list[0].(*ast.ReturnStmt); !is {
			f.early(begin, list[0])
		}
	}
	for i, s := range list {
		if !plain(s) {
			continue
		}
		text := line(f.source(s))
		f.add(dropped, s, text, "", edit{text: "if !" + helper + ".N($n) { "}, edit{text: " }", ends: true})
		if i+1 < len(list) && plain(list[i+1]) {
			t := list[i+1]
			second := line(f.source(t))
			f.addTo(swapped, s.Pos(), t.End(), text+"; "+second, second+"; "+text,
				edit{at: f.offset(s.Pos()), text: "for i__ := range 2 { if (i__ == 0) != " + helper + ".N($n) { "},
				edit{at: f.offset(s.End()), text: " } else {", ends: true},
				edit{at: f.offset(t.End()), text: " }}", ends: true})
		}
	}
}

// plain reports whether a statement can be left out, or done before the one above it: it
// declares nothing and ends nothing.
func plain(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ExprStmt:
		call, is := s.X.(*ast.CallExpr)
		if !is {
			return false
		}
		name, is := call.Fun.(*ast.Ident)
		return !is || name.Name != "panic"
	case *ast.AssignStmt:
		return s.Tok != token.DEFINE
	case *ast.IncDecStmt:
		return true
	}
	return false
}

// early adds a return of zero values at the beginning of a block.
func (f *finder) early(begin token.Pos, first ast.Stmt) {
	var zeros []string
	t := f.types[len(f.types)-1]
	if t.Results != nil {
		for _, r := range t.Results.List {
			for range max(len(r.Names), 1) {
				zeros = append(zeros, "*new("+f.source(r.Type)+")")
			}
		}
	}
	at := f.offset(begin) + 1
	before := line(f.source(first))
	x := &Fault{Before: before, After: "return zero values; " + before, from: at, to: at}
	x.edits = []edit{{at: at, text: " if " + helper + ".N($n) { return " + strings.Join(zeros, ", ") + " };"}}
	f.put(returned, begin, x)
}

// condition lists the faults of the condition of an if or a for. A comparison for equality is negated as such.
func (f *finder) condition(c ast.Expr) {
	if c == nil {
		return
	}
	if b, is := c.(*ast.BinaryExpr); is && (b.Op == token.EQL || b.Op == token.NEQ) {
		return
	}
	text := line(f.source(c))
	f.add(negated, c, text, "!("+text+")", edit{text: helper + ".Not($n, "}, edit{text: ")", ends: true})
}

func (f *finder) loop(body *ast.BlockStmt) {
	at := f.offset(body.Rbrace)
	x := &Fault{Before: "loop: " + line(f.source(body)), After: "break at the end of its body", from: at, to: at}
	x.edits = []edit{{at: at, text: "; if " + helper + ".N($n) { break }; ", ends: true}}
	if n := len(body.List); n > 0 {
		f.put(once, body.Pos(), x)
	}
}

// compared maps comparisons to the functions of package on.
var compared = map[token.Token]struct{ as, now string }{
	token.LSS: {"Less", "<="}, token.LEQ: {"AtMost", "<"}, token.GTR: {"More", ">="}, token.GEQ: {"AtLeast", ">"},
}

// binary lists the faults of a binary expression, and returns whether to look inside it.
func (f *finder) binary(b *ast.BinaryExpr) bool {
	if f.info.Types[b].Value != nil {
		return !f.constant(b)
	}
	x, y := line(f.source(b.X)), line(f.source(b.Y))
	op := edit{at: f.offset(b.OpPos), cut: len(b.Op.String())}
	switch b.Op {
	case token.EQL, token.NEQ:
		now := "=="
		if b.Op == token.EQL {
			now = "!="
		}
		f.add(negated, b, x+" "+b.Op.String()+" "+y, x+" "+now+" "+y, edit{text: helper + ".Not($n, "},
			edit{text: ")", ends: true})
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		c := compared[b.Op]
		op.text = ","
		f.add(offByOne, b, x+" "+b.Op.String()+" "+y, x+" "+c.now+" "+y, edit{text: helper + "." + c.as + "($n, "}, op,
			edit{text: ")", ends: true})
	case token.LAND, token.LOR:
		name, other := "And", "||"
		if b.Op == token.LOR {
			name, other = "Or", "&&"
		}
		op.text = ", func() bool { return"
		for how, after := range []string{x + " " + other + " " + y, x, y} {
			f.add(logic, b, x+" "+b.Op.String()+" "+y, after,
				edit{text: fmt.Sprintf("%s.%s($n, %s.%s, ", helper, name, helper,
					[]string{"Swap", "Left", "Right"}[how])}, op,
				edit{text: " })", ends: true})
		}
	}
	return true
}

// call swaps two adjacent arguments of one type whose text reads the same at either place.
func (f *finder) call(c *ast.CallExpr) {
	sig, is := f.info.Types[c.Fun].Type.(*types.Signature)
	if !is || sig.Params().Len() != len(c.Args) {
		return
	}
	for i := range len(c.Args) - 1 {
		a, b := c.Args[i], c.Args[i+1]
		x, y := f.source(a), f.source(b)
		if x == y || !still(a) || !still(b) ||
			!types.Identical(sig.Params().At(i).Type(), sig.Params().At(i+1).Type()) {
			continue
		}
		f.addTo(argument, a.Pos(), b.End(), line(f.source(c)), line(f.source(c.Fun))+"(… "+y+", "+x+" …)",
			edit{at: f.offset(a.Pos()), text: helper + ".Other($n, "},
			edit{at: f.offset(a.End()), text: ", " + y + ")", ends: true},
			edit{at: f.offset(b.Pos()), text: helper + ".Other($n, "},
			edit{at: f.offset(b.End()), text: ", " + x + ")", ends: true})
	}
}

// still reports whether an expression calls nothing.
func still(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident, *ast.BasicLit:
		return true
	case *ast.SelectorExpr:
		return still(e.X)
	}
	return false
}

// constant reports whether an integer is known to the compiler, as a literal, a name or an expression, and lists its
// faults.
func (f *finder) constant(e ast.Expr) bool {
	v := f.info.Types[e]
	if v.Value == nil || v.Type == nil {
		return false
	}
	if b, is := v.Type.Underlying().(*types.Basic); !is || b.Info()&types.IsInteger == 0 {
		return false
	}
	t := types.TypeString(types.Default(v.Type), f.qualifier)
	text := line(f.source(e))
	begin := f.set.Position(e.Pos())
	within := line(strings.TrimSpace(strings.SplitN(string(f.text[begin.Offset-begin.Column+1:]), "\n", 2)[0]))
	by, sign := "1", "+"
	h := fnv.New32()
	fmt.Fprint(h, f.name, f.fn, text, within)
	if v.Value.ExactString() != "0" && h.Sum32()&1 == 0 {
		by, sign = "^"+t+"(0)", "-"
	}
	f.add(constant, e, text+" in "+within, text+" "+sign+" 1", edit{text: helper + ".Add[" + t + "]($n, "},
		edit{text: ", " + by + ")", ends: true})
	return true
}

// qualifier names packages as the file does.
func (f *finder) qualifier(p *types.Package) string {
	if p == f.pkg {
		return ""
	}
	for _, i := range f.file.Imports {
		if strings.Trim(i.Path.Value, `"`) == p.Path() && i.Name != nil {
			return i.Name.Name
		}
	}
	return p.Name()
}

// add adds a fault that encloses a node: its first edit goes to the node's beginning, its last to its end.
func (f *finder) add(kind string, n ast.Node, before, after string, edits ...edit) {
	edits[0].at, edits[len(edits)-1].at = f.offset(n.Pos()), f.offset(n.End())
	f.addTo(kind, n.Pos(), n.End(), before, after, edits...)
}

func (f *finder) addTo(kind string, from, to token.Pos, before, after string, edits ...edit) {
	f.put(kind, from, &Fault{Before: before, After: after, edits: edits, from: f.offset(from), to: f.offset(to)})
}

func (f *finder) put(kind string, at token.Pos, x *Fault) {
	x.Kind, x.File, x.Func, x.Line = kind, f.name, f.fn, f.set.Position(at).Line
	x.ID = fmt.Sprintf("%s %s: %s: %s -> %s", x.File, x.Func, kind, x.Before, x.After)
	if f.seen[x.ID]++; f.seen[x.ID] > 1 {
		x.ID = fmt.Sprintf("%s #%d", x.ID, f.seen[x.ID])
	}
	f.faults = append(f.faults, x)
}

var spaces = regexp.MustCompile(`\s+`)

// line is source text on one line, shortened.
func line(s string) string {
	s = spaces.ReplaceAllString(s, " ")
	if r := []rune(s); len(r) > 100 {
		s = string(r[:99]) + "…"
	}
	return s
}

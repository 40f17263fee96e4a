package lang

import (
	"fmt"

	"go.starlark.net/syntax"

	"kpsim/sim"
)

// The constants bound a program's text. A program with more parts uses too much of a parser's
// and a compiler's memory, and a call of a function allocates room for everything in it.
const (
	maxParts     = 600_000 // of a program
	maxOperators = 50_000  // in a program: operators, attributes and indices
	maxNested    = 5_000   // operands within operands
	maxFuncs     = 1_000   // def and lambda
	maxFuncParts = 4_000   // of one of them
)

// The constants are the names of guards. No program can write them.
const (
	guardDot       = "."   // x, of x.m: its methods become guarded
	guardIndexed   = "[]"  // x, of x[k]
	guardKey       = "[k]" // k
	guardSlice     = "[:]" // x
	guardSpread    = "f()" // x, of f(*x)
	guardDict      = "{}"  // the pairs of {k: v for …}; no argument for {}
	guardEntry     = "{k}" // k, of {k: v}
	guardAugmented = "op=" // y, of x[i] += y
)

// A rewriter puts guards into a program.
type rewriter struct {
	parts, operators, nested, funcs int
	err                             error // the first part that exceeds a bound
}

// addGuards puts guards into all of a program, or says which bound its text exceeds.
func addGuards(f *syntax.File) error {
	var r rewriter
	r.stmts(f.Stmts)
	return r.err
}

// fail keeps the first error.
func (r *rewriter) fail(at syntax.Position, format string, args ...any) {
	if r.err == nil {
		r.err = syntax.Error{Pos: at, Msg: fmt.Sprintf(format, args...)}
	}
}

// guardCall returns the call name(args…).
func guardCall(name string, at syntax.Position, args ...syntax.Expr) syntax.Expr {
	return &syntax.CallExpr{Fn: &syntax.Ident{NamePos: at, Name: name}, Lparen: at, Args: args, Rparen: at}
}

func (r *rewriter) stmts(list []syntax.Stmt) {
	for _, s := range list {
		r.stmt(s)
	}
}

func (r *rewriter) stmt(s syntax.Stmt) {
	r.parts++
	switch s := s.(type) {
	case *syntax.AssignStmt:
		r.assign(s)
	case *syntax.DefStmt:
		r.function(s.Def, func() {
			r.params(s.Params)
			r.stmts(s.Body)
		})
	case *syntax.ExprStmt:
		s.X = r.expr(s.X)
	case *syntax.IfStmt:
		s.Cond = r.expr(s.Cond)
		r.stmts(s.True)
		r.nested++ // an elif is an if in an else
		r.stmts(s.False)
		r.nested--
	case *syntax.ForStmt:
		s.Vars, s.X = r.expr(s.Vars), r.expr(s.X)
		r.stmts(s.Body)
	case *syntax.WhileStmt:
		s.Cond = r.expr(s.Cond)
		r.stmts(s.Body)
	case *syntax.ReturnStmt:
		if s.Result != nil {
			s.Result = r.expr(s.Result)
		}
	case *syntax.LoadStmt, *syntax.BranchStmt:
	default:
		sim.Bug("scenario: no rule for %T", s)
	}
}

// assign rewrites x += y as a guarded x = x + y. Any other left side must be evaluated once, so
// there it wraps y in guardAugmented, whose Binary does the operation.
func (r *rewriter) assign(s *syntax.AssignStmt) {
	s.LHS, s.RHS = r.expr(s.LHS), r.expr(s.RHS)
	if s.Op == syntax.EQ {
		return
	}
	r.operators++
	x, isName := s.LHS.(*syntax.Ident)
	switch {
	case isName:
		s.RHS = guardCall(s.Op.String(), s.OpPos, &syntax.Ident{NamePos: x.NamePos, Name: x.Name}, s.RHS)
		s.Op = syntax.EQ
	// for these, Starlark doesn't call the right operand's Binary
	case s.Op == syntax.PERCENT_EQ || s.Op == syntax.LTLT_EQ || s.Op == syntax.GTGT_EQ:
		r.fail(s.OpPos, "%s takes a name on its left here; write it out, as x[i] = x[i] %% y", s.Op)
	default:
		s.RHS = guardCall(guardAugmented, s.OpPos, s.RHS)
	}
}

// function rewrites a def or a lambda.
func (r *rewriter) function(at syntax.Position, inside func()) {
	r.funcs++
	if r.funcs > maxFuncs {
		r.fail(at, "the program has more than %d functions; make it shorter", maxFuncs)
	}
	before := r.parts
	inside()
	if n := r.parts - before; n > maxFuncParts {
		r.fail(at, "the function has %d parts, at most %d; split it, or do it outside functions", n, maxFuncParts)
	}
}

// params rewrites the defaults of parameters, and arguments: name=expr, *x.
func (r *rewriter) params(list []syntax.Expr) {
	for i, p := range list {
		switch x := p.(type) {
		case *syntax.BinaryExpr:
			if x.Op == syntax.EQ {
				r.parts++
				x.Y = r.expr(x.Y)
				continue
			}
		case *syntax.UnaryExpr:
			if x.Op == syntax.STAR || x.Op == syntax.STARSTAR {
				r.parts++
				continue
			}
		}
		list[i] = r.expr(p)
	}
}

// spread guards *x and **x among arguments.
func (r *rewriter) spread(list []syntax.Expr) {
	for _, p := range list {
		if x, ok := p.(*syntax.UnaryExpr); ok && (x.Op == syntax.STAR || x.Op == syntax.STARSTAR) && x.X != nil {
			x.X = guardCall(guardSpread, x.OpPos, r.expr(x.X))
		}
	}
}

func (r *rewriter) exprs(list []syntax.Expr) {
	for i := range list {
		list[i] = r.expr(list[i])
	}
}

// expr returns the replacement of an expression.
func (r *rewriter) expr(e syntax.Expr) syntax.Expr {
	r.parts++
	r.nested++
	defer func() { r.nested-- }()
	at := syntax.Position{}
	if r.parts > maxParts || r.operators > maxOperators || r.nested > maxNested {
		at, _ = positionNode(e).Span()
		switch {
		case r.nested > maxNested:
			r.fail(at, "operands are nested more than %d deep; give a part a name", maxNested)
		case r.operators > maxOperators:
			r.fail(at, "the program has more than %d operators; make it shorter", maxOperators)
		default:
			r.fail(at, "the program has more than %d parts; make it shorter", maxParts)
		}
	}
	if r.err != nil {
		return e
	}
	switch e := e.(type) {
	case *syntax.Ident:
	case *syntax.Literal:
		if n, ok := e.Value.(interface{ BitLen() int }); ok && n.BitLen() > maxBits {
			r.fail(e.TokenPos, "the number has more than %d bits; a number here has 64", maxBits)
		}
	case *syntax.BinaryExpr:
		return r.binary(e)
	case *syntax.UnaryExpr:
		e.X = r.expr(e.X)
	case *syntax.CondExpr:
		e.Cond, e.True, e.False = r.expr(e.Cond), r.expr(e.True), r.expr(e.False)
	case *syntax.ParenExpr:
		e.X = r.expr(e.X)
	case *syntax.ListExpr:
		r.exprs(e.List)
	case *syntax.TupleExpr:
		r.exprs(e.List)
	case *syntax.CallExpr:
		e.Fn = r.expr(e.Fn)
		r.params(e.Args)
		r.spread(e.Args)
	case *syntax.DotExpr:
		r.operators++
		e.X = guardCall(guardDot, e.Dot, r.expr(e.X))
	case *syntax.IndexExpr:
		r.operators++
		e.X, e.Y = guardCall(guardIndexed, e.Lbrack, r.expr(e.X)), guardCall(guardKey, e.Lbrack, r.expr(e.Y))
	case *syntax.SliceExpr:
		r.operators++
		r.slice(e)
	case *syntax.LambdaExpr:
		r.function(e.Lambda, func() {
			r.params(e.Params)
			e.Body = r.expr(e.Body)
		})
	case *syntax.DictExpr:
		return r.dict(e)
	case *syntax.Comprehension:
		return r.comprehension(e)
	default:
		sim.Bug("scenario: no rule for %T", e)
	}
	return e
}

// positionNode returns a node with e's position, without descending into e.
func positionNode(e syntax.Expr) syntax.Node {
	switch e := e.(type) {
	case *syntax.BinaryExpr:
		return &syntax.Ident{NamePos: e.OpPos}
	case *syntax.CallExpr:
		return &syntax.Ident{NamePos: e.Lparen}
	case *syntax.DotExpr:
		return &syntax.Ident{NamePos: e.Dot}
	case *syntax.IndexExpr:
		return &syntax.Ident{NamePos: e.Lbrack}
	}
	return e
}

func (r *rewriter) binary(e *syntax.BinaryExpr) syntax.Expr {
	e.X, e.Y = r.expr(e.X), r.expr(e.Y)
	if e.Op == syntax.AND || e.Op == syntax.OR || e.Op == syntax.EQ {
		return e
	}
	r.operators++
	return guardCall(e.Op.String(), e.OpPos, e.X, e.Y)
}

func (r *rewriter) slice(e *syntax.SliceExpr) {
	e.X = guardCall(guardSlice, e.Lbrack, r.expr(e.X))
	for _, part := range []*syntax.Expr{&e.Lo, &e.Hi, &e.Step} {
		if *part != nil {
			*part = r.expr(*part)
		}
	}
}

func (r *rewriter) dict(e *syntax.DictExpr) syntax.Expr {
	if len(e.List) == 0 {
		return guardCall(guardDict, e.Lbrace)
	}
	for i := range e.List {
		entry := e.List[i].(*syntax.DictEntry)
		n := &syntax.Literal{Token: syntax.INT, TokenPos: entry.Colon, Raw: "0", Value: int64(i)}
		entry.Key, entry.Value = guardCall(guardEntry, entry.Colon, r.expr(entry.Key), n), r.expr(entry.Value)
	}
	return e
}

func (r *rewriter) comprehension(e *syntax.Comprehension) syntax.Expr {
	for _, c := range e.Clauses {
		switch c := c.(type) {
		case *syntax.ForClause:
			c.Vars, c.X = r.expr(c.Vars), r.expr(c.X)
		case *syntax.IfClause:
			c.Cond = r.expr(c.Cond)
		}
	}
	entry, isDict := e.Body.(*syntax.DictEntry)
	if !isDict {
		e.Body = r.expr(e.Body)
		return e
	}
	e.Curly = false
	e.Body = &syntax.TupleExpr{Lparen: entry.Colon, List: []syntax.Expr{r.expr(entry.Key), r.expr(entry.Value)},
		Rparen: entry.Colon}
	return guardCall(guardDict, e.Lbrack, e)
}

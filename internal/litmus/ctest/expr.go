package ctest

import (
	"slices"
	"strconv"
	"strings"
)

var assigning = []string{"=", "+=", "-="}

// levels are C's binary operators, those that bind least first.
var levels = [][]string{{"||"}, {"&&"}, {"|"}, {"^"}, {"&"}, {"==", "!="}, {"<", ">", "<=", ">="}, {"<<", ">>"},
	{"+", "-"}, {"*", "/", "%"}}

// expression reads an expression and emits its accesses. A place in memory that isn't
// loaded yet is returned as "*".
func (p *parser) expression() *Expr {
	p.deep()
	defer p.up()
	e := p.conditional()
	if !slices.Contains(assigning, p.word) {
		return e
	}
	op := p.word
	p.advance()
	right := p.expression()
	if op != "=" {
		right = &Expr{Op: op[:1], A: p.value(e), B: p.value(right)}
	}
	p.assign(e, right)
	return e
}

func (p *parser) conditional() *Expr {
	e := p.binary(0)
	if !p.take("?") {
		return e
	}
	e = p.value(e)
	n := len(p.prog.Code)
	yes := p.value(p.expression())
	p.expect(":")
	no := p.value(p.conditional())
	p.pure(n, "?:")
	return &Expr{Op: "?", A: e, B: yes, C: no}
}

// pure refuses accesses in what may not be evaluated.
func (p *parser) pure(n int, op string) {
	if len(p.prog.Code) != n {
		p.fail("an access behind %s isn't covered; write it as if", op)
	}
}

func (p *parser) binary(level int) *Expr {
	p.deep()
	defer p.up()
	if level == len(levels) {
		return p.unary()
	}
	e := p.binary(level + 1)
	for slices.Contains(levels[level], p.word) {
		op := p.word
		p.advance()
		left := p.value(e)
		n := len(p.prog.Code)
		right := p.value(p.binary(level + 1))
		if op == "&&" || op == "||" {
			p.pure(n, op)
		}
		if op == "*" {
			op = "mul" // "*" is a place in memory
		}
		e = &Expr{Op: op, A: left, B: right}
	}
	return e
}

func (p *parser) unary() *Expr {
	p.deep()
	defer p.up()
	switch {
	case p.take("*"):
		return &Expr{Op: "*", A: p.value(p.unary())}
	case p.take("&"):
		e := p.unary()
		if e.Op != "*" {
			p.fail("& of a local variable isn't covered; make it one of memory, a parameter")
		}
		return e.A
	case p.take("!"):
		return &Expr{Op: "!", A: p.value(p.unary())}
	case p.take("-"):
		return &Expr{Op: "-", A: &Expr{}, B: p.value(p.unary())}
	case p.take("~"):
		return &Expr{Op: "^", A: &Expr{N: -1}, B: p.value(p.unary())}
	case p.take("("):
		if p.atType() {
			p.types()
			p.expect(")")
			return p.unary()
		}
		e := p.expression()
		p.expect(")")
		return p.postfix(e)
	}
	return p.postfix(p.primary())
}

func (p *parser) postfix(e *Expr) *Expr {
	switch p.word {
	case "->", ".", "[", "++", "--":
		p.fail("%s isn't covered; use variables and = instead of structs, arrays and counting", p.word)
	}
	return e
}

func (p *parser) primary() *Expr {
	w := p.word
	if w != "" && digit(w[0]) {
		n, err := strconv.ParseInt(strings.TrimRight(w, "uUlL"), 0, 64)
		if err != nil || n >= 1<<31 {
			p.fail("%s is no number below 2^31; write a smaller one", w)
		}
		p.advance()
		return &Expr{N: n}
	}
	if w == "NULL" || w == "false" {
		p.advance()
		return &Expr{}
	}
	if w == "true" {
		p.advance()
		return &Expr{N: 1}
	}
	at := p.at
	name := p.name()
	if p.word == "(" {
		return p.call(name, at)
	}
	if slices.Contains(p.thread.params, name) {
		return &Expr{N: Address(p.location(name))}
	}
	return &Expr{Op: "local", Local: p.thread.find(p, name, false)}
}

// Eval computes the expression.
func (e *Expr) Eval(get func(local int) int64) int64 {
	switch e.Op {
	case "", "cookie":
		return e.N
	case "local":
		return get(e.Local)
	case "?":
		c, yes, no := e.A.Eval(get), e.B.Eval(get), e.C.Eval(get)
		if c != 0 {
			return yes
		}
		return no
	case "!":
		return truth(e.A.Eval(get) == 0)
	}
	a, b := e.A.Eval(get), e.B.Eval(get) // both: each is a dependency
	switch e.Op {
	case "+":
		return a + b
	case "-":
		return a - b
	case "mul":
		return a * b
	case "/", "%":
		switch {
		case b == 0 || b == -1: // no division traps here
			return 0
		case e.Op == "/":
			return a / b
		}
		return a % b
	case "&":
		return a & b
	case "|":
		return a | b
	case "^":
		return a ^ b
	case "<<":
		return a << uint(b&63)
	case ">>":
		return a >> uint(b&63)
	case "&&":
		return truth(a != 0 && b != 0)
	case "||":
		return truth(a != 0 || b != 0)
	case "==":
		return truth(a == b)
	case "!=":
		return truth(a != b)
	case "<":
		return truth(a < b)
	case ">":
		return truth(a > b)
	case "<=":
		return truth(a <= b)
	}
	return truth(a >= b)
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

package scenario

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Starlark counts steps, and "90" * 400000000 is one step. So products and
// ranges have bounds of their own: a slip of the hand is an error and doesn't
// take the machine down. (Who doubles a list forty times meant it.)
const (
	maxProduct = 1 << 20 // elements of a string or list
	maxBits    = 1 << 12 // of an integer
)

// guard is the name of the builtin that boundProducts puts around factors. No
// program can say it.
const guard = "*"

// boundProducts turns every x * y of a program into guard(x) * y, and x *= y
// into x *= guard(y).
func boundProducts(f *syntax.File) {
	guarded := func(x syntax.Expr, at syntax.Position) syntax.Expr {
		return &syntax.CallExpr{Fn: &syntax.Ident{NamePos: at, Name: guard}, Lparen: at, Args: []syntax.Expr{x}, Rparen: at}
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryExpr:
			if n.Op == syntax.STAR {
				n.X = guarded(n.X, n.OpPos)
			}
		case *syntax.AssignStmt:
			if n.Op == syntax.STAR_EQ {
				n.RHS = guarded(n.RHS, n.OpPos)
			}
		}
		return true
	})
}

// A factor is a value about to be multiplied.
type factor struct{ starlark.Value }

// Binary multiplies, within bounds.
func (x factor) Binary(op syntax.Token, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	if op != syntax.STAR {
		return nil, nil
	}
	a, b := x.Value, y
	if side == starlark.Right {
		a, b = b, a
	}
	if err := boundProduct(a, b); err != nil {
		return nil, err
	}
	return starlark.Binary(op, a, b)
}

func boundProduct(a, b starlark.Value) error {
	if _, ok := a.(starlark.Int); ok {
		a, b = b, a
	}
	n, ok := b.(starlark.Int)
	if !ok {
		return nil // Starlark says what is wrong
	}
	switch a := a.(type) {
	case starlark.Int:
		if a.BigInt().BitLen()+n.BigInt().BitLen() > maxBits {
			return fmt.Errorf("the product has more than %d bits; a number here has 64", maxBits)
		}
	case starlark.Sequence, starlark.Indexable:
		times, ok := n.Int64()
		if size := int64(starlark.Len(a)); size > 0 && (!ok || times > maxProduct/size) {
			return fmt.Errorf("%d elements %v times are too many; at most %d", size, n, maxProduct)
		}
	}
	return nil
}

func makeFactor(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return factor{args[0]}, nil
}

// boundRange is Starlark's range, of which list() might make a list.
func boundRange(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	r, err := starlark.Call(t, starlark.Universe["range"], args, kwargs)
	if err != nil {
		return nil, err
	}
	if n := starlark.Len(r); n > maxProduct {
		return nil, fmt.Errorf("a range of %d is too long; at most %d", n, maxProduct)
	}
	return r, nil
}

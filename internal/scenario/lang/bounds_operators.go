package lang

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// guardedOperators are the operators that the rewriter turns into calls.
var guardedOperators = []syntax.Token{
	syntax.PLUS, syntax.MINUS, syntax.STAR, syntax.SLASH, syntax.SLASHSLASH, syntax.PERCENT,
	syntax.AMP, syntax.PIPE, syntax.CIRCUMFLEX, syntax.LTLT, syntax.GTGT,
	syntax.IN, syntax.NOT_IN, syntax.EQL, syntax.NEQ, syntax.LT, syntax.LE, syntax.GT, syntax.GE,
}

// guardedAssignments maps each operator to its assignment, x op= y.
var guardedAssignments = map[syntax.Token]syntax.Token{
	syntax.PLUS: syntax.PLUS_EQ, syntax.MINUS: syntax.MINUS_EQ, syntax.STAR: syntax.STAR_EQ,
	syntax.SLASH: syntax.SLASH_EQ, syntax.SLASHSLASH: syntax.SLASHSLASH_EQ, syntax.PERCENT: syntax.PERCENT_EQ,
	syntax.AMP: syntax.AMP_EQ, syntax.PIPE: syntax.PIPE_EQ, syntax.CIRCUMFLEX: syntax.CIRCUMFLEX_EQ,
	syntax.LTLT: syntax.LTLT_EQ, syntax.GTGT: syntax.GTGT_EQ,
}

// operators adds the guards of operators to d.
func (b *budget) operators(d starlark.StringDict) {
	add := func(name string, do func(args starlark.Tuple) (starlark.Value, error)) {
		d[name] = starlark.NewBuiltin(name, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple,
			_ []starlark.Tuple) (starlark.Value, error) {
			return do(args)
		})
	}
	for _, op := range guardedOperators {
		add(op.String(), func(args starlark.Tuple) (starlark.Value, error) { return b.binary(op, args[0], args[1]) })
		if assign, ok := guardedAssignments[op]; ok {
			add(assign.String(), func(args starlark.Tuple) (starlark.Value, error) {
				return b.into(op, args[0], args[1])
			})
		}
	}
	add(guardAugmented, func(args starlark.Tuple) (starlark.Value, error) { return operand{args[0], b}, nil })
	add(guardIndexed, func(args starlark.Tuple) (starlark.Value, error) {
		x := args[0]
		if d, ok := x.(*starlark.Dict); ok {
			return x, b.spend(d.Len()/16, entryBytes) // it may be a new entry
		}
		return x, nil
	})
	add(guardKey, func(args starlark.Tuple) (starlark.Value, error) { return args[0], b.key(args[0], 0) })
	add(guardEntry, func(args starlark.Tuple) (starlark.Value, error) {
		n, _ := starlark.AsInt32(args[1])
		if n == 0 {
			if err := b.spend(0, dictBytes); err != nil {
				return nil, err
			}
		}
		if err := b.spend(0, entryBytes); err != nil {
			return nil, err
		}
		return args[0], b.key(args[0], n)
	})
	add(guardDict, func(args starlark.Tuple) (starlark.Value, error) {
		made := new(starlark.Dict)
		if err := b.spend(0, dictBytes); err != nil || len(args) == 0 {
			return made, err
		}
		return made, b.update(made, args[0].(*starlark.List))
	})
	add(guardSlice, func(args starlark.Tuple) (starlark.Value, error) {
		if s, ok := args[0].(starlark.Sliceable); ok {
			return sliced{s, b}, nil
		}
		return args[0], nil
	})
	add(guardSpread, func(args starlark.Tuple) (starlark.Value, error) {
		n, err := b.count(args[0])
		if err == nil {
			err = b.spend(n+n/16*n, pairBytes*n) // names are looked for, one beside the other
		}
		return args[0], err
	})
	add(guardDot, func(args starlark.Tuple) (starlark.Value, error) { return b.dot(args[0]) })
}

// update adds the pairs of a list, which are tuples of two, to a dict.
func (b *budget) update(d *starlark.Dict, pairs *starlark.List) error {
	for i := range pairs.Len() {
		p := pairs.Index(i).(starlark.Tuple)
		if err := b.key(p[0], d.Len()); err != nil {
			return err
		}
		if err := b.spend(2, entryBytes); err != nil {
			return err
		}
		if err := d.SetKey(p[0], p[1]); err != nil {
			return err
		}
	}
	return nil
}

// binary computes x op y within bounds.
func (b *budget) binary(op syntax.Token, x, y starlark.Value) (z starlark.Value, err error) {
	switch op {
	case syntax.EQL, syntax.NEQ, syntax.LT, syntax.LE, syntax.GT, syntax.GE:
		if _, err := b.measure(x, y); err != nil {
			return nil, err
		}
		ok, err := starlark.Compare(op, x, y)
		return starlark.Bool(ok), err
	case syntax.IN, syntax.NOT_IN:
		if err := b.contains(x, y); err != nil {
			return nil, err
		}
		z, err := starlark.Binary(syntax.IN, x, y)
		if in, ok := z.(starlark.Bool); ok && op == syntax.NOT_IN {
			z = !in
		}
		return z, err
	case syntax.PLUS:
		err = b.sum(x, y)
	case syntax.STAR:
		err = b.product(x, y)
	case syntax.PERCENT:
		err = b.format(x, y)
	case syntax.PIPE:
		err = b.union(x, y)
	case syntax.LTLT:
		i, ok := x.(starlark.Int)
		by, also := y.(starlark.Int)
		if n, small := by.Int64(); ok && also && by.Sign() > 0 && (!small || n > int64(maxBits-bits(i))) {
			err = errBits("result")
		}
	}
	if err != nil {
		return nil, err
	}
	if z, err = starlark.Binary(op, x, y); err != nil {
		return nil, err
	}
	if i, ok := z.(starlark.Int); ok {
		n := bits(i)
		if n > maxBits {
			return nil, errBits("result")
		}
		if n > 32 {
			err = b.spend(n/256, n/8+smallBytes)
		}
	}
	return z, err
}

func errBits(what string) error {
	return fmt.Errorf("the %s has more than %d bits; a number here has 64", what, maxBits)
}

// contains charges for x in y.
func (b *budget) contains(x, y starlark.Value) error {
	if d, ok := y.(*starlark.Dict); ok {
		return b.key(x, d.Len())
	}
	if _, err := b.measure(x); err != nil {
		return err
	}
	_, err := b.measure(y)
	return err
}

// sum charges for x + y.
func (b *budget) sum(x, y starlark.Value) error {
	n, element := 0, 1
	switch x.(type) {
	case starlark.String, starlark.Bytes:
	case *starlark.List, starlark.Tuple:
		element = elementBytes
	default:
		return nil
	}
	n = max(starlark.Len(x), 0) + max(starlark.Len(y), 0)
	if n > maxElements {
		return fmt.Errorf("%d elements are too many; at most %d", n, maxElements)
	}
	return b.spend(work(n*element), n*element)
}

// product charges for x * y.
func (b *budget) product(x, y starlark.Value) error {
	if _, ok := x.(starlark.Int); ok {
		x, y = y, x
	}
	n, ok := y.(starlark.Int)
	if !ok {
		return nil // Starlark says what is wrong
	}
	element := elementBytes
	switch x := x.(type) {
	case starlark.Int:
		if bits(x)+bits(n) > maxBits {
			return errBits("product")
		}
		return nil
	case starlark.String, starlark.Bytes:
		element = 1
	}
	times, ok := n.Int64()
	size := int64(max(starlark.Len(x), 0))
	if size > 0 && (!ok && n.Sign() > 0 || times > maxElements/size) {
		return fmt.Errorf("%d elements %v times are too many; at most %d", size, n, maxElements)
	}
	all := int(size*max(times, 0)) * element
	return b.spend(work(all), all)
}

// format charges for x % y.
func (b *budget) format(x, y starlark.Value) error {
	s, ok := x.(starlark.String)
	if !ok {
		return nil
	}
	m, err := b.measure(y)
	if err != nil {
		return err
	}
	named := strings.Count(string(s), "%(") // each may be the longest
	return b.text(size{1, len(s)}, m, 1+named)
}

// text charges for a string made of s and, the given number of times, of a quoted value of
// size m: a byte may become four.
func (b *budget) text(s, m size, times int) error {
	n := s.bytes + times*(4*m.bytes+32*m.leaves)
	if times > maxElements || n > maxMemory {
		return errBytes
	}
	return b.spend(work(n)+times, n)
}

// union charges for x | y.
func (b *budget) union(x, y starlark.Value) error {
	d, ok := x.(*starlark.Dict)
	e, also := y.(*starlark.Dict)
	if !ok || !also {
		return nil
	}
	n := d.Len() + e.Len()
	if _, err := b.measure(x, y); err != nil {
		return err
	}
	return b.spend(n+n/8*n/4, dictBytes+n*entryBytes)
}

// into returns the result of x op= y.
func (b *budget) into(op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	switch x := x.(type) {
	case *starlark.List:
		more, ok := y.(starlark.Iterable)
		if op != syntax.PLUS || !ok {
			break
		}
		return x, b.extend(x, more)
	case *starlark.Dict:
		more, ok := y.(*starlark.Dict)
		if op != syntax.PIPE || !ok {
			break
		}
		if err := b.spend(0, more.Len()*pairBytes); err != nil {
			return nil, err
		}
		pairs := make([]starlark.Value, 0, more.Len())
		for _, p := range more.Items() {
			pairs = append(pairs, p)
		}
		return x, b.update(x, starlark.NewList(pairs))
	}
	return b.binary(op, x, y)
}

// extend appends all elements of an iterable to a list.
func (b *budget) extend(x *starlark.List, more starlark.Iterable) error {
	n, err := b.count(more)
	if err != nil {
		return err
	}
	if err := b.spend(n/2, 2*n*elementBytes); err != nil {
		return err
	}
	all := make([]starlark.Value, 0, n) // x may be more itself
	for e := range starlark.Elements(more) {
		all = append(all, e)
	}
	for _, e := range all {
		if err := x.Append(e); err != nil {
			return err
		}
	}
	return nil
}

// An operand is y of x[i] op= y: Starlark asks it what comes of it.
type operand struct {
	starlark.Value
	b *budget
}

// Binary implements starlark.HasBinary.
func (y operand) Binary(op syntax.Token, x starlark.Value, side starlark.Side) (starlark.Value, error) {
	if side == starlark.Left {
		return nil, nil
	}
	return y.b.into(op, x, y.Value)
}

// Sliced is x of x[i:j].
type sliced struct {
	starlark.Sliceable
	b *budget
}

// Slice implements starlark.Sliceable.
func (x sliced) Slice(start, end, step int) starlark.Value {
	n := (end - start) / step
	if _, isList := x.Sliceable.(*starlark.List); isList || step != 1 {
		n *= elementBytes
	}
	if err := x.b.spend(work(max(n, 0)), max(n, 0)+smallBytes); err != nil {
		x.b.thread.Cancel(err.Error()) // a slice has no errors
		return starlark.None
	}
	return x.Sliceable.Slice(start, end, step)
}

var (
	_ starlark.HasBinary = operand{}
	_ starlark.Sliceable = sliced{}
)

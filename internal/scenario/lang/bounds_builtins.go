package lang

import (
	"errors"
	"fmt"
	mathbits "math/bits"
	"slices"
	"sort"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// A price charges for a call of one of Starlark's own functions, or of a method of recv,
// before the call is made.
type price func(b *budget, recv starlark.Value, args starlark.Tuple) error

// functionPrices has a price for each function of Starlark's universe. A function without a
// price can't be called, so a function added by a later Starlark isn't free.
var functionPrices = map[string]price{
	"abs": constantPrice, "bool": constantPrice, "chr": constantPrice, "getattr": constantPrice,
	"hasattr": constantPrice, "len": constantPrice, "range": constantPrice, "type": constantPrice,
	"any": perElement(0), "all": perElement(0),
	"bytes":     perElement(1),
	"dict":      priceDict,
	"dir":       priceDir,
	"enumerate": perElement(pairBytes),
	"fail":      byPrintedSize,
	"float":     byLength, "hash": byLength, "ord": byLength,
	"int":  priceInt,
	"list": perElement(elementBytes), "tuple": perElement(elementBytes), "reversed": perElement(elementBytes),
	"print": byPrintedSize, "repr": byPrintedSize, "str": byPrintedSize,
	"zip": priceZip,
}

// guardedFunctions adds Starlark's own functions to d, each with its price.
func (b *budget) guardedFunctions(d starlark.StringDict) {
	for name, v := range starlark.Universe {
		f, ok := v.(*starlark.Builtin)
		if !ok || name == "set" { // set is disabled in this dialect
			continue
		}
		d[name] = b.guarded(f, nil, functionPrices[name])
	}
	d["getattr"] = starlark.NewBuiltin("getattr", b.getattr)
	d["range"] = starlark.NewBuiltin("range", boundRange)
	for _, name := range []string{"sorted", "min", "max"} {
		d[name] = starlark.NewBuiltin(name, b.sortedMinMax)
	}
}

// guarded returns a function or a method that is charged for before it is called.
func (b *budget) guarded(f *starlark.Builtin, recv starlark.Value, charge price) *starlark.Builtin {
	return starlark.NewBuiltin(f.Name(), func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple,
		kwargs []starlark.Tuple) (starlark.Value, error) {
		if charge == nil {
			return nil, fmt.Errorf("%s isn't supported here; leave it out", f.Name())
		}
		all := args
		if len(kwargs) > 0 {
			all = slices.Clone(args)
			for _, kv := range kwargs {
				all = append(all, kv[1])
			}
		}
		if err := charge(b, recv, all); err != nil {
			return nil, err
		}
		return starlark.Call(t, f, args, kwargs)
	})
}

// constantPrice charges for a result of constant size.
func constantPrice(b *budget, _ starlark.Value, _ starlark.Tuple) error {
	return b.spend(0, smallBytes)
}

// byLength charges by the lengths of strings.
func byLength(b *budget, recv starlark.Value, args starlark.Tuple) error {
	n := 0
	if s, ok := recv.(starlark.String); ok {
		n = len(s)
	}
	for _, v := range args {
		switch v := v.(type) {
		case starlark.String:
			n += len(v)
		case starlark.Bytes:
			n += len(v)
		case starlark.Tuple: // startswith may take a tuple of prefixes
			m, err := b.measure(v)
			if err != nil {
				return err
			}
			n += m.bytes
		}
	}
	return b.spend(work(n), smallBytes)
}

// perElement charges a number of bytes for each element.
func perElement(each int) price {
	return func(b *budget, _ starlark.Value, args starlark.Tuple) error {
		for _, v := range args {
			n, err := b.count(v)
			if err == nil {
				err = b.spend(0, n*each+smallBytes)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// byPrintedSize charges by the printed size.
func byPrintedSize(b *budget, _ starlark.Value, args starlark.Tuple) error {
	m, err := b.measure(args...)
	if err != nil {
		return err
	}
	return b.text(size{}, m, 1)
}

// priceDict charges for dict(pairs, …): all keys may have the same hash.
func priceDict(b *budget, recv starlark.Value, args starlark.Tuple) error {
	n := 0
	if d, ok := recv.(*starlark.Dict); ok {
		n = d.Len()
	}
	m, err := b.measure(args...)
	if err != nil {
		return err
	}
	n += m.leaves
	return b.spend(n+n/8*n/4, dictBytes+n*entryBytes)
}

// priceDir charges for dir(x), which sorts the names.
func priceDir(b *budget, _ starlark.Value, args starlark.Tuple) error {
	n := 0
	for _, v := range args {
		if o, ok := v.(starlark.HasAttrs); ok {
			n += len(o.AttrNames())
		}
	}
	return b.spend(16*n, 2*smallBytes*n+smallBytes)
}

func priceInt(b *budget, _ starlark.Value, args starlark.Tuple) error {
	for _, v := range args {
		if s, ok := v.(starlark.String); ok && len(s) > maxDigits {
			return fmt.Errorf("a number of %d digits is too long; a number here has 64 bits", len(s))
		}
	}
	return b.spend(4, maxBits/8)
}

// priceZip charges by the shortest argument.
func priceZip(b *budget, _ starlark.Value, args starlark.Tuple) error {
	least := 0
	for i, v := range args {
		n, err := b.count(v)
		if err != nil {
			return err
		}
		if i == 0 || n < least {
			least = n
		}
	}
	return b.spend(least*(1+len(args)/4), least*(pairBytes+len(args)*elementBytes))
}

// boundRange is Starlark's range with a bounded length, because list() may expand it.
func boundRange(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value,
	error) {
	r, err := starlark.Call(t, starlark.Universe["range"], args, kwargs)
	if err != nil {
		return nil, err
	}
	if n := starlark.Len(r); n > maxElements {
		return nil, fmt.Errorf("a range of %d is too long; at most %d", n, maxElements)
	}
	return r, nil
}

// getattr is Starlark's getattr with a guarded result.
func (b *budget) getattr(t *starlark.Thread, f *starlark.Builtin, args starlark.Tuple,
	kwargs []starlark.Tuple) (starlark.Value, error) {
	v, err := starlark.Call(t, starlark.Universe[f.Name()], args, kwargs)
	if m, ok := v.(*starlark.Builtin); ok && err == nil && m.Receiver() != nil {
		return b.method(m)
	}
	return v, err
}

// A ranking sorts values by their keys.
type ranking struct {
	keys, values []starlark.Value
	err          error
}

func (r *ranking) Len() int { return len(r.keys) }
func (r *ranking) Swap(i, j int) {
	r.keys[i], r.keys[j] = r.keys[j], r.keys[i]
	if len(r.values) > 0 {
		r.values[i], r.values[j] = r.values[j], r.values[i]
	}
}
func (r *ranking) Less(i, j int) bool {
	less, err := starlark.Compare(syntax.LT, r.keys[i], r.keys[j])
	if r.err == nil {
		r.err = err
	}
	return less && r.err == nil
}

// sortedMinMax implements sorted, min and max. The values to compare are known only when all keys
// have been computed; they are measured then.
func (b *budget) sortedMinMax(t *starlark.Thread, f *starlark.Builtin, args starlark.Tuple,
	kwargs []starlark.Tuple) (starlark.Value, error) {
	var from starlark.Iterable
	var key starlark.Callable
	var reverse bool
	var err error
	name := f.Name()
	switch {
	case name == "sorted":
		err = starlark.UnpackArgs(name, args, kwargs, "iterable", &from, "key?", &key, "reverse?", &reverse)
	case len(args) == 0:
		err = fmt.Errorf("%s requires at least one positional argument", name)
	default:
		err = starlark.UnpackArgs(name, nil, kwargs, "key?", &key)
		from = args
		if one, ok := args[0].(starlark.Iterable); ok && len(args) == 1 {
			from = one
		} else if len(args) == 1 && err == nil {
			err = fmt.Errorf("%s: %s value is not iterable", name, args[0].Type())
		}
	}
	if err != nil {
		return nil, err
	}
	n, err := b.count(from)
	if err == nil {
		err = b.spend(0, 2*n*elementBytes)
	}
	if err != nil {
		return nil, err
	}
	r := ranking{values: make([]starlark.Value, 0, n), keys: make([]starlark.Value, 0, n)}
	for v := range starlark.Elements(from) {
		r.values = append(r.values, v)
	}
	for _, v := range r.values {
		k := v
		if key != nil {
			if k, err = starlark.Call(t, key, starlark.Tuple{v}, nil); err != nil {
				return nil, err
			}
		}
		r.keys = append(r.keys, k)
	}
	m, err := b.measure(r.keys...)
	if err == nil {
		err = b.spend((m.leaves+work(m.bytes))*mathbits.Len(uint(n))/4, 0)
	}
	if err != nil {
		return nil, err
	}
	if name == "sorted" {
		return r.sorted(reverse)
	}
	return r.extreme(name)
}

func (r *ranking) sorted(reverse bool) (starlark.Value, error) {
	if reverse {
		sort.Stable(sort.Reverse(r))
	} else {
		sort.Stable(r)
	}
	return starlark.NewList(r.values), r.err
}

func (r *ranking) extreme(name string) (starlark.Value, error) {
	if len(r.keys) == 0 {
		return nil, errors.New(name + ": argument is an empty sequence")
	}
	best := 0
	for i := 1; i < len(r.keys); i++ {
		if name == "max" && r.Less(best, i) || name == "min" && r.Less(i, best) {
			best = i
		}
	}
	if r.err != nil {
		return nil, fmt.Errorf("%s: %w", name, r.err)
	}
	return r.values[best], nil
}

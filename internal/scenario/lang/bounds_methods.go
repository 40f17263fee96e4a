package lang

import (
	"fmt"
	"strings"
	"unicode"

	"go.starlark.net/starlark"

	"kpsim/internal/nearest"
)

// methodPrices has a price for each method, by the type of its receiver. A method without a
// price can't be called.
var methodPrices = map[string]map[string]price{
	"string": {
		"capitalize": byReceiverSize(3), "lower": byReceiverSize(3), "title": byReceiverSize(3), "upper": byReceiverSize(3),
		"codepoint_ords": constantPrice, "codepoints": constantPrice, "elem_ords": constantPrice,
		"elems": constantPrice,
		"count": byLength, "endswith": byLength, "find": byLength, "index": byLength, "isalnum": byLength,
		"isalpha": byLength, "isdigit": byLength, "islower": byLength, "isspace": byLength, "istitle": byLength,
		"isupper": byLength, "lstrip": byLength, "partition": byLength, "removeprefix": byLength,
		"removesuffix": byLength, "rfind": byLength, "rindex": byLength, "rpartition": byLength,
		"rstrip": byLength, "startswith": byLength, "strip": byLength,
		"format":  priceFormat,
		"join":    priceJoin,
		"replace": priceReplace,
		"split":   priceSplit, "rsplit": priceSplit, "splitlines": priceLines,
	},
	"bytes": {"elems": constantPrice},
	"list": {
		"append": byReceiverSize(2 * elementBytes), "clear": perReceiverElement(0), "extend": priceExtend, "index": bySearch,
		"insert": perReceiverElement(0),
		"pop":    perReceiverElement(0), "remove": bySearch,
	},
	"dict": {
		"clear": perReceiverElement(0), "get": byLookup, "items": perReceiverElement(pairBytes), "keys": perReceiverElement(elementBytes),
		"pop":     byLookup,
		"popitem": pricePopItem, "setdefault": byLookup, "update": priceDict, "values": perReceiverElement(elementBytes),
	},
}

// A receiver is x of x.m: its methods are guarded.
type receiver struct {
	starlark.HasAttrs
	b *budget
}

// Attr implements starlark.HasAttrs.
func (x receiver) Attr(name string) (starlark.Value, error) {
	v, err := x.HasAttrs.Attr(name)
	switch m := v.(type) {
	case *starlark.Builtin:
		return x.b.method(m)
	case nil:
		if err == nil {
			err = fmt.Errorf("%s has no .%.40s; %s", x.Type(), name, nearest.OrAll(name, x.AttrNames()))
		}
	}
	return v, err
}

// dot returns x, as it stands in x.m.
func (b *budget) dot(x starlark.Value) (starlark.Value, error) {
	if m, ok := x.(*module); ok { // it is gone through for each function
		return x, b.spend(len(m.names)/16, 0)
	}
	if methodPrices[x.Type()] == nil {
		return x, nil
	}
	if has, ok := x.(starlark.HasAttrs); ok {
		return receiver{has, b}, b.spend(0, 4*smallBytes)
	}
	return x, nil
}

// method returns a method that is charged for.
func (b *budget) method(m *starlark.Builtin) (starlark.Value, error) {
	x := m.Receiver()
	charge := methodPrices[x.Type()][m.Name()]
	return b.guarded(m, x, charge), b.spend(0, 4*smallBytes)
}

// length returns the length of a method's receiver.
func length(recv starlark.Value) int { return max(starlark.Len(recv), 0) }

// byReceiverSize charges a number of bytes for each element of the receiver; for a list, for one more
// element.
func byReceiverSize(each int) price {
	return func(b *budget, recv starlark.Value, _ starlark.Tuple) error {
		n := 1
		if s, ok := recv.(starlark.String); ok {
			n = len(s)
		}
		return b.spend(n/8, n*each+smallBytes)
	}
}

// perReceiverElement charges for a method that moves all elements, or makes this many bytes for each.
func perReceiverElement(each int) price {
	return func(b *budget, recv starlark.Value, _ starlark.Tuple) error {
		n := length(recv)
		return b.spend(n/16, n*each+smallBytes)
	}
}

// bySearch charges for a method that searches for its argument.
func bySearch(b *budget, recv starlark.Value, args starlark.Tuple) error {
	if _, err := b.measure(recv); err != nil {
		return err
	}
	_, err := b.measure(args...)
	return err
}

// byLookup charges for a look-up of the first argument.
func byLookup(b *budget, recv starlark.Value, args starlark.Tuple) error {
	if len(args) == 0 {
		return nil
	}
	if err := b.spend(0, entryBytes); err != nil {
		return err
	}
	return b.key(args[0], length(recv))
}

func pricePopItem(b *budget, recv starlark.Value, _ starlark.Tuple) error {
	d := recv.(*starlark.Dict)
	for k := range d.Entries() {
		return b.key(k, d.Len())
	}
	return nil
}

func priceExtend(b *budget, _ starlark.Value, args starlark.Tuple) error {
	return perElement(2*elementBytes)(b, nil, args)
}

// priceFormat charges for format: each field may be the longest of the arguments.
func priceFormat(b *budget, recv starlark.Value, args starlark.Tuple) error {
	s := string(recv.(starlark.String))
	m, err := b.measure(args...)
	if err != nil {
		return err
	}
	fields := strings.Count(s, "{")
	if fields <= len(args) && strings.Count(s, "{}") == fields {
		fields = min(fields, 1) // one each
	}
	return b.text(size{1, len(s)}, m, fields)
}

func priceJoin(b *budget, recv starlark.Value, args starlark.Tuple) error {
	sep := length(recv)
	for _, v := range args {
		list, ok := v.(starlark.Iterable)
		if !ok {
			continue
		}
		n, all := 0, 0
		for e := range starlark.Elements(list) {
			s, _ := e.(starlark.String)
			n++
			if all += len(s) + sep; all > maxMemory || n > maxElements {
				return errBytes
			}
		}
		if err := b.spend(work(all)+n/4, 2*all); err != nil {
			return err
		}
	}
	return nil
}

func priceReplace(b *budget, recv starlark.Value, args starlark.Tuple) error {
	if err := byLength(b, recv, args); err != nil || len(args) < 2 {
		return err
	}
	old, ok := args[0].(starlark.String)
	by, also := args[1].(starlark.String)
	if !ok || !also {
		return nil
	}
	s := string(recv.(starlark.String))
	n := strings.Count(s, string(old))
	if len(by) > 0 && n > maxMemory/len(by) {
		return errBytes
	}
	all := len(s) + n*len(by)
	return b.spend(work(all)+n/4, all)
}

// piece is the size of a string in a list.
const piece = smallBytes

func priceSplit(b *budget, recv starlark.Value, args starlark.Tuple) error {
	if err := byLength(b, recv, args); err != nil {
		return err
	}
	s := string(recv.(starlark.String))
	n := 1
	if sep, ok := at(args, 0).(starlark.String); ok {
		n += strings.Count(s, string(sep))
	} else {
		for _, r := range s {
			if unicode.IsSpace(r) {
				n++
			}
		}
	}
	return b.spend(n+work(4*len(s)), n*piece)
}

func priceLines(b *budget, recv starlark.Value, _ starlark.Tuple) error {
	s := string(recv.(starlark.String))
	n := 1 + strings.Count(s, "\n") + strings.Count(s, "\r")
	return b.spend(n+work(4*len(s)), n*piece)
}

// at returns an argument, None if there is none.
func at(args starlark.Tuple, i int) starlark.Value {
	if i < len(args) {
		return args[i]
	}
	return starlark.None
}

// paid charges for a call of one of the language's own functions. The function copies its
// arguments, and keeps what the program calls it for.
func (b *budget) paid(args starlark.Tuple, kwargs []starlark.Tuple) error {
	m, err := b.measure(args...)
	if err != nil {
		return err
	}
	for _, kv := range kwargs {
		more, err := b.measure(kv[1])
		if err != nil {
			return err
		}
		m.leaves += more.leaves
		m.bytes += more.bytes
	}
	return b.spend(m.bytes/8, verbBytes+4*smallBytes*m.leaves+m.bytes)
}

// object charges for reading an object file of n bytes. A program may read two of any size,
// and any number of small ones.
func (b *budget) object(n int) error {
	return b.spend(min(500+n/64, maxProgram/2-10_000), min(4096+n/4, maxMemory/4))
}

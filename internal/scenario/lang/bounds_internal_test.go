package lang

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.starlark.net/starlark"
)

// All that Starlark has is priced. What a later Starlark adds has no price, and
// can't be called before it is given one.
func TestEverythingIsPriced(t *testing.T) {
	ranked := map[string]bool{"sorted": true, "min": true, "max": true}
	for name, v := range starlark.Universe {
		if _, isFunction := v.(*starlark.Builtin); isFunction && name != "set" {
			require.True(t, ranked[name] || functionPrices[name] != nil, name)
		}
	}
	for _, v := range []starlark.HasAttrs{starlark.String(""), starlark.Bytes(""), new(starlark.List),
		new(starlark.Dict)} {
		for _, name := range v.AttrNames() {
			require.NotNil(t, methodPrices[v.Type()][name], "%s.%s", v.Type(), name)
		}
	}
}

// What has no price isn't known.
func TestUnpriced(t *testing.T) {
	was := methodPrices["string"]["upper"]
	delete(methodPrices["string"], "upper")
	defer func() { methodPrices["string"]["upper"] = was }()
	_, err := Load("t.star", []byte("'a'.upper()"), nil)
	require.EqualError(t, err, "t.star:1:5: upper isn't supported here; leave it out")
}

// Guards leave the meaning of a program as it is.
func TestGuardsChangeNothing(t *testing.T) {
	for _, src := range []string{
		"1 + 2 == 3", "'a' + 'b' == 'ab'", "[1] + [2] == [1, 2]", "(1,) + (2,) == (1, 2)", "7 - 9 == -2",
		"3 * 'ab' == 'ababab'", "[0] * 3 == [0, 0, 0]",
		"7 // 2 == 3", "7 / 2 == 3.5", "7 % 4 == 3", "'%d %s' % (1, 'a') == '1 a'", "'%(a)s' % {'a': 1} == '1'",
		"6 & 3 == 2", "6 | 3 == 7", "6 ^ 3 == 5",
		"1 << 40 == 1099511627776", "-1 >> 3 == -1", "~5 == -6", "1 in [1]", "2 not in [1]", "'a' in 'cat'",
		"1 in {1: 2}", "1 < 2", "2 <= 2", "(1, 2) > (1, 1)", "'b' >= 'a'", "1 != '1'",
		"{1: 2} | {1: 3} == {1: 3}", "{i: i for i in range(3)} == {0: 0, 1: 1, 2: 2}", "{} == dict()",
		"dict([(1, 2)], a = 3) == {1: 2, 'a': 3}",
		"[1, 2, 3, 4][1:3] == [2, 3]", "'abcd'[::-1] == 'dcba'", "'abcd'[-1] == 'd'", "(1, 2, 3)[:1] == (1,)",
		"b'abc'[1:] == b'bc'", "range(9)[2:4] == range(2, 4)",
		"sorted([3, 1, 2]) == [1, 2, 3]", "sorted(['b', 'A', 'a'], key = lambda s: s.lower()) == ['A', 'a', 'b']",
		"sorted([1, 2, 3], reverse = True) == [3, 2, 1]",
		"sorted([(1, 'b'), (1, 'a')], key = lambda t: t[0]) == [(1, 'b'), (1, 'a')]",
		"sorted([(1, 'b'), (1, 'a')], key = lambda t: t[0], reverse = True) == [(1, 'b'), (1, 'a')]",
		"max(1, 3, 2) == 3", "min([4, 2]) == 2", "max(['a', 'bbb', 'cc'], key = len) == 'bbb'", "min('b', 'a') == 'a'",
		"max([1, 2, 2.0]) == 2",
		"list(zip([1, 2], 'ab'.elems())) == [(1, 'a'), (2, 'b')]", "enumerate(['a']) == [(0, 'a')]",
		"' a '.strip() == 'a'", "'a,b'.split(',') == ['a', 'b']", "','.join(['a', 'b']) == 'a,b'",
		"'aXa'.replace('a', 'bb', 1) == 'bbXa'", "'{} {x}'.format(1, x = 2) == '1 2'", "getattr('a', 'upper')() == 'A'",
		"getattr('a', 'no', 1) == 1", "hasattr('a', 'upper')", "str([1, 'a']) == '[1, \"a\"]'",
		"(lambda *a, **k: (a, k))(*[1, 2], **{'b': 3}) == ((1, 2), {'b': 3})", "int('ff', 16) == 255",
		"type('a'.upper) == 'builtin_function_or_method'", "any([0, 1]) and not all([0, 1])",
	} {
		_, err := Load("t.star", []byte("if not ("+src+"): fail('wrong')\nx = 1"), nil)
		require.ErrorContains(t, err, "no tasks", src)
	}
	for _, src := range []string{
		"x = [1]\ny = x\nx += [2]\nif y != [1, 2]: fail('a list is added to in place')",
		"x = {1: 1}\ny = x\nx |= {2: 2}\nif y != {1: 1, 2: 2}: fail('wrong')",
		"x = {'a': [1]}\ny = x['a']\nx['a'] += (2,)\nif y != [1, 2]: fail('wrong')",
		"x = {'a': 1, 'b': 'c'}\nx['a'] += 2\nx['a'] *= 3\nx['b'] += 'd'\nif x != {'a': 9, 'b': 'cd'}: fail('wrong')",
		"x = 5\nx -= 2\nx //= 2\nx |= 6\nif x != 7: fail('wrong')",
		"x = '%d'\nx %= 5\nif x != '5': fail('wrong')",
		"x = [1]\nx += x\nif x != [1, 1]: fail('wrong')",
		"a, b = (1, 2)\na, b = b, a\nif (a, b) != (2, 1): fail('wrong')",
		"d = {}\nd[1], d[2] = 3, 4\nfor d[5] in [6]: pass\nif d != {1: 3, 2: 4, 5: 6}: fail('wrong')",
		"x = [1, 2]\nx.append(3)\nx.extend([4])\nx.insert(0, 0)\nx.remove(2)\nif x.pop() != 4 or x != [0, 1, 3] or x.index(3) != 2: fail('wrong')",
		"d = {'a': 1}\nd.update([('b', 2)], c = 3)\nif d.items() != [('a', 1), ('b', 2), ('c', 3)] or d.get('z') != None or d.popitem() != ('a', 1) or d.setdefault('q', 7) != 7: fail('wrong')",
		"v = text('v', '90 90 c3')\np = v + 1\np += 1\np -= 1\nkprobe('k', p)",
	} {
		_, err := Load("t.star", []byte(src), nil)
		require.ErrorContains(t, err, "no tasks", src)
	}
}

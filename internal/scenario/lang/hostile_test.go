package lang_test

import (
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/testkit/thorough"
)

// The bounds of a program, whatever it says.
const (
	mostCPU    = 2 * time.Second
	mostMemory = 200 << 20 // over what the process had before
)

const (
	doubled = "t = (0, 1)\nfor i in range(40): t = (t, t)\n"  // 2^40 leaves, 41 tuples
	lists   = "t = [0]\nfor i in range(12): t = [t] * 1000\n" // the same of lists
	deep    = "t = ()\nfor i in range(150000): t = (t,)\n"
	long    = "s = 'x' * (1 << 20)\n"
	victim  = "v = text('v', '90 c3')\n"
)

// hostile programs took, each in one step or few, terabytes or for ever.
var hostile = []struct{ name, src string }{
	{"replace", long + "s.replace('x', s)"},
	{"replace-nothing", long + "s.replace('', s)"},
	{"replace-replace", "s = 'xx'\nfor i in range(40): s = s.replace('x', 'xx')"},
	{"join", long + "s.join(['a'] * (1 << 20))"},
	{"join-long", long + "''.join([s] * (1 << 20))"},
	{"join-string", long + "s.join(s.elems())"},
	{"zip", "r = [0] * (1 << 20)\nzip(*([r] * 100000))"},
	{"zip-args", "r = [0] * (1 << 20)\nzip(" + strings.Repeat("r,", 250) + ")"},
	{"percent-named", long + "('%(a)s' * 100000) % {'a': s}"},
	{"percent-tuple", long + "('%s' * 1000) % tuple([s] * 1000)"},
	{"percent-doubled", doubled + "'%s' % (t,)"},
	{"product-string", "'90' * 400000000"},
	{"product-list", "[0] * (1 << 40)"},
	{"product-twice", long + "[s * 1000 for i in range(10)]"},
	{"product-kept", "x = []\nfor i in range(200): x.append('ab' * (1 << 19))"},
	{"plus-string", "s = 'xx'\nfor i in range(60): s = s + s"},
	{"plus-list", "s = [1, 2]\nfor i in range(60): s = s + s"},
	{"plus-tuple", "s = (1, 2)\nfor i in range(60): s = s + s"},
	{"plus-in-place", "s = [1, 2]\nfor i in range(60): s += s"},
	{"plus-in-place-indexed", "d = {'a': [1, 2]}\nfor i in range(60): d['a'] += d['a']"},
	{"plus-quadratic", "s = ''\nfor i in range(250000): s += 'xxxxxxxxxxxxxxxx'"},
	{"comprehension", "x = [0]\nfor i in range(60): x = [a for b in [x, x] for a in b]"},
	{"comprehension-dicts", "x = [{} for i in range(900000)]"},
	{"comprehension-dict", "x = {i: {} for i in range(900000)}"},
	{"comprehension-collide", "x = {i << 64: 0 for i in range(200000)}"},
	{"collide-set", "d = {}\nfor i in range(200000): d[i << 64] = 0"},
	{"collide-dict", "dict([(i << 64, 0) for i in range(100000)])"},
	{"collide-get", "d = {i << 64: 0 for i in range(8000)}\nfor i in range(200000): d.get(7999 << 64)"},
	{"range", "list(range(1 << 40))"},
	{"range-kept", "x = [list(range(1 << 20)) for i in range(1000)]"},
	{"hash-doubled", doubled + "d = {t: 1}"},
	{"hash-index", doubled + "d = {}\nd[t] = 1"},
	{"hash-get", doubled + "{}.get(t)"},
	{"hash-in", doubled + "t in {}"},
	{"hash-comprehension", doubled + "d = {t: 0 for i in [1]}"},
	{"hash-lambda", doubled + "(lambda x: {x: 0})(t)"},
	{"hash-dict", doubled + "dict([(t, 0)])"},
	{"hash-update", doubled + "{}.update([(t, 0)])"},
	{"hash-setdefault", doubled + "{}.setdefault(t)"},
	{"str-doubled", doubled + "str(t)"},
	{"repr-lists", lists + "repr(t)"},
	{"print-doubled", doubled + "print(t)"},
	{"fail-doubled", doubled + "fail(t)"},
	{"format-doubled", doubled + "'{}'.format(t)"},
	{"format-many", long + "('{0}' * 100000).format(s)"},
	{"format-named", long + "('{a}' * 100000).format(a = s)"},
	{"equal-doubled", doubled + "u = (0, 1)\nfor i in range(40): u = (u, u)\nt == u"},
	{"equal-lists", lists + "u = [0]\nfor i in range(12): u = [u] * 1000\nt == u"},
	{"less-doubled", doubled + "u = (0, 2)\nfor i in range(40): u = (u, u)\nt < u"},
	{"in-doubled", lists + "u = [1]\nfor i in range(12): u = [u] * 1000\nu in [t, t]"},
	{"index-doubled", lists + "u = [1]\nfor i in range(12): u = [u] * 1000\n[t].index(u)"},
	{"sorted-doubled", doubled + "sorted([t, (t, 1), (t, 0)])"},
	{"sorted-key", doubled + "sorted(range(1000), key = lambda i: (t, i))"},
	{"sorted-key-later", "k = [0]\ndef f(i):\n  for j in range(3): k[0] = [k[0]] * 100\n  return [k, i]\nsorted(range(100), key = f)"},
	{"max-key", doubled + "max(range(1000), key = lambda i: (t, i))"},
	{"min-doubled", doubled + "min([t, (t, 1), (t, 0)])"},
	{"deep-equal", deep + "t == t"},
	{"deep-print", deep + "str(t)"},
	{"deep-key", deep + "{t: 1}"},
	{"list-in-itself", "x = [1]\nx.append(x)\nfor i in range(20): x += x\nstr(x)"},
	{"shift", "1 << 10000000000"},
	{"shift-often", "x = 1\nfor i in range(200000): x = x << 511"},
	{"shift-in-place", "x = 1\nfor i in range(200000): x <<= 511"},
	{"square", "x = 3\nfor i in range(60): x = x * x"},
	{"square-in-place", "x = {0: 3}\nfor i in range(60): x[0] *= x[0]"},
	{"int-of-string", "int('9' * 1000000)"},
	{"int-literal", "x = " + strings.Repeat("9", 1000000)},
	{"float-literal", "x = 1e" + strings.Repeat("9", 1000)},
	{"extend", "x = [0]\nfor i in range(60): x.extend(x)"},
	{"update", "d = {}\nfor i in range(200000): d.update([(i, {})])"},
	{"pipe", "d = {i: 0 for i in range(9000)}\nx = [d | {-i: 0} for i in range(50000)]"},
	{"pipe-in-place", "d = {i: 0 for i in range(9000)}\nfor i in range(100000): d |= d"},
	{"split", long + "x = [s.split('x') for i in range(1000)]"},
	{"splitlines", "s = '\\n' * (1 << 20)\nx = [s.splitlines() for i in range(1000)]"},
	{"upper", "s = '\u0390' * (1 << 19)\nx = [s.upper() for i in range(100000)]"},
	{"slices", "r = [0] * (1 << 20)\nx = [r[1:] for i in range(100000)]"},
	{"slice-reverse", long + "x = [s[::-1] for i in range(100000)]"},
	{"insert", "r = [0] * (1 << 20)\nfor i in range(100000): r.insert(0, 1)"},
	{"pop", "r = [0] * (1 << 20)\nfor i in range(100000): r.pop(0)"},
	{"count", long + "for i in range(100000): s.count('y')"},
	{"find-getattr", long + "for i in range(100000): getattr(s, 'find')('y')"},
	{"enumerate", "x = [enumerate([0] * (1 << 20)) for i in range(1000)]"},
	{"reversed", "r = range(1 << 20)\nx = [reversed(r) for i in range(1000)]"},
	{"star-args", "r = [0] * (1 << 20)\ndef f(*a): return len(a)\nfor i in range(100000): f(*r)"},
	{"star-kwargs", "d = {'a%d' % i: 0 for i in range(9000)}\ndef f(**k): return k\nx = [f(**d) for i in range(100000)]"},
	{"star-of-verb", "d = {'a%d' % i: 0 for i in range(9000)}\nfor i in range(100000): machine(**d)"},
	{"big-frame", "def f():\n  if False: x = [" + strings.Repeat("1,", 200000) + "]\nfor i in range(100000): f()"},
	{"many-functions", strings.Repeat("def f(): pass\n", 60000)},
	{"call-chain", "def f(): pass\n" + strings.Repeat("f = (lambda g: lambda: g())(f)\n", 30000) + "f()"},
	{"operators", "x = 1" + strings.Repeat("+1", 500000)},
	{"elifs", "if 0: x = 1\n" + strings.Repeat("elif 0: x = 1\n", 70000)},
	{"closures", "x = [lambda: i for i in range(900000)]"},
	{"methods", "x = []\nfor i in range(300000): x.append(x.append)"},
	{"nested-loops", "for i in range(1 << 20):\n  for j in range(1 << 20): pass"},
	{"long-line", "x = [" + strings.Repeat("user(),", 149000) + "]"},
	{"long-line-of-loops", "for i in range(20000): x = " + strings.Repeat(" ", 1000000) + "user()"},
	{"identifier", "f = " + strings.Repeat("a", 1000000)},
	{"attribute", "''." + strings.Repeat("a", 1000000)},
	{"attribute-of-object", "elf('victim.o')." + strings.Repeat("a", 1000000)},
	{"text-big", victim + "h = '90' * 60000\nfor i in range(100000): text('f%d' % i, h)"},
	{"text-name", "text('x' * (1 << 20), '90')"},
	{"tasks", victim + "o = [call(v)] * 1000\nfor i in range(100000): task(ops = o)"},
	{"tasks-long-names", "v = text('v' * 200, '90 c3')\no = [call(v, 1 << 63, 1 << 63, 1 << 63, 1 << 63, 1 << 63, 1 << 63)] * 1000\nfor i in range(200): task(ops = o)"},
	{"expects", "d = data('d', size = 1 << 19)\no = [expect(d, '00' * (1 << 19))] * 1000\nfor i in range(200): task(ops = o)"},
	{"insns", "v = text('v', '90' * 60000 + 'c3')\nx = [insns(v) for i in range(1000)]"},
	{"data", "for i in range(100000): data('d%d' % i, size = 1 << 19)"},
	{"word", "machine(preempt = 'x' * (1 << 20))"},
	{"property", "sometimes('x' * (1 << 20))"},
	{"symbols", "o = elf('victim.o')\nfor i in range(100000): elf('victim.o')"},
	{"errno", doubled + victim + "k = kprobe('k', v)\nregister(k, errno = t)"},
	{"extable", doubled + "text('f', '90', extable = [t])"},
	{"hex", doubled + "text('f', [t])"},
}

// Whatever a program says, Load answers in bounded time and memory, with one
// line that names the place and the remedy.
func TestHostilePrograms(t *testing.T) {
	for i, h := range hostile {
		if i%4 != 0 && !thorough.Set() {
			continue
		}
		t.Run(h.name, func(t *testing.T) {
			memory := peakMemory(t)
			before := cpu(t)
			_, err := lang.Load("h.star", []byte(h.src), library.Open)
			spent := cpu(t) - before
			peak := memory()
			t.Logf("%v, %d MB: %.200v", spent.Round(time.Millisecond), peak>>20, err)
			require.Less(t, spent, mostCPU)
			require.Less(t, peak, int64(mostMemory))
			require.Error(t, err)
			require.NotContains(t, err.Error(), "\n")
			require.Regexp(t, `^h\.star:\d+:\d+: .*; `, err.Error())
			require.Less(t, len(err.Error()), 3000)
		})
	}
}

// What is large, and what a scenario may well be, loads: all of its bounds leave room for it.
func TestLargePrograms(t *testing.T) {
	const begin = "v = text('v', '90 c3')\n"
	var many strings.Builder
	for range 80 {
		many.WriteString("task(ops = [" + strings.Repeat("user(),", 1000) + "])\n")
	}
	for _, src := range []string{
		begin + many.String(),
		begin + "d = data('d', '" + strings.Repeat("55", 400_000) + "')\ntask(ops = [call(v)])",
		begin + "d = data('d', [" + strings.Repeat("0x55, ", 140_000) + "])\ntask(ops = [call(v)])",
		begin + "for i in range(199): task(ops = [call(v), schedule()] * 50)\ntask(ops = [call(v)])",
		"for i in range(1000): text('f%d' % i, '90' * 40 + 'c3')\nv = text('v', '90 c3')\nks = [kprobe('k%d' % i, at = v) for i in range(900)]\ntask(ops = [register_all(ks), unregister_all(ks)])",
		begin + "def many(n):\n  d = {}\n  for i in range(n):\n    d['a%d' % i] = [call(v)] * (i % 7)\n    d['a%d' % i] += [schedule()]\n  return [o for k in sorted(d.keys(), key = lambda k: (len(k), k)) for o in d[k]]\nops = many(2000)\ntask(ops = ops[:1000])\ntask(ops = ops[1000:2000])",
	} {
		s, err := lang.Load("large.star", []byte(src), nil)
		require.NoError(t, err, "%.100s", src)
		_, err = lang.Load("large.star", []byte(lang.Print(s)), nil)
		require.NoError(t, err)
	}
}

// cpu is the time of all CPUs that this process has taken.
func cpu(t *testing.T) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakMemory begins to look at the process' memory, and returns what ends that
// and says how far it rose.
func peakMemory(t *testing.T) func() int64 {
	read := func() int64 {
		s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		metrics.Read(s)
		return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
	}
	debug.FreeOSMemory()
	base := read()
	peak := base
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for tick := time.NewTicker(time.Millisecond); ; {
			select {
			case <-stop:
				peak = max(peak, read())
				return
			case <-tick.C:
				peak = max(peak, read())
			}
		}
	}()
	return func() int64 {
		close(stop)
		<-done
		return peak - base
	}
}

package lang_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
)

// numeric has each number that the language takes as N, and how many it takes at least of
// those that are tried.
var numeric = []string{
	"machine(cpus = N)", "machine(steps = N)",
	"text('f', '90', at = N)", "text('f', '90', size = N)", "text('f', '90', extable = [N])", "text('f', [N])",
	"data('d', at = N)", "data('d', size = N)", "percpu('d', size = N)", "percpu('d', '00', at = N)",
	"data('d', size = N, away = True)",
	"elf('victim.o', at = N)", "missing('m', at = N)", "missing('m', at = 0xffffffff90000000, size = N)",
	"stub('s', returns = N)", "stub('s', fill = (N, '00'))", "insns(v + N)",
	"kprobe('k', v + N)", "kprobe('k', at = v, offset = N)", "kprobe('k', symbol = 'v', offset = N)",
	"kprobe('k', v, pre = [count()] * N)", "kprobe('k', v, pre = [set_reg('rax', N)])",
	"kprobe('k', v, pre = [set_ip(N)])", "kprobe('k', v, pre = [set_ip(v + N)])",
	"kprobe('k', v, pre = [store(d + N, 1)])", "kprobe('k', v, pre = [store(d, N)])",
	"kretprobe('k', v, maxactive = N)", "kretprobe('k', v, data_size = N)", "kretprobe('k', v, offset = N)",
	"jprobe('k', v, entry = [count()], offset = N)",
	"jump_label('l', at = v, target = v, offset = N)", "jump_label('l', at = v, target = v, toff = N)",
	"fentry(v + N)", "lock_prefix(v + N)", "static_call('s', sites = [v + N])", "static_call('s', tails = [v] * N)",
	"module('m', funcs = [v] * N)", "task(cpu = N, ops = [call(v)])", "task(repeat = N, ops = [call(v)])",
	"task(ops = [call(v)] * N)", "task(ops = [call(v, N)])",
	"task(ops = [call(v, *([1] * N))])", "task(ops = [call(v, returns = N)])",
	"task(ops = [call(v, returns = 1, bits = N)])", "task(ops = [call(v + N)])",
	"task(ops = [expect(d + N, '00')])", "register('k', errno = N)", "timer(cpu = N)", "timer(cpu = 0, at_most = N)",
	"nmi(cpu = N)", "nmi(cpu = 0, at_most = N)", "preempt(cpu = N)", "preempt(cpu = 0, at_most = N)",
	"scenario('x' * N)", "scenario(says = 'x' * N)", "text('x' * N, '90')", "task('x' * N, ops = [call(v)])",
	"[kprobe('k%d' % i, v) for i in range(N)]", "[task(ops = [call(v)]) for i in range(N)]",
	"[nmi(cpu = 0) for i in range(N)]", "[text('f%d' % i, '90') for i in range(N)]",
	"[data('d%d' % i, '90') for i in range(N)]",
	"optimization(N)", "range(N)", "'x' * N", "[0] * N", "1 << N", "chr(N)", "'x'[N]", "int('1', N)",
	"' ' .split(None, N)", "'x'.replace('x', 'y', N)", "range(0, N, N)",
}

// Each number of the language has a range, and a line says so: whatever it is, Load ends
// soon and doesn't panic.
func TestEveryNumber(t *testing.T) {
	for _, line := range numeric {
		for _, n := range []string{"0", "(-1)", "(1 << 20)", "(1 << 32)", "1000000000000000000", "(1 << 63)",
			"-(1 << 63)", "((1 << 64) - 1)", "(1 << 200)"} {
			src := "v = text('v', '0f 1f 44 00 00 90 c3')\nd = data('d', size = 64)\ntask(ops = [call(v)])\n" +
				strings.ReplaceAll(line, "N", n)
			begin := cpu(t)
			_, err := lang.Load("n.star", []byte(src), library.Open)
			require.Less(t, cpu(t)-begin, 2*time.Second, src)
			if err != nil {
				require.Regexp(t, `^n\.star:\d+:\d+: [^\n]+$`, err.Error(), src)
			}
		}
	}
}

// What has room for a number refuses one that is too large, with its range.
func TestNumbersRefused(t *testing.T) {
	for line, says := range map[string]string{
		"machine(cpus = 65)":                          "a machine has 1 to 64",
		fmt.Sprintf("machine(steps = %d)", 1<<30):     fmt.Sprintf("%d the largest", scenario.MaxBudget),
		"[nmi(cpu = 0) for i in range(64)]":           "at most 63",
		"task(repeat = 1000001, ops = [call(v)])":     "1 to 1000000",
		"timer(cpu = 0, at_most = 1001)":              "1 to 1000",
		"kretprobe('k', v, maxactive = 4097)":         "at most 4096",
		"data('e', size = 1 << 20)":                   "a block at most",
		"[kprobe('k%d' % i, v) for i in range(1001)]": "at most 1000",
		"[task(ops = [call(v)]) for i in range(200)]": "at most 200",
		"task(ops = [call(v, 1, 2, 3, 4, 5, 6, 7)])":  "at most 6",
		"kprobe('k', v, pre = [count()] * 101)":       "at most 100",
	} {
		_, err := lang.Load("n.star", []byte("v = text('v', '90 c3')\ntask(ops = [call(v)])\n"+line), nil)
		require.ErrorContains(t, err, says, line)
	}
}

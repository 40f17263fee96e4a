package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/pagetest"
	"kpsim/internal/ui/cli"
)

const modulesOfTests = "../../smp/image/testdata/"

// The page of a fuzz session fits a small screen, as the others do.
func TestFuzzPageFits(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f.html")
	args := []string{"fuzz", "--runs", "40", "--each", "20", "--as-shipped", "--edition", "2.6", "--traces", dir,
		"--html", path}
	var out, errs bytes.Buffer
	require.Contains(t, []int{cli.OK, cli.Against}, run(args, &out, &errs), errs.String())
	pagetest.Fits(t, path)
}

// checkHTML runs kpsim check --html: the file, and what is in it.
func checkHTML(t *testing.T, flags ...string) (path, text string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "c.html")
	var out, errs bytes.Buffer
	require.Equal(t, cli.OK, run(append([]string{"check", "--html", path}, flags...), &out, &errs), errs.String())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, out.String(), path+": ")
	pagetest.Check(t, string(b))
	return path, string(b)
}

// The page has the sums, the functions and the instructions that check prints.
func TestSurveyPage(t *testing.T) {
	path, text := checkHTML(t, modulesOfTests+"module61.o")
	require.Contains(t, text, "<code>kpsim check --html c.html module61.o</code>")
	require.Contains(t, text, "by k61 (Debian 6.1.192), edition 6.5, with PREEMPTION RETPOLINE FTRACE OPTPROBES.")
	require.Contains(t, text, "Of 11 functions, 52 instructions without padding.")
	for _, want := range []string{
		`<th scope="row">probed</th><td class="n">23</td><td class="n">44.2</td>`,
		`<th scope="row">-EINVAL</th><td class="n">26</td>`, `<th scope="row">blacklisted</th><td class="n">10</td>`,
		"Of 52 instructions probes on 1 are optimized, on 22 they stay breakpoints, on 29 they are refused.",
		"Each function",
	} {
		require.Contains(t, pagetest.Section(text, "sums"), want)
	}
	require.Contains(t, pagetest.Section(text, "functions"),
		`<code>sum</code></a></th><td>BUG at &#43;0x9</td><td class="n">6</td><td class="n">11</td><td class="n">5</td><td class="n">0</td><td class="n">0</td>`)
	// Bars are of all functions together, and of each that has such instructions.
	for piece, bars := range map[string]int{"1": 2, "2": 7, "3": 9} {
		require.Equal(t, bars, strings.Count(pagetest.Section(text, "sums"), "fill:url(#hatch-"+piece+")"))
	}
	require.Less(t, strings.Index(text, ">choose</text>"), strings.Index(text, ">sum</text>"),
		"the longest is the uppermost")
	var widths []float64
	for _, piece := range []string{"1", "2"} {
		m := regexp.MustCompile(`<path d="M([\d.]+),[\d.]+L[\d.]+,[\d.]+L([\d.]+),[^"]*"\s*style="fill:url\(#hatch-` +
			piece + `\)`).FindStringSubmatch(text)
		require.NotNil(t, m)
		from, err := strconv.ParseFloat(m[1], 64)
		require.NoError(t, err)
		to, err := strconv.ParseFloat(m[2], 64)
		require.NoError(t, err)
		widths = append(widths, to-from)
	}
	require.InEpsilon(t, 22, widths[1]/widths[0], 0.05, "one is optimized, 22 stay breakpoints")
	require.Equal(t, 11, strings.Count(text, "<details id="))
	require.NotContains(t, text, "so that the page stays small")
	_, again := checkHTML(t, modulesOfTests+"module61.o")
	require.True(t, text == again)

	o := pagetest.Open(t, path, 1280, 1000)
	require.Empty(t, o.Console)
	pagetest.Fits(t, path)
	require.Contains(t, o.DOM, "</footer>")
}

// One function has its table and no other.
func TestSurveyPageOfFunction(t *testing.T) {
	_, text := checkHTML(t, "--func", "checksum", "--profile", "k61", "testdata/mine/mine.o")
	require.Contains(t, text, "<h1>Probes in checksum of mine.o</h1>")
	require.Contains(t, text, "<code>kpsim check --func checksum --profile k61 --html c.html mine.o</code>")
	require.NotContains(t, text, `<section id="functions"`)
	require.NotContains(t, text, "<details")
	list := pagetest.Section(text, "instructions")
	require.Contains(t, list, `<th scope="row">&#43;0x0</th><td><code>48 8d 04 37</code></td><td><code>lea (%rdi,%rsi),%rax</code></td><td>int3</td><td>no</td><td><span class="good"><span aria-hidden="true">✓`+"\u00a0"+`</span>yes, 9 bytes</span></td>`)
	require.Contains(t, list, `<td>JTPR targeted by &#43;0x20</td>`)

	_, text = checkHTML(t, "--every-byte", "--edition", "6.9", "--config", "none", "--cpu", "none",
		"testdata/mine/mine.o")
	require.Contains(t, text, "<code>kpsim check --edition 6.9 --config none --cpu none --every-byte --html c.html mine.o</code>")
	require.Contains(t, pagetest.Section(text, "instructions"),
		`✗`+"\u00a0"+`</span>-EILSEQ</span></td><td>-</td><td>not an instruction boundary, inside &#43;0x0</td>`)
	_, text = checkHTML(t, "--func", "same", modulesOfTests+"load.o")
	require.Contains(t, text, "The function is the first of 2 of that name; write same#2 for the next.")
	_, text = checkHTML(t, modulesOfTests+"load.o") // names that can't be printed
	require.Contains(t, text, "2 bytes of code without a symbol: no probe finds it.")
	_, text = checkHTML(t, "testdata/mine/reasons.o")
	require.Contains(t, text, "<td>11 bytes of padding</td>")
}

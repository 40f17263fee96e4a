package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/internal/ui/cli"
	"kpsim/internal/verbs/check"
)

var update = flag.Bool("update", false, "write what comes out to docs/check.md; read the diff")

// inMine runs kpsim beside the objects that docs/check.md speaks of.
func inMine(t *testing.T, line string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(strings.Fields(line)[1:], &out, &errs)
	return status, out.String(), errs.String()
}

const checkPage = "../../docs/check.md"

// anyKpsim is which kpsim it is, in JSON: of each build another.
var anyKpsim = regexp.MustCompile(`"kpsim":\{"version":[^{}]*\}`)

// What docs/check.md shows is what comes out.
func TestCheckPage(t *testing.T) {
	text, err := os.ReadFile(checkPage)
	require.NoError(t, err)
	path, err := filepath.Abs(checkPage)
	require.NoError(t, err)
	t.Chdir("testdata/mine")
	blocks := 0
	is := regexp.MustCompile("(?s)```console\n\\$ (.*?)\n(.*?)```\n").ReplaceAllStringFunc(string(text),
		func(block string) string {
			blocks++
			line, _, _ := strings.Cut(strings.TrimPrefix(block, "```console\n$ "), "\n")
			status, stdout, stderr := inMine(t, line)
			assert.Zero(t, status, "%s: %s", line, stderr)
			stdout = anyKpsim.ReplaceAllString(stdout, `"kpsim":{...}`)
			return "```console\n$ " + line + "\n" + stdout + "```\n"
		})
	assert.Equal(t, 4, blocks)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(is), 0o644))
		return
	}
	assert.Equal(t, is, string(text))
}

// Each line to type in docs/check.md is one that works. Without real modules,
// they are what is missing.
func TestCheckPageLines(t *testing.T) {
	text, err := os.ReadFile(checkPage)
	require.NoError(t, err)
	t.Chdir("testdata/mine")
	lines := 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(block[1]) {
			lines++
			line = strings.TrimSpace(line)
			module, real := "", false
			for _, word := range strings.Fields(line) {
				if strings.HasSuffix(word, ".ko") {
					module = filepath.Join(os.Getenv("KPSIM_MODULES"), "k612", word)
					real = fileExists(module)
					line = strings.Replace(line, word, module, 1)
				}
			}
			status, stdout, stderr := inMine(t, line)
			if module != "" && !real {
				assert.Equal(t, cli.BadInput, status, line)
				assert.Contains(t, stderr, "no such file", line)
				continue
			}
			assert.Zero(t, status, "%s: %s", line, stderr)
			assert.NotEmpty(t, stdout, line)
		}
	}
	assert.Equal(t, 11, lines)
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// jsonRow is a line of check --json.
type jsonRow struct {
	Func, Section, Bytes, Reason    string
	Offset, At, Len, Errno          int
	Boostable, Optimizable, Padding bool
	BoostReason                     string `json:"boost_reason"`
	Emulated, Ftrace                bool
	Isize, Delta, Region            int

	Kpsim any // which kpsim it is: of the first line only
}

func jsonRows(t *testing.T, line string) []jsonRow {
	t.Helper()
	status, stdout, stderr := inMine(t, line)
	require.Zero(t, status, "%s: %s", line, stderr)
	var rows []jsonRow
	for line := range strings.Lines(stdout) {
		var r jsonRow
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		require.NoError(t, d.Decode(&r), line)
		require.Equal(t, len(rows) == 0, r.Kpsim != nil)
		r.Kpsim = nil
		rows = append(rows, r)
	}
	return rows
}

// The table of reasons in docs/check.md has each one that any edition gives, and
// each is given in the function named there.
func TestCheckPageReasons(t *testing.T) {
	text, err := os.ReadFile(checkPage)
	require.NoError(t, err)
	t.Chdir("testdata/mine")
	given := make(map[string]bool) // function: reason
	place := regexp.MustCompile(`\b\w+\+0x[0-9a-f]+`)
	for _, kernel := range []string{"--profile k61", "--profile k612", "--edition 2.6", "--edition 4.15",
		"--edition 5.14"} {
		for _, r := range jsonRows(t, "kpsim check --json --every-byte "+kernel+" reasons.o") {
			given[r.Func+": "+place.ReplaceAllString(r.Reason, "f+0x12")] = true
			given[r.Func+": "+place.ReplaceAllString(r.BoostReason, "f+0x12")] = true
		}
	}
	told := make(map[string]bool)
	for _, m := range regexp.MustCompile("(?m)^\\| `(.*?)` \\| .* \\| `(\\w+)` \\|$").FindAllStringSubmatch(string(text), -1) {
		told[m[1]] = true
		assert.True(t, given[m[2]+": "+m[1]], "%s isn't given in %s", m[1], m[2])
	}
	for reason := range given {
		_, reason, _ := strings.Cut(reason, ": ")
		assert.True(t, reason == "" || told[reason], "%s isn't told", reason)
	}
	require.Greater(t, len(told), 30)
}

// Each field of the JSON lines is in the help and on the page.
func TestCheckFields(t *testing.T) {
	text, err := os.ReadFile(checkPage)
	require.NoError(t, err)
	t.Chdir("testdata/mine")
	_, stdout, _ := inMine(t, "kpsim check --json reasons.o")
	fields := make(map[string]bool)
	for line := range strings.Lines(stdout) {
		var o map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &o))
		for f := range o {
			fields[f] = true
		}
	}
	require.Len(t, fields, 18)
	for f := range fields {
		assert.Regexp(t, `\b`+f+`\b`, check.RowHelp)
		assert.Contains(t, string(text), "`"+f+"`")
	}
}

// Two static functions of one name are two places.
func TestCheckSameName(t *testing.T) {
	t.Chdir("../../smp/image/testdata")
	places := make(map[[2]any]bool)
	offsets := make(map[int]int)
	for _, r := range jsonRows(t, "kpsim check --json load.o") {
		p := [2]any{r.Section, r.At}
		assert.False(t, places[p], "%v twice", p)
		places[p] = true
		if r.Func == "same" {
			offsets[r.Offset]++
		}
	}
	assert.Equal(t, map[int]int{0: 2, 1: 1}, offsets)

	status, stdout, stderr := inMine(t, "kpsim check --json --func same load.o")
	assert.Zero(t, status)
	assert.Equal(t, 1, strings.Count(stdout, "\n"))
	assert.Equal(t, "kpsim: same, the first of 2 of that name; write same#2 for the next\n", stderr)
	assert.Len(t, jsonRows(t, "kpsim check --json --func same#2 load.o"), 2)
}

// Lines are short enough for a mail, and the totals are the sums of the lines.
func TestCheckTable(t *testing.T) {
	t.Chdir("testdata/mine")
	for _, kernel := range []string{"--profile k61", "--profile k612", "--edition 4.15"} {
		_, stdout, _ := inMine(t, "kpsim check "+kernel+" reasons.o")
		functions, sums := 0, map[string]int{}
		for line := range strings.Lines(stdout) {
			if !strings.Contains(line, "behind the undecodable bytes") { // which no compiler leaves
				assert.Less(t, len(line), 101, line) // with its end
			}
			if m := regexp.MustCompile(`^\w+ +(\d+) +(\d+) +(\d+) +(\d+)(?: |\n)`).FindStringSubmatch(line); m != nil {
				functions++
				for i, name := range []string{"instructions", "registrable", "boostable", "optimizable"} {
					sums[name] += atoi(t, m[i+1])
				}
			}
		}
		require.Equal(t, 22, functions)
		for name, n := range sums {
			m := regexp.MustCompile(`(?m)^ *` + name + ` +(\d+) `).FindStringSubmatch(stdout)
			if name == "instructions" {
				m = regexp.MustCompile(`(?m)^22 functions, (\d+) instructions`).FindStringSubmatch(stdout)
			}
			require.NotNil(t, m, name)
			assert.Equal(t, n, atoi(t, m[1]), "%s of %s", name, kernel)
		}
		for heading, total := range map[string]int{
			"not registrable":              sums["instructions"] - sums["registrable"],
			"registrable, not optimizable": sums["registrable"] - sums["optimizable"],
		} {
			_, list, _ := strings.Cut(stdout, "\n"+heading+", because of\n")
			list, _, _ = strings.Cut(list, "\n\n")
			for _, m := range regexp.MustCompile(`(?m)^ +(\d+)  `).FindAllStringSubmatch(list, -1) {
				total -= atoi(t, m[1])
			}
			assert.Zero(t, total, "%s of %s", heading, kernel)
		}
	}
}

func atoi(t *testing.T, s string) (n int) {
	require.NoError(t, json.Unmarshal([]byte(s), &n))
	return n
}

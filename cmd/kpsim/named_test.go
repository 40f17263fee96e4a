package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/thorough"
	"kpsim/internal/ui/cli"
	"kpsim/internal/version"
)

// A naming is a command line that prints JSON or writes files, and what it prints or writes:
// all of these say which kpsim has made them.
type naming struct {
	line   string // $D is a folder, $K and $L are kernels, $T is a trace
	writes string // a file in $D; "": JSON is printed
	slow   string // how long it takes, if that is long
}

// namedBy has, by command and flag, each that prints JSON, or writes pages, traces or results.
var namedBy = map[string]naming{
	"explore --json": {line: "explore --json --runs 20 --traces $D safe-none"},
	"explore --traces": {line: "explore --runs 500 --traces $D second-instruction",
		writes: "second-instruction.kps"},
	"explore --out":    {line: "explore --runs 100 --traces $D --out $D/1.json safe-none", writes: "1.json"},
	"fuzz --json":      {line: "fuzz --json --programs 2"},
	"fuzz --html":      {line: "fuzz --programs 2 --html $D/fuzz.html", writes: "fuzz.html"},
	"fuzz --traces":    {line: "fuzz --programs 16 --mutant no-sync-arm --traces $D", writes: "*.kps", slow: "13 s"},
	"small --json":     {line: "small --json --calls 1"},
	"verify --json":    {line: "verify --json --deviations 1 safe-none"},
	"verify --traces":  {line: "verify --deviations 2 --traces $D torn-jump", writes: "torn-jump-verify.kps"},
	"compare --json":   {line: "compare --json --kernel $K --mutant skip-call:kprobe_optimizer:synchronize_rcu_tasks:1 --runs 100 safe-full", slow: "a kernel is booted and searched"},
	"compare --traces": {line: "compare --kernel $K --mutant skip-call:kprobe_optimizer:synchronize_rcu_tasks:1 --traces $D full-rcu", writes: "*.kps", slow: "a kernel is searched"},
	"review --json": {line: "review --json --kernel $L --before $K --runs 20 safe-full",
		slow: "two kernels are searched"},
	"review --html": {line: "review --kernel $L --before $K --runs 20 --html $D/review.html safe-full",
		writes: "review.html", slow: "two kernels are searched"},
	"matrix --json": {line: "matrix --json --drawn 100 --deviations 1 jump/sched/naive", slow: "15 s"},
	"matrix --html": {line: "matrix --drawn 100 --deviations 1 --html $D/matrix.html jump/sched/naive",
		writes: "matrix.html", slow: "15 s"},
	"matrix --traces": {line: "matrix --drawn 100 --deviations 1 --traces $D jump/sched/naive",
		writes: "*.kps", slow: "15 s"},
	"merge --json":          {line: "merge --json $D/1.json"},
	"merge --traces":        {line: "merge --traces $D/merged $D/2.json", writes: "merged/second-instruction.kps"},
	"run --json":            {line: "run --json safe-none"},
	"replay --json":         {line: "replay --json $T"},
	"explain --json":        {line: "explain --runs 5 --json $T"},
	"view --html":           {line: "view --html $D/view.html $T", writes: "view.html"},
	"shrink --json":         {line: "shrink --json --out $D/a.kps $T"},
	"shrink --out":          {line: "shrink --out $D/shrunk.kps $D/second-instruction.kps", writes: "shrunk.kps"},
	"rerecord --json":       {line: "rerecord --json $D/second-instruction.kps"},
	"fmt --json":            {line: "fmt --check --json $D/second-instruction.kps"},
	"litmus --json":         {line: "litmus --json testdata/litmus/sb.litmus"},
	"check --json":          {line: "check --json testdata/mine/mine.o"},
	"check --html":          {line: "check --html $D/check.html testdata/mine/mine.o", writes: "check.html"},
	"kernel info --json":    {line: "kernel info --json $K"},
	"kernel closure --json": {line: "kernel closure --json $K", slow: "kernel info has its form"},
	"kernel mutants --json": {line: "kernel mutants --json $K"},
	"bench search --json":   {line: "bench search --json --seeds 1 --most 100 --time 0s --mutants no-sync-arm"},
	"mutants --json":        {line: "mutants --seeds 2 --json no-quiesce"},
	"mutants --html": {line: "mutants --html $D/mutants.html no-quiesce", writes: "mutants.html",
		slow: "3 s"},
	"overhead table --json":     {line: "overhead --json"},
	"overhead table --html":     {line: "overhead --html $D/overhead.html", writes: "overhead.html", slow: "6 s"},
	"overhead fit --json":       {line: "overhead fit --json"},
	"overhead maxactive --json": {line: "overhead maxactive --tasks 1-2 --maxactive 1-2 --json"},
	"overhead pauses --json":    {line: "overhead pauses --cpus 2 --runs 2 --json"},
	"overhead probes --json":    {line: "overhead probes --count 1,8 --json"},
	"overhead price --json":     {line: "overhead price hook-unsynced --cpus 2 --runs 2 --json"},
	"overhead price --html": {line: "overhead price hook-unsynced --cpus 1,2 --runs 2 --html $D/price.html",
		writes: "price.html"},
	"editions --json": {line: "editions --json"},
	"list --json":     {line: "list --json"},
	"version --json":  {line: "version --json"},
}

// unnamed are flags that write what is for another program, in its form, or that others test.
var unnamed = map[string]string{
	"export --out":    "its formats are those of other tools",
	"small --traces":  "it writes scenarios",
	"review --traces": "it writes the witnesses of a difference by the function that compare uses",
	"watch --traces":  "as review's",
	"watch --json":    "it prints by the function that the others use, and package watch tests its lines",
	"bisect --traces": "as review's",
	"bisect --json":   "it is slow, and prints by the function that review's uses",
}

// TestNamed: each JSON, page, trace and result file that a command makes says which kpsim has
// made it.
func TestNamed(t *testing.T) {
	dir := t.TempDir()
	word := strings.NewReplacer("$D", dir, "$T", "../../traces/corpus/T2-no-quiesce.kps")
	do := func(t *testing.T, line string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if status := run(strings.Fields(word.Replace(line)), &out, &errs); status != cli.OK && status != cli.Against {
			t.Fatalf("%s: status %d\n%s", line, status, &errs)
		}
		return out.String()
	}
	do(t, "explore --runs 500 --traces $D --out $D/2.json second-instruction") // what others read
	do(t, "explore --runs 100 --traces $D --out $D/1.json safe-none")
	this, err := json.Marshal(version.This())
	require.NoError(t, err)
	everyNaming(func(name string) {
		c, ok := namedBy[name]
		if !ok {
			require.NotEmpty(t, unnamed[name], "%s is neither tested nor excused", name)
			return
		}
		t.Run(name, func(t *testing.T) {
			if c.slow != "" {
				thorough.Only(t, c.slow)
			}
			for word, series := range map[string]string{"$K": "6.1", "$L": "6.12"} {
				if strings.Contains(c.line, word) {
					c.line = strings.ReplaceAll(c.line, word, kerneltest.Path(t, series))
				}
			}
			text := do(t, c.line)
			if c.writes != "" {
				files, err := filepath.Glob(filepath.Join(dir, c.writes))
				require.NoError(t, err)
				require.NotEmpty(t, files)
				file, err := os.ReadFile(files[0])
				require.NoError(t, err)
				text = string(file)
			}
			switch filepath.Ext(c.writes) {
			case ".kps":
				require.Contains(t, text, "\nkpsim: "+version.This().String()+"\n")
			case ".html":
				require.Contains(t, text, version.This().String())
			default:
				first, _, _ := strings.Cut(text, "\n")
				var named struct{ Kpsim json.RawMessage }
				require.NoError(t, json.Unmarshal([]byte(first), &named))
				require.JSONEq(t, string(this), string(named.Kpsim))
			}
		})
	})
}

// everyNaming calls f with each command and flag that prints JSON or writes a page, a trace or
// a result.
func everyNaming(f func(name string)) {
	everyCommand(func(words []string, n *kong.Node) {
		for _, flag := range n.Flags {
			switch flag.Name {
			case "json", "html", "traces", "out":
				f(strings.Join(words, " ") + " --" + flag.Name)
			}
		}
	})
}

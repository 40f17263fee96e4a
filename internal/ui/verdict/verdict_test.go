package verdict

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/joshdk/go-junit"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"kpsim/linux/vmlinux/shelf"
)

// hostile are names and texts that break formats which don't escape.
var hostile = []string{
	"", " ", "plain", " blanks at both ends ", "a # SKIP b", "#", "- dash", "ok 1 - fake", "not ok 1 fake", "1..7",
	"KTAP version 1", "# Subtest: x", "Subtest: x", "line\nfeed", "line\r\nfeed", "tab\there", "]]>",
	"<x a='1'>&amp;\"",
	"\x00\x01\x1b[31m", "\xff\xfe", "\u202e\u2028\ufffe\uffff", "\U0010ffff", "%s%n", `\x23`, `{"a":1}`,
	"List of all partitions: x", "Kernel panic - not syncing: VFS: x", "reboot: System halted", "a/../b?c#d", "ünï",
	"name # ERROR x", "a\nKTAP version 1\n1..1\nok 1 b",
}

// sample is a list with each outcome, and hostile names and texts.
func sample() *List {
	l := &List{Command: "kpsim explore <\x00>", Verb: "explore", Status: 1, Version: "1.0"}
	for i, s := range hostile {
		o := Outcome(i % 4)
		rule := [...]string{"", "T1", "", Answer}[o]
		if o == Skipped && i%8 == 2 {
			rule = "T2"
		}
		l.Add(Case{Group: s, Name: hostile[(i+1)%len(hostile)], Outcome: o, Rule: rule,
			Says:   hostile[(i+2)%len(hostile)],
			Notes:  []string{s, hostile[(i+3)%len(hostile)]},
			Places: []Place{{File: s, Line: i}, {File: "/abs/" + s, Says: s}}, Trace: s, Next: s})
		l.Add(Case{Group: s, Name: s, Says: s})
	}
	return l
}

func written(t require.TestingT, l *List, format string) []byte {
	var b bytes.Buffer
	require.NoError(t, l.Write(&b, format))
	return b.Bytes()
}

// names returns the cases of a list as readers should see them: group, name, outcome.
func names(l *List) (list [][3]string) {
	for _, g := range l.groups() {
		for _, c := range g.cases {
			list = append(list, [3]string{g.name, c.Name, c.Outcome.String()})
		}
	}
	return list
}

// checkJUnit reads JUnit XML with go-junit.
func checkJUnit(t require.TestingT, l *List) {
	data := written(t, l, "junit")
	suites, err := junitReader(data)
	require.NoError(t, err, "%s", data)
	word := map[junit.Status]string{junit.StatusPassed: "passed", junit.StatusFailed: "failed",
		junit.StatusSkipped: "skipped", junit.StatusError: "errored"}
	var read [][3]string
	for _, s := range suites {
		for _, c := range s.Tests {
			read = append(read, [3]string{s.Name, c.Name, word[c.Status]})
			require.Equal(t, s.Name, c.Classname)
		}
	}
	require.Equal(t, names(l), read)
}

func junitReader(data []byte) ([]junit.Suite, error) { return junit.Ingest(data) }

// checkKTAP reads KTAP by its rules, with a reader that is written for this test.
func checkKTAP(t require.TestingT, l *List) {
	data := string(written(t, l, "ktap"))
	in := strings.Split(strings.TrimSuffix(data, "\n"), "\n")
	next := func() string {
		require.NotEmpty(t, in, "%s", data)
		s := in[0]
		in = in[1:]
		return s
	}
	plan := func(indent string) int {
		require.Equal(t, indent+"KTAP version 1", next())
		var n int
		rest, ok := strings.CutPrefix(next(), indent+"1..")
		require.True(t, ok)
		require.NoError(t, json.Unmarshal([]byte(rest), &n))
		return n
	}
	result := func(indent string, number int) (name, outcome string) {
		for strings.HasPrefix(in[0], indent+"# ") {
			next()
		}
		s, ok := strings.CutPrefix(next(), indent)
		require.True(t, ok)
		s, bad := strings.CutPrefix(s, "not ")
		s, ok = strings.CutPrefix(s, "ok "+itoa(number)+" ")
		require.True(t, ok, "%q", s)
		name, directive, _ := strings.Cut(s, " # ")
		switch outcome = "passed"; {
		case strings.HasPrefix(directive, "SKIP"):
			outcome = "skipped"
		case strings.HasPrefix(directive, "ERROR"):
			outcome = "errored"
		case bad:
			outcome = "failed"
		}
		require.NotContains(t, name, "#")
		return name, outcome
	}
	var read [][3]string
	groups := plan("")
	for i := range groups {
		n := plan("  ")
		from := len(read)
		for k := range n {
			name, outcome := result("  ", k+1)
			read = append(read, [3]string{"", name, outcome})
		}
		name, _ := result("", i+1)
		for k := from; k < len(read); k++ {
			read[k][0] = name
		}
	}
	require.Empty(t, in)
	want := names(l)
	for i := range want {
		want[i][0], want[i][1] = described(want[i][0]), described(want[i][1])
	}
	require.Equal(t, want, read)
}

// checkSARIF decodes SARIF, and compares the results with the cases. schema may be nil.
func checkSARIF(t require.TestingT, l *List, schema *jsonschema.Schema) {
	data := written(t, l, "sarif")
	var log sarifLog
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&log))
	run := log.Runs[0]
	var want, read []string
	for _, g := range l.groups() {
		for _, c := range g.cases {
			if c.Outcome == Failed || c.Outcome == Skipped && c.Rule != "" {
				want = append(want, g.name+"/"+c.Name)
			}
		}
	}
	for _, r := range run.Results {
		read = append(read, r.Locations[0].Logical[0].Full)
		require.Equal(t, r.RuleID, run.Tool.Driver.Rules[r.RuleIndex].ID)
		require.Len(t, r.Fingerprints[fingerprintName], 32)
	}
	require.Equal(t, want, read)
	n := l.Counts()
	require.Equal(t, sarifCounts(n), run.Properties)
	require.Len(t, run.Invocations[0].Errors, n.Errored)
	if schema != nil {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		require.NoError(t, err)
		require.NoError(t, schema.Validate(doc))
	}
}

// Readers of the formats get back every name and outcome, whatever is in names and texts.
func TestFormatsAreRead(t *testing.T) {
	checkJUnit(t, sample())
	checkKTAP(t, sample())
	checkSARIF(t, sample(), nil)
	for _, l := range []*List{{Verb: "run"}, {Verb: "run", Cases: []Case{{Group: "g", Name: "n"}}}} {
		checkJUnit(t, l)
		checkKTAP(t, l)
		checkSARIF(t, l, nil)
	}
}

func FuzzFormats(f *testing.F) {
	for i, s := range hostile {
		f.Add(s, hostile[(i+1)%len(hostile)], hostile[(i+2)%len(hostile)], uint8(i), i)
	}
	f.Fuzz(func(t *testing.T, group, name, says string, o uint8, line int) {
		rule := ""
		if o%4 == uint8(Failed) || o&4 != 0 {
			rule = "T1"
		}
		l := &List{Verb: "explore", Command: says}
		for _, c := range []Case{{Group: group, Name: name}, {Group: name, Name: group}, {Group: group, Name: name}} {
			c.Outcome, c.Rule, c.Says, c.Notes, c.Trace, c.Next = Outcome(o%4), rule, says, []string{name}, name, says
			c.Places = []Place{{File: name, Line: line}}
			l.Add(c)
		}
		checkJUnit(t, l)
		checkKTAP(t, l)
		checkSARIF(t, l, nil)
	})
}

// schemaModule is a Go module that ships the schema of SARIF 2.1.0, and where. It isn't required by go.mod, since it
// requires much that nothing else here needs.
const (
	schemaModule = "github.com/securego/gosec/v2@v2.30.0"
	schemaFile   = "report/sarif/testdata/sarif-schema-2.1.0.json"
)

// sarifSchemaOf returns the schema. The test is skipped if the module can't be had.
func sarifSchemaOf(t *testing.T) *jsonschema.Schema {
	cmd := exec.Command("go", "mod", "download", "-json", schemaModule)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	out, err := cmd.Output()
	var at struct{ Dir string }
	if err != nil || json.Unmarshal(out, &at) != nil || at.Dir == "" {
		t.Skipf("no schema of SARIF: go mod download %s: %v %s", schemaModule, err, out)
	}
	data, err := os.ReadFile(filepath.Join(at.Dir, filepath.FromSlash(schemaFile)))
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat() // dates and URIs
	require.NoError(t, c.AddResource(sarifSchema, doc))
	schema, err := c.Compile(sarifSchema)
	require.NoError(t, err)
	return schema
}

// SARIF is valid by the official schema.
func TestSARIFIsValid(t *testing.T) {
	schema := sarifSchemaOf(t)
	checkSARIF(t, sample(), schema)
	checkSARIF(t, &List{Verb: "run"}, schema)

	// The schema notices what is wrong.
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(bytes.Replace(written(t, sample(), "sarif"),
		[]byte(`"level": "error"`), []byte(`"level": "bad"`), 1)))
	require.NoError(t, err)
	require.Error(t, schema.Validate(doc))
}

// kunit is a program that gives KTAP to the kernel's own parser, and prints what that has read.
const kunit = `
import io, json, sys
sys.path.insert(0, sys.argv[1])
out, sys.stdout = sys.stdout, io.StringIO()
import kunit_parser
test = kunit_parser.parse_run_tests(sys.stdin.read().splitlines(True))
sys.stdout = out
c = test.counts
print(json.dumps({"passed": c.passed, "failed": c.failed, "crashed": c.crashed, "skipped": c.skipped,
    "errors": c.errors, "names": [[g.name, t.name, t.status.name] for g in test.subtests for t in g.subtests]}))
`

// The kernel's own parser counts the same cases, and reads the same names.
func TestKTAPIsReadByTheKernelsParser(t *testing.T) {
	found := shelf.Files("source/tools/testing/kunit/kunit_parser.py")
	if len(found) == 0 {
		t.Skip("no kunit_parser.py at hand: scripts/fetch-kernel-source gets it with a kernel's source")
	}
	for _, path := range found {
		cmd := exec.Command("python3", "-c", kunit, filepath.Dir(path))
		cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONUTF8=1")
		cmd.Stdin = bytes.NewReader(written(t, sample(), "ktap"))
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if errs.Len() == 0 && err != nil {
			t.Skipf("python3: %v", err)
		}
		require.NoError(t, err, "%s", errs.String())
		var read struct {
			Passed, Failed, Crashed, Skipped, Errors int
			Names                                    [][3]string
		}
		require.NoError(t, json.Unmarshal(out, &read), "%s", out)
		n := sample().Counts()
		require.Equal(t, []int{n.Passed, n.Failed + n.Errored, 0, n.Skipped, 0},
			[]int{read.Passed, read.Failed, read.Crashed, read.Skipped, read.Errors}, path)
		want := names(sample())
		status := map[string]string{"passed": "SUCCESS", "failed": "FAILURE", "errored": "FAILURE",
			"skipped": "SKIPPED"}
		for i, w := range want {
			want[i] = [3]string{described(w[0]), described(w[1]), status[w[2]]}
		}
		require.Equal(t, want, read.Names)
		t.Logf("%s: %d passed, %d failed, %d skipped", path, read.Passed, read.Failed, read.Skipped)
	}
}

// Cases of one name in a group stay apart.
func TestNamesAreUnique(t *testing.T) {
	l := new(List)
	for _, c := range [][2]string{{"g", "n"}, {"g", "n"}, {"g", "n 2"}, {"h", "n"}} {
		l.Add(Case{Group: c[0], Name: c[1]})
	}
	require.Equal(t, [][3]string{{"g", "n", "passed"}, {"g", "n 2", "passed"}, {"g", "n 2 2", "passed"},
		{"h", "n", "passed"}}, names(l))
}

// A find keeps its fingerprint where only numbers differ, and has another one where words do.
func TestFingerprint(t *testing.T) {
	of := func(says string) string {
		c := Case{Rule: "T1", Group: "g", Name: "n", Says: says}
		return c.fingerprint()
	}
	require.Equal(t, of("3 of 400 runs: cpu1 begins 1b ab at f+0x1"), of("70 of 3000 runs: cpu0 begins e9 00 at f+0x2"))
	require.NotEqual(t, of("cpu1 begins inside"), of("cpu1 ends inside"))
}

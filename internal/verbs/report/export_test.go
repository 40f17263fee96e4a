package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"kpsim/internal/search/replay"
	"kpsim/internal/testkit/thorough"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/traces"
	"kpsim/traces/export"
	"kpsim/traces/view"
)

var updateScripts = flag.Bool("update-scripts", false,
	"write the table of docs that is made from the code anew; read the diff")

// exported calls f with each trace of the corpus in a format.
func exported(t *testing.T, format string, f func(name, text string, s *view.Scene)) {
	list := exports(t)
	require.NotEmpty(t, list)
	for i := range list {
		f(list[i].name, list[i].text[format], list[i].scene)
	}
}

// An inAll is a trace in all formats that tests look into.
type inAll struct {
	name  string
	text  map[string]string
	scene *view.Scene
}

var allExports []inAll

// exports replays the traces of the corpus, once for all tests.
func exports(t *testing.T) []inAll {
	if allExports != nil {
		return allExports
	}
	names, err := filepath.Glob("../../../traces/corpus/*.kps")
	require.NoError(t, err)
	for i, name := range names {
		if i%3 > 0 && !thorough.Set() {
			continue
		}
		file, err := inputs.ReadTrace(name)
		require.NoError(t, err)
		r, err := replay.Play(name, file, true)
		require.NoError(t, err)
		in := r.View(file)
		x := inAll{filepath.Base(name), make(map[string]string), view.Lay(in, r.Timeline(view.Sites(in)))}
		for _, format := range []string{"chrome", "ftrace", "trace.dat", "json", "columns"} {
			var b bytes.Buffer
			require.NoError(t, (&Export{Trace: name, To: format}).export(&b, file, r))
			x.text[format] = b.String()
		}
		r.Rig.Close()
		allExports = append(allExports, x)
	}
	return allExports
}

// TestExportLines: an object for each event, in order, with all deviations, and one
// violation at most.
func TestExportLines(t *testing.T) {
	violations := 0
	exported(t, "json", func(name, text string, s *view.Scene) {
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		require.Len(t, lines, len(s.Steps), name)
		made, time := 0, uint64(0)
		for i, line := range lines {
			d := json.NewDecoder(strings.NewReader(line))
			d.DisallowUnknownFields()
			var l export.Line
			require.NoError(t, d.Decode(&l), name)
			require.Equal(t, i, l.Step)
			require.Len(t, l.Args, len(s.Steps[i].Event.Kind.Spec().Args))
			require.True(t, l.Time > time || i == 0, name)
			require.GreaterOrEqual(t, l.Time, l.Clock)
			time, made = l.Time, made+len(l.Deviation)
			if l.Violation {
				violations++
				require.Equal(t, s.Violation, i, name)
			}
		}
		require.Equal(t, len(s.Deviations), made, name)
	})
	require.NotZero(t, violations)
}

// TestExportColumns: it fits into a mail, the columns are as wide on each line, and what is
// forbidden is said.
func TestExportColumns(t *testing.T) {
	exported(t, "columns", func(name, text string, s *view.Scene) {
		require.Contains(t, text, "\nforbidden (", name)
		_, title, _ := strings.Cut(text, " ") // the first word is the processor
		require.True(t, strings.HasPrefix(title, strings.TrimSuffix(name, ".kps")+"\n"), name)
		require.Contains(t, text, "\n{\n", name)
		_, rest, _ := strings.Cut(text, "\n}\n")
		columns := 0
		for line := range strings.Lines(rest) {
			line = strings.TrimSuffix(line, "\n")
			if strings.HasPrefix(line, "forbidden") {
				break
			}
			require.True(t, strings.HasPrefix(line, " ") && strings.HasSuffix(line, " ;"), "%s: %q", name, line)
			require.LessOrEqual(t, utf8.RuneCountInString(line), 100, "%s: %q", name, line) // a word may stick out
			columns++
		}
		require.Greater(t, columns, 2, name)
	})
}

// TestEventsPage: docs/events.md is what the vocabularies say of themselves.
func TestEventsPage(t *testing.T) {
	kinds := traces.Kinds()
	var b strings.Builder
	b.WriteString(`# Events

What a run is made of, as ` + "`kpsim export TRACE --to json`" + ` prints it, one JSON object a line. This page is made from the rows of the kinds, in smp/smpev, kprobes/kpev and linux/linuxev; a test compares it with them.

| key | what it is |
|---|---|
| step | number of the line, from 0 |
| event | ordinal of the event in the run: what heads the log (kinds marked head) comes before line 0 |
| cpu | the CPU; null: none |
| task | the task that ran on it; null: none |
| kind | one of those below |
| args | the arguments by name, as hexadecimal strings, because a JSON number can't hold a 64-bit address |
| says | the event in words |
| clock_cycles | what the CPU's clock showed |
| time_cycles | of the run: at least that, and later than the line before |
| violation | true on the line that broke the property; else left out |
| deviations | decisions other than the default ones, made since the line before, as in a trace's schedule; left out if there are none |

Addresses in says have names: f+0x1 is a function's, slot and detour are memory that was handed out for a probe. The bytes of an instruction (lo, hi) are packed: eight bytes in lo, seven more in hi, whose top byte is their number. Marks: head, it heads the log; monitors, the monitors of properties alone get it, and no log has it; rig, the rig emits it; claim, the engine says what state the address is in from now on.
`)
	types := []*traces.Type{}
	for _, block := range []struct {
		title string
		to    traces.Kind
	}{{"The machine and its kernel", traces.KprobesBlock}, {"Kprobes", traces.EngineBlock},
		{"A kernel's own engine", 1 << 15}} {
		b.WriteString("\n## " + block.title + "\n\n| kind | args | what has happened | marks |\n|---|---|---|---|\n")
		for ; len(kinds) > 0 && kinds[0] < block.to; kinds = kinds[1:] {
			row, list, marks := kinds[0].Spec(), []string{}, []string{}
			for _, a := range row.Args {
				if a.Type == nil {
					list = append(list, a.Name)
					continue
				}
				list = append(list, fmt.Sprintf("%s: %s", a.Name, a.Type.Name))
				if !slices.ContainsFunc(types, func(t *traces.Type) bool { return t.Name == a.Type.Name }) {
					types = append(types, a.Type)
				}
			}
			for _, m := range []struct {
				is   bool
				word string
			}{{row.Heads, "head"}, {row.Monitors, "monitors"}, {row.Rig, "rig"}, {row.State != "", "claim"}} {
				if m.is {
					marks = append(marks, m.word)
				}
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", row.Name, strings.Join(list, ", "),
				strings.ReplaceAll(row.Doc, "|", "\\|"), strings.Join(marks, ", "))
		}
	}
	b.WriteString("\n## Arguments\n\n| type | what the number is |\n|---|---|\n")
	for _, t := range types {
		fmt.Fprintf(&b, "| %s | %s |\n", t.Name, t.Doc)
	}
	if *updateScripts {
		require.NoError(t, os.WriteFile("../../../docs/events.md", []byte(b.String()), 0o644))
	}
	page, err := os.ReadFile("../../../docs/events.md")
	require.NoError(t, err)
	require.Equal(t, b.String(), string(page), "go test ./internal/verbs/report -run EventsPage -update-scripts")
}

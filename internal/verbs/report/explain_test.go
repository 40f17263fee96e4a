package report

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/internal/search/replay"
	"kpsim/internal/testkit/thorough"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
	"kpsim/traces/view"
)

var updateStories = flag.Bool("update-stories", false,
	"write the stories of the corpus to testdata/stories.txt; read the diff")

// A told is a trace of the corpus with its story.
type told struct {
	name     string
	straight bool // without deviations
	events   []traces.Event
	in       view.Input
	deciding []view.Sentence
	story    []view.Sentence
}

func tellCorpus(t *testing.T) []told {
	t.Helper()
	files, err := filepath.Glob("../../../traces/corpus/*.kps")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var list []told
	for _, path := range files {
		file, err := inputs.ReadTrace(path)
		require.NoError(t, err)
		r, err := replay.Play(path, file, true)
		require.NoError(t, err)
		in := viewInput(cli.New(io.Discard, io.Discard), file, r)
		events := slices.Clone(r.Rig.Log.Events)
		r.Decide(&in)
		list = append(list, told{filepath.Base(path), len(file.Schedule) == 0, events, in, view.Deciding(in),
			view.Story(in)})
		r.Rig.Close()
	}
	return list
}

// On a narrow terminal nothing sticks out of what explain and replay print but
// lines to type and what is one word, and no word is lost.
func TestExplainNarrow(t *testing.T) {
	const path = "../../../traces/corpus/T2-second-instruction.kps"
	words := func(s string) []string {
		_, s, _ = strings.Cut(s, "VIOLATION") // events are in other columns
		return strings.Fields(s)
	}
	for _, c := range []interface {
		Run(p *cli.Program) (int, error)
	}{&Explain{Trace: path, Runs: 3, Seed: 1}, &Replay{Trace: path}} {
		print := func(width int) string {
			var out bytes.Buffer
			p := cli.New(&out, io.Discard)
			p.Width = width
			_, err := c.Run(p)
			require.NoError(t, err)
			return out.String()
		}
		narrow := print(40)
		for line := range strings.Lines(narrow) {
			line = strings.TrimSuffix(line, "\n")
			if len(line) > 40 && len(strings.Fields(line)) > 1 && !strings.Contains(line, path) {
				t.Errorf("%d columns: %s", len(line), line)
			}
		}
		require.Equal(t, words(print(0)), words(narrow))
	}
}

// The story of each trace of the corpus, as it was read and found right.
func TestStories(t *testing.T) {
	compareTold(t, "testdata/stories.txt", func(x *told) []view.Sentence { return x.story })
}

// What decided the violation of each trace of the corpus. It says more than the property's message.
func TestDeciding(t *testing.T) {
	alone := 0
	compareTold(t, "testdata/deciding.txt", func(x *told) []view.Sentence {
		if len(x.deciding) == 1 && strings.HasPrefix(x.deciding[0].Text, x.in.Message[:min(4, len(x.in.Message))]) {
			alone++
		}
		return x.deciding
	})
	require.Less(t, alone, 60)
}

// compareTold compares sentences of each trace of the corpus with a file.
func compareTold(t *testing.T, path string, of func(x *told) []view.Sentence) {
	t.Helper()
	var got []string
	for _, x := range tellCorpus(t) {
		var b strings.Builder
		fmt.Fprintf(&b, "%s\n\n", x.name)
		for _, s := range of(&x) {
			fmt.Fprintf(&b, "%6d  %s\n", s.Seq, s.Text)
		}
		got = append(got, b.String())
	}
	const between = "\n\n"
	if *updateStories {
		require.NoError(t, os.WriteFile(path, []byte(strings.Join(got, between)), 0o644))
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, text := range got {
		if !strings.Contains("\n"+string(data), "\n"+text) {
			t.Errorf("%s doesn't have this story any more; go test -update-stories writes it; read the diff\n%s", path,
				text)
		}
	}
	assert.Len(t, string(data), len(strings.Join(got, between)), "there is more in %s than stories", path)
}

// What a sentence of explain gives the number of is a row of the table below it or, of the
// odds, of their table; and so is each of the odds that it gives.
func TestExplainNamesRows(t *testing.T) {
	files, err := filepath.Glob("../../../traces/corpus/*.kps")
	require.NoError(t, err)
	cells, err := filepath.Glob("../../../traces/corpus/matrix/*.kps")
	require.NoError(t, err)
	event, question, share := regexp.MustCompile(`event (\d+)`), regexp.MustCompile(`question (\d+)`),
		regexp.MustCompile(`\S+ %`)
	rowOf, oddsOf := regexp.MustCompile(`(?m)^[ >] *(\d+)  `), regexp.MustCompile(`(?m)^ +(\d+) +(\d+) +(\S+ %)`)
	first := func(matches [][]string) (list []string) {
		for _, m := range matches {
			list = append(list, m[len(m)-1])
		}
		return list
	}
	creeping := 0
	for i, path := range append(files, cells...) {
		if i%4 > 1 && !thorough.Set() {
			continue
		}
		var out bytes.Buffer
		p := cli.New(&out, io.Discard)
		p.Width = []int{0, 70}[i%2] // then there is one column for all CPUs
		_, err := (&Explain{Trace: path, Runs: 20, Seed: 1}).Run(p)
		require.NoError(t, err)
		parts := strings.SplitN(out.String(), "\n\n", 5)
		require.Len(t, parts, 5, path)
		require.True(t, strings.HasPrefix(parts[1], ">"), path)
		story, rows := parts[1]+"\n"+parts[2], first(rowOf.FindAllStringSubmatch(parts[3], -1))
		for _, n := range append(first(rowOf.FindAllStringSubmatch(story, -1)),
			first(event.FindAllStringSubmatch(strings.Join(strings.Fields(story), " "), -1))...) {
			assert.Contains(t, rows, n, "%s: %s", path, story)
		}
		_, end, ok := strings.Cut(parts[4], "The point of no return.")
		require.True(t, ok, path)
		parts = strings.SplitN(end, "\n\n", 4)
		require.Len(t, parts, 4, path)
		odds, says := oddsOf.FindAllStringSubmatch(parts[1], -1), strings.Join(strings.Fields(parts[2]), " ")
		var questions, events, chances []string
		for _, m := range odds {
			questions, events, chances = append(questions, m[1]), append(events, m[2]), append(chances, m[3])
		}
		for _, n := range first(event.FindAllStringSubmatch(says, -1)) {
			creeping++
			assert.Contains(t, events, n, "%s: %s", path, says)
			assert.Contains(t, rows, n, "%s: %s", path, says)
		}
		for _, n := range first(question.FindAllStringSubmatch(says, -1)) {
			assert.Contains(t, questions, n, "%s: %s", path, says)
		}
		for _, f := range share.FindAllString(says, -1) {
			assert.Contains(t, chances, f, "%s: %s", path, says)
		}
	}
	require.Greater(t, creeping, thorough.Of(8, 20))
}

// What is named has a row, whatever else would be told in one: if all is, there are as many
// rows as --all has.
func TestNamedRows(t *testing.T) {
	row := regexp.MustCompile(`(?m)^[ >] *(\d+)  `)
	rows := func(in view.Input) [][]string {
		var out bytes.Buffer
		require.NoError(t, view.Interleaving(&out, in))
		return row.FindAllStringSubmatch(out.String(), -1)
	}
	for i, x := range tellCorpus(t) {
		if len(x.events) > 10_000 { // each row looks through all that are named
			continue
		}
		in := x.in
		in.Width = []int{0, 60}[i%2] // then there is one column for all CPUs
		in.All = true
		all := rows(in)
		in.All, in.Rows = false, len(x.events)
		few := rows(in)
		for i := range x.events {
			in.Named = append(in.Named, x.events[i].Seq)
		}
		require.Equal(t, all, rows(in), x.name)
		require.Less(t, len(few), len(all), x.name)
	}
}

// claims are what a sentence says by its verb, and the kind of event that it
// must then be about.
var claims = []struct {
	words string
	kinds []traces.Kind
}{
	{`^(cpu\d+) (wrote|stored) `, []traces.Kind{smpev.TextStore}},
	{`^(cpu\d+) freed `, []traces.Kind{smpev.Free}},
	{`^(cpu\d+): OOPS`, []traces.Kind{smpev.Oops}},
	{`^(cpu\d+): allocate `, []traces.Kind{smpev.Alloc}},
	{`^(cpu\d+) hit no probe in that call`, []traces.Kind{smpev.CallEnd, smpev.Got}},
	{`^(cpu\d+) began to write \d to kprobes/enabled`, []traces.Kind{kpev.Enabled}},
	{`^That returned on (cpu\d+), and \S+ held`, []traces.Kind{kpev.Enabled}},
	{`^(cpu\d+) began (?:(?:un)?register|enable|disable)\(`, []traces.Kind{kpev.ApiEnter}},
	{`^(cpu\d+) took the #BP at `, []traces.Kind{smpev.Trap}},
	{`^(cpu\d+): \S+: lock `, []traces.Kind{smpev.Lock}},
	{`^(cpu\d+): \S+: unlock `, []traces.Kind{smpev.Unlock}},
	{`^(cpu\d+): return to `, []traces.Kind{smpev.Return}},
	{`^(cpu\d+): \S+: touch what \S+ protects, WITHOUT IT`, nil},
	{`^(cpu\d+): \S+: might sleep`, []traces.Kind{smpev.MightSleep}},
	{`^(cpu\d+): \S+ took \S+\.$`, []traces.Kind{smpev.Lock}},
	{`^(cpu\d+): pre_handler of \S+ runs with `, []traces.Kind{kpev.Context}},
	{`^(cpu\d+): (?:register|disable)\(\w+\) -> `, []traces.Kind{kpev.ApiReturn}},
	{`^(cpu\d+): trampoline: no instance has`, nil},
	{`^(cpu\d+): \w+: instance \d+ taken\.`, []traces.Kind{kpev.InstanceGet}},
	{`^(cpu\d+): \S+: its handler is told that the call returns to `, []traces.Kind{kpev.RetReturn}},
	{`^(cpu\d+): return probe memory \d+: \d+ references dropped, `, []traces.Kind{kpev.HolderDrop}},
	{`^(?:(?:un)?register|enable)\(\w+\) returned on (cpu\d+)`, []traces.Kind{kpev.ApiReturn}},
	{`^(cpu\d+) began to read `, []traces.Kind{kpev.Reading}},
	{`^(cpu\d+): reads in kprobes/list: `, []traces.Kind{kpev.ReadLine}},
	{`^(cpu\d+): has read `, []traces.Kind{kpev.ReadEnd}},
	{`^(cpu\d+) had written \d to kprobes/enabled`, []traces.Kind{kpev.Enabled}},
	{`^(cpu\d+) had written \d to the sysctl`, []traces.Kind{kpev.Sysctl}},
	{`^(cpu\d+) ran the pre_handler`, []traces.Kind{kpev.Handler}},
	{`^(cpu\d+) ran the handler of `, []traces.Kind{kpev.Handler}},
	{`^(cpu\d+) ran the probed .* in its slot and came back`, []traces.Kind{smpev.Return}},
	{`^(cpu\d+) (went on at|returned to) \S+(, in freed memory,)? and ran`, []traces.Kind{smpev.Exec}},
	{`^(cpu\d+) ran `, []traces.Kind{smpev.Exec}},
	{`^(cpu\d+) took the breakpoint at \S+; .* sent it to `, []traces.Kind{smpev.Trap, smpev.Return}},
	{`^(cpu\d+) took the breakpoint at \S+ \(.*\); .* sent it to `, []traces.Kind{smpev.Trap}},
	{`^(cpu\d+) returned to \S+, in freed memory\.$`, []traces.Kind{smpev.Return}},
	{`^(cpu\d+) queued \S+ for the optimizer; no work`, []traces.Kind{kpev.Optimizing, kpev.Unoptimizing}},
	{`^\w+\(\w+\) returned on (cpu\d+), (and \S+ still held|the last call)`, []traces.Kind{kpev.ApiReturn}},
	{` took (cpu\d+) at `, []traces.Kind{smpev.Trap}},
	{`^(cpu\d+) took its (?:NMI|timer interrupt)`, []traces.Kind{smpev.Trap}},
	{`was preempted there: (cpu\d+) switched to`, []traces.Kind{smpev.Switch}},
	{`^\w+ on (cpu\d+) began to wait for the \S+ grace period \d+\.$`, []traces.Kind{smpev.GPStart}},
	{`hasn't run anything yet, and the grace period waits for it\.$`, []traces.Kind{smpev.GPStart}},
	{`^(cpu\d+) idles from here on: `, []traces.Kind{smpev.Switch}},
	{`^(cpu\d+) runs \w+ from here on, which doesn't give it up\.$`, []traces.Kind{smpev.Switch}},
	{`^(cpu\d+): the transition of live patch \d+ to the (new|old) functions (begins|is turned round|is complete)\.$`,
		[]traces.Kind{smpev.LivePatch}},
	{`^(cpu\d+): \S+ goes over to the (new|old) functions, `, []traces.Kind{smpev.LiveSwitch}},
	{`^(cpu\d+): a call of \S+ (goes on in \S+|stays in the old function)`, []traces.Kind{smpev.LiveCall}},
	{`^\S+ was in the version that it will return into: it ran (.+)\.$`, []traces.Kind{smpev.Exec}},
	{`^(cpu\d+): the fprobe of \S+ (is registered, of|is unregistered|hooks no call any more)`,
		[]traces.Kind{smpev.Fprobe}},
	{`^(cpu\d+): a call of \S+ (is hooked, and|has returned, and|is missed)`, []traces.Kind{smpev.Fprobe}},
	{`^(cpu\d+): (in user mode it comes to|on the way back to user mode the handler of|it is to step the copy at \S+ of the instruction at|behind) `, []traces.Kind{smpev.Uprobe}},
	{`^(cpu\d+): (?:(?:un)?registers \S+ at the uprobe|\S+ is (?:un)?registered at the uprobe|is killed: a breakpoint stands at) .*\.$`,
		[]traces.Kind{smpev.Uprobe}},
	{`^(cpu\d+): .* program \S+ .*\.$|^(cpu\d+): \S+ returns to its image at \S+\.$`, []traces.Kind{smpev.Bpf}},
	{`^(cpu\d+): (?:runs the instruction at \S+, where no|the (?:nop|call) at|a call replaces|a breakpoint is written|the handler \S+ of the uprobe at|after the uprobe at|a return from \S+ uses|longjmp leaves|a call of \S+ (?:is over|has returned to the trampoline)).*\.$`,
		[]traces.Kind{smpev.Uprobe}},
	{`^(cpu\d+): uprobes claimed the #\w+ at \S+, in the kernel\.$`, []traces.Kind{smpev.Claim}},
	{`^(cpu\d+): the debugger's breakpoint at \S+ is (set|cleared)`, []traces.Kind{smpev.Debugger}},
	{`^(cpu\d+): the kernel prints: (rcu: )?INFO: `, []traces.Kind{smpev.GPStall}},
	{`^The \S+ grace period ended although`, []traces.Kind{smpev.GPEnd}},
	{`claimed the #BP on (cpu\d+): the kernel died`, []traces.Kind{smpev.Oops}},
	{`^No handler took the .* on (cpu\d+): the kernel died`, []traces.Kind{smpev.Oops}},
	{`^(cpu\d+) took the breakpoint at \S+( \(.*\))?\.$`, []traces.Kind{smpev.Trap}},
	{`^(cpu\d+) had stepped through `, []traces.Kind{smpev.Return}},
	{`^(cpu\d+) took the jump at `, []traces.Kind{smpev.Exec}},
	{`^(cpu\d+) had \d+ hits? earlier`, []traces.Kind{smpev.Trap, smpev.Exec}},
	{`^(cpu\d+): \w+\(\w+\) -> `, []traces.Kind{kpev.ApiReturn}},
	{`^(cpu\d+) disarmed \S+, it says`, []traces.Kind{kpev.Disarm}},
	{`^(cpu\d+) was handed`, []traces.Kind{smpev.Alloc}},
	{`^(cpu\d+): call \d+ `, []traces.Kind{smpev.CallEnd}},
	{`^(cpu\d+): check \d+ `, []traces.Kind{smpev.Got}},
	{`^(cpu\d+): \w+: no free instance, missed`, []traces.Kind{kpev.RetMissed}},
	{`^(cpu\d+) had taken \S+ under \S+ before`, []traces.Kind{smpev.Lock}},
	{`^\S+'s \S+ grace period ended before`, []traces.Kind{smpev.GPEnd}},
	{`^stop_machine stops each CPU where it stands`, []traces.Kind{smpev.StopStart}},
	{`waited for nothing but stop_machine`, []traces.Kind{smpev.StopStart, smpev.StopEnd}},
	{`^The IPI that was to make`, []traces.Kind{smpev.TextStore}},
	{`didn't end; its last event`, nil},
	{`^(cpu\d+): \S+ ends\.$`, []traces.Kind{smpev.Exit}},
	{`^At the end |^Nothing has been written to`, nil},
	{`^(cpu\d+) held its store to `, []traces.Kind{smpev.Held}},
	{`^(cpu\d+) queued `, []traces.Kind{kpev.Optimizing}},
	{`^(cpu\d+) had written \d to kprobes-optimization`, []traces.Kind{kpev.Sysctl}},
	{`^stop_machine: every CPU`, []traces.Kind{smpev.StopStart}},
	{`^stop_machine was over before`, []traces.Kind{smpev.StopEnd}},
	{`didn't wait for`, []traces.Kind{smpev.TextStore, smpev.Free}},
	{`^No (?:\S+ and no )?IPI made (cpu\d+) serialise after event`, []traces.Kind{smpev.TextStore}},
	{`left stop_machine without serialising`, []traces.Kind{smpev.TextStore}},
	{`^The write of .* 8 aligned bytes`, []traces.Kind{smpev.TextStore}},
	{`still to be written`, []traces.Kind{smpev.TextStore}},
}

// subjectElsewhere are the sentences whose CPU isn't the one of their event.
var subjectElsewhere = regexp.MustCompile(`^No (?:\S+ and no )?IPI made|without serialising|wait for|still to be written|was over before|^The IPI that|grace period ended before`)

// What a sentence says of an event is so: the event is of the kind of its verb
// and of the CPU that it names, the places in it are those of its arguments,
// and what it refers to by number came before the end of the story.
func TestStoriesAreTrue(t *testing.T) {
	number := regexp.MustCompile(`event (\d+)`)
	for _, x := range tellCorpus(t) {
		least := 2
		if x.straight || strings.HasPrefix(x.in.Property, "K1 ") || strings.HasPrefix(x.in.Property, "R2 ") ||
			strings.HasPrefix(x.in.Property, "C2 ") {
			// The default run, what a lock's user does alone, a count that is wrong: there
			// may be no more to tell than where it ends.
			least = 1
		}
		if strings.HasPrefix(x.in.Property, "P1 ") && len(x.story) == 1 &&
			strings.Contains(x.story[0].Text, " didn't end; ") {
			least = 1 // one task turns for ever in a routine, where nothing is an event, and all others have ended
		}
		if len(x.story) == 1 && strings.Contains(x.story[0].Text, ": allocate ") {
			least = 1 // what is handed out is in use: how that came isn't in the log
		}
		if len(x.story) == 1 && strings.Contains(x.story[0].Text, ": OOPS: unhandled ") {
			least = 1 // a fault that nothing before it tells of
		}
		require.GreaterOrEqual(t, len(x.story), least, x.name)
		require.LessOrEqual(t, len(x.story), 8, x.name)
		last := x.story[len(x.story)-1].Seq
		if x.in.At != 0 && !strings.HasPrefix(x.in.Property, "P3 ") { // that is in no log: a call has lasted too long
			// Nor is what monitors alone are told: then the story ends with what came before.
			require.EqualValues(t, min(int(x.in.At), len(x.events)-1), last, "%s: the story ends with the violation",
				x.name)
		}
		for _, s := range x.story {
			at := fmt.Sprintf("%s: %q of event %d", x.name, s.Text, s.Seq)
			require.Less(t, int(s.Seq), len(x.events), at)
			e := &x.events[s.Seq]
			require.Equal(t, s.Seq, e.Seq, at)
			long := 20
			if regexp.MustCompile(`: bytes? 0 `).MatchString(s.Text) { // it says of each byte where it is from
				long = 32
			}
			assert.LessOrEqual(t, words(s.Text), long, at)
			assert.LessOrEqual(t, s.Seq, last, at)
			for _, also := range s.Also {
				assert.Less(t, int(also), len(x.events), at)
			}
			for _, m := range number.FindAllStringSubmatch(s.Text, -1) {
				n, _ := strconv.Atoi(m[1])
				assert.LessOrEqual(t, n, int(last), at)
			}
			claim(t, e, &s, at)
			holds(t, x, e, &s, at)
		}
	}
}

func claim(t *testing.T, e *traces.Event, s *view.Sentence, at string) {
	t.Helper()
	for _, c := range claims {
		m := regexp.MustCompile(c.words).FindStringSubmatch(s.Text)
		if m == nil {
			continue
		}
		if c.kinds != nil {
			assert.Contains(t, c.kinds, e.Kind, at)
		}
		if len(m) > 1 && strings.HasPrefix(m[1], "cpu") && !subjectElsewhere.MatchString(s.Text) {
			assert.Equal(t, fmt.Sprintf("cpu%d", e.CPU), m[1], at)
		}
		return
	}
	t.Errorf("%s: no row of the table knows what that says", at)
}

// holds checks against the log, in its own way, what some sentences say.
func holds(t *testing.T, x told, e *traces.Event, s *view.Sentence, at string) {
	t.Helper()
	place := func(addr uint64) string { return regexp.QuoteMeta(x.in.Symbol(addr)) }
	if m := regexp.MustCompile(`No (?:\S+ and no )?IPI made (cpu(\d+)) serialise after event (\d+)`).FindStringSubmatch(s.Text); m != nil {
		from, _ := strconv.Atoi(m[3])
		for _, o := range x.events[from:x.in.At] {
			if fmt.Sprint(o.CPU) == m[2] {
				assert.NotContains(t, []traces.Kind{smpev.Serialise, smpev.Return}, o.Kind, "%s, but event %d", at,
					o.Seq)
			}
		}
	}
	if m := regexp.MustCompile(`where it stood until event (\d+)`).FindStringSubmatch(s.Text); m != nil {
		until, _ := strconv.Atoi(m[1])
		for _, o := range x.events[s.Seq+1 : until] {
			assert.False(t, o.Task == e.Task && o.Kind == smpev.Exec, "%s, but event %d", at, o.Seq)
		}
	}
	if strings.Contains(s.Text, "wrote") && e.Kind == smpev.TextStore && !strings.Contains(s.Text, "slot") &&
		!strings.Contains(s.Text, " anew ") { // that is allocated memory, which has a name of its own
		assert.Regexp(t, place(e.A), s.Text, at)
	}
	if strings.Contains(s.Text, "without waiting for a grace period") {
		require.NotEmpty(t, s.Also, at)
		for _, o := range x.events[s.Also[0]:s.Seq] {
			assert.False(t, o.Kind == smpev.GPEnd && o.Task == e.Task, "%s, but event %d", at, o.Seq)
		}
	}
}

// words counts the words of a sentence; bytes in a row are one.
func words(s string) int {
	s = regexp.MustCompile(`\b[0-9a-f]{2}( [0-9a-f]{2})+\b`).ReplaceAllString(s, "bytes")
	return len(strings.Fields(s))
}

package viewer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/gen"
	"kpsim/internal/search/replay"
	"kpsim/internal/search/rig"
	"kpsim/kprobes/mutants"
	"kpsim/sched"
	"kpsim/smp/smpev"
	"kpsim/traces"
	"kpsim/traces/view"
)

// What a sentence says, as far as it can be read without knowing how it was made.
var (
	subject = regexp.MustCompile(`^cpu(\d+)[ :]|^An? [\w ]+ took cpu(\d+) at | returned on cpu(\d+)[:,]`)
	sent    = regexp.MustCompile(`took the breakpoint at ([\w.]+\+0x[0-9a-f]+).* sent it to ([\w.]+\+0x[0-9a-f]+)`)
	ranAt   = regexp.MustCompile(`^cpu\d+ ran ((?:[0-9a-f]{2} )*[0-9a-f]{2}) at ([\w.]+\+0x[0-9a-f]+)`)
	backTo  = regexp.MustCompile(`^cpu\d+ (?:returned to|went on at) ([\w.]+\+0x[0-9a-f]+).* and ran ((?:[0-9a-f]{2} )*[0-9a-f]{2}) `)
	wrote   = regexp.MustCompile(`^cpu\d+ (?:wrote|stored) .* (?:over|to) ([\w.]+\+0x[0-9a-f]+)(?:\.\.\+(0x[0-9a-f]+))?[.,]`)
	absence = regexp.MustCompile(`^cpu\d+ (hasn't run anything|left stop_machine without serialising)`) // no event is what a CPU doesn't do
	took    = regexp.MustCompile(`^(?:A|An) .* took cpu\d+ at ([\w.]+\+0x[0-9a-f]+)`)
)

// Each sentence of explain is about the event that it cites: its CPU, its place, its bytes.
func TestSentencesAreOfTheirEvents(t *testing.T) {
	files, err := filepath.Glob("../../traces/*/*.kps")
	require.NoError(t, err)
	cells, err := filepath.Glob("../../traces/corpus/matrix/*.kps")
	require.NoError(t, err)
	files = append(files, cells...)
	checked := make(map[string]int)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		f, err := traces.Parse(file, data)
		require.NoError(t, err)
		r, err := replay.Play(file, f, true)
		if err != nil {
			require.Contains(t, err.Error(), "--kernel") // its kernel isn't here
			continue
		}
		in := r.View(f)
		in.Schedule = r.Taken
		c := &cited{t: t, r: r, ev: r.Rig.Log.Events, checked: checked}
		for _, s := range view.Story(in) {
			c.says = fmt.Sprintf("%s, event %d: %s", filepath.Base(file), s.Seq, s.Text)
			assert.NotRegexp(t, raw, s.Text, c.says)
			c.check(&c.ev[s.Seq], s.Text)
		}
		noRows(t, file, view.Lay(in, nil))
		r.Rig.Close()
	}
	t.Log(checked)
	for what, least := range map[string]int{"CPU": 500, "sent": 15, "ran": 10, "back": 8, "wrote": 60, "took": 4} {
		assert.GreaterOrEqual(t, checked[what], least, what)
	}
}

// raw is an event as the log prints it, and not as a sentence.
var raw = regexp.MustCompile(`\b[A-Z]\w+ [a-z]+=0x`)

// noRows reports events of a run that are rows without words.
func noRows(t *testing.T, of string, s *view.Scene) {
	for i := range s.Steps {
		assert.NotRegexp(t, raw, s.Steps[i].Says, of)
	}
}

// Each event of a drawn program has words, with the right engine and with mutants.
func TestEventsOfDrawnProgramsAreSaid(t *testing.T) {
	ran := 0
	for seed := range uint64(200) {
		mutant := ""
		if seed%2 == 1 {
			mutant = mutants.All[seed%uint64(len(mutants.All))].Name
		}
		r, err := rig.New(gen.Fuzz(gen.First(seed+1)), mutant)
		if err != nil {
			continue // no program, or one that the mutant doesn't go with
		}
		r.Log.Store = true
		way := sched.NewRandom(sched.Params{Seed: seed})
		way.Begin(1)
		run := &replay.Replay{Rig: r, Run: r.Run(way)}
		noRows(t, fmt.Sprint("program ", seed, " ", mutant), view.Lay(run.View(&traces.File{}), nil))
		r.Close()
		ran++
	}
	require.Greater(t, ran, 150)
}

// cited holds sentences against the events that they cite.
type cited struct {
	t       *testing.T
	r       *replay.Replay
	ev      []traces.Event
	says    string
	checked map[string]int
}

func (c *cited) check(e *traces.Event, text string) {
	absent := absence.MatchString(text)
	if m := subject.FindStringSubmatch(text); m != nil && e.CPU != 255 && !absent {
		c.checked["CPU"]++
		assert.Equal(c.t, fmt.Sprint(e.CPU), m[1]+m[2]+m[3], c.says)
	}
	if m := sent.FindStringSubmatch(text); m != nil {
		trap, back := c.pair(e)
		if assert.NotNil(c.t, trap, c.says) && assert.NotNil(c.t, back, c.says) {
			c.checked["sent"]++
			c.place(trap.B-1, m[1])
			c.place(back.B, m[2])
		}
	}
	if m := ranAt.FindStringSubmatch(text); m != nil {
		c.checked["ran"]++
		c.place(e.A, m[2])
		c.bytes(e, m[1])
	}
	if m := backTo.FindStringSubmatch(text); m != nil && e.Kind == smpev.Exec {
		c.checked["back"]++
		c.place(e.A, m[1])
		c.bytes(e, m[2])
	}
	if m := took.FindStringSubmatch(text); m != nil && e.Kind == smpev.Trap {
		c.checked["took"]++
		c.place(e.B, m[1])
	}
	if m := wrote.FindStringSubmatch(text); m != nil && e.Kind == smpev.TextStore {
		at := c.place(e.A, m[1])
		c.checked["wrote"]++
		if m[2] != "" && at { // the bytes may be written by several stores: this one is of them
			_, off, _ := strings.Cut(m[1], "+")
			from, _ := strconv.ParseUint(off, 0, 64)
			end, _ := strconv.ParseUint(m[2], 0, 64)
			assert.LessOrEqual(c.t, e.C, end-from+1, c.says)
		}
	}
}

// place holds a place in words against an address, if its name is one that code has: slots and
// detours have names of the story's own.
func (c *cited) place(a uint64, says string) bool {
	name, off, _ := strings.Cut(says, "+")
	at, _, ok := c.r.Rig.Machine.Names().FindSymbol(name)
	if !ok {
		return false
	}
	n, err := strconv.ParseUint(off, 0, 64)
	assert.NoError(c.t, err, c.says)
	return assert.Equal(c.t, fmt.Sprintf("%#x", uint64(at)+n), fmt.Sprintf("%#x", a), "%s is %s", c.says, c.r.Rig.Machine.Names().SymbolName(a))
}

// bytes holds bytes in words against those that an event has.
func (c *cited) bytes(e *traces.Event, says string) {
	var list []string
	b, n := traces.UnpackBytes(e.B, e.C)
	for _, b := range b[:n] {
		list = append(list, fmt.Sprintf("%02x", b))
	}
	assert.Equal(c.t, strings.Join(list, " "), says, c.says)
}

// pair returns the breakpoint's trap and the return from it, of which e is one.
func (c *cited) pair(e *traces.Event) (trap, back *traces.Event) {
	step, depth := 1, 0
	if e.Kind == smpev.Return {
		step = -1
	}
	for i := int(e.Seq); i >= 0 && i < len(c.ev); i += step {
		o := &c.ev[i]
		switch {
		case o.Task != e.Task:
			continue
		case o.Kind == smpev.Trap:
			depth++
		case o.Kind == smpev.Return:
			depth--
		default:
			continue
		}
		if depth == 0 {
			if step < 0 {
				return o, e
			}
			return e, o
		}
	}
	return nil, nil
}

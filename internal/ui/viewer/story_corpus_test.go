package viewer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/gen"
	"kpsim/internal/search/replay"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/thorough"
	"kpsim/kprobes/mutants"
	_ "kpsim/linux/boot" // traces of kernels
	"kpsim/sched"
	"kpsim/smp/smpev"
	"kpsim/traces"
	"kpsim/traces/view"
)

// Each sentence of explain is about the event that it cites: its kind, its CPU, and each place,
// name, number and byte in it.
func TestSentencesAreOfTheirEvents(t *testing.T) {
	files, err := filepath.Glob("../../../traces/*/*.kps")
	require.NoError(t, err)
	cells, err := filepath.Glob("../../../traces/corpus/matrix/*.kps")
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
		c := &cited{t: t, r: r, ev: r.Rig.Log.Events, in: in, checked: checked}
		c.areas()
		for _, s := range view.Story(in) {
			c.says = fmt.Sprintf("%s, event %d: %s", filepath.Base(file), s.Seq, s.Text)
			assert.NotRegexp(t, raw, s.Text, c.says)
			c.check(&s)
		}
		noRows(t, file, view.Lay(in, nil))
		r.Rig.Close()
	}
	t.Log(checked)
	for word, least := range map[string]int{
		"A": 90, "B": 63, "C": 12, "alsoLock": 3, "alsoTask": 5, "api": 55, "areaA": 14, "areaEnd": 1, "arrived": 20,
		"arriver": 9,
		"at":      17, "before": 17, "behind": 8, "bytes": 57, "cell": 4, "cpu": 507, "end": 15, "errno": 12,
		"event":   24,
		"flavour": 24,
		"handler": 9, "held": 17, "hit": 29, "image": 73, "insn": 91, "into": 3, "linked": 12, "lock": 48, "nA": 12,
		"nB":   24,
		"next": 23, "other": 15, "over": 152, "passed": 5, "probeA": 14, "probeB": 57, "rest": 2, "sent": 27,
		"stood": 1,
		"task":  68,
		"taskA": 24, "taskB": 9, "trapped": 5, "vector": 64,
	} {
		assert.GreaterOrEqual(t, checked[word], least, word)
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
	ran, programs := uint64(0), thorough.Of[uint64](32, 200)
	for seed := range programs {
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
	require.Greater(t, ran, programs*3/4)
}

// cited holds sentences against the events that they cite, by a reading of the log of its own.
type cited struct {
	t       *testing.T
	r       *replay.Replay
	in      view.Input
	ev      []traces.Event
	memory  map[string]memory // slots and detours, by their names
	says    string
	checked map[string]int
}

// memory is executable memory that is handed out.
type memory struct {
	at, end uint64
	since   uint32 // the event that first handed it out
}

// areas names what is handed out: a slot, slot2, … in the order of its addresses' first use.
func (c *cited) areas() {
	c.memory = make(map[string]memory)
	n := make(map[uint64]int)
	was := make(map[[2]uint64]string)
	for i := range c.ev {
		e := &c.ev[i]
		if e.Kind != smpev.Alloc {
			continue
		}
		name, again := was[[2]uint64{e.A, e.C}]
		if !again {
			n[e.C]++
			if name = smpev.Memory.Name(e.C); n[e.C] > 1 {
				name += fmt.Sprint(n[e.C])
			}
			was[[2]uint64{e.A, e.C}] = name
			c.memory[name] = memory{at: e.A, since: e.Seq}
		}
		m := c.memory[name]
		m.end = e.A + e.B
		c.memory[name] = m
	}
}

// check finds the form of a sentence, and holds each of its words against the event.
func (c *cited) check(s *view.Sentence) {
	e, text := &c.ev[s.Seq], s.Text
	if s.From != "" {
		text = strings.TrimSuffix(text, "; from "+s.From+".") + "."
	}
	for _, f := range storyForms {
		if c.fits(f, e, s, text) {
			return
		}
	}
	for _, lead := range []string{`^cpu(?P<cpu>\d+): (?P<task>[\w@.\-]+) didn't end; its last event: `,
		`^cpu(?P<cpu>\d+): `} {
		m := regexp.MustCompile(lead).FindStringSubmatch(text)
		if m == nil {
			continue
		}
		for _, f := range rowForms {
			if c.fits(f, e, s, text[len(m[0]):]) {
				c.word("cpu", m[1], e, s)
				if len(m) > 2 {
					c.word("task", m[2], e, s)
				}
				return
			}
		}
	}
	c.t.Errorf("no form reads this, or it is of an event of another kind (%s): %s", e.Kind, c.says)
}

// fits reports whether a text has a form, and if so holds its words against the event.
func (c *cited) fits(f form, e *traces.Event, s *view.Sentence, text string) bool {
	m := f.re.FindStringSubmatch(text)
	if m == nil || f.kinds != nil && !slices.Contains(f.kinds, e.Kind) {
		return false
	}
	for i, word := range f.re.SubexpNames() {
		if word != "" && m[i] != "" {
			c.checked[word]++
			c.word(word, m[i], e, s)
		}
	}
	return true
}

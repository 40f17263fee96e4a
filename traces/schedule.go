package traces

import (
	"fmt"
	"strconv"
	"strings"

	"kpsim/sim"
)

// ScheduleFormat is the version of schedules. It is raised when points or events change:
// digests are comparable only within one format.
const ScheduleFormat = 2

// MaxDeviations is the largest number of deviations in a parsed schedule. Shrunk schedules
// have about ten.
const MaxDeviations = 2000

// A Deviation is one answer other than 0, in the words of the program: the mover of the
// default run, its position, how many times it has been asked there, and the choice
// that was made instead. Its text is a line:
//
//	cpu1 in victim+0x1, 1st time: timer@cpu1
//	cpu0 in text_poke_bp step 3, 2nd time: cpu1
//	cpu1 in victim+0x0, 4th time, fetch: older 1
//	cpu0 in idle, 1st time, task: shell
//
// Words that aren't plain are quoted as in Go. A deviation outlives a change of the
// program, because its position and choice are names (sched.Anchored).
type Deviation struct {
	Mover string   // the mover that the default run would have picked: "cpu1"
	Name  string   // its position: a symbol or a routine
	Off   int      // the offset there: bytes, or the step of a routine
	Text  bool     // Name is a symbol of guest text
	Occ   int      // number of the question, from 1, among those of this Kind with this mover at this position
	Kind  sim.Kind // the kind of question
	Alt   string   // the alternative that was taken
}

// String prints the deviation as a line of a schedule.
func (d Deviation) String() string {
	var b strings.Builder
	b.WriteString(quote(d.Mover, moverStops))
	b.WriteString(" in ")
	b.WriteString(d.Place())
	fmt.Fprintf(&b, ", %s time", Ordinal(d.Occ))
	if d.Kind != sim.Step {
		fmt.Fprintf(&b, ", %v", d.Kind)
	}
	b.WriteString(": ")
	b.WriteString(quote(d.Alt, altStops))
	return b.String()
}

// Place prints the position of the deviation: victim+0x1, or text_poke_bp step 3, or
// idle, which is step 0 of a routine.
func (d Deviation) Place() string {
	name := quote(d.Name, placeStops)
	switch {
	case d.Text:
		return fmt.Sprintf("%s+%#x", name, uint64(d.Off))
	case d.Off == 0:
		return name
	}
	return fmt.Sprintf("%s step %d", name, d.Off)
}

// FormatSchedule prints deviations, one a line.
func FormatSchedule(list []Deviation) string { return formatSchedule(list, nil) }

// ParseSchedule parses the output of FormatSchedule, also after editing by hand. It ignores
// empty lines and lines that begin with #. An error is one line that names the faulty line and
// says what to do about it.
func ParseSchedule(text string) ([]Deviation, error) {
	list, _, err := parseSchedule(text)
	if err != nil {
		return nil, fmt.Errorf("line %d: %s", err.line, err.message)
	}
	return list, nil
}

// A lineError is a fault in a line of a section; lines count from 1.
type lineError struct {
	line    int
	message string
}

func lineErrorf(line int, format string, args ...any) *lineError {
	return &lineError{line, fmt.Sprintf(format, args...)}
}

// parseSchedule also returns the lines that begin with #: those above each deviation, and
// those after the last one. comments is nil if there are none.
func parseSchedule(text string) (list []Deviation, comments [][]string, err *lineError) {
	at := make(map[Deviation]int) // the line of each question
	var lines []string            // comments since the last deviation
	any := false
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if line[0] == '#' {
			lines, any = append(lines, line), true
			continue
		}
		d, err := parseDeviation(line)
		if err != nil {
			return nil, nil, lineErrorf(i+1, "%v", err)
		}
		question := d
		question.Alt = ""
		if other := at[question]; other > 0 {
			return nil, nil, lineErrorf(i+1, "this is the question of line %d: delete one of the two", other)
		}
		if len(list) == MaxDeviations {
			return nil, nil, lineErrorf(i+1, "these are more than %d deviations: leave out what the run doesn't need",
				MaxDeviations)
		}
		at[question] = i + 1
		list = append(list, d)
		comments, lines = append(comments, lines), nil
	}
	if !any {
		return list, nil, nil
	}
	return list, append(comments, lines), nil
}

const deviationExample = "write it like `cpu1 in victim+0x1, 1st time: timer@cpu1`"

func parseDeviation(line string) (d Deviation, err error) {
	bad := func(what string, args ...any) (Deviation, error) {
		return Deviation{}, fmt.Errorf("%s: %s", fmt.Sprintf(what, args...), deviationExample)
	}

	mover, rest, ok := word(line, moverStops)
	if !ok || mover == "" {
		return bad("%.60q doesn't begin with the name of a mover", line)
	}
	d.Mover = mover
	if rest, ok = strings.CutPrefix(rest, " in "); !ok {
		return bad("after %.60q comes no ` in PLACE`", mover)
	}

	if d.Name, rest, ok = word(rest, placeStops); !ok {
		return bad("after ` in ` comes no place")
	}
	switch {
	case strings.HasPrefix(rest, "+"):
		number, after := cut(rest[1:], ", ")
		off, err := strconv.ParseUint(number, 0, 64)
		if err != nil {
			return bad("the offset %.60q is no number", number)
		}
		d.Off, d.Text, rest = int(off), true, after
	case strings.HasPrefix(rest, " step "):
		number, after := cut(rest[len(" step "):], ", ")
		if d.Off, err = strconv.Atoi(number); err != nil {
			return bad("the step %.60q is no number", number)
		}
		rest = after
	}

	if rest, ok = strings.CutPrefix(rest, ", "); !ok {
		return bad("after the place comes no `, 1st time`")
	}
	end := plainEnd(rest, []string{" ", ",", ":"})
	number, rest := rest[:end], rest[end:]
	if d.Occ, ok = parseOrdinal(number); !ok {
		return bad("%.60q is no ordinal such as 1st, 2nd, 3rd, 4th", number)
	}
	if rest, ok = strings.CutPrefix(rest, " time"); !ok {
		return bad("after %.60q comes no ` time`", number)
	}

	if rest, ok = strings.CutPrefix(rest, ", "); ok {
		kind, after := cut(rest, ":")
		if d.Kind, ok = parseKind(kind); !ok {
			return bad("there are no %.60q questions, but step, task, fetch, cost, buffer and version ones", kind)
		}
		rest = after
	}
	if rest, ok = strings.CutPrefix(rest, ": "); !ok {
		return bad("after the time comes no `: ALTERNATIVE`")
	}
	if d.Alt, rest, ok = word(rest, altStops); !ok || rest != "" {
		return bad("%.60q is no alternative", rest)
	}
	return d, nil
}

// cut splits s before sep. If s doesn't contain sep, after is empty.
func cut(s, sep string) (before, after string) {
	if i := strings.Index(s, sep); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

func parseKind(s string) (sim.Kind, bool) {
	for k := sim.Step; k < sim.Kinds; k++ {
		if k.String() == s {
			return k, true
		}
	}
	return 0, false
}

// Plain words end at these characters. An alternative extends to the end of the line.
var (
	moverStops = []string{" ", ",", ":", "+"}
	placeStops = []string{",", ":", "+", " step "}
	altStops   []string
)

// plainEnd returns the length of the plain word that s begins with.
func plainEnd(s string, stops []string) int {
	end := len(s)
	for _, stop := range stops {
		if i := strings.Index(s[:end], stop); i >= 0 {
			end = i
		}
	}
	return end
}

// quote prints s so that word can parse it: as it is, or quoted.
func quote(s string, stops []string) string {
	q := strconv.Quote(s)
	if s == "" || q != `"`+s+`"` || s != strings.TrimSpace(s) || s[0] == '#' || plainEnd(s+" ", stops) < len(s) {
		return q
	}
	return s
}

// word parses a word printed by quote at the start of s.
func word(s string, stops []string) (w, rest string, ok bool) {
	if strings.HasPrefix(s, `"`) {
		q, err := strconv.QuotedPrefix(s)
		if err != nil {
			return "", s, false
		}
		w, err = strconv.Unquote(q)
		return w, s[len(q):], err == nil
	}
	end := plainEnd(s, stops)
	return s[:end], s[end:], end > 0
}

var ordinalEndings = [...]string{"th", "st", "nd", "rd"}

// Ordinal prints 1st, 2nd, 3rd, 4th.
func Ordinal(n int) string {
	ending := ordinalEndings[0]
	if d := n % 10; d >= 1 && d <= 3 && n/10%10 != 1 {
		ending = ordinalEndings[d]
	}
	return strconv.Itoa(n) + ending
}

// parseOrdinal accepts any of the endings.
func parseOrdinal(s string) (n int, ok bool) {
	for _, ending := range ordinalEndings {
		if number, ok := strings.CutSuffix(s, ending); ok {
			n, err := strconv.Atoi(number)
			return n, err == nil && n >= 1
		}
	}
	return 0, false
}

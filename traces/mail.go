package traces

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kpsim/internal/lazyregexp"
)

// A letter is the lines of a trace as they were before mail programs changed them, from the
// first section to the end of the last one.
type letter struct {
	lines   []string
	at      []int // the line of the file that each begins in
	changed bool  // it was quoted, signed, folded or encoded
}

// IsTrace reports whether a text contains a trace, which may have faults: it begins as one, or
// has the first section of one, perhaps quoted.
func IsTrace(data []byte) bool {
	return bytes.HasPrefix(data, []byte("kpsim trace:")) || firstSection().Match(data)
}

// firstSection is the line that identifies a trace. Before it there may be marks of quoting,
// the dash of a signed mail, or an indentation.
var firstSection = lazyregexp.New(`(?m)^(?:\x{feff})?((?:[ \t]*>|[ \t]*- )*[ \t]*)-- scenario\.star --(?:[ \t]|=20)*\r?$`)

var inBase64 = lazyregexp.New(`(?mi)^Content-Transfer-Encoding: *base64`)

// unmail finds the trace in a text and undoes what mail programs do to one: text before and
// after it, CRLF, blanks at the ends of lines, quoting, signing, folding and quoted-printable.
// It returns the candidates for the original trace, the likeliest first. An error begins with
// its line.
func unmail(data []byte) ([]letter, error) {
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	m := firstSection().FindSubmatchIndex(data)
	if m == nil {
		if inBase64().Match(data) {
			return nil, fmt.Errorf("1: this is a mail in base64: save what is attached to it, and give that")
		}
		const title = "kpsim trace:"
		if n := min(len(data), len(title)); n > 4 && string(data[:n]) == title[:n] {
			return nil, fmt.Errorf("1: this kpsim trace is cut off: it has no line `-- %s --`; get the whole file",
				sections[0])
		}
		return nil, fmt.Errorf("1: this is no kpsim trace: it has no line `-- %s --`; give a file that kpsim "+
			"has written", sections[0])
	}
	first := 1 + bytes.Count(data[:m[2]], []byte("\n"))
	marks := string(data[m[2]:m[3]])
	if len(marks) > mostMarks {
		return nil, fmt.Errorf("%d: more than %d marks of quoting are before it: take them away, or ask for "+
			"the file as an attachment", first, mostMarks/2)
	}
	raw := strings.Split(string(data[m[2]:]), "\n")
	l := letter{changed: strings.Trim(marks, " \t") != ""}
	l.unquote(quoting(marks), raw, first)
	for range mostEncoded {
		if !l.printable() {
			break
		}
	}
	for i := range l.lines {
		l.lines[i] = strings.TrimRight(l.lines[i], " \t")
	}
	if err := l.end(first); err != nil {
		return nil, err
	}
	return l.unfold(), nil
}

// The constants bound what is undone: the marks before each line, in bytes, and how often a
// text was encoded.
const (
	mostMarks   = 64
	mostEncoded = 4
)

// unquote removes the marks. A line without them is the rest of the previous line, which was
// folded after it was quoted. Encoded lines are left as they are.
func (l *letter) unquote(q quoting, raw []string, first int) {
	coded := isPrintable(raw)
	var now []byte // the last line, not yet in lines
	ended := false // the trace has ended
	for i, line := range raw {
		line, ok := q.strip(line)
		ended = ended || bytes.HasPrefix(now, []byte(formatKey+": "))
		if !ok && !ended && len(now) < mostJoined {
			before := trimBlanks(now)
			rest := strings.TrimLeft(line, " \t")
			switch {
			case len(before) == 0 && coded && len(now) > 0: // an encoded, folded blank, and the rest
				now = append(append(now[:0], ' '), rest...)
				continue
			case len(before) > 0 && !(coded && before[len(before)-1] == '='):
				now = append(append(before, ' '), rest...)
				continue
			}
		}
		if i > 0 {
			l.lines = append(l.lines, string(now))
		}
		l.at, now = append(l.at, first+i), append(now[:0], line...)
	}
	l.lines = append(l.lines, string(now))
}

// trimBlanks removes blanks from the end of a line, encoded ones too.
func trimBlanks(b []byte) []byte {
	for {
		t := bytes.TrimSuffix(bytes.TrimRight(b, " \t"), []byte("=20"))
		if len(t) == len(b) {
			return t
		}
		b = t
	}
}

// quoting is the marks before each line: `> `, `- ` or blanks.
type quoting string

// strip removes the marks from a line. ok reports whether all were there; an empty line needs
// none. If ok is false, those at the beginning of the line are removed.
func (q quoting) strip(line string) (rest string, ok bool) {
	rest = line
	for i := 0; i < len(q); i++ {
		switch q[i] {
		case '>':
			t := strings.TrimLeft(rest, " \t")
			if !strings.HasPrefix(t, ">") {
				return line, strings.TrimSpace(rest) == ""
			}
			rest = t[1:]
			if line = rest; i+1 < len(q) && q[i+1] == ' ' {
				line = strings.TrimPrefix(rest, " ")
			}
		case '-':
			rest = strings.TrimPrefix(rest, "- ")
			i++ // skip the blank of the mark
		default:
			if rest != "" && (rest[0] == ' ' || rest[0] == '\t') {
				rest = rest[1:]
			}
		}
	}
	return rest, true
}

var (
	encoded = lazyregexp.New(`=(?:[0-9A-F]{2}|[ \t]*(?:\n|$))`)
)

// softBreak is the least length of a line, in bytes, that quoted-printable continues in the
// next line, where nothing else is encoded.
const softBreak = 75

// decode decodes the octets of a line.
func decode(line string) string {
	b := make([]byte, 0, len(line))
	for i := 0; i < len(line); i++ {
		if line[i] == '=' && i+2 < len(line) {
			if n, err := strconv.ParseUint(line[i+1:i+3], 16, 8); err == nil {
				b, i = append(b, byte(n)), i+2
				continue
			}
		}
		b = append(b, line[i])
	}
	return string(b)
}

// isPrintable reports whether lines are quoted-printable up to the end of the trace: each
// equals sign is encoded.
func isPrintable(lines []string) bool {
	text := strings.Join(lines, "\n")
	if n := strings.Index(text, formatKey+": "); n >= 0 {
		text = text[:n]
	}
	return strings.Contains(text, "=3D") && strings.Count(text, "=") == len(encoded().FindAllString(text, -1))
}

// printable decodes quoted-printable, and reports whether the result may be encoded again. All
// of the text must be encoded; otherwise = is an equals sign.
func (l *letter) printable() (again bool) {
	all := isPrintable(l.lines)
	var lines []string
	var at []int
	for i := 0; i < len(l.lines); i++ {
		from, now := i, []byte(l.lines[i])
		for i+1 < len(l.lines) {
			t := bytes.TrimRight(now, " \t")
			if !bytes.HasSuffix(t, []byte("=")) || !all &&
				(len(l.lines[i]) < softBreak || bytes.HasSuffix(t, []byte(" ="))) {
				break
			}
			i++
			now, l.changed = append(t[:len(t)-1], l.lines[i]...), true
		}
		line := string(now)
		if all {
			l.changed = true
			line = decode(line)
		}
		lines, at = append(lines, line), append(at, l.at[from])
	}
	l.lines, l.at = lines, at
	return all
}

// remarkLine matches a line of the origin. Such a line after the last one was added by hand.
var remarkLine = lazyregexp.New(`^[a-z]+(?: [a-z]+){0,3}: `)

// end removes what follows the trace: a signature, or the rest of a mail. That must not
// contain a trace.
func (l *letter) end(first int) error {
	origin := slices.Index(l.lines, "-- origin --")
	if origin < 0 {
		return nil
	}
	n := slices.IndexFunc(l.lines[origin:], func(s string) bool { return strings.HasPrefix(s, formatKey+": ") })
	if n < 0 {
		return nil
	}
	n += origin + 1
	for i, line := range l.lines[n:] {
		if firstSection().MatchString(line) {
			return fmt.Errorf("%d: here begins a second trace, and the first one is at line %d: leave one of "+
				"them in the file", l.at[n+i], first)
		}
		if strings.HasPrefix(line, "-- ") && strings.HasSuffix(line, " --") {
			return nil // Parse says what is wrong with it
		}
	}
	if n < len(l.lines) && remarkLine().MatchString(l.lines[n]) {
		return nil
	}
	l.lines, l.at = l.lines[:n], l.at[:n]
	return nil
}

// text returns the trace in the form that txtar reads.
func (l *letter) text() []byte { return []byte(strings.Join(l.lines, "\n") + "\n") }

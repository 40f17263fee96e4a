package traces

import (
	"bytes"
	"fmt"
	"hash"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/tools/txtar"
)

// A File is a trace file, NAME.kps: a run that a person can read, edit, mail and
// replay. It is a txtar of five sections, in this order.
type File struct {
	Scenario string      // scenario.star: self-contained
	Schedule []Deviation // schedule: the deviations from the default run
	// Comments holds the lines of the schedule that begin with #: those above each deviation, and
	// those after the last one. It is nil if there are none.
	Comments [][]string

	// The verdict section says what the run has shown.
	Property string // the ID of a property
	Place    string // the violation's place, such as victim+0x1; may be empty
	Message  string

	Digest uint64 // section digest: the digest of the event log
	Format int    // the schedule format that Schedule and Digest were made with

	// Origin says how the run was found. A replay needs some of it: the mutant and the fetch
	// model, where they override the scenario's, and the ignored properties.
	Origin []Remark

	lines scenarioLines
}

// scenarioLines says where in its file a scenario's lines were read.
type scenarioLines struct {
	text string // the scenario as it was read
	at   []int
}

// ScenarioLine returns the line of the file that line n of the scenario was read from; both
// count from 1. It returns n if the scenario wasn't read from a file, or has been replaced
// since.
func (f *File) ScenarioLine(n int) int {
	if n < 1 || n > len(f.lines.at) || f.lines.text != f.Scenario {
		return n
	}
	return f.lines.at[n-1]
}

// A Remark is a line of the origin.
type Remark struct{ Key, Value string }

// NoProperty is the property of a run that breaks none: one that was saved by hand.
const NoProperty = "none"

// The keys of the origin that a replay looks for.
const (
	OriginMutant  = "mutant"
	OriginFetch   = "fetch"
	OriginIgnored = "ignored" // properties that the run breaks before its end
	OriginKnown   = "known"   // known finds that the run goes on after
)

// The lines of the origin that are for a reader who gets the file by mail.
const (
	OriginKpsim = "kpsim"         // the kpsim that wrote the file, and where to get it
	OriginText  = "text checksum" // of the parts that mail may damage; Marshal computes it if the line exists
)

// formatKey ends the origin, so that a truncated file is detected.
const formatKey = "schedule format"

// WrittenBy records which kpsim has written the file, in place of the previous one, and that
// the text has a checksum.
func (f *File) WrittenBy(kpsim string) {
	origin := make([]Remark, 0, len(f.Origin)+2)
	for _, r := range f.Origin {
		if r.Key != OriginKpsim && r.Key != OriginText {
			origin = append(origin, r)
		}
	}
	f.Origin = append(origin, Remark{OriginKpsim, kpsim}, Remark{OriginText, f.TextSum()})
}

// TextSum returns a checksum of the scenario, the schedule and the verdict, without blanks at
// the ends of lines and comments of the schedule: FNV-1a of 64 bits, in hex.
func (f *File) TextSum() string {
	h := f.program()
	fmt.Fprintf(h, "%s%s\n%s\n%s\n%x", FormatSchedule(f.Schedule), f.Property, f.Place, f.Message, f.Digest)
	return fmt.Sprintf("%016x", h.Sum64())
}

// ProgramSum returns a checksum of the scenario as the file has it now, made as TextSum's is. Two files of one scenario
// have the same one, however many lines of their origins were edited.
func (f *File) ProgramSum() string { return fmt.Sprintf("%016x", f.program().Sum64()) }

// program begins a checksum with the scenario's lines, without blanks at their ends.
func (f *File) program() hash.Hash64 {
	h := fnv.New64a()
	for line := range strings.Lines(strings.TrimSpace(f.Scenario)) {
		fmt.Fprintln(h, strings.TrimRight(line, " \t\n"))
	}
	return h
}

// Unchecked reports whether a file that kpsim wrote has lost the checksum of its text, so that edits can't be noticed.
func (f *File) Unchecked() bool { return f.Remark(OriginKpsim) != "" && f.Remark(OriginText) == "" }

// Remark returns the value of a key of the origin, "" if it has none.
func (f *File) Remark(key string) string {
	for _, r := range f.Origin {
		if r.Key == key {
			return r.Value
		}
	}
	return ""
}

const fileHeader = `%s

One run of a simulated machine: what was run, each choice that
differs from the default run, and what came of it. All of it may be
edited; lines of the schedule that begin with # don't count.

to replay:  kpsim replay FILE

`

// sections are the names of the sections of a file, in order.
var sections = [...]string{"scenario.star", "schedule", "verdict", "digest", "origin"}

// Marshal returns the text of the file.
func (f *File) Marshal() []byte {
	title := "kpsim trace: " + oneLine(f.Property)
	if f.Property == NoProperty {
		title = "kpsim trace: a run that breaks nothing"
	}
	if f.Place != "" {
		title += " at " + oneLine(f.Place)
	}
	if f.Message != "" {
		title += ": " + oneLine(f.Message)
	}

	var verdict strings.Builder
	writeRemark(&verdict, "property", f.Property)
	writeRemark(&verdict, "place", f.Place)
	writeRemark(&verdict, "message", f.Message)
	texts := [len(sections)]string{escape(f.Scenario), formatSchedule(f.Schedule, f.Comments), verdict.String(),
		fmt.Sprintf("0x%016x\n", f.Digest), f.formatOrigin(false)}
	folded := false
	for i := range texts {
		text, some := foldLines(texts[i])
		texts[i], folded = text, folded || some
	}
	if folded {
		texts[4], _ = foldLines(f.formatOrigin(true))
	}
	a := &txtar.Archive{Comment: Plain(fmt.Appendf(nil, fileHeader, wrap(title)))}
	for i, text := range texts {
		a.Files = append(a.Files, txtar.File{Name: sections[i], Data: []byte(text)})
	}
	return txtar.Format(a)
}

func (f *File) formatOrigin(folded bool) string {
	var b strings.Builder
	for _, r := range f.Origin {
		switch r.Key {
		case formatKey, originFolded:
		case OriginText:
			writeRemark(&b, r.Key, f.TextSum())
		default:
			writeRemark(&b, r.Key, r.Value)
		}
	}
	if folded {
		writeRemark(&b, originFolded, foldedSays)
	}
	fmt.Fprintf(&b, "%s: %d\n", formatKey, f.Format)
	return b.String()
}

// Parse parses a file; name is for messages. Each error is one line that names the
// file, the line and the section, and says what to do.
func Parse(name string, data []byte) (*File, error) {
	list, err := unmail(data)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	f, err := list[0].parse(name)
	for i := 1; i < len(list) && (err != nil || !f.Intact()); i++ {
		if g, bad := list[i].parse(name); bad == nil && (err != nil || g.Intact()) {
			f, err = g, nil
		}
	}
	const remedy = "a mail program has changed the file: ask for it as an attachment"
	switch {
	case !list[0].changed && (err != nil || !f.Intact()): // a person has edited it
		return list[0].parse(name)
	case err != nil:
		return nil, fmt.Errorf("%w; %s", err, remedy)
	case !f.Intact():
		line := 1 + slices.IndexFunc(list[0].lines, func(s string) bool {
			return strings.HasPrefix(s, OriginText+": ")
		})
		return nil, fmt.Errorf("%s:%d: section origin: the scenario, the schedule or the verdict isn't what "+
			"this checksum was made of; %s, or, if it was edited since, delete this line", name, list[0].line(line),
			remedy)
	}
	return f, nil
}

// Intact reports whether the text still matches its checksum, or has none.
func (f *File) Intact() bool {
	sum := f.Remark(OriginText)
	return sum == "" || sum == f.TextSum()
}

// line returns the line of the file at which a line of the letter begins; both count from 1.
func (l *letter) line(n int) int {
	if n > len(l.at) {
		return l.at[len(l.at)-1] + n - len(l.at)
	}
	return l.at[max(n, 1)-1]
}

func (l *letter) parse(name string) (*File, error) {
	data := l.text()
	if err := l.plain(name, data); err != nil {
		return nil, err
	}
	archive := txtar.Parse(data)
	line := 1
	f := new(File)
	var seen [len(sections)]bool
	for _, s := range archive.Files {
		i := section(s.Name)
		if i < 0 {
			return nil, fmt.Errorf("%s:%d: there is no section %q: the sections are %s; correct the name, or delete it",
				name, l.line(line), s.Name, strings.Join(sections[:], ", "))
		}
		if seen[i] {
			return nil, fmt.Errorf("%s:%d: section %s is here twice: delete one", name, l.line(line), s.Name)
		}
		seen[i] = true
		if sections[i] == "scenario.star" {
			for k := range bytes.Count(s.Data, []byte("\n")) + 1 {
				f.lines.at = append(f.lines.at, l.line(line+1+k))
			}
		}
		if err := f.parseSection(i, string(s.Data)); err != nil {
			return nil, fmt.Errorf("%s:%d: section %s: %s", name, l.line(line+err.line), s.Name, oneLine(err.message))
		}
		line += 1 + bytes.Count(s.Data, []byte("\n"))
	}
	for i := range seen {
		if !seen[i] {
			return nil, fmt.Errorf("%s:%d: section %s is missing: the file was cut off or edited; restore it, "+
				"or let kpsim explore write it anew", name, l.line(line-1), sections[i])
		}
	}
	f.lines.text = f.Scenario
	return f, nil
}

// plain rejects characters that an editor doesn't show but a terminal obeys.
func (l *letter) plain(name string, data []byte) error {
	for n := plainPrefix(data); n < len(data); {
		r, size := utf8.DecodeRune(data[n:])
		if raw := data[n : n+size]; r == utf8.RuneError && size == 1 || !IsPlain(r) {
			line := 1 + bytes.Count(data[:n], []byte("\n"))
			line = l.line(line)
			return fmt.Errorf("%s:%d: it has %s, which isn't text: delete it, or write it in quotes as it is "+
				"shown here", name, line, Plain(raw))
		}
		n += size
	}
	return nil
}

func section(name string) int {
	for i, s := range sections {
		if s == name {
			return i
		}
	}
	return -1
}

func (f *File) parseSection(i int, text string) (err *lineError) {
	switch sections[i] {
	case "scenario.star":
		f.Scenario = unescape(text)
		if strings.TrimSpace(text) == "" {
			return lineErrorf(0, "it is empty: put the scenario's Starlark program there")
		}
	case "schedule":
		f.Schedule, f.Comments, err = parseSchedule(text)
	case "verdict":
		err = f.parseVerdict(text)
	case "digest":
		word := strings.TrimSpace(text)
		hex, ok := strings.CutPrefix(word, "0x")
		n, bad := strconv.ParseUint(hex, 16, 64)
		if !ok || bad != nil {
			return lineErrorf(1, "%.40q is no digest: write 0x and 16 hexadecimal digits, or explore again", word)
		}
		f.Digest = n
	case "origin":
		err = f.parseOrigin(text)
	}
	return err
}

func (f *File) parseVerdict(text string) *lineError {
	list, at, err := parseRemarks(text)
	if err != nil {
		return err
	}
	for i, r := range list {
		switch r.Key {
		case "property":
			f.Property = r.Value
		case "place":
			f.Place = r.Value
		case "message":
			f.Message = r.Value
		default:
			return lineErrorf(at[i], "it has no %q: its lines are property, place and message", r.Key)
		}
	}
	if f.Property == "" {
		return lineErrorf(0, "it has no line `property: ID`: say which property the run violates")
	}
	return nil
}

func (f *File) parseOrigin(text string) *lineError {
	list, at, err := parseRemarks(text)
	if err != nil {
		return err
	}
	n := len(list) - 1
	if n < 0 || list[n].Key != formatKey {
		return lineErrorf(0, "its last line isn't `%s: %d`: the file was cut off or edited; restore it", formatKey,
			ScheduleFormat)
	}
	format, bad := strconv.Atoi(list[n].Value)
	if bad != nil || format < 1 {
		return lineErrorf(at[n], "%.40q is no schedule format: this kpsim writes %d", list[n].Value, ScheduleFormat)
	}
	if format > ScheduleFormat {
		return lineErrorf(at[n], "schedule format %d is of a newer kpsim, this one reads up to %d: update it", format,
			ScheduleFormat)
	}
	f.Format = format
	f.Origin = slices.DeleteFunc(list[:n:n], func(r Remark) bool { return r.Key == originFolded })
	return nil
}

// parseRemarks parses lines `key: value`, and returns the line number of each.
func parseRemarks(text string) (list []Remark, at []int, err *lineError) {
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		key, rest, ok := word(line, remarkStops)
		value, ok2 := strings.CutPrefix(rest, ":")
		if !ok || !ok2 || key == "" {
			return nil, nil, lineErrorf(i+1, "%.40q is no line `key: value`", line)
		}
		value = strings.TrimSpace(value)
		if strings.HasPrefix(value, `"`) {
			v, bad := strconv.Unquote(value)
			if bad != nil {
				return nil, nil, lineErrorf(i+1, "the quotes of %.40q don't match: correct or delete them", value)
			}
			value = v
		}
		if len(list) == maxRemarks {
			return nil, nil, lineErrorf(i+1, "these are more than %d lines: leave some out", maxRemarks)
		}
		for k := range list {
			if list[k].Key == key {
				return nil, nil, lineErrorf(i+1, "it has %q in line %d of it already: delete one", key, at[k])
			}
		}
		list, at = append(list, Remark{key, value}), append(at, i+1)
	}
	return list, at, nil
}

// maxRemarks is the largest number of lines in the verdict, and in the origin.
const maxRemarks = 100

var remarkStops = []string{":"}

func writeRemark(b *strings.Builder, key, value string) {
	if value != "" {
		fmt.Fprintf(b, "%s: %s\n", quote(key, remarkStops), quote(value, nil))
	}
}

// oneLine makes s a single line that begins no section.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// escape puts a backslash before each line that would begin a section, or that looks
// escaped. No Starlark program has such lines.
func escape(s string) string {
	return eachLine(s, func(line string) string { return `\` + line })
}

func unescape(s string) string {
	return eachLine(s, func(line string) string { return strings.TrimPrefix(line, `\`) })
}

// eachLine applies f to the lines of s that are, after any backslashes, a marker.
func eachLine(s string, f func(string) string) string {
	if !strings.Contains(s, "-- ") {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if t := strings.TrimLeft(l, `\`); strings.HasPrefix(t, "-- ") &&
			strings.HasSuffix(strings.TrimRight(t, "\r"), " --") {
			lines[i] = f(l)
		}
	}
	return strings.Join(lines, "\n")
}

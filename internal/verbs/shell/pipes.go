package shell

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"kpsim/internal/nearest"
)

// Filters imitate a few Unix commands in this process: no other program is run.

// A filter maps lines to lines. It may overwrite its argument.
type filter func(lines []string) []string

// filterWords lists the filters: each one's usage, and its constructor.
var filterWords = []struct {
	word, args, says, example string
	make                      func(args []string) (filter, error)
}{
	{"head", "[-N]", "the first N lines, else 10", "events 100 | head -20", headFilter},
	{"tail", "[-N]", "the last N lines, else 10", "dmesg | tail -3", tailFilter},
	{"grep", "[-v] [-i] [-c] PATTERN",
		"lines that match a regular expression; -v: that don't; -i: in any case; -c: how many",
		"events | grep -i store", grepFilter},
	{"wc", "[-l] [-w] [-c]", "how many lines, words and bytes", "dmesg | wc -l", wcFilter},
	{"sort", "[-n] [-r] [-u]", "sorted; -n: by the number that a line begins with; -r: backwards; -u: each once",
		"hits | sort -r", sortFilter},
	{"uniq", "[-c]", "a line that is there several times in a row, once; -c: with how often", "dmesg | sort | uniq -c",
		uniqFilter},
}

func filterNames() (names []string) {
	for _, f := range filterWords {
		names = append(names, f.word)
	}
	return names
}

// newFilter builds the filter that words describe.
func newFilter(words []string) (filter, error) {
	if len(words) == 0 {
		return nil, errors.New("a filter is missing after the |; there are " + strings.Join(filterNames(), ", "))
	}
	for _, f := range filterWords {
		if f.word != words[0] {
			continue
		}
		made, err := f.make(words[1:])
		if errors.Is(err, errUsage) {
			err = fmt.Errorf("write it | %s %s", f.word, f.args)
		}
		return made, err
	}
	near := nearest.DidYouMean(words[0], filterNames())
	if near != "" {
		near += " "
	}
	return nil, fmt.Errorf("| %s: no such filter; %sthere are %s", words[0], near, strings.Join(filterNames(), ", "))
}

// options removes leading one-letter flags from args; -iv is -i -v.
func options(args []string, known string) (given map[byte]bool, rest []string, err error) {
	given = make(map[byte]bool)
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		for _, c := range []byte(args[0][1:]) {
			if strings.IndexByte(known, c) < 0 {
				return nil, nil, errUsage
			}
			given[c] = true
		}
		args = args[1:]
	}
	return given, args, nil
}

// count reads the line count of head and tail: -3, -n 3 or -n3.
func count(args []string) (int, error) {
	s := strings.Join(args, "")
	if s == "" {
		return 10, nil
	}
	s, ok := strings.CutPrefix(s, "-")
	if n, err := strconv.ParseUint(strings.TrimPrefix(s, "n"), 10, 31); ok && err == nil {
		return int(n), nil
	}
	return 0, errUsage
}

func headFilter(args []string) (filter, error) {
	n, err := count(args)
	return func(lines []string) []string { return lines[:min(n, len(lines))] }, err
}

func tailFilter(args []string) (filter, error) {
	n, err := count(args)
	return func(lines []string) []string { return lines[len(lines)-min(n, len(lines)):] }, err
}

func grepFilter(args []string) (filter, error) {
	is, rest, err := options(args, "vic")
	if err != nil || len(rest) != 1 {
		return nil, errUsage
	}
	pattern := rest[0]
	if is['i'] {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("grep: %.40q is no regular expression: %s", rest[0],
			strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return func(lines []string) []string {
		lines = slices.DeleteFunc(lines, func(l string) bool { return re.MatchString(l) == is['v'] })
		if is['c'] {
			return []string{strconv.Itoa(len(lines))}
		}
		return lines
	}, nil
}

func wcFilter(args []string) (filter, error) {
	is, rest, err := options(args, "lwc")
	if err != nil || len(rest) > 0 {
		return nil, errUsage
	}
	return func(lines []string) []string {
		words, bytes := 0, 0
		for _, l := range lines {
			words += len(strings.Fields(l))
			bytes += len(l) + 1
		}
		var out []string
		for _, n := range []struct {
			flag byte
			n    int
		}{{'l', len(lines)}, {'w', words}, {'c', bytes}} {
			if len(is) == 0 || is[n.flag] {
				out = append(out, strconv.Itoa(n.n))
			}
		}
		return []string{strings.Join(out, " ")}
	}, nil
}

func sortFilter(args []string) (filter, error) {
	is, rest, err := options(args, "nru")
	if err != nil || len(rest) > 0 {
		return nil, errUsage
	}
	return func(lines []string) []string {
		slices.SortStableFunc(lines, func(a, b string) int {
			order := strings.Compare(a, b)
			if is['n'] {
				order = cmp.Or(cmp.Compare(leading(a), leading(b)), order)
			}
			if is['r'] {
				return -order
			}
			return order
		})
		if is['u'] {
			return slices.Compact(lines)
		}
		return lines
	}, nil
}

// leading returns the number that a line begins with, as sort -n reads it; 0 if there is none.
func leading(line string) float64 {
	line = strings.TrimLeft(line, " \t")
	end := 0
	for end < len(line) && (line[end] >= '0' && line[end] <= '9' || line[end] == '.' || end == 0 && line[end] == '-') {
		end++
	}
	n, _ := strconv.ParseFloat(line[:end], 64)
	return n
}

func uniqFilter(args []string) (filter, error) {
	is, rest, err := options(args, "c")
	if err != nil || len(rest) > 0 {
		return nil, errUsage
	}
	return func(lines []string) (out []string) {
		for i := 0; i < len(lines); {
			n := 1
			for i+n < len(lines) && lines[i+n] == lines[i] {
				n++
			}
			line := lines[i]
			if is['c'] {
				line = fmt.Sprintf("%7d %s", n, line)
			}
			out = append(out, line)
			i += n
		}
		return out
	}, nil
}

// mostPiped is the maximum output of a command into a pipe, in bytes.
const mostPiped = 16 << 20

// A piped buffers a command's output for a pipe.
type piped struct {
	bytes.Buffer
	over bool // more than mostPiped bytes were written
}

// Write implements io.Writer.
func (p *piped) Write(b []byte) (int, error) {
	if p.over = p.over || p.Len()+len(b) > mostPiped; p.over {
		return len(b), nil
	}
	return p.Buffer.Write(b)
}

// through runs a command and prints its output as filtered. The command writes as into a pipe:
// without colours, and not fitted to the terminal's width.
func (h *sh) through(c command) error {
	var p piped
	out, colour, width := h.p.Out, h.p.Colour, h.p.Width
	h.p.Out, h.p.Colour, h.p.Width = &p, false, 0
	err := func() error {
		defer func() { h.p.Out, h.p.Colour, h.p.Width = out, colour, width }()
		return h.one(c.words)
	}()
	if p.over {
		return fmt.Errorf("%s prints more than %d MiB, too much for a pipe; ask for less, as events 1000", c.words[0],
			mostPiped>>20)
	}
	var lines []string
	if text := strings.TrimSuffix(p.String(), "\n"); text != "" {
		lines = strings.Split(text, "\n")
	}
	for _, f := range c.filters {
		lines = f(lines)
	}
	for _, l := range lines {
		fmt.Fprintln(h.p.Out, l)
	}
	return err
}

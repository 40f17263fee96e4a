package shell

import (
	"errors"
	"fmt"
	"strings"
)

// A command is one line: the words of the command, and the filters that its output passes
// through.
type command struct {
	words   []string // nil: an empty line or a comment
	filters []filter
}

// mostFilters is the maximum number of filters of a line.
const mostFilters = 16

// parse reads a line: COMMAND [| FILTER]… [# comment]. Inside single or double quotes a bar and a
// number sign are ordinary characters. The quotes of a filter's words are removed; those of a
// command's words stay, as only echo accepts quotes.
func parse(line string) (c command, err error) {
	if strings.HasPrefix(strings.TrimSpace(line), "#") {
		return c, nil
	}
	stages, err := stagesOf(line)
	if err != nil {
		return c, err
	}
	c.words = strings.Fields(strings.ReplaceAll(stages[0], ">", " > "))
	switch {
	case len(stages) == 1:
		return c, nil
	case len(c.words) == 0:
		return c, fmt.Errorf("a command is missing before the |; write it as in dmesg | tail -3")
	case len(stages) > 1+mostFilters:
		return c, fmt.Errorf("%d filters; a line has at most %d", len(stages)-1, mostFilters)
	}
	for _, s := range stages[1:] {
		f, err := newFilter(unquoted(s))
		if err != nil {
			return c, err
		}
		c.filters = append(c.filters, f)
	}
	return c, nil
}

// stagesOf splits a line at its bars and drops the comment.
func stagesOf(line string) (stages []string, err error) {
	begin, quote := 0, byte(0)
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '|':
			stages = append(stages, line[begin:i])
			begin = i + 1
		case c == '#' && i > 0 && (line[i-1] == ' ' || line[i-1] == '\t'):
			line = line[:i-1]
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote isn't closed; write '…' or \"…\"")
	}
	return append(stages, line[min(begin, len(line)):]), nil
}

// unquoted splits a filter into words and removes their quotes.
func unquoted(s string) (words []string) {
	var word strings.Builder
	quote, in := rune(0), false
	for _, c := range s {
		switch {
		case c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, in = c, true
		case quote == 0 && (c == ' ' || c == '\t'):
			if in {
				words = append(words, word.String())
			}
			word.Reset()
			in = false
		default:
			word.WriteRune(c)
			in = true
		}
	}
	if in {
		words = append(words, word.String())
	}
	return words
}

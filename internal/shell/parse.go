package shell

import (
	"errors"
	"fmt"
	"strings"
)

// A command is one line: what to do, and the filters that its output goes through.
type command struct {
	words   []string // none: an empty line or a comment
	filters []filter
}

// mostFilters is how many filters a line may have.
const mostFilters = 16

// parse reads a line: COMMAND [| FILTER]… [# comment]. Between quotes, ' or ", a bar and a
// number sign are letters. The words of a filter are taken out of their quotes; those of
// a command aren't, as only echo takes quotes.
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

// stagesOf cuts a line at its bars, and takes off its comment.
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

// unquoted cuts a filter into its words, without their quotes.
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

package inputs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kpsim/internal/ui/cli"
)

// A Span is an element of a flag's list of numbers: a number, or a range such as 1-8.
type Span struct{ from, to int }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Span) UnmarshalText(b []byte) (err error) {
	from, to, ranges := strings.Cut(string(b), "-")
	if s.from, err = strconv.Atoi(from); err == nil {
		s.to = s.from
		if ranges {
			s.to, err = strconv.Atoi(to)
		}
	}
	if err != nil || s.to < s.from {
		return fmt.Errorf("%q is no number and no range; give some, as 1,2,4 or 1-8", b)
	}
	return nil
}

// numbersMost is the maximum number of numbers in a flag: each is a row or a column.
const numbersMost = 64

// Numbers returns a flag's numbers in ascending order, without duplicates.
func Numbers(flag, what string, spans []Span, least, most int) (list []int, err error) {
	if err := notEmpty(flag, spans); err != nil {
		return nil, err
	}
	for _, s := range spans {
		for _, n := range [...]int{s.from, s.to} {
			if n < least || n > most {
				return nil, fmt.Errorf("--%s: %d is out of range; give %s, %d to %d", flag, n, what, least, most)
			}
		}
		for n := s.from; n <= s.to; n++ {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	if list = slices.Compact(list); len(list) > numbersMost {
		return nil, fmt.Errorf("--%s: %d numbers are too many; give %d at most", flag, len(list), numbersMost)
	}
	return list, nil
}

// notEmpty refuses an empty list, as from an unset variable.
func notEmpty[T any](flag string, list []T) error {
	if list != nil && len(list) == 0 {
		return fmt.Errorf("--%s: the list is empty; name one, or leave the flag out", flag)
	}
	return nil
}

// Once returns the words of a flag without duplicates. They must be among names; what is the kind
// of thing.
func Once(flag, what string, words, names []string) (list []string, err error) {
	if err := notEmpty(flag, words); err != nil {
		return nil, err
	}
	for _, w := range words {
		err := cli.Known(what, w, names)
		if what == "edition" {
			err = KnownEdition(w, names)
		}
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", flag, err)
		}
		if !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list, nil
}

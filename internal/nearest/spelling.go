package nearest

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// Words that a name has beside those of another must leave so many letters in common.
const commonLetters = 3

// byWords returns those of names that are name but for the order of its words, or words that one
// of the two has more; the likest first. Words are what is between other characters than letters
// and digits, or begins with a capital.
func byWords(name string, names []string) (near []string) {
	type candidate struct {
		name string
		left int // letters of words that only one of the two has
		part bool
	}
	words := wordsOf(name)
	var list []candidate
	for _, n := range names {
		others := wordsOf(n)
		common, letters := shared(words, others)
		if letters < commonLetters || common < min(len(words), len(others)) {
			continue
		}
		list = append(list, candidate{n, lettersOf(words) + lettersOf(others) - 2*letters, common < len(words)})
	}
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.left, b.left), cmp.Compare(a.name, b.name))
	})
	for _, c := range list {
		if c.part && c.left > list[0].left { // it is another part of what was typed
			break
		}
		near = append(near, c.name)
	}
	return near
}

// shared returns how many words of two lists are the same, or off by a letter if they are long,
// and how many letters these have.
func shared(a, b []string) (n, letters int) {
	const long = 5
	b = slices.Clone(b)
	for _, w := range a {
		i := slices.IndexFunc(b, func(o string) bool {
			return o == w || len(w) >= long && len(o) >= long && distance(w, o) <= 1
		})
		if i >= 0 {
			n, letters = n+1, letters+min(len(w), len(b[i]))
			b = slices.Delete(b, i, i+1)
		}
	}
	return n, letters
}

func lettersOf(words []string) (n int) {
	for _, w := range words {
		n += len(w)
	}
	return n
}

// wordsOf splits a name into words in small letters.
func wordsOf(name string) (words []string) {
	var b strings.Builder
	end := func() {
		if b.Len() > 0 {
			words = append(words, b.String())
			b.Reset()
		}
	}
	small := false
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) || unicode.IsUpper(r) && small {
			end()
		}
		if small = unicode.IsLower(r) || unicode.IsDigit(r); unicode.IsLetter(r) || unicode.IsDigit(r) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	end()
	return words
}

// written is a name without what tells spellings apart: capitals, and what is between words.
func written(name string) string { return strings.Join(wordsOf(name), "") }

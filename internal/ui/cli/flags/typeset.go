package flags

import (
	"fmt"
	"os"
	"strings"
	"unicode/utf8"
)

// dashes are the signs that a word processor, a chat or a web page puts for a hyphen, with their names.
var dashes = map[rune]string{
	'\u2010': "a typographic hyphen", '\u2011': "a typographic hyphen", '\u2012': "a dash", '\u2013': "a dash",
	'\u2014': "a dash", '\u2015': "a dash", '\u2212': "a minus sign", '\uff0d': "a wide hyphen",
}

// quotes are typographic quotation marks.
const quotes = "\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb"

// Typeset returns an error if an argument has typographic signs where a hyphen or no sign was meant: a dash at its
// beginning, or quotation marks around it or its value. It says what to type. A file of that name is no mistake.
func Typeset(args []string) error {
	for _, arg := range args {
		if _, err := os.Lstat(arg); err == nil || arg == "" {
			continue
		}
		plain := unquoted(arg)
		for _, r := range arg {
			if what := dashes[r]; what != "" {
				return fmt.Errorf("%s: %c is %s, not a hyphen: type %s", arg, r, what, hyphened(plain))
			}
			if r != '-' {
				break
			}
		}
		if plain != arg {
			return fmt.Errorf("%s: it has typographic quotation marks, which a shell doesn't remove: type %s", arg,
				plain)
		}
	}
	return nil
}

// hyphened replaces the dashes at the beginning of an argument: one of them may stand for two hyphens.
func hyphened(arg string) string {
	rest := strings.TrimLeftFunc(arg, func(r rune) bool { return r == '-' || dashes[r] != "" })
	if utf8.RuneCountInString(rest) < 2 || rest[0] >= '0' && rest[0] <= '9' { // -h, a negative number
		return "-" + rest
	}
	return "--" + rest
}

// unquoted removes the typographic quotation marks at both ends of an argument, or of the value of a flag.
func unquoted(arg string) string {
	name, value, ok := strings.Cut(arg, "=")
	if !ok {
		name, value = "", arg
	}
	if first, _ := utf8.DecodeRuneInString(value); strings.ContainsRune(quotes, first) {
		value = strings.Trim(value, quotes)
	} else if first, _ := utf8.DecodeRuneInString(name); ok && strings.ContainsRune(quotes, first) {
		name, value = strings.TrimLeft(name, quotes), strings.TrimRight(value, quotes)
	}
	if ok {
		return name + "=" + value
	}
	return value
}

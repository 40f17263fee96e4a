package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"unicode/utf8"

	"kpsim/internal/lazyregexp"
	"kpsim/traces"
)

// calledAs is set by CallAs.
var calledAs string

// CallAs sets the name that begins command lines, for a program other than kpsim. It must be
// called before other goroutines run.
func CallAs(name string) { calledAs = name }

// Typed returns the word or words by which this program was called.
func Typed() string {
	if calledAs != "" {
		return calledAs
	}
	if exe, err := os.Executable(); err == nil && goRun(filepath.ToSlash(exe)) {
		if _, err := os.Stat("cmd/kpsim"); err == nil {
			return "go run ./cmd/kpsim"
		}
		return "go run kpsim/cmd/kpsim"
	}
	return os.Args[0]
}

// goRun reports whether go run has made a program of that path: in a folder for temporary files, or, since Go 1.24, in
// its cache, wherever that is: XX/XX…-d/NAME, by a hash.
func goRun(exe string) bool { return strings.Contains(exe, "/go-build") || cached().MatchString(exe) }

var cached = lazyregexp.New(`/[0-9a-f]{2}/[0-9a-f]{64}-d/[^/]+$`)

// Line joins words to a command line and quotes all but the first for a shell.
func Line(words ...string) string {
	line := words[0]
	for _, w := range words[1:] {
		line += " " + quotedWord(w)
	}
	return line
}

// WithFlags appends flags to the words of a command line. They are given as names, each followed by its value: a true
// stands by its name alone; what is false, "", 0 or nil is left out.
func WithFlags(words []string, flags ...any) []string {
	for i := 0; i < len(flags); i += 2 {
		name, v := flags[i].(string), reflect.ValueOf(flags[i+1])
		switch {
		case v.IsZero():
			continue
		case v.Kind() == reflect.Bool:
			words = append(words, name)
			continue
		case v.Kind() == reflect.Pointer:
			v = v.Elem()
		}
		if value := fmt.Sprint(v.Interface()); strings.HasPrefix(value, "-") {
			words = append(words, name+"="+value)
		} else {
			words = append(words, name, value)
		}
	}
	return words
}

// Unless returns a flag's value for WithFlags, "" if it is the usual one.
func Unless[T comparable](value, usual T) string {
	if value == usual {
		return ""
	}
	return fmt.Sprint(value)
}

// needsNoQuotes lists the characters besides letters and digits that a shell takes literally.
const needsNoQuotes = "_@%+=:,./-"

func quotedWord(w string) string {
	special := func(r rune) bool {
		return r < utf8.RuneSelf && !strings.ContainsRune(needsNoQuotes, r) && (r < '0' || r > '9') &&
			(r|0x20 < 'a' || r|0x20 > 'z')
	}
	switch {
	// a terminal would obey it, or it would end the line
	case traces.PlainString(w) != w || strings.ContainsAny(w, "\n\t"):
		var b strings.Builder
		for i := range len(w) {
			if c := w[i]; c < ' ' || c > '~' || c == '\'' || c == '\\' {
				fmt.Fprintf(&b, `\%03o`, c)
			} else {
				b.WriteByte(c)
			}
		}
		return "$'" + b.String() + "'"
	case w == "" || strings.ContainsFunc(w, special):
		return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return w
}

// AsFile returns a file name as an argument that can't be read as a flag.
func AsFile(name string) string {
	if strings.HasPrefix(name, "-") {
		return "./" + name
	}
	return name
}

// AsScenario returns a scenario's name, or its file's base name, as an argument.
func AsScenario(name string) string { return AsFile(filepath.Base(name)) }

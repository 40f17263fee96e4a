package flags

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"kpsim/internal/lazyregexp"
	"kpsim/internal/nearest"
	"kpsim/internal/ui/cli"
)

// The parser's messages about a flag's value and about missing arguments.
var (
	noValue      = lazyregexp.New(`^(--[\w-]+): (?:expected .+ value but got ".*" \((?:<EOL>|long flag)\).*|missing value, .*)$`)
	dashed       = lazyregexp.New(`^(--[\w-]+): expected \S+ value but got "(.*)" \(short flag\)`)
	noNumber     = lazyregexp.New(`^(--[\w-]+): expected a valid \d+ bit u?int but got "(.*)"$`)
	noDuration   = lazyregexp.New(`^(--[\w-]+): expected duration but got "([^"]*)"`)
	noBool       = lazyregexp.New(`^(--[\w-]+): bool value must be .* but got "(.*)"$`)
	noFlag       = lazyregexp.New(`^missing flags: (--[\w-]+)`)
	noArgument   = lazyregexp.New(`^expected "(<[^>]+>)`)
	whichCommand = lazyregexp.New(`^expected (?:one of )?"(\w+)`)
)

// InPlainWords explains an error of the parser, and suggests the command or flag that was
// probably meant, or the help to read.
func InPlainWords(err error) string {
	says, _, _ := strings.Cut(err.Error(), ", did you mean")
	var parse *kong.ParseError
	if !errors.As(err, &parse) {
		return says
	}
	at := parse.Context.Model.Node
	for _, p := range parse.Context.Path {
		at = cmp.Or(p.Command, at)
	}
	says = plainly(says, at)
	var hint string
	if name, ok := strings.CutPrefix(says, "unknown flag "); ok {
		hint = cmp.Or(nearest.DidYouMean(name, flagNames(at)), flagOfOthers(name, root(at)))
	} else if name, ok := strings.CutPrefix(says, "unexpected argument "); ok {
		hint = commandLike(name, at)
	}
	return says + "; " + cmp.Or(hint, fmt.Sprintf("see %s --help", commandLine(at)))
}

// commandLine returns the words of the command itself.
func commandLine(at *kong.Node) string {
	return strings.TrimSpace(cli.Typed() + " " + strings.TrimPrefix(at.Path(), "kpsim"))
}

// plainly rewrites a message of the parser in terms of the command line.
func plainly(says string, at *kong.Node) string {
	if m := noValue().FindStringSubmatch(says); m != nil {
		if f := flagOf(at, m[1]); f != nil {
			return fmt.Sprintf("%s: its value is missing: write %s", m[1], f.Summary())
		}
	}
	for _, e := range []*regexp.Regexp{dashed(), noNumber()} {
		if m := e.FindStringSubmatch(says); m != nil {
			if f := flagOf(at, m[1]); f != nil && f.Tag.Get(rangeTag) != "" &&
				f.Target.Type() != reflect.TypeFor[time.Duration]() {
				least, most, _ := RangeOf(f.Value)
				return fmt.Sprintf("%s: %q is no whole number from %s to %s", m[1], m[2], least, shortly(most))
			}
		}
	}
	if m := dashed().FindStringSubmatch(says); m != nil {
		return fmt.Sprintf("%s: %q looks like a flag; if it is the value: %s=%s", m[1], m[2], m[1], m[2])
	}
	if m := noDuration().FindStringSubmatch(says); m != nil {
		return fmt.Sprintf("%s: %q is no time; give it a unit, as 90s, 10m or 1h30m", m[1], m[2])
	}
	if m := noBool().FindStringSubmatch(says); m != nil {
		return fmt.Sprintf("%s: it takes no value, and was given %q; write %s, or leave it out", m[1], m[2], m[1])
	}
	if m := noFlag().FindStringSubmatch(says); m != nil {
		if f := flagOf(at, m[1]); f != nil {
			return fmt.Sprintf("%s is missing: %s", f.Summary(), firstSentence(f.Help))
		}
	}
	if m := noArgument().FindStringSubmatch(says); m != nil {
		for _, v := range at.Positional {
			if "<"+v.Name+">" == m[1] {
				return fmt.Sprintf("%s is missing: %s", m[1], firstSentence(v.Help))
			}
		}
	}
	if m := whichCommand().FindStringSubmatch(says); m != nil {
		return fmt.Sprintf("name a command, such as %s",
			strings.TrimSpace(strings.TrimPrefix(at.Path(), "kpsim")+" "+m[1]))
	}
	return says
}

// firstSentence returns the first sentence of a help text, in a form that can end another
// sentence.
func firstSentence(help string) string {
	first, _, _ := strings.Cut(help, ". ")
	first = strings.TrimSuffix(first, ".")
	return strings.ToLower(first[:1]) + first[1:]
}

package main

import "regexp"

// The rules replace what may differ between two runs of one build. Each comment says what it replaces, and in which
// output.
var rules = []struct {
	name    string
	what    *regexp.Regexp
	instead string
}{
	// explore --json: the rate on this computer.
	{"rate", regexp.MustCompile(`"schedules_per_s":[0-9.e+]+`), `"schedules_per_s":RATE`},
	{"seconds", regexp.MustCompile(`"seconds":[0-9.e+-]+`), `"seconds":SECONDS`},
	// The build: in traces, pages, and the first object of --json.
	{"kpsim", regexp.MustCompile(`"kpsim":\{"version":[^{}]*\}`), `"kpsim":"BUILD"`},
	{"kpsim", regexp.MustCompile(`\S+ \(commit [^()]*\), from (https?://\S+|module \S+)`), "BUILD"},
	// Pages that say when they were made: mutants --html, matrix --html.
	{"date", regexp.MustCompile(`\b20[2-9]\d-[01]\d-[0-3]\d\b`), "DATE"},
}

// normalise applies the rules to an output.
func normalise(s string) string {
	for _, r := range rules {
		s = r.what.ReplaceAllString(s, r.instead)
	}
	return s
}

package shell

import (
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		line    string
		words   []string
		filters int
	}{
		{"", nil, 0},
		{"  # it's a comment | tail", nil, 0},
		{"call victim 3 5 # it's a comment | tail", []string{"call", "victim", "3", "5"}, 0},
		{"echo 1>enabled", []string{"echo", "1", ">", "enabled"}, 0},
		{`echo "1" > enabled`, []string{"echo", `"1"`, ">", "enabled"}, 0},
		{"dmesg|tail -3", []string{"dmesg"}, 1},
		{"events | grep 'a | b # c' | wc -l # how many", []string{"events"}, 2},
		{"a#b", []string{"a#b"}, 0},
	} {
		got, err := parse(c.line)
		if err != nil || !slices.Equal(got.words, c.words) || len(got.filters) != c.filters {
			t.Errorf("%q: %q and %d filters, %v", c.line, got.words, len(got.filters), err)
		}
	}
	for line, want := range map[string]string{
		"dmesg | tali":                    `| tali: no such filter; did you mean "tail"? there are head, tail, grep, wc, sort, uniq`,
		"dmesg |":                         "a filter is missing after the |; there are head",
		"| tail":                          "a command is missing before the |; write it as in dmesg | tail -3",
		"dmesg | grep":                    "write it | grep [-v] [-i] [-c] PATTERN",
		"dmesg | grep -x a":               "write it | grep",
		"dmesg | grep 'a":                 "a quote isn't closed",
		"dmesg | grep (":                  `grep: "(" is no regular expression: missing closing )`,
		"dmesg | tail -x":                 "write it | tail [-N]",
		"dmesg | tail 3":                  "write it | tail [-N]",
		"dmesg | tail -99999999999":       "write it | tail [-N]",
		"dmesg | wc x":                    "write it | wc",
		"dmesg | sort x":                  "write it | sort",
		"dmesg | uniq -x":                 "write it | uniq",
		"x" + strings.Repeat("|head", 17): "17 filters; a line has at most 16",
	} {
		if _, err := parse(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", line, err, want)
		}
	}
	if got, want := unquoted(`grep  "a 'b'" ''  c"d"`), []string{"grep", "a 'b'", "", "cd"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestFilters(t *testing.T) {
	in := []string{"b 10", "a 9", "A 9", "a 9", "a 9", "2 x", "10 y"}
	for filter, want := range map[string]string{
		"head -2":      "b 10,a 9",
		"head -n 1":    "b 10",
		"head -0":      "",
		"tail -1":      "10 y",
		"tail -n2":     "2 x,10 y",
		"tail":         strings.Join(in, ","),
		"grep a":       "a 9,a 9,a 9",
		"grep -i ^a":   "a 9,A 9,a 9,a 9",
		"grep -v 9":    "b 10,2 x,10 y",
		"grep -ic ^a":  "4",
		"grep nothing": "",
		"wc":           "7 14 30",
		"wc -l":        "7",
		"sort":         "10 y,2 x,A 9,a 9,a 9,a 9,b 10",
		"sort -u":      "10 y,2 x,A 9,a 9,b 10",
		"sort -rn":     "10 y,2 x,b 10,a 9,a 9,a 9,A 9",
		"uniq":         "b 10,a 9,A 9,a 9,2 x,10 y",
		"uniq -c":      "      1 b 10,      1 a 9,      1 A 9,      2 a 9,      1 2 x,      1 10 y",
	} {
		f, err := newFilter(unquoted(filter))
		if err != nil {
			t.Errorf("%s: %v", filter, err)
			continue
		}
		if got := strings.Join(f(slices.Clone(in)), ","); got != want {
			t.Errorf("%s: %s, want %s", filter, got, want)
		}
	}
	for _, f := range filterWords {
		c, err := parse(f.example)
		_, _, unknown := wordOf(c.words[0])
		if err != nil || unknown != nil || !strings.Contains(f.example, "| "+f.word) {
			t.Errorf("%s: the example %s: %v", f.word, f.example, err)
		}
	}
}

// What is parsed can be written again, and is the same; filters take any lines.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"dmesg | tail -3", "events | grep -iv 'a|b' | sort -nru | uniq -c | wc # c",
		"echo 1 > enabled", "'", "|", "x |head -n 3", " # "} {
		f.Add(s, "1 a\n\x00 b\n")
	}
	f.Fuzz(func(t *testing.T, line, text string) {
		c, err := parse(line)
		if err != nil {
			if len(c.words) == 0 && strings.ContainsAny(err.Error(), "\n") {
				t.Errorf("%q: the error has several lines: %v", line, err)
			}
			return
		}
		if len(c.words) == 0 && len(c.filters) > 0 {
			t.Errorf("%q: filters of nothing", line)
		}
		lines := strings.Split(text, "\n")
		for _, f := range c.filters {
			lines = f(lines)
		}
		if len(c.words) == 0 || len(c.filters) > 0 || strings.ContainsAny(line, `'"#`) {
			return
		}
		again, err := parse(strings.Join(c.words, " "))
		if err != nil || !slices.Equal(again.words, c.words) {
			t.Errorf("%q is %q, and that is %q, %v", line, c.words, again.words, err)
		}
	})
}

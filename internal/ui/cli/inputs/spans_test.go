package inputs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		args, want, err string
	}{
		{"", "[]", ""},
		{"--n=4", "[4]", ""},
		{"--n=8,1-3,2 --n=5-5", "[1 2 3 5 8]", ""},
		{"--n=1-64", fmt.Sprint(slices.Collect(func(yield func(int) bool) {
			for i := 1; i <= 64 && yield(i); i++ {
			}
		})), ""},
		{"--n=0", "", "--n: 0 is out of range; give numbers, 1 to 100"},
		{"--n=3,99-101", "", "--n: 101 is out of range"},
		{"--n=1-65", "", "--n: 65 numbers are too many; give 64 at most"},
		{"--n=", "", "--n: the list is empty"},
		{"--n=2-", "", `"2-" is no number and no range`},
		{"--n=3-2", "", `"3-2" is no number and no range`},
		{"--n=-3", "", `"-3" is no number and no range`},
		{"--n=1-2-3", "", `"1-2-3" is no number and no range`},
		{"--n=1.5", "", `"1.5" is no number and no range`},
	} {
		var flags struct{ N []Span }
		parser, err := kong.New(&flags)
		if err != nil {
			t.Fatal(err)
		}
		_, err = parser.Parse(strings.Fields(c.args))
		var list []int
		if err == nil {
			list, err = Numbers("n", "numbers", flags.N, 1, 100)
		}
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %s", c.args, err, c.err)
			}
		case err != nil || fmt.Sprint(list) != c.want:
			t.Errorf("%s: %v, %v, want %s", c.args, list, err, c.want)
		}
	}
}

func TestOnce(t *testing.T) {
	known := []string{"a", "b"}
	if list, err := Once("f", "thing", []string{"b", "a", "b"}, known); err != nil ||
		!slices.Equal(list, []string{"b", "a"}) {
		t.Error(list, err)
	}
	if list, err := Once("f", "thing", nil, known); err != nil || list != nil {
		t.Error(list, err)
	}
	for want, words := range map[string][]string{`--f: no thing is called "c"; there are a, b`: {"a", "c"},
		"--f: the list is empty; name one, or leave the flag out": {}} {
		if _, err := Once("f", "thing", words, known); err == nil || err.Error() != want {
			t.Error(words, err)
		}
	}
}

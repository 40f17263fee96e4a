package traces

import (
	"reflect"
	"strings"
	"testing"
)

// Comments are parsed and printed. When a schedule is replaced, the comments of
// remaining deviations and those at both ends stay.
func TestComments(t *testing.T) {
	const a, b, c = "cpu0 in f+0x1, 1st time: cpu1\n", "cpu1 in f+0x2, 2nd time: cpu0\n",
		"cpu0 in idle, 1st time: timer@cpu0\n"
	const text = "# top\n#\n# of a\n" + a + b + "# of c\n" + c + "# end\n"
	list := func(s string) []Deviation {
		d, err := ParseSchedule(s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	moved := strings.Replace(c, "idle", "stopper", 1)
	for _, test := range []struct{ from, to, want string }{
		{text, a + b + c, text},
		{text, a + b + moved, "# top\n#\n# of a\n" + a + b + "# of c\n" + moved + "# end\n"},
		{text, a + c, "# top\n#\n# of a\n" + a + "# of c\n" + c + "# end\n"},
		{text, c, "# top\n#\n# of a\n# of c\n" + c + "# end\n"},
		{text, b, "# top\n#\n# of a\n" + b + "# end\n"},
		{text, "", "# top\n#\n# of a\n# end\n"},
		{a + "# end\n", a + b, a + b + "# end\n"},
		{"# none\n", "", "# none\n"},
		{a + b, b, b},
	} {
		file := strings.Replace(exampleText, "cpu1 in victim+0x1, 1st time: timer@cpu1\n",
			strings.ReplaceAll(test.from, "#", "  #"), 1)
		f, err := Parse("x.kps", []byte(file))
		if err != nil {
			t.Fatal(err)
		}
		was := f.Comments
		g := *f
		g.SetSchedule(list(test.to))
		got, err := Parse("x.kps", g.Marshal())
		if err != nil || !reflect.DeepEqual(got.Comments, g.Comments) {
			t.Errorf("%q is read as %q: %v", g.Comments, got.Comments, err)
		}
		if got := formatSchedule(g.Schedule, g.Comments); got != test.want {
			t.Errorf("%q, then %q: %q, want %q", test.from, test.to, got, test.want)
		}
		if got := formatSchedule(f.Schedule, was); got != strings.ReplaceAll(test.from, "  #", "#") {
			t.Errorf("%q has become %q", test.from, got)
		}
	}
}

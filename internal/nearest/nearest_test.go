package nearest_test

import (
	"slices"
	"testing"

	"kpsim/internal/nearest"
)

func TestNear(t *testing.T) {
	names := []string{"victim", "caller", "caller_resched", "labelled", "labelled_on", "f", "victim", "victims", "vict", "pos"}
	for _, c := range []struct {
		name string
		want []string
	}{
		{"vitcim", []string{"victim", "victims"}}, // two letters swapped is one slip
		{"victm", []string{"vict", "victim", "victims"}},
		{"labeled", []string{"labelled"}},
		{"labelledon", []string{"labelled_on", "labelled"}},
		{"g", nil},              // one letter is near nothing, else everything were near everything
		{"dfs", nil},            // pos is two letters away, of three
		{"caller_rxxxxxx", nil}, // five of fourteen
		{"schedule", nil},
		{"", nil},
	} {
		if got := nearest.Names(c.name, names); !slices.Equal(got, c.want) {
			t.Errorf("%q: near %q, want %q", c.name, got, c.want)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	names := []string{"victim", "victims", "caller"}
	for name, want := range map[string]string{"vitcim": `did you mean "victim", "victims"?`, "calle": `did you mean "caller"?`, "xyz": ""} {
		if got := nearest.DidYouMean(name, names); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

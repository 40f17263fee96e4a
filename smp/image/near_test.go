package image_test

import (
	"slices"
	"testing"

	"kpsim/smp/image"
)

func TestNear(t *testing.T) {
	names := []string{"victim", "caller", "caller_resched", "labelled", "labelled_on", "f", "victim", "victims", "vict"}
	for _, c := range []struct {
		name string
		want []string
	}{
		{"vitcim", []string{"victim", "victims", "vict"}}, // two letters swapped is one slip
		{"victm", []string{"vict", "victim", "victims"}},
		{"labeled", []string{"labelled"}},
		{"labelledon", []string{"labelled_on", "labelled"}},
		{"g", nil}, // one letter is near nothing, else everything were near everything
		{"schedule", nil},
		{"", nil},
	} {
		if got := image.Near(c.name, names); !slices.Equal(got, c.want) {
			t.Errorf("%q: near %q, want %q", c.name, got, c.want)
		}
	}
}

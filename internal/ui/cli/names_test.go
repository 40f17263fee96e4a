package cli

import (
	"strings"
	"testing"
)

// A list is printed while it is short.
func TestSuggest(t *testing.T) {
	names := []string{strings.Repeat("a", 40), strings.Repeat("b", 40)}
	if got, want := Suggest("x", names), "there are "+names[0]+", "+names[1]; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := Suggest("x", append(names, "ccccccccc")), Typed()+" list prints the 3 that there are"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

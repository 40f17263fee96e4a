package inputs

import (
	"testing"
)

func TestTraceName(t *testing.T) {
	for name, want := range map[string]string{"torn-jump": "torn-jump", "../a b": "a-b", "--x": "x", "é": "scenario"} {
		if got := TraceName(name); got != want {
			t.Errorf("traceName(%q) = %q, want %q", name, got, want)
		}
	}
}

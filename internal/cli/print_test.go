package cli

import (
	"testing"
)

func TestTenths(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 1: "100", 0.5: "50.0", 0.9999: "over 99.9", 0.0001: "under 0.1", 0.123: "12.3"} {
		if got := Tenths(x); got != want {
			t.Errorf("tenths(%g) = %s, want %s", x, got, want)
		}
	}
}

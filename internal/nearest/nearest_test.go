package nearest_test

import (
	"slices"
	"testing"

	"kpsim/internal/nearest"
)

func TestNear(t *testing.T) {
	names := []string{"victim", "caller", "caller_resched", "labelled", "labelled_on", "f", "victim", "victims", "vict",
		"pos"}
	for _, c := range []struct {
		name string
		want []string
	}{
		{"vitcim", []string{"victim", "victims"}}, // two letters swapped is one slip
		{"victm", []string{"vict", "victim", "victims"}},
		{"labeled", []string{"labelled"}},
		{"labelledon", []string{"labelled_on", "labelled"}},
		{"g", nil},                             // one letter is near nothing, else everything were near everything
		{"dfs", nil},                           // pos is two letters away, of three
		{"caller_rxxxxxx", []string{"caller"}}, // caller_resched is five of fourteen away
		{"schedule", nil},
		{"", nil},
	} {
		if got := nearest.Names(c.name, names); !slices.Equal(got, c.want) {
			t.Errorf("%q: near %q, want %q", c.name, got, c.want)
		}
	}
}

// Names are near, too, that have the same words, or all words of one of the two.
func TestNearByWords(t *testing.T) {
	for _, c := range []struct {
		name  string
		names []string
		want  []string
	}{
		{"register_kprobe", []string{"kprobe", "register", "register_all", "unregister"}, []string{"register"}},
		{"kprobe_register", []string{"kprobe", "register", "unregister"}, []string{"register"}},
		{"TornJump", []string{"torn-jump", "torn"}, []string{"torn-jump"}},
		{"INSMOD", []string{"insmod", "rmmod"}, []string{"insmod"}},
		{"quiesce-no", []string{"no-quiesce", "no-grace"}, []string{"no-quiesce"}},
		{"6.12", []string{"6.1.0-56-amd64", "6.12.117+deb12-amd64"}, []string{"6.12.117+deb12-amd64"}},
		{"sync", []string{"no-sync-1", "no-sync-2", "no-sync-3", "no-sync-4", "grace"},
			[]string{"no-sync-1", "no-sync-2", "no-sync-3"}},
		{"no", []string{"no-sync-1", "no-sync-2"}, nil}, // two letters are near nothing
		{"----", []string{"no-sync-1", "+"}, nil},
		{"grace_period", []string{"no-quiesce", "torn-jump"}, nil},
	} {
		if got := nearest.Names(c.name, c.names); !slices.Equal(got, c.want) {
			t.Errorf("%q: near %q, want %q", c.name, got, c.want)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	names := []string{"victim", "victims", "caller"}
	for name, want := range map[string]string{"vitcim": `did you mean "victim", "victims"?`,
		"calle": `did you mean "caller"?`, "xyz": ""} {
		if got := nearest.DidYouMean(name, names); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

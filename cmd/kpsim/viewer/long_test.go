package viewer_test

import "testing"

func TestLong(t *testing.T) {
	for _, n := range []int{10000, 100000} {
		r := long(t, n)
		_, size := page(t, r)
		t.Logf("%d steps %d spans %d arrows %d stands %d texts: %d KB", len(r.Scene.Steps), len(r.Scene.Spans), len(r.Scene.Arrows), len(r.Scene.Stands), len(r.Scene.Texts), size/1024)
	}
}

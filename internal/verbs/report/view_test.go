package report

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// A request under another name for this computer gets nothing.
func TestServed(t *testing.T) {
	h := localOnly("race.html", []byte("<p>"))
	for _, test := range []struct {
		method, host, path string
		status             int
	}{
		{"GET", "127.0.0.1:8080", "/", 200},
		{"GET", "localhost:8080", "/", 200},
		{"GET", "localhost", "/", 200},
		{"HEAD", "127.0.0.1", "/?a=b", 200},
		{"POST", "127.0.0.1", "/", 405},
		{"GET", "127.0.0.1", "/favicon.ico", 404},
		{"GET", "127.0.0.1", "//", 404},
		{"GET", "race.example:8080", "/", 403},
		{"GET", "127.0.0.1.race.example", "/", 403},
		{"GET", "localhost.race.example:80", "/", 403},
		{"GET", "race.example", "/favicon.ico", 403},
		{"GET", "[::1]:8080", "/", 403},
		{"GET", "", "/", 403},
		{"GET", "0.0.0.0:8080", "/", 403},
		{"GET", "127.0.0.1:80:80", "/", 403},
	} {
		r := httptest.NewRequest(test.method, "http://x"+test.path, nil)
		r.Host = test.host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.Equal(t, test.status, w.Code, "%+v", test)
		require.Equal(t, test.status == 200, w.Body.String() == "<p>", "%+v", test)
		if test.status == 200 {
			require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
			require.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
			require.Equal(t, "inline; filename=race.html", w.Header().Get("Content-Disposition"))
		}
	}
}

// The names of traces are without their folders, but for those that tell two apart; so is
// the name under which a browser saves a page.
func TestNames(t *testing.T) {
	for _, test := range []struct{ a, b, nameA, nameB string }{
		{"/home/someone/secret/race.kps", "", "race.kps", ""},
		{"race.kps", "", "race.kps", ""},
		{"x/a.kps", "x/b.kps", "a.kps", "b.kps"},
		{"x/before/a.kps", "x/after/a.kps", "before/a.kps", "after/a.kps"},
		{"x/before/y/a.kps", "x/after/y/a.kps", "before/y/a.kps", "after/y/a.kps"},
		{"x/a.kps", "a.kps", "x/a.kps", "a.kps"},
		{"x/a.kps", "./x/a.kps", "a.kps", "a.kps"},
		{"/a.kps", "a.kps", "/a.kps", "a.kps"},
	} {
		a, b := distinctNames(test.a, test.b)
		require.Equal(t, [2]string{test.nameA, test.nameB}, [2]string{a, b}, "%+v", test)
	}
	require.Equal(t, "race.html", fileName("race.kps"))
	require.Equal(t, "race.html", fileName("race.kps, and without deviation 2"))
	require.Equal(t, "before-a and after-a.html", fileName("before/a.kps and after/a.kps"))
}

package web

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kpsim/campaign/board"
	"kpsim/campaign/unit"
	"kpsim/internal/version"
	"kpsim/properties"
	"kpsim/traces"
)

// get asks for a path, as a host of that name if there is one.
func get(t *testing.T, s *Server, method, path, host string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, nil)
	require.NoError(t, err)
	if host != "" {
		r.Host = host
	}
	a, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	require.NoError(t, err)
	return a, string(body)
}

func TestServeOptions(t *testing.T) {
	for listen, why := range map[string]string{
		"8080": `--http "8080": give HOST:PORT, as in 127.0.0.1:8080`,
		"0.0.0.0:0": "--http 0.0.0.0:0: others could read along; give --tls-cert and --tls-key, or say --insecure in a " +
			"network of your own",
		":0": "--http :0: others could read along; give --tls-cert and --tls-key, or say --insecure in a network " +
			"of your own",
		"127.0.0.1:x!": `--http "127.0.0.1:x!": there is no port "x!"`,
	} {
		_, err := Serve(nil, Options{Listen: listen})
		require.ErrorContains(t, err, why)
	}
	_, err := Serve(nil, Options{Listen: "127.0.0.1:0", Cert: "/nowhere", Key: "/nowhere"})
	require.ErrorContains(t, err, "--tls-cert /nowhere --tls-key /nowhere: open /nowhere")
	s, err := Serve(nil, Options{Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	defer s.Stop()
	at := strings.TrimSuffix(strings.TrimPrefix(s.URL, "http://"), "/")
	_, err = Serve(nil, Options{Listen: at})
	require.EqualError(t, err,
		"--http "+at+": another program listens there; name another port, or 0 for any that is free")
	beyond, err := Serve(nil, Options{Listen: "0.0.0.0:0", Insecure: true})
	require.NoError(t, err)
	beyond.Stop()
}

func TestServeGuard(t *testing.T) {
	b := fakeBoard(t)
	s := serve(t, b, "127.0.0.1:0")
	a, page := get(t, s, "GET", "", "")
	require.Contains(t, page, "<p>kpsim "+version.This().String()+"</p>")
	require.Equal(t, 200, a.StatusCode)
	csp := a.Header.Get("Content-Security-Policy")
	require.Contains(t, csp, "default-src 'none'")
	require.NotContains(t, csp, "unsafe")
	require.NotRegexp(t, `(?i)https?://|@import|@font-face|\bsrc=|\bon[a-z]+="|style="`,
		strings.ReplaceAll(page, "http://www.w3.org", ""))
	for _, host := range []string{"localhost", "localhost:1234", "127.0.0.1", "127.1.2.3:80", "[::1]", "[::1]:80"} {
		a, _ = get(t, s, "GET", "status.json", host)
		require.Equal(t, 200, a.StatusCode, host)
	}
	for _, host := range []string{"attacker.example", "127.0.0.1.attacker.example:80",
		"localhost.attacker.example", "10.0.0.1"} {
		a, text := get(t, s, "GET", "status.json", host)
		require.Equal(t, http.StatusMisdirectedRequest, a.StatusCode, host)
		require.Equal(t, "this server answers to localhost only\n", text)
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS"} {
		a, _ = get(t, s, method, "", "")
		require.Equal(t, http.StatusMethodNotAllowed, a.StatusCode, method)
	}
	a, _ = get(t, s, "GET", "elsewhere", "")
	require.Equal(t, 404, a.StatusCode)
}

func TestServeData(t *testing.T) {
	b := fakeBoard(t)
	s := serve(t, b, "127.0.0.1:0")
	_, none := get(t, s, "GET", "campaigns.json", "")
	require.Equal(t, "[]\n", none)
	begin(t, b, "nightly-1", board.Ended, time.Now().Add(-time.Hour))
	begin(t, b, "nightly-2", board.Running, time.Now())
	tell(t, b, example("nightly-2"))
	for path, id := range map[string]string{"status.json": "nightly-2", "status.json?campaign=nightly-2": "nightly-2",
		"status.json?campaign=nightly-1": "nightly-1", "status.json?campaign=a%20b*": "a b*"} {
		a, text := get(t, s, "GET", path, "")
		require.Equal(t, 200, a.StatusCode, text)
		var got Status
		require.NoError(t, json.Unmarshal([]byte(text), &got))
		require.Equal(t, id, got.Status.ID)
		require.Equal(t, id != "a b*", got.Exists)
		require.Equal(t, id == "nightly-2", got.HasStatus)
	}
	_, list := get(t, s, "GET", "campaigns.json", "")
	require.Less(t, strings.Index(list, "nightly-2"), strings.Index(list, "nightly-1"), "the last one first")

	text, err := os.ReadFile("../../traces/corpus/T2-call-five.kps")
	require.NoError(t, err)
	kps, err := traces.Parse("trace", text)
	require.NoError(t, err)
	p, _ := properties.ByName(kps.Property)
	f := unit.NewFind(p.Name, "s", "kpsim's own", "m", "", len(kps.Schedule))
	f.Trace = string(text)
	_, err = b.AddFind(t.Context(), f, "nightly-2", "b")
	require.NoError(t, err)
	a, trace := get(t, s, "GET", "find/"+f.Cause+".kps", "")
	require.Equal(t, string(text), trace)
	require.Equal(t, `attachment; filename="`+f.Cause+`.kps"`, a.Header.Get("Content-Disposition"))
	for _, path := range []string{"find/T2-other.kps", "find/T2-second-instruction",
		"find/*.kps", "find/..%2F..%2Flead.nk.kps", "find/%22.kps"} {
		a, _ = get(t, s, "GET", path, "")
		require.Equal(t, 404, a.StatusCode, path)
	}
}

func TestServeMetrics(t *testing.T) {
	b := fakeBoard(t)
	s := serve(t, b, "127.0.0.1:0")
	begin(t, b, "nightly-1", board.Starting, time.Now().Add(-time.Hour))
	begin(t, b, "nightly-2", board.Running, time.Now())
	tell(t, b, example("nightly-2"))
	_, text := get(t, s, "GET", "metrics", "")
	for _, line := range []string{
		`kpsim_campaign_units{campaign="nightly-2"} 2004`,
		`kpsim_campaign_units_done{campaign="nightly-2"} 1223`,
		`kpsim_campaign_units_set_aside{campaign="nightly-2"} 1`,
		`kpsim_campaign_units_out{campaign="nightly-2"} 24`,
		`kpsim_campaign_runs_total{campaign="nightly-2"} 4.8212004e+07`,
		`kpsim_campaign_violations_total{campaign="nightly-2"} 1377`,
		`kpsim_campaign_core_seconds_total{campaign="nightly-2"} 5123`,
		`kpsim_campaign_workers{campaign="nightly-2"} 15`, `kpsim_campaign_cores{campaign="nightly-2"} 36`,
		`kpsim_campaign_runs_per_second{campaign="nightly-2"} 71234.5`,
		`kpsim_campaign_causes{campaign="nightly-2",new="yes"} 1`,
		`kpsim_campaign_causes{campaign="nightly-2",new="no"} 1`,
		`kpsim_campaign_troubles_total{campaign="nightly-2"} 31`,
		`kpsim_campaign_state{campaign="nightly-1",state="starting"} 1`, `kpsim_board_up 1`,
	} {
		require.Contains(t, text, line+"\n")
	}
	b.Conn.Close()
	_, text = get(t, s, "GET", "metrics", "")
	require.Contains(t, text, "kpsim_board_up 0\n")
	a, text := get(t, s, "GET", "status.json", "")
	require.Equal(t, http.StatusServiceUnavailable, a.StatusCode)
	require.Contains(t, text, "the board doesn't answer")
}

package desk_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"kpsim/campaign/board"
	"kpsim/campaign/desk"
	"kpsim/campaign/gate"
	"kpsim/campaign/hub"
	"kpsim/campaign/lead"
	"kpsim/campaign/plan"
	"kpsim/campaign/unit"
	"kpsim/campaign/work"
	"kpsim/internal/ui/cli"
	"kpsim/internal/verbs/findings"
)

// A made is a campaign that has ended, on a server.
type made struct {
	*testing.T
	b      *board.Board
	js     jetstream.JetStream
	client gate.Client
	worker gate.Worker
	c      *plan.Campaign
}

func serve(t *testing.T, searches ...*plan.Search) *made {
	t.Helper()
	m := &made{T: t, c: &plan.Campaign{Name: "c", Build: "b0", Searches: searches}}
	h, err := hub.Start(hub.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(h.Stop)
	conns := make(map[string]*nats.Conn)
	for _, role := range []string{hub.Lead, hub.Client, hub.Worker} {
		conns[role], err = h.Connect(role)
		require.NoError(t, err)
		t.Cleanup(conns[role].Close)
	}
	require.NoError(t, hub.Ready(t.Context(), conns[hub.Lead]))
	m.b, err = board.Make(t.Context(), conns[hub.Lead], 1)
	require.NoError(t, err)
	m.js, err = jetstream.New(conns[hub.Lead])
	require.NoError(t, err)
	g, err := gate.Serve(t.Context(), m.b)
	require.NoError(t, err)
	t.Cleanup(g.Stop)
	m.client, m.worker = gate.Client{Conn: conns[hub.Client]}, gate.Worker{Conn: conns[hub.Worker]}
	go func() {
		_ = lead.New(m.b, lead.Options{Name: "lead", Dir: t.TempDir(), Lease: 2 * time.Second,
			Tick: 20 * time.Millisecond}).
			Run(t.Context())
	}()
	_, err = desk.Start(t.Context(), m.client, m.c)
	require.NoError(t, err)
	return m
}

// work has a worker make what is left.
func (m *made) work() {
	m.Helper()
	go func() {
		_ = work.New(m.worker.Conn, work.Options{Name: "w", Build: "b0", Cores: 2, Dir: m.TempDir()}).Run(m.Context())
	}()
	m.ends()
}

func (m *made) ends() {
	m.Helper()
	require.Eventually(m, func() bool {
		s, err := m.client.State(m.Context(), m.c.ID)
		return err == nil && s.State == board.Ended
	}, time.Minute, 20*time.Millisecond)
}

func (m *made) take() (t *gate.Assignment) {
	m.Helper()
	require.Eventually(m, func() (ok bool) {
		var err error
		t, err = m.worker.Take(m.Context(), "b0", "go", time.Second)
		return err == nil
	}, time.Minute, 20*time.Millisecond)
	return t
}

// report makes the report in a folder.
func (m *made) report(dir string) (out, errs string, status int) {
	m.Helper()
	s, err := m.client.State(m.Context(), m.c.ID)
	require.NoError(m, err)
	c, err := m.client.Campaign(m.Context(), s)
	require.NoError(m, err)
	var o, e bytes.Buffer
	p := cli.New(&o, &e)
	status, err = desk.Report(m.Context(), p, m.client, c, dir, false)
	require.NoError(m, err)
	p.Flush()
	return o.String(), e.String(), status
}

func explored(t *testing.T, bundle int, scenarios ...string) *plan.Search {
	runs := uint64(3000)
	s, err := plan.Explore(cli.New(io.Discard, io.Discard),
		&findings.Explore{Scenarios: scenarios, Runs: &runs, Seed: 1, Strategy: "portfolio", Traces: "traces"})
	require.NoError(t, err)
	for i := range s.Bundle {
		s.Bundle[i] = bundle
	}
	return s
}

// TestSkipped: what lies among the results and is of no unit of the plan changes nothing of a report,
// and is counted. Only the coordinator's key can put it there.
func TestSkipped(t *testing.T) {
	m := serve(t, explored(t, 4, "torn-jump", "safe-none"))
	m.work()
	dir := t.TempDir()
	before, _, status := m.report(dir)
	require.Zero(t, status)
	id := m.c.ID
	list := []string{
		id + ".0.0.r.0.2000000000", id + ".7.0.r.0.4", id + ".0.9.r.0.4", id + ".-1.0.r.0.4", id + ".0.0.r.-4.0",
		id + ".0.0.r.1.5", id + ".0.0.x.0.4", id + ".0.0.f.0.0", id + ".0.0.v.0.0",
		id + ".0.0.r.0.4.5", id + ".0.0.r.00.4", id + ".0.0.r.0.+4", id + ".0.0.w.3.2000000000", id + ".x",
	}
	for i, key := range list {
		x := nats.NewMsg("done." + key)
		x.Data = []byte("garbage")
		if i%2 == 0 {
			p := board.Packed{Key: key, Size: 2, Digest: board.DigestOf([]byte("[]"))}
			head, err := json.Marshal(&p)
			require.NoError(t, err)
			x.Header.Set("Kpsim-Result", string(head))
			x.Data = board.Pack([]byte("[]"))
		}
		_, err := m.js.PublishMsg(t.Context(), x)
		require.NoError(t, err)
	}
	after, errs, status := m.report(dir)
	require.Equal(t, before, after)
	require.Zero(t, status)
	require.Equal(t, fmt.Sprintf("kpsim-campaign: %d results skipped: no unit of the plan has that name\n", len(list)),
		errs)
}

// TestFalse: a result that is well-formed and false costs the report that unit's runs, and is said.
func TestFalse(t *testing.T) {
	m := serve(t, explored(t, 4, "torn-jump"))
	tk := m.take()
	u := &tk.Unit
	require.Equal(t, plan.Runs, u.Kind)
	parts := ""
	for i := u.From; i < u.To; i++ {
		parts += fmt.Sprintf(`,{"index":%d,"runs":1,"violations":1,"broken":{"no-start-inside":1},"found":[{"property":"no-start-inside","message":"\u001b[2J","choices":[[1,1,1,1,1],[9,9,9,9,9]]}]}`, i)
	}
	require.NoError(t, m.worker.Deliver(t.Context(), tk, &unit.Result{Data: []byte("[" + parts[1:] + "]")}, "liar"))
	m.work()
	out, errs, status := m.report(t.TempDir())
	require.Equal(t, cli.Bug, status)
	require.Contains(t, out, "whole-instructions")
	require.NotContains(t, out, "no-start-inside")
	require.Contains(t, errs, "1 unit set aside")
	require.Contains(t, errs, u.Key()+": its result is false")
	require.NotContains(t, errs, "\x1b")
}

// TestFalseWitness: a witness that is none becomes no find; one of a find by another name neither.
func TestFalseWitness(t *testing.T) {
	f := unit.NewFind("whole-instructions", "s", "kpsim's own", "m", "", 0)
	for _, change := range []func(f *unit.Find){
		func(f *unit.Find) {
			f.Cause = "../../evil"
		}, func(f *unit.Find) { f.Cause = "whole-instructions-00000000" }, func(f *unit.Find) { f.Property = "../x" },
		func(f *unit.Find) {
			f.Deviations = -1
		}, func(f *unit.Find) {
			f.Trace = "no trace"
		}, func(f *unit.Find) { f.Message = "\x1b[2J" }, func(f *unit.Find) { f.Story = make([]string, 1<<20) },
		func(f *unit.Find) { f.Scenario = strings.Repeat("x", 1<<20) },
	} {
		g := *f
		change(&g)
		data, err := json.Marshal([]unit.Find{g})
		require.NoError(t, err)
		_, err = unit.Check(&plan.Unit{Kind: plan.Witness}, data)
		require.Error(t, err)
	}
	data, err := json.Marshal([]unit.Find{*f, *f})
	require.NoError(t, err)
	_, err = unit.Check(&plan.Unit{Kind: plan.Witness}, data)
	require.ErrorContains(t, err, "two finds")
}

// TestProofTraces: a proof's result writes its one trace under its own name, if it is one, and nothing
// else.
func TestProofTraces(t *testing.T) {
	text, err := os.ReadFile("../../traces/corpus/T2-call-five.kps")
	require.NoError(t, err)
	s, err := plan.Verify(&findings.Verify{Scenarios: []string{"safe-none"}, By: "states", Megabytes: 100,
		Traces: "traces"})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		traces []plan.Trace
		wrote  bool
	}{
		"right":    {[]plan.Trace{{Path: "traces/safe-none-verify.kps", Text: string(text)}}, true},
		"other":    {[]plan.Trace{{Path: "traces/other.kps", Text: string(text)}}, false},
		"bashrc":   {[]plan.Trace{{Path: ".bashrc", Text: "evil"}}, false},
		"up":       {[]plan.Trace{{Path: "../../safe-none-verify.kps", Text: string(text)}}, false},
		"no trace": {[]plan.Trace{{Path: "safe-none-verify.kps", Text: "evil"}}, false},
		"two": {[]plan.Trace{{Path: "safe-none-verify.kps", Text: string(text)},
			{Path: "safe-none-verify.kps", Text: string(text)}}, false},
		"backslash": {[]plan.Trace{{Path: `x\safe-none-verify.kps`, Text: string(text)}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := serve(t, s)
			data, err := json.Marshal(&plan.Proved{Out: "proved\x1b]0;x\a\n", Traces: c.traces})
			require.NoError(t, err)
			require.NoError(t, m.worker.Deliver(t.Context(), m.take(), &unit.Result{Data: data}, "liar"))
			m.ends()
			dir := filepath.Join(t.TempDir(), "a", "b")
			out, errs, status := m.report(dir)
			require.NotContains(t, out+errs, "\x1b")
			var files []string
			require.NoError(t, filepath.WalkDir(filepath.Dir(filepath.Dir(dir)),
				func(path string, d os.DirEntry, err error) error {
					if err == nil && !d.IsDir() {
						files = append(files, filepath.Base(path))
					}
					return err
				}))
			if c.wrote {
				require.Equal(t, []string{"safe-none-verify.kps"}, files)
				require.Zero(t, status)
				return
			}
			require.Empty(t, files)
			require.Equal(t, cli.Bug, status)
			require.Contains(t, errs, "safe-none left out: its result is false")
		})
	}
}

// TestPlanFiles: a plan names no file but by its digest and size: reading it opens no device, waits for
// no pipe, and reads no file of the computer that reads it.
func TestPlanFiles(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for _, path := range []string{"/dev/zero", "/dev/stdin", pipe, "/proc/self/mem", "/"} {
		read := make(chan bool, 1)
		go func() { read <- board.IsFile(path, &plan.Blob{Name: "x", Path: path, Size: 1 << 50}) }()
		select {
		case is := <-read:
			require.False(t, is, path)
		case <-time.After(20 * time.Second): // reading so much takes days
			require.Fail(t, "it is read", path)
		}
	}
	right := explored(t, 4, "torn-jump")
	blob := plan.Blob{Name: "vmlinuz", Path: "/dev/zero", Digest: strings.Repeat("0", 64), Size: 1 << 20}
	for name, change := range map[string]func(s *plan.Search){
		"kernel without a digest": func(s *plan.Search) { s.Flags.Kernel.Kernel = "/dev/zero" },
		"name is a path": func(s *plan.Search) {
			s.Kernel = &plan.Blob{Name: "../x", Digest: blob.Digest}
			s.Flags.Kernel.Kernel = "x"
		},
		"digest is a path": func(s *plan.Search) {
			s.Kernel = &plan.Blob{Name: "x", Digest: ".."}
			s.Flags.Kernel.Kernel = "x"
		},
		"too large": func(s *plan.Search) { b := blob; b.Size = 1 << 40; s.Kernel = &b; s.Flags.Kernel.Kernel = "x" },
		"negative":  func(s *plan.Search) { b := blob; b.Size = -1; s.Kernel = &b; s.Flags.Kernel.Kernel = "x" },
		"object without a digest": func(s *plan.Search) {
			b := blob
			s.Kernel = &b
			s.Flags.Kernel.Kernel = "x"
			s.Flags.Kernel.Objects = append(s.Flags.Kernel.Objects, "/dev/zero")
		},
		"out": func(s *plan.Search) { s.Flags.Out = "/etc/passwd" },
		"a proof of a file": func(s *plan.Search) {
			s.Scenarios, s.Points, s.Canary, s.Bundle = nil, nil, nil, nil
			s.Verify = &plan.Proofs{Flags: &findings.Verify{}, Scenarios: []plan.Given{{Name: "x", Arg: "/dev/zero"}}}
		},
		"control characters": func(s *plan.Search) { s.Scenarios[0].Name = "\x1b[2J" },
		"no bundle":          func(s *plan.Search) { s.Bundle[0] = 0 },
	} {
		data, err := json.Marshal(&plan.Campaign{Name: "c", ID: "c-1", Build: "b0", Searches: []*plan.Search{right}})
		require.NoError(t, err)
		c, err := plan.Read(data)
		require.NoError(t, err)
		change(c.Searches[0])
		data, err = json.Marshal(c)
		require.NoError(t, err)
		_, err = plan.Read(data)
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "\n")
		require.NotContains(t, err.Error(), "\x1b")
	}
}

// TestLocal: whether a plan's traces go below the folder in which its report is made.
func TestLocal(t *testing.T) {
	for dir, want := range map[string]bool{"traces": true, "a/b": true, "/tmp/x": false, "../x": false,
		"a/../../x": false,
		"":          false} {
		s := &plan.Search{Flags: &findings.Explore{Traces: dir}}
		require.Equal(t, want, s.Local(), dir)
	}
}

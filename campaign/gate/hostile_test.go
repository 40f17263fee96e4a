package gate_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"kpsim/campaign/board"
	"kpsim/campaign/gate"
	"kpsim/campaign/hub"
	"kpsim/campaign/plan"
	"kpsim/campaign/unit"
)

// message is what the program would send: a length, JSON, data.
func message(t testing.TB, v any, data []byte) []byte {
	head, err := json.Marshal(v)
	require.NoError(t, err)
	return append(append(binary.BigEndian.AppendUint32(nil, uint32(len(head))), head...), data...)
}

// attacks are subjects under which something would happen if a message came there.
func attacks(id string) map[string]string {
	c := `{"stream_name":"DONE","config":{"deliver_subject":"work.b0.go.c-9.0.0.r.0.1","deliver_policy":"all","ack_policy":"none"}}`
	return map[string]string{
		"$JS.API.INFO": "", "$JS.API.STREAM.NAMES": "", "$JS.API.STREAM.LIST": "", "$JS.API.STREAM.INFO.DONE": "",
		"$JS.API.STREAM.MSG.GET.KV_CAMPAIGNS": `{"last_by_subj":"$KV.CAMPAIGNS.` + id + `"}`,
		"$JS.API.STREAM.MSG.GET.PIECES":       `{"seq":1}`, "$JS.API.STREAM.MSG.GET.KV_SECRET": `{"seq":1}`,
		"$JS.API.DIRECT.GET.DONE": `{"seq":1}`, "$JS.API.DIRECT.GET.PIECES": `{"seq":1}`,
		"$JS.API.DIRECT.GET.KV_CAMPAIGNS.$KV.CAMPAIGNS." + id: "",
		"$JS.API.CONSUMER.CREATE.DONE":                        c, "$JS.API.CONSUMER.CREATE.DONE.x": c,
		"$JS.API.CONSUMER.DURABLE.CREATE.DONE.x": c,
		"$JS.API.CONSUMER.MSG.NEXT.WORK.b0-go":   "1", "$JS.API.CONSUMER.DELETE.WORK.b0-go": "",
		"$JS.API.CONSUMER.LIST.WORK": "",
		"$JS.API.STREAM.PURGE.DONE":  "", "$JS.API.STREAM.PURGE.PIECES": "", "$JS.API.STREAM.DELETE.DONE": "",
		"$JS.API.STREAM.MSG.DELETE.PIECES":  `{"seq":1}`,
		"$JS.API.STREAM.CREATE.MINE":        `{"name":"MINE","subjects":["mine.>"]}`,
		"$JS.API.STREAM.UPDATE.DONE":        `{"name":"DONE","subjects":["done.>","client.>"]}`,
		"$JS.API.STREAM.SNAPSHOT.DONE":      `{"deliver_subject":"work.x"}`,
		"$JS.API.ACCOUNT.PURGE.COORDINATOR": "", "$JS.API.META.LEADER.STEPDOWN": "",
		"$JS.ACK.WORK.b0-go.1.1.1.1.1": "+ACK", "$JS.FC.x": "",
		"$KV.CAMPAIGNS." + id: "{", "$KV.CAMPAIGNS.c-77": `{"id":"c-77"}`, "$KV.LEAD.lead": "me",
		"$KV.SECRET.ticket": "x",
		"$KV.FINDS.x":       "x", "$KV.STATUS." + id: "{",
		"$O.FILES.M.x": "x", "$O.FILES.C.x": "x",
		"work.b0.go." + id + ".0.0.r.0.1": `{"campaign":"` + id + `"}`, "done." + id + ".0.0.r.0.1": "x",
		"trouble." + id + ".0.0.r.0.1":     `{}`,
		"piece." + strings.Repeat("0", 64): "x", "large." + id + ".0.0.r.0.1.1.0": "x", "news.needs": build,
		"$SYS.REQ.SERVER.PING": "", "$SYS.REQ.ACCOUNT.COORDINATOR.CONNZ": "", "$SYS.REQ.SERVER.PING.JSZ": "",
		"$SYS.ACCOUNT.COORDINATOR.CONNECT": "{}",
		"_R_.x":                            "x", "_INBOX_client.x": "x", "_INBOX_worker.x": "x", "_INBOX_lead.x": "x",
		"worker.take.x": "x", "gate": "x",
	}
}

// TestNothingElse: no key but the coordinator's reaches JetStream, a stream's subjects or the system's,
// whatever reply subject a message names.
func TestNothingElse(t *testing.T) {
	r := newRig(t)
	c := r.plan("torn-jump")
	r.begin(c)
	before := r.settled()
	for _, role := range []string{hub.Worker, hub.Client} {
		nc := r.connect(role, nats.Name("x inbox=0123456789abcdefghijkl"),
			nats.CustomInboxPrefix("_INBOX_"+role+".0123456789abcdefghijkl"))
		other := map[string]string{hub.Worker: "client.", hub.Client: "worker."}[role]
		for subject, body := range attacks(c.ID) {
			for _, reply := range []string{"", "work.b0.go.c-9.0.0.r.0.1",
				"$KV.CAMPAIGNS.c-9", "done.c-9.0.0.r.0.1", "piece.x", other + "run"} {
				require.NoError(t, nc.PublishMsg(&nats.Msg{Subject: subject, Reply: reply, Data: []byte(body)}))
			}
			m, err := nc.Request(subject, []byte(body), 20*time.Millisecond)
			require.Error(t, err, "%s with the key of a %s: %v", subject, role, m)
		}
		for _, verb := range []string{"begin", "change", "forget", "put", "run", "take", "deliver", "fail", "file"} {
			m, err := nc.Request(other+verb,
				message(t, map[string]any{"id": c.ID, "to": "cancelled", "name": "x", "build": "b"}, nil),
				20*time.Millisecond)
			require.Error(t, err, "%s%s with the key of a %s: %v", other, verb, role, m)
		}
	}
	require.Equal(t, before, r.stored())
}

// TestReplySubjects: an answer to a question goes nowhere but to its asker's account, so it changes
// nothing, whichever subject the question names for it.
func TestReplySubjects(t *testing.T) {
	r := newRig(t)
	c := r.plan("torn-jump")
	r.begin(c)
	r.settled()
	evil, err := json.Marshal(&board.State{ID: "c-9", Name: "c", Build: build, State: board.Running})
	require.NoError(t, err)
	// a client may
	digest, err := r.b.PutPiece(t.Context(), message(t, map[string]any{"id": c.ID, "to": "cancelled"}, nil))
	require.NoError(t, err)
	state, err := r.b.PutPiece(t.Context(), evil)
	require.NoError(t, err)
	before := r.stored()
	for _, role := range []string{hub.Worker, hub.Client} {
		nc := r.connect(role)
		for _, reply := range []string{
			"$KV.CAMPAIGNS.c-9", "$KV.CAMPAIGNS." + c.ID, "work.b0.go.c-9.0.0.r.0.1",
			"done." + c.ID + ".0.0.r.0.1", "client.change", "client.begin", "$JS.API.STREAM.DELETE.DONE",
			"$JS.API.STREAM.PURGE.PIECES", "news.needs", "$JS.ACK.WORK.b0-go.1.1.1.1.1", "worker.take",
		} {
			if strings.HasPrefix(reply, role+".") {
				continue // it may ask that itself
			}
			for _, d := range []string{digest, state} {
				require.NoError(t, nc.PublishMsg(&nats.Msg{Subject: role + ".file", Reply: reply,
					Data: message(t, map[string]any{"digest": d}, nil)}))
			}
		}
		require.NoError(t, nc.Flush())
	}
	time.Sleep(300 * time.Millisecond)
	require.Equal(t, before, r.stored())
}

// TestInboxes: what others are answered isn't heard, by the key of another role or of one's own.
func TestInboxes(t *testing.T) {
	r := newRig(t)
	r.begin(r.plan("torn-jump"))
	heard := make(chan string, 1000)
	for _, role := range []string{hub.Worker, hub.Client} {
		nc := r.connect(role, nats.Name("x inbox=0123456789abcdefghijkl"))
		for _, s := range []string{">", "*", "*.>", "_INBOX.>", "_INBOX_client.>", "_INBOX_worker.>",
			"_INBOX_worker.*.*",
			"_INBOX_client.*.*", "_INBOX_lead.>", "worker.>", "client.>", "$JS.>", "$KV.>", "work.>", "$SYS.>", "_R_.>",
			"done.>"} {
			_, err := nc.Subscribe(s, func(m *nats.Msg) { heard <- role + " hears " + m.Subject })
			require.NoError(t, err)
			_, err = nc.QueueSubscribe(s, "gate", func(m *nats.Msg) { heard <- role + " hears " + m.Subject })
			require.NoError(t, err)
		}
		require.NoError(t, nc.Flush())
	}
	worker, client := gate.Worker{Conn: r.own(hub.Worker)}, gate.Client{Conn: r.own(hub.Client)}
	for range 5 {
		worker.GiveBack(r.take(worker), 0)
		_, err := client.States(t.Context())
		require.NoError(t, err)
	}
	require.Empty(t, heard)
}

// TestNoKey: without a key, with one that the server doesn't know, with another's signature or with a
// role's public key alone nothing is connected.
func TestNoKey(t *testing.T) {
	r := newRig(t)
	pair, err := nkeys.CreateUser()
	require.NoError(t, err)
	strange, err := pair.PublicKey()
	require.NoError(t, err)
	seed, err := os.ReadFile(r.dir + "/worker.nk")
	require.NoError(t, err)
	known, err := nkeys.FromSeed(bytes.TrimSpace(seed))
	require.NoError(t, err)
	public, err := known.PublicKey()
	require.NoError(t, err)
	for _, o := range [][]nats.Option{
		{}, {nats.UserInfo("lead", "")}, {nats.UserInfo("kpsim", "kpsim")}, {nats.Token("x")},
		{nats.Nkey(strange, pair.Sign)}, {nats.Nkey(public, pair.Sign)},
		{nats.Nkey(public, func([]byte) ([]byte, error) { return []byte("x"), nil })},
	} {
		_, err := nats.Connect(r.hub.URL(), o...)
		require.ErrorIs(t, err, nats.ErrAuthorization)
	}
}

// TestTickets: a worker speaks of a unit by its ticket, which can't be made, changed, or used for
// another unit.
func TestTickets(t *testing.T) {
	r := newRig(t)
	r.begin(r.plan("torn-jump"))
	nc := r.own(hub.Worker)
	w := gate.Worker{Conn: nc}
	a := r.take(w)
	right := a.Ticket
	data := fmt.Appendf(nil, `[{"index":%d,"runs":1}]`, a.Unit.From)
	before := r.stored()
	text, sum, _ := strings.Cut(right, ".")
	for _, bad := range []string{"", ".", "x", text, text + ".", text + "." + strings.Repeat("0", 64),
		text[1:] + "." + sum, text + "A." + sum, strings.Repeat("A", 1<<16)} {
		a.Ticket = bad
		require.ErrorIs(t, w.Deliver(t.Context(), a, &unit.Result{Data: data}, "w"), board.ErrRefused)
		require.ErrorIs(t, w.Fail(t.Context(), a, "w", "why", "log"), board.ErrRefused)
		_, err := w.Data(t.Context(), a, &a.Unit)
		require.ErrorIs(t, err, board.ErrRefused)
		w.GiveBack(a, 0)
		w.Renew(a)
	}
	a.Ticket = right
	// it follows from nothing
	for _, key := range []string{a.Unit.Campaign, a.Unit.Campaign + ".0.0.r", "other-1.0.0.r", ">", "*"} {
		require.ErrorIs(t, w.Results(t.Context(), a, key, func(*plan.Unit, []byte) error {
			return nil
		}), board.ErrRefused, key)
	}
	require.Equal(t, before, r.stored())
	require.NoError(t, w.Deliver(t.Context(), a, &unit.Result{Data: data}, "w"))
	other := *a
	other.Unit.From++ // what it says of its unit doesn't matter
	require.NoError(t, w.Deliver(t.Context(), &other, &unit.Result{Data: data}, "w"), "it is delivered twice")
	_, err := r.b.Result(t.Context(), a.Unit.Key())
	require.NoError(t, err)
	_, err = r.b.Result(t.Context(), other.Unit.Key())
	require.ErrorIs(t, err, board.ErrNone)
}

// TestResultsRefused: what can't be a result isn't stored, takes little memory, and counts as a failure
// of the unit's delivery.
func TestResultsRefused(t *testing.T) {
	r := newRig(t)
	r.begin(r.plan("torn-jump"))
	nc := r.own(hub.Worker)
	w := gate.Worker{Conn: nc}
	enc, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	bomb := enc.EncodeAll(make([]byte, 700<<20), nil)
	require.Less(t, len(bomb), 400<<10)
	deliver := func(tk *gate.Assignment, head map[string]any, data []byte) string {
		head["ticket"] = tk.Ticket
		m, err := nc.Request("worker.deliver", message(t, head, data), 10*time.Second)
		require.NoError(t, err)
		return string(m.Data)
	}
	var m0, m1 runtime.MemStats
	refused := func(what string, head func(tk *gate.Assignment) (map[string]any, []byte)) {
		t.Helper()
		tk := r.take(w)
		h, data := head(tk)
		runtime.ReadMemStats(&m0)
		require.Contains(t, deliver(tk, h, data), `"code":"refused"`, what)
		runtime.ReadMemStats(&m1)
		require.Less(t, m1.TotalAlloc-m0.TotalAlloc, uint64(200<<20), what)
		_, err := r.b.Result(t.Context(), tk.Unit.Key())
		require.ErrorIs(t, err, board.ErrNone, what)
	}
	whole := func(data string) (map[string]any, []byte) {
		return map[string]any{"size": len(data), "digest": board.DigestOf([]byte(data))},
			enc.EncodeAll([]byte(data), nil)
	}
	for _, size := range []int64{0, 1, 1 << 20, board.MostResult, 700 << 20, -1, 1 << 62} {
		refused(fmt.Sprint("bomb of size ", size), func(*gate.Assignment) (map[string]any, []byte) {
			return map[string]any{"size": size, "digest": strings.Repeat("0", 64)}, bomb
		})
	}
	for _, text := range []string{
		"", "{", "null", "[]", `[{"index":-1}]`, `[{"index":2000000000}]`, `{"a":1}`,
		"[" + strings.Repeat("{},", 1<<20) + "{}]", strings.Repeat("[", 1<<22),
		`[{"index":%d,"runs":1,"violations":2}]`, `[{"index":%d,"runs":1,"violations":1,"broken":{"nothing":1}}]`,
		`[{"index":%d,"runs":-1}]`, `[{"index":%d,"runs":1e30}]`,
		`[{"index":%d},{"index":%d}]`,
		`[{"index":%d,"statistics":{"kinds":["\u001b[2J"]}}]`, `[{"index":%d,"found":[{"by":"x\nmutant: y"}]}]`,
	} {
		refused(text[:min(len(text), 60)], func(tk *gate.Assignment) (map[string]any, []byte) {
			return whole(strings.ReplaceAll(text, "%d", fmt.Sprint(tk.Unit.From)))
		})
	}
	refused("pieces that aren't there", func(*gate.Assignment) (map[string]any, []byte) {
		return map[string]any{"size": 10, "pieces": 3, "digest": strings.Repeat("0", 64)}, nil
	})
	refused("too many pieces", func(*gate.Assignment) (map[string]any, []byte) {
		return map[string]any{"size": 10, "pieces": 1 << 30, "digest": strings.Repeat("0", 64)}, nil
	})
	tk := r.take(w)
	for _, n := range []int{-1, board.MostPieces, 1 << 40} {
		m, err := nc.Request("worker.piece", message(t, map[string]any{"ticket": tk.Ticket, "n": n}, []byte("x")),
			5*time.Second)
		require.NoError(t, err)
		require.Contains(t, string(m.Data), "refused")
	}
	m, err := nc.Request("worker.piece",
		message(t, map[string]any{"ticket": tk.Ticket, "n": 0}, make([]byte, board.MostPiece+1)), 5*time.Second)
	require.NoError(t, err)
	require.Contains(t, string(m.Data), "refused")
}

// TestLarge: a result that is too large for a message comes whole.
func TestLarge(t *testing.T) {
	r := newRig(t)
	r.begin(r.plan("torn-jump"))
	w, c := gate.Worker{Conn: r.own(hub.Worker)}, gate.Client{Conn: r.own(hub.Client)}
	tk := r.take(w)
	noise := make([]byte, 3<<20)
	for i, x := range noise {
		noise[i] = "0123456789abcdefghijklmnopqrstuvwxyz"[(i*i*7919+i/13*int(x+3))%36]
	}
	for i := range 100_000 {
		noise[i*30] = byte('A' + i*i/7%26)
	}
	data := fmt.Appendf(nil, `[{"index":%d,"runs":1,"found":[{"message":"%s"}]}]`, tk.Unit.From, noise)
	require.NoError(t, w.Deliver(t.Context(), tk, &unit.Result{Data: data}, "w"))
	got, err := c.Data(t.Context(), &tk.Unit)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, got))
}

// TestNames: 200,000 names of workers, and what workers say of themselves, stay within bounds.
func TestNames(t *testing.T) {
	r := newRig(t)
	c := r.plan("torn-jump")
	r.begin(c)
	nc := r.own(hub.Worker)
	for _, bad := range []string{"", "{", "null", `{"name":"\u001b[2J","build":"b0","cores":1}`,
		`{"name":"x","build":"b0","cores":-5}`, `{"name":"x","build":"b0","cores":1000000000}`,
		`{"name":"` + strings.Repeat("x", 60000) + `","build":"b0","cores":1}`} {
		require.NoError(t, nc.Publish("worker.alive", []byte(bad)))
	}
	for i := range 200_000 {
		require.NoError(t, nc.Publish("worker.alive",
			fmt.Appendf(nil, `{"name":"n%d","build":"b0","cores":1024,"needs":["go"],"doing":"\u0007"}`, i)))
		if i%1000 == 0 {
			require.NoError(t, nc.Flush())
		}
	}
	require.NoError(t, nc.Flush())
	client := gate.Client{Conn: r.own(hub.Client)}
	var s *board.Status
	require.Eventually(t, func() bool {
		var err error
		s, err = client.LatestStatus(t.Context(), c.ID)
		return err == nil && s.WorkerCount > 10_000 && s.DroppedHeartbeats > 100_000
	}, time.Minute, 50*time.Millisecond)
	require.LessOrEqual(t, s.WorkerCount, 1<<14)
	require.LessOrEqual(t, len(s.Workers), 100)
	require.NotContains(t, fmt.Sprint(s.Workers), "\a")
	require.NotContains(t, fmt.Sprint(s.Workers), "\x1b")
	w := gate.Worker{Conn: r.own(hub.Worker)}
	tk := r.take(w) // it goes on
	require.NoError(t, w.Deliver(t.Context(), tk,
		&unit.Result{Data: fmt.Appendf(nil, `[{"index":%d,"runs":1}]`, tk.Unit.From)}, "w"))
}

// TestFailures: what a worker says of a failure is short, can be printed, and counts once a delivery.
func TestFailures(t *testing.T) {
	r := newRig(t)
	c := r.plan("torn-jump")
	r.begin(c)
	w := gate.Worker{Conn: r.own(hub.Worker)}
	tk := r.take(w)
	long := strings.Repeat("x\x1b[31m\r\n", 100_000)
	q := map[string]any{"ticket": tk.Ticket, "worker": long, "why": long, "log": long, "lost": true, "differ": true}
	for range 20 {
		m, err := w.Conn.Request("worker.fail", message(t, q, nil), 5*time.Second)
		require.NoError(t, err)
		require.NotContains(t, string(m.Data), "code")
	}
	client := gate.Client{Conn: r.own(hub.Client)}
	var s *board.Status
	require.Eventually(t, func() bool {
		var err error
		s, err = client.LatestStatus(t.Context(), c.ID)
		return err == nil && s.TroubleCount > 0
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, 1, s.TroubleCount)
	require.Zero(t, s.SetAside)
	x := s.Troubles[0]
	require.LessOrEqual(t, len(x.Worker)+len(x.Why)+len(x.Log), 12<<10)
	require.NotContains(t, x.Worker+x.Why+x.Log, "\x1b")
	require.False(t, x.Lost || x.Differ)
}

// TestClientKey: the key of a client begins, changes and forgets campaigns as the verbs do, and puts
// nothing in the place of anything else.
func TestClientKey(t *testing.T) {
	r := newRig(t)
	client := gate.Client{Conn: r.own(hub.Client)}
	one, two := r.plan("torn-jump"), r.plan("torn-jump")
	r.begin(one)
	two.Name = "other"
	r.begin(two)
	ask := func(verb string, q any, data []byte) string {
		m, err := client.Conn.Request("client."+verb, message(t, q, data), 5*time.Second)
		require.NoError(t, err)
		return string(m.Data)
	}
	s, err := client.State(t.Context(), one.ID)
	require.NoError(t, err)
	other, err := client.State(t.Context(), two.ID)
	require.NoError(t, err)
	type m = map[string]any
	for _, c := range []struct {
		verb string
		q    any
	}{
		{"run", m{"id": one.ID, "plan": other.Plan}}, {"run", m{"id": one.ID, "plan": board.DigestOf([]byte("x"))}},
		{"run", m{"id": "../x", "plan": s.Plan}},
		{"change", m{"id": one.ID, "to": "ended"}}, {"change", m{"id": one.ID, "to": "starting"}},
		{"change", m{"id": one.ID, "to": "running"}}, {"forget", m{"id": one.ID}},
		{"begin", m{"name": "A b", "build": "b"}}, {"begin", m{"name": "x", "build": "*"}},
		{"begin", m{"name": "x", "build": "b", "priority": 1 << 40}},
		{"begin", m{"name": strings.Repeat("x", 1000), "build": "b"}},
		{"results", m{"key": ">"}}, {"results", m{"key": "*"}}, {"results", m{"key": "c-1.>"}},
		{"results", m{"key": "c-1.0.0.r.0.1.2", "one": true}}, {"begin", 3}, {"change", []int{}},
	} {
		require.Contains(t, ask(c.verb, c.q, nil), `"code":"refused"`, "%s %v", c.verb, c.q)
	}
	require.Contains(t, ask("put", m{}, make([]byte, board.MostPiece+1)), "refused")
	now, err := client.State(t.Context(), one.ID)
	require.NoError(t, err)
	require.Equal(t, s, now)
	c, err := client.Campaign(t.Context(), now)
	require.NoError(t, err)
	require.Equal(t, one.ID, c.ID)
	require.NoError(t, client.Change(t.Context(), one.ID, board.Paused))
	require.NoError(t, client.Change(t.Context(), one.ID, board.Cancelled))
	require.NoError(t, client.Forget(t.Context(), one.ID))
	now, err = client.State(t.Context(), one.ID)
	require.NoError(t, err)
	_, err = client.Campaign(t.Context(), now)
	require.ErrorIs(t, err, board.ErrNone)
	require.True(t, strings.HasSuffix(other.ID, "-1"))
	_, err = client.Campaign(t.Context(), other)
	require.NoError(t, err)
}

// TestGarbage: no bytes stop a coordinator.
func TestGarbage(t *testing.T) {
	r := newRig(t)
	r.begin(r.plan("torn-jump"))
	worker, client := r.own(hub.Worker), r.own(hub.Client)
	for role, verbs := range map[string][]string{
		"worker": {"take", "untake", "piece", "deliver", "fail", "working", "back", "results", "large", "file", "alive",
			"needs"},
		"client": {"states", "state", "status", "begin", "put", "has", "run", "change", "forget", "results", "large",
			"differing", "causes", "file"},
	} {
		nc := map[string]*nats.Conn{"worker": worker, "client": client}[role]
		for _, v := range verbs {
			for _, data := range [][]byte{nil, {0}, {0xff, 0xff, 0xff, 0xff}, {0, 0, 0, 9, '{'},
				[]byte(strings.Repeat("[", 1<<20)), make([]byte, 7<<20),
				message(t, map[string]any{"id": strings.Repeat("x", 1<<20)}, nil)} {
				_, _ = nc.Request(role+"."+v, data, 30*time.Millisecond)
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err := gate.Client{Conn: client}.States(ctx)
	require.NoError(t, err)
	r.take(gate.Worker{Conn: worker})
}

package board

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"kpsim/campaign/hub"
)

// TestWorkersKey: with a worker's key nothing is read of others' inboxes, deleted, or published by the
// server for it. It needs no other part of this program, so that it can be tried on any commit.
func TestWorkersKey(t *testing.T) {
	dir := t.TempDir()
	h, err := hub.Start(hub.Options{Dir: dir, Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(h.Stop)
	nc, err := h.Connect(hub.Lead)
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	require.NoError(t, hub.Ready(t.Context(), nc))
	b, err := Make(t.Context(), nc, 1)
	require.NoError(t, err)
	js, err := jetstream.New(nc)
	require.NoError(t, err)

	url, err := os.ReadFile(filepath.Join(dir, "url"))
	require.NoError(t, err)
	key, err := nats.NkeyOptionFromSeed(filepath.Join(dir, "worker.nk"))
	require.NoError(t, err)
	evil, err := nats.Connect(strings.TrimSpace(string(url)), key,
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	require.NoError(t, err)
	t.Cleanup(evil.Close)

	heard := make(chan string, 100)
	_, err = evil.Subscribe("_INBOX.>", func(m *nats.Msg) { heard <- m.Subject })
	require.NoError(t, err)
	require.NoError(t, evil.Publish("done.c-1.0.0.r.0.1", []byte(`{"id":"c-9","state":"running"}`)))
	// the server answers there with what is stored
	for _, reply := range []string{"$KV.CAMPAIGNS.c-9", "work.b.go.c-9.0.0.r.0.1"} {
		require.NoError(t, evil.PublishMsg(&nats.Msg{Subject: "$JS.API.DIRECT.GET.DONE", Reply: reply,
			Data: []byte(`{"seq":1}`)}))
	}
	require.NoError(t, evil.Publish("$JS.API.STREAM.PURGE.OBJ_FILES", nil))
	require.NoError(t, evil.Flush())
	other, err := nats.Connect(strings.TrimSpace(string(url)), key)
	require.NoError(t, err)
	t.Cleanup(other.Close)
	_, _ = other.Request("needs.ask", []byte("b"), 300*time.Millisecond)
	_, err = b.Campaigns.Keys(t.Context()) // the coordinator's
	require.ErrorIs(t, err, jetstream.ErrNoKeysFound, "a campaign was made")
	for _, name := range []string{"WORK", "DONE"} {
		s, err := js.Stream(t.Context(), name)
		require.NoError(t, err)
		require.Zero(t, s.CachedInfo().State.LastSeq, name)
	}
	require.Empty(t, heard)
}

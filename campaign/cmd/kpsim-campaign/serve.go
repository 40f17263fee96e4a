package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"

	"kpsim/campaign/board"
	"kpsim/campaign/gate"
	"kpsim/campaign/hub"
	"kpsim/campaign/lead"
	"kpsim/internal/ui/cli"
)

// defaultDir is where a server on this computer keeps its files.
func defaultDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "kpsim", "campaign")
}

// serving has the flags of a server and of a coordinator.
type serving struct {
	Listen     string        `default:"127.0.0.1:0" placeholder:"HOST:PORT" help:"Where the server listens; port 0 is any that is free. Beyond loopback it needs TLS."`
	Cert       string        `name:"tls-cert" type:"existingfile" placeholder:"FILE" help:"The server's certificate."`
	TLSKey     string        `name:"tls-key" type:"existingfile" placeholder:"FILE" help:"The certificate's private key."`
	Insecure   bool          `help:"Listen beyond loopback without TLS, on a trusted network only."`
	Lease      time.Duration `range:"1s..1h" default:"30s" placeholder:"TIME" help:"A unit is handed out again when its worker has been silent for this long, such as 10s or 2m. A short time finds a dead worker sooner; a long one tolerates a slower network. Default: 30s."`
	Cluster    string        `placeholder:"NAME" help:"Be one of three or more servers that store everything together."`
	ServerName string        `placeholder:"NAME" help:"With --cluster: this server's name in it."`
	Peers      string        `placeholder:"HOST:PORT" help:"With --cluster: where this server listens for the others."`
	Route      []string      `placeholder:"URL,…" help:"With --cluster: where the others listen, nats://HOST:PORT."`
	Replicas   int           `range:"1..5" default:"1" help:"How many servers of a cluster store everything: with 3 one may fail. Default: 1, this one only."`
	Sync       bool          `help:"Flush every write to disk before acknowledging it, so that nothing is lost even if the computer fails, not just the program."`
	MaxStore   int64         `range:"0..1099511627776" placeholder:"MB" help:"How much the server may keep on disk, in megabytes of 1,048,576 bytes. When it is full, campaigns wait. 0 (the default): all the space on the disk."`
}

func (s *serving) options(dir string) hub.Options {
	return hub.Options{Dir: dir, Listen: s.Listen, Insecure: s.Insecure, Cert: s.Cert, Key: s.TLSKey,
		Name:    s.ServerName,
		Cluster: s.Cluster, Peers: s.Peers, Routes: s.Route, SyncAlways: s.Sync, MaxStore: s.MaxStore << 20}
}

type serveCmd struct {
	serving
	hub.Where `embed:""`
	HTTP      string `name:"http" placeholder:"HOST:PORT" help:"Serve a status page, its figures as JSON, and metrics for Prometheus."`
	Webhook   string `placeholder:"URL" help:"Post each find that no earlier campaign has made, each unit that is set aside and each campaign's end to this URL, as JSON."`
	JSON      bool   `name:"json" help:"Print announcements as JSON, one object a line."`
}

// Help implements kong.HelpProvider.
func (*serveCmd) Help() string {
	return `The server is NATS with JetStream, within this process; --nats uses one elsewhere, and this process coordinates only. All files are in one folder. The keys are made on the first run: worker.nk for workers on other computers, client.nk for users who start campaigns.

Examples:

  kpsim-campaign serve
  kpsim-campaign serve --http 127.0.0.1:8080
  kpsim-campaign serve --listen 0.0.0.0:4222 --tls-cert cert.pem --tls-key key.pem
  kpsim-campaign serve --lease 2m --max-store 20000
  kpsim-campaign serve --nats nats://nats.example:4222 --nkey lead.nk --replicas 3`
}

func (c *serveCmd) Run(p *cli.Program) (int, error) {
	ctx, stop := interruptible(p)
	defer stop()
	if c.Dir == "" {
		c.Dir = defaultDir()
	}
	var nc *nats.Conn
	if c.NATS != "" {
		var err error
		if nc, err = c.Where.Connect(hub.Lead); err != nil {
			return 0, err
		}
	} else {
		o := c.options(c.Dir)
		o.CA = c.CA
		o.Tell = func(what string) {
			fmt.Fprintf(p.Err, "kpsim-campaign: %s\n", what)
			p.Flush()
		}
		h, unlock, err := startHub(o)
		if err != nil {
			return 0, err
		}
		defer unlock()
		defer h.Stop()
		if nc, err = h.Connect(hub.Lead); err != nil {
			return 0, err
		}
	}
	defer nc.Close()
	b, err := makeBoard(ctx, nc, c.Replicas)
	if err != nil {
		return 0, err
	}
	gateway, err := gate.Serve(ctx, b)
	if err != nil {
		return 0, err
	}
	defer gateway.Stop()
	stopWeb, err := c.web(p, b)
	if err != nil {
		return 0, err
	}
	defer stopWeb()
	address := c.NATS
	if address == "" {
		data, _ := os.ReadFile(filepath.Join(c.Dir, "url"))
		address = string(data[:max(len(data)-1, 0)])
	}
	fmt.Fprintf(p.Err, "kpsim-campaign: serving at %s, files in %s\n", address, c.Dir)
	p.Flush()
	hostname, _ := os.Hostname()
	l := lead.New(b, lead.Options{Name: fmt.Sprintf("%s.%d", hostname, os.Getpid()), Lease: c.Lease, Dir: c.Dir,
		Announce: announcer(p, c.JSON, c.Webhook)})
	if err := l.Run(ctx); !errors.Is(err, context.Canceled) {
		return 0, err
	}
	return cli.OK, nil
}

// makeBoard waits for the server and makes the streams and buckets that are missing.
func makeBoard(ctx context.Context, nc *nats.Conn, replicas int) (b *board.Board, err error) {
	wait, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := hub.Ready(wait, nc); err != nil {
		return nil, err
	}
	err = board.Retry(wait, func(ctx context.Context) error { // in a cluster this may take a while
		b, err = board.Make(ctx, nc, replicas)
		return err
	})
	return b, err
}

// startHub starts a server in a folder that no other server uses.
func startHub(o hub.Options) (h *hub.Hub, unlock func(), err error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, nil, errors.New(cli.Cause(err, o.Dir))
	}
	lock, err := os.OpenFile(filepath.Join(o.Dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, nil, errors.New(cli.Cause(err, o.Dir))
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		return nil, nil, errAlreadyServing{o.Dir}
	}
	if h, err = hub.Start(o); err != nil {
		lock.Close()
		return nil, nil, err
	}
	return h, func() { lock.Close() }, nil
}

// errAlreadyServing says that a server already runs in the folder.
type errAlreadyServing struct{ dir string }

func (e errAlreadyServing) Error() string {
	return fmt.Sprintf("%s: a server runs there; start the campaign on it with kpsim-campaign start, or give another "+
		"folder with --dir", e.dir)
}

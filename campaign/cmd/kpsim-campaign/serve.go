package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"

	"kpsim/campaign/board"
	"kpsim/campaign/build"
	"kpsim/campaign/gate"
	"kpsim/campaign/hub"
	"kpsim/campaign/lead"
	"kpsim/campaign/work"
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
	TLSKey     string        `name:"tls-key" type:"existingfile" placeholder:"FILE" help:"And its key."`
	Insecure   bool          `help:"Listen beyond loopback without TLS, in a network of one's own."`
	Lease      time.Duration `range:"1s..1h" default:"30s" placeholder:"TIME" help:"A unit is handed out again when its worker was silent for this long, as 10s or 2m. A short time finds a dead worker sooner; a long one tolerates a slower network. Default: 30s."`
	Cluster    string        `placeholder:"NAME" help:"Be one of three or more servers that store everything together."`
	ServerName string        `placeholder:"NAME" help:"With --cluster: this server's name in it."`
	Peers      string        `placeholder:"HOST:PORT" help:"With --cluster: where it listens for the others."`
	Route      []string      `placeholder:"URL,…" help:"With --cluster: where the others listen, nats://HOST:PORT."`
	Replicas   int           `range:"1..5" default:"1" help:"How many servers of a cluster store everything: with 3 one may fail. Default: 1, this one only."`
	Sync       bool          `help:"Write everything through to the disk before it is acknowledged, so that nothing is lost when the computer fails, and not only the program."`
	MaxStore   int64         `range:"0..1099511627776" placeholder:"MB" help:"How much the server may keep on disk, in megabytes of 1,048,576 bytes. When it is full campaigns wait. Default, and 0: as much as the disk has."`
}

func (s *serving) options(dir string) hub.Options {
	return hub.Options{Dir: dir, Listen: s.Listen, Insecure: s.Insecure, Cert: s.Cert, Key: s.TLSKey,
		Name:    s.ServerName,
		Cluster: s.Cluster, Peers: s.Peers, Routes: s.Route, SyncAlways: s.Sync, MaxStore: s.MaxStore << 20}
}

type serveCmd struct {
	serving
	hub.Where `embed:""`
	HTTP      string `name:"http" placeholder:"HOST:PORT" help:"Serve a page of what goes on, its figures as JSON, and metrics for Prometheus."`
	Webhook   string `placeholder:"URL" help:"Post each find that no earlier campaign has made, each unit that is set aside and each campaign's end to this URL, as JSON."`
	JSON      bool   `name:"json" help:"Print each announcement as one JSON object a line."`
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
	serving, err := gate.Serve(ctx, b)
	if err != nil {
		return 0, err
	}
	defer serving.Stop()
	web, err := c.web(p, b)
	if err != nil {
		return 0, err
	}
	defer web()
	at := c.NATS
	if at == "" {
		data, _ := os.ReadFile(filepath.Join(c.Dir, "url"))
		at = string(data[:max(len(data)-1, 0)])
	}
	fmt.Fprintf(p.Err, "kpsim-campaign: serving at %s, everything in %s\n", at, c.Dir)
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
	err = board.Retry(wait, func(ctx context.Context) error { // in a cluster it may take a while
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
		return nil, nil, errServes{o.Dir}
	}
	if h, err = hub.Start(o); err != nil {
		lock.Close()
		return nil, nil, err
	}
	return h, func() { lock.Close() }, nil
}

// errServes: a server already runs in the folder.
type errServes struct{ dir string }

func (e errServes) Error() string {
	return fmt.Sprintf("%s: a server runs there; start the campaign on it with kpsim-campaign start, or give another "+
		"folder with --dir", e.dir)
}

type workCmd struct {
	hub.Where `embed:""`
	Cores     int           `range:"0..1024" placeholder:"N" help:"How many units this process makes at once, each on a core of its own. Default, and 0: one a processor. 1 leaves the other processors to other programs. No report depends on it."`
	Kernels   bool          `default:"true" negatable:"" help:"Fetch kernels and run their code; --no-kernels leaves their units to others."`
	Cache     string        `placeholder:"DIR" help:"Where kernels are kept."`
	Longest   time.Duration `range:"1s..8760h" default:"12h" placeholder:"TIME" help:"How long a unit may take, as 90m or 24h; then it counts as failed, and another worker tries. Default: 12h."`
	Idle      time.Duration `range:"0s..8760h" placeholder:"TIME" help:"End after being idle for this long, as 10m. 0s, and default: never."`
}

// Help implements kong.HelpProvider.
func (*workCmd) Help() string {
	return `A worker takes units of its own build only. It may come and go, and be killed: another worker makes its unfinished units when the lease ends.

Examples:

  kpsim-campaign work
  kpsim-campaign work --cores 4 --idle 10m
  kpsim-campaign work --longest 24h --no-kernels
  kpsim-campaign work --nats tls://head.example:4222 --nkey worker.nk`
}

func (c *workCmd) Run(p *cli.Program) (int, error) {
	ctx, stop := interruptible(p)
	defer stop()
	if c.Dir == "" {
		c.Dir = defaultDir()
	}
	o, err := workerOptions(c.Cores, c.Cache)
	if err != nil {
		return 0, err
	}
	o.Kernels, o.Idle, o.Longest = c.Kernels, c.Idle, c.Longest
	nc, err := reach(ctx, p, &c.Where, c.Idle)
	if err != nil {
		return 0, err
	}
	defer nc.Close()
	fmt.Fprintf(p.Err, "kpsim-campaign: %s works at %s, build %s\n", o.Name, nc.ConnectedUrlRedacted(), o.Build)
	p.Flush()
	cli.ManySmall()
	err = work.New(nc, o).Run(ctx)
	nc.FlushTimeout(time.Second)
	return cli.OK, err
}

// reach connects a worker. It waits for a server that isn't there yet, at most for the time most if that isn't 0.
func reach(ctx context.Context, p *cli.Program, w *hub.Where, most time.Duration) (*nats.Conn, error) {
	began := time.Now()
	for told := false; ; {
		nc, err := w.Connect(hub.Worker)
		if err == nil || !hub.Later(err) || most > 0 && time.Since(began) > most {
			return nc, err
		}
		if !told {
			told = true
			fmt.Fprintf(p.Err, "kpsim-campaign: %v\nkpsim-campaign: waiting for it\n", err)
			p.Flush()
		}
		select {
		case <-ctx.Done():
			return nil, errInterrupted
		case <-time.After(time.Second):
		}
	}
}

func workerOptions(cores int, cache string) (o work.Options, err error) {
	if o.Build, err = build.Digest(); err != nil {
		return o, err
	}
	if o.Cores = cores; cores == 0 {
		o.Cores = runtime.GOMAXPROCS(0)
	}
	if o.Dir = cache; cache == "" {
		o.Dir = defaultDir()
	}
	host, _ := os.Hostname()
	o.Name = fmt.Sprintf("%s.%d", host, os.Getpid())
	o.Kernels = true
	return o, nil
}

// joinClient waits for a coordinator, for a while.
func joinClient(ctx context.Context, nc *nats.Conn) (gate.Client, error) {
	wait, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	c := gate.Client{Conn: nc}
	err := c.Ready(wait)
	if errors.Is(err, board.ErrRefused) {
		return c, fmt.Errorf("%s: %w", nc.ConnectedUrlRedacted(), err)
	}
	if err != nil {
		return c, fmt.Errorf("%s: %w; does kpsim-campaign serve run there?", nc.ConnectedUrlRedacted(), err)
	}
	return c, nil
}

package hub

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"kpsim/internal/ui/cli"
)

// Options say how a server runs.
type Options struct {
	Dir       string // where all files are
	Listen    string // HOST:PORT; port 0 is any
	Insecure  bool   // listen beyond loopback without TLS
	Cert, Key string // of TLS; "": none

	Name       string   // the server's, in a cluster
	Cluster    string   // the cluster's name; "": it is alone
	CA         string   // a file of certificates that must have signed the others'; "": Cert
	Peers      string   // HOST:PORT where it listens for the other servers
	Routes     []string // the other servers, nats://HOST:PORT
	SyncAlways bool     // write through to the disk before anything is acknowledged
	MaxStore   int64    // bytes on disk; 0: as much as there is

	Tell func(what string) // is called when the disk is full, and when it no longer is; may be nil
}

// Files in the folder, beside the keys.
const (
	urlFile  = "url"     // where the server listens
	certFile = "tls.pem" // its certificate
)

// mostPayload is the largest message, in bytes, and mostSubscriptions how many a connection may have.
const mostPayload, mostSubscriptions = 8 << 20, 100_000

// A Hub is a server that runs in this process.
type Hub struct {
	server  *server.Server
	dir     string
	stopped chan struct{}
	broken  atomic.Bool // a stream failed to write

	cluster  bool
	tell     func(what string)
	mu       sync.Mutex      // guards told
	reported map[string]bool // what was reported about the other servers of a cluster
}

// ready is how long a server may take to start.
const ready = 20 * time.Second

// Start starts a server. Errors are about the options or the folder.
func Start(o Options) (*Hub, error) {
	host, port, err := splitAddress(o.Listen)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	if !loopback(host) && o.Cert == "" && !o.Insecure {
		return nil, fmt.Errorf("--listen %s: others could read along and change what is sent; give --tls-cert and "+
			"--tls-key, or say --insecure in a network of your own", o.Listen)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, errors.New(cli.Cause(err, o.Dir))
	}
	// NATS would take three quarters of what is free now, for ever: nothing if it starts while the disk is full
	if o.MaxStore == 0 {
		o.MaxStore = sizeOf(o.Dir)
	}
	known, err := readKeys(o.Dir)
	if err != nil {
		return nil, err
	}
	opts := new(server.Options)
	if err := opts.ProcessConfigString(accounts); err != nil {
		return nil, err
	}
	opts.ServerName, opts.Host, opts.Port, opts.NoSigs, opts.NoLog = o.Name, host, port, true, true
	opts.MaxPayload, opts.MaxSubs, opts.WriteDeadline = mostPayload, mostSubscriptions, 10*time.Second
	opts.CustomClientAuthentication, opts.AlwaysEnableNonce = known, true
	opts.JetStream, opts.StoreDir, opts.SyncAlways, opts.JetStreamMaxStore, opts.DisableJetStreamBanner = true,
		filepath.Join(o.Dir, "store"), o.SyncAlways, o.MaxStore, true
	if err := moveStore(opts.StoreDir); err != nil {
		return nil, errors.New(cli.Cause(err, opts.StoreDir))
	}
	if port == 0 {
		opts.Port = server.RANDOM_PORT
	}
	if o.Cert != "" {
		cert, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, fmt.Errorf("--tls-cert %s --tls-key %s: %w", o.Cert, o.Key, err)
		}
		opts.TLSConfig, opts.TLS, opts.TLSTimeout = &tls.Config{Certificates: []tls.Certificate{cert},
			MinVersion: tls.VersionTLS13}, true, 5
	}
	if o.Cluster == "" && o.CA != "" {
		return nil, errors.New("--tls-ca: it is of the other servers of a cluster; give --cluster, or leave it out")
	}
	if o.Cluster != "" {
		if err := o.cluster(opts); err != nil {
			return nil, err
		}
	}
	s, err := server.NewServer(opts)
	if err != nil {
		return nil, err
	}
	known.server = s
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
	h := &Hub{server: s, dir: o.Dir, stopped: make(chan struct{}), cluster: o.Cluster != "", tell: o.Tell,
		reported: make(map[string]bool)}
	s.SetLogger(log{h}, false, false)
	go s.Start()
	if !s.ReadyForConnections(ready) {
		s.Shutdown()
		return nil, fmt.Errorf("--listen %s: the server didn't start; is the address in use, or %s used by another "+
			"server?",
			o.Listen, o.Dir)
	}
	scheme := "nats"
	if o.Cert != "" {
		scheme = "tls"
	}
	addr := s.Addr().(*net.TCPAddr)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost" // for clients on this computer
	}
	at := net.JoinHostPort(host, fmt.Sprint(addr.Port))
	if err := publishCert(filepath.Join(o.Dir, certFile), o.Cert); err != nil {
		h.Stop()
		return nil, errors.New(cli.Cause(err, o.Dir))
	}
	if err := cli.WriteWhole(filepath.Join(o.Dir, urlFile), []byte(scheme+"://"+at+"\n")); err != nil {
		h.Stop()
		return nil, errors.New(cli.Cause(err, o.Dir))
	}
	go h.watchDisk(opts.StoreDir, o.MaxStore, o.Tell)
	return h, nil
}

func splitAddress(s string) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(s)
	if err != nil {
		return "", 0, fmt.Errorf("%q: give HOST:PORT, as in 127.0.0.1:4222", s)
	}
	if port, err = net.LookupPort("tcp", p); err != nil {
		return "", 0, fmt.Errorf("%q: there is no port %q", s, p)
	}
	return host, port, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Stop ends the server.
func (h *Hub) Stop() {
	close(h.stopped)
	h.server.Shutdown()
	h.server.WaitForShutdown()
	os.Remove(filepath.Join(h.dir, urlFile)) // so that workers wait for the next one
}

// URL is the address that the server listens on.
func (h *Hub) URL() string { return h.server.ClientURL() }

// Connect connects to the server within the process.
func (h *Hub) Connect(role string) (*nats.Conn, error) {
	return dial("", filepath.Join(h.dir, role+keyFile), role, nats.InProcessServer(h.server))
}

// Ready checks that JetStream answers, which in a cluster takes some seconds.
func Ready(ctx context.Context, nc *nats.Conn) error {
	for {
		js, err := nc.JetStream()
		if err != nil {
			return err
		}
		if _, err = js.AccountInfo(nats.MaxWait(2 * time.Second)); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("JetStream doesn't answer: %w", err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// Where names a server and the keys to reach it.
type Where struct {
	Dir   string `placeholder:"DIR" help:"The folder of a server on this computer: its address and keys."`
	NATS  string `name:"nats" placeholder:"URL" help:"A server elsewhere, nats://HOST:PORT or tls://HOST:PORT; several are separated by commas."`
	Key   string `name:"nkey" placeholder:"FILE" help:"With --nats: the nkey that identifies this process. serve writes worker.nk and client.nk to its folder."`
	Creds string `placeholder:"FILE" help:"With --nats: credentials, where the server has accounts."`
	CA    string `name:"tls-ca" placeholder:"FILE" help:"With --nats: the certificates that must have signed the server's, instead of the system's. With --cluster: those that must have signed the other servers'; default: the file of --tls-cert."`
}

// Connect connects to a server, as a worker or a client.
func (w *Where) Connect(role string) (*nats.Conn, error) {
	if w.NATS == "" {
		at, err := cli.ReadFile(filepath.Join(w.Dir, urlFile), 4096)
		if err != nil {
			return nil, errTransient{fmt.Errorf("%s: no server runs there; start one with kpsim-campaign serve --dir "+
				"DIR, or name another with --nats URL", w.Dir)}
		}
		return dial(strings.TrimSpace(string(at)), filepath.Join(w.Dir, role+keyFile), role, w.ca()...)
	}
	opts := w.ca()
	if w.Creds != "" {
		opts = append(opts, nats.UserCredentials(w.Creds))
	}
	return dial(w.NATS, w.Key, role, opts...)
}

func (w *Where) ca() (opts []nats.Option) {
	if w.CA != "" {
		return []nats.Option{nats.RootCAs(w.CA)}
	}
	if w.NATS != "" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(w.Dir, certFile))
	if err != nil {
		return nil
	}
	// The server's own certificate, whatever name it has there.
	c := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	c.RootCAs.AppendCertsFromPEM(text)
	if block, _ := pem.Decode(text); block != nil {
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil && len(cert.DNSNames) > 0 {
			c.ServerName = cert.DNSNames[0]
		}
	}
	return []nats.Option{nats.Secure(c)}
}

// publishCert puts a copy of the server's certificate into its folder, or removes that of an earlier server.
func publishCert(path, cert string) error {
	if cert == "" {
		if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := os.ReadFile(cert)
	if err != nil {
		return err
	}
	return cli.WriteWhole(path, text)
}

func name(role string) string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s@%s.%d", role, host, os.Getpid())
}

// dial connects. Once connected, it reconnects for ever.
func dial(url, key, role string, more ...nats.Option) (*nats.Conn, error) {
	name, prefix := inbox(role, name(role))
	opts := []nats.Option{nats.Name(name), nats.CustomInboxPrefix(prefix), nats.MaxReconnects(-1),
		nats.ReconnectWait(200 * time.Millisecond), nats.ReconnectJitter(200*time.Millisecond, time.Second),
		nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2), nats.Timeout(5 * time.Second),
		nats.IgnoreAuthErrorAbort(),
		// by default it prints errors; the request that failed simply has no answer
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})}
	if key != "" {
		o, err := nats.NkeyOptionFromSeed(key)
		if err != nil {
			return nil, fmt.Errorf("%s: %w; it is a file that kpsim-campaign serve writes", key, err)
		}
		opts = append(opts, o)
	}
	nc, err := nats.Connect(url, append(opts, more...)...)
	switch {
	case errors.Is(err, nats.ErrAuthorization):
		return nil, fmt.Errorf("%s: it rejects our key; give that of its folder with --nkey FILE", url)
	case err != nil:
		return nil, errTransient{fmt.Errorf("%s: %w; is a server running there?", url, err)}
	}
	return nc, nil
}

// errTransient is an error that may go away.
type errTransient struct{ error }

// MayRecover reports whether Connect may succeed later, when a server runs.
func MayRecover(err error) bool {
	var later errTransient
	return errors.As(err, &later)
}

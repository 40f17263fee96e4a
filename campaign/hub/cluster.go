package hub

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/nats-io/nats-server/v2/server"

	"kpsim/internal/ui/cli"
)

// routeUser is the name under which the servers of a cluster authenticate to each other.
const routeUser = "kpsim"

// cluster makes the server listen for the others and connect to them. They must know the secret in its folder. With
// TLS each must have a certificate that the authority has signed, for the name or address by which --route calls it.
func (o *Options) cluster(opts *server.Options) error {
	host, port, err := splitAddress(o.Peers)
	if err != nil {
		return fmt.Errorf("--peers: %w", err)
	}
	if !loopback(host) && !o.Insecure && o.Cert == "" {
		return fmt.Errorf("--peers %s: give --tls-cert and --tls-key, or say --insecure", o.Peers)
	}
	secret, err := readOrCreate(filepath.Join(o.Dir, SecretFile), func() ([]byte, error) {
		return []byte(rand.Text() + rand.Text()), nil
	})
	if err != nil {
		return err
	}
	secret = bytes.TrimSpace(secret)
	if len(secret) < 32 {
		return fmt.Errorf("%s: a secret has 32 characters or more; remove it, and a new one is made",
			filepath.Join(o.Dir, SecretFile))
	}
	opts.Cluster = server.ClusterOpts{Name: o.Cluster, Host: host, Port: port, Username: routeUser,
		Password: string(secret), TLSTimeout: 5, AuthTimeout: 5}
	var names []string
	for _, r := range o.Routes {
		u, err := url.Parse(r)
		if err != nil || u.Host == "" {
			return fmt.Errorf("--route %q: give nats://HOST:PORT", r)
		}
		u.User = url.UserPassword(routeUser, string(secret))
		opts.Routes = append(opts.Routes, u)
		names = append(names, u.Hostname())
	}
	if o.Cert == "" {
		if o.CA != "" {
			return errors.New("--tls-ca: it is of certificates; give --tls-cert and --tls-key, too")
		}
		return nil
	}
	authority := o.CA
	if authority == "" {
		authority = o.Cert
	}
	pool, err := readPool(authority)
	if err != nil {
		return err
	}
	both := opts.TLSConfig.Clone() // a server that connects shows its certificate, too
	both.ClientAuth, both.ClientCAs, both.RootCAs = tls.RequireAndVerifyClientCert, pool, pool
	both.VerifyConnection = func(c tls.ConnectionState) error {
		if slices.ContainsFunc(names, func(n string) bool { return c.PeerCertificates[0].VerifyHostname(n) == nil }) {
			return nil
		}
		return fmt.Errorf("the certificate is of %s, and --route names %s", namesOf(c.PeerCertificates[0]),
			cli.List(names))
	}
	opts.Cluster.TLSConfig = both
	return nil
}

func namesOf(c *x509.Certificate) string {
	list := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		list = append(list, ip.String())
	}
	if len(list) == 0 {
		return "no name"
	}
	return cli.List(list)
}

// readPool reads a file of certificates; it is an error if it has none.
func readPool(path string) (*x509.CertPool, error) {
	text, err := cli.ReadFile(path, 16<<20)
	if err != nil {
		return nil, errors.New(cli.Cause(err, path))
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: it has no certificate; give a file of PEM", path)
	}
	return pool, nil
}

// routeError matches what the server logs about a failed connection between servers.
var routeError = regexp.MustCompile(`(?i)route|authorization|authentication`)

// portOrID is the other side's port number or connection ID, which differs each time.
var portOrID = regexp.MustCompile(`(:\d+| - rid:\d+|\brid:\d+)`)

// maxReported is the most kinds of failure between servers that are reported.
const maxReported = 100

// reportRoute reports once why another server isn't let in, or doesn't let this one in. Otherwise a certificate that
// the other one rejects would be a cluster that waits without a word.
func (h *Hub) reportRoute(text string) {
	if !h.cluster || !routeError.MatchString(text) || strings.Contains(text, "- cid:") {
		return
	}
	kind := portOrID.ReplaceAllString(text, "")
	h.mu.Lock()
	told := h.reported[kind] || len(h.reported) >= maxReported
	h.reported[kind] = true
	h.mu.Unlock()
	if !told {
		h.tell("cluster: " + strings.Join(strings.Fields(text), " "))
	}
}

// moveStore takes over the store of a server that had no accounts.
func moveStore(dir string) error {
	before, now := filepath.Join(dir, server.JetStreamStoreDir, "$G"),
		filepath.Join(dir, server.JetStreamStoreDir, "COORDINATOR")
	if _, err := os.Stat(before); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if _, err := os.Stat(now); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Rename(before, now)
}

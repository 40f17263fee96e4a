package hub

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// certificate writes a certificate, signed by another one or by itself, and its key.
func certificate(t *testing.T, dir, name string, by *tls.Certificate, hosts ...string) (cert, key string) {
	t.Helper()
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: by == nil,
		BasicConstraintsValid: true}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, h)
		}
	}
	parent, signer := c, any(pair)
	if by != nil {
		parent, signer = by.Leaf, by.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &pair.PublicKey, signer)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(pair)
	require.NoError(t, err)
	cert, key = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	return cert, key
}

// A node is a server of a cluster.
type node struct {
	Options
	hub  *Hub
	mu   sync.Mutex
	told []string
}

func (n *node) says() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.told, "\n")
}

// cluster starts servers of which each knows the others; change makes one of them another one.
func cluster(t *testing.T, secrets []string, change func(i int, o *Options)) (list []*node) {
	t.Helper()
	var peers []string
	for range secrets {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		peers = append(peers, l.Addr().String())
		require.NoError(t, l.Close())
	}
	for i := range secrets {
		n := &node{}
		n.Options = Options{Dir: t.TempDir(), Listen: "127.0.0.1:0", Cluster: "c", Name: fmt.Sprint("s", i),
			Peers: peers[i],
			Tell: func(what string) {
				n.mu.Lock()
				defer n.mu.Unlock()
				n.told = append(n.told, what)
			}}
		for k, p := range peers {
			if k != i {
				n.Routes = append(n.Routes, "nats://"+p)
			}
		}
		require.NoError(t, os.WriteFile(filepath.Join(n.Dir, SecretFile), []byte(secrets[i]+"\n"), 0o600))
		change(i, &n.Options)
		var err error
		n.hub, err = Start(n.Options)
		require.NoError(t, err)
		t.Cleanup(n.hub.Stop)
		list = append(list, n)
	}
	return list
}

func joined(list []*node) bool {
	for _, n := range list {
		if n.hub.server.NumRoutes() == 0 {
			return false
		}
	}
	return true
}

var secretA, secretB = strings.Repeat("a", 40), strings.Repeat("b", 40)

// TestClusterSecret: servers join that share the secret of their folders; one that doesn't know it is
// kept out, and said so.
func TestClusterSecret(t *testing.T) {
	same := func(int, *Options) {}
	list := cluster(t, []string{secretA, secretA}, same)
	require.Eventually(t, func() bool { return joined(list) }, time.Minute, 20*time.Millisecond)
	list = cluster(t, []string{secretA, secretB}, same)
	require.Eventually(t, func() bool {
		return strings.Contains(list[0].says()+list[1].says(), "cluster:")
	}, time.Minute, 20*time.Millisecond)
	require.False(t, joined(list))
	_, err := Start(Options{Dir: t.TempDir(), Listen: "127.0.0.1:0", CA: "x"})
	require.ErrorContains(t, err, "--tls-ca: it is of the other servers")
}

// TestClusterPort: a client of the cluster's port without a secret learns nothing but what the
// server is, and is closed.
func TestClusterPort(t *testing.T) {
	n := cluster(t, []string{secretA, secretA}, func(int, *Options) {})[0]
	for _, connect := range []string{
		`{"verbose":false,"server_id":"X","name":"x","cluster":"c"}`,
		`{"verbose":false,"user":"kpsim","pass":"","cluster":"c","server_id":"X"}`,
		`{"verbose":false,"user":"kpsim","pass":"` + secretB + `","cluster":"c","server_id":"X"}`,
	} {
		c, err := net.Dial("tcp", n.Peers)
		require.NoError(t, err)
		defer c.Close()
		require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
		in := bufio.NewReader(c)
		info, err := in.ReadString('\n')
		require.NoError(t, err)
		require.NotContains(t, info, secretA)
		fmt.Fprintf(c, "CONNECT %s\r\nPING\r\nRS+ COORDINATOR >\r\nRMSG COORDINATOR $JS.API.STREAM.DELETE.DONE 0\r\n\r\n",
			connect)
		said := ""
		for {
			line, err := in.ReadString('\n')
			if said += line; err != nil {
				break
			}
		}
		require.Contains(t, said, "Authorization Violation")
		require.NotContains(t, said, "RMSG")
	}
}

// TestClusterTLS: with certificates both sides must be signed by the authority, and be of a name that
// --route calls; what fails is said. A certificate that signs itself does, if the servers share it.
func TestClusterTLS(t *testing.T) {
	dir := t.TempDir()
	caCert, caKey := certificate(t, dir, "ca", nil)
	ca, err := tls.LoadX509KeyPair(caCert, caKey)
	require.NoError(t, err)
	rightCert, rightKey := certificate(t, dir, "right", &ca, "127.0.0.1")
	namedCert, namedKey := certificate(t, dir, "named", &ca, "elsewhere.example")
	selfCert, selfKey := certificate(t, dir, "self", nil, "127.0.0.1")
	otherCert, otherKey := certificate(t, dir, "other", nil, "127.0.0.1")
	for name, c := range map[string]struct {
		cert, key string // of the second server
		ca        string // of both
		first     [2]string
		join      bool
		says      string
	}{
		"an authority":          {rightCert, rightKey, caCert, [2]string{rightCert, rightKey}, true, ""},
		"one that signs itself": {selfCert, selfKey, "", [2]string{selfCert, selfKey}, true, ""},
		"another authority": {otherCert, otherKey, caCert, [2]string{rightCert, rightKey}, false,
			"certificate signed by unknown authority"},
		"another name": {namedCert, namedKey, caCert, [2]string{rightCert, rightKey}, false,
			"elsewhere.example"},
		"two that sign themself": {otherCert, otherKey, "", [2]string{selfCert, selfKey}, false, "unknown authority"},
	} {
		t.Run(name, func(t *testing.T) {
			list := cluster(t, []string{secretA, secretA}, func(i int, o *Options) {
				if o.CA = c.ca; i == 0 {
					o.Cert, o.Key = c.first[0], c.first[1]
				} else {
					o.Cert, o.Key = c.cert, c.key
				}
			})
			if c.join {
				require.Eventually(t, func() bool {
					return joined(list)
				}, time.Minute, 20*time.Millisecond, list[0].says()+list[1].says())
				return
			}
			require.Eventually(t, func() bool {
				return strings.Contains(list[0].says()+list[1].says(), c.says)
			}, time.Minute, 20*time.Millisecond)
			require.False(t, joined(list))
			require.Less(t, len(list[0].told), 20)
		})
	}
	_, err = Start(Options{Dir: t.TempDir(), Listen: "127.0.0.1:0", Cluster: "c", Peers: "127.0.0.1:0", Cert: rightCert,
		Key: rightKey, CA: rightKey})
	require.ErrorContains(t, err, "it has no certificate")
}

// TestMoveStore: what a server stored before there were accounts is still there.
func TestMoveStore(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "jetstream", "$G", "streams", "X"), 0o700))
	require.NoError(t, moveStore(dir))
	require.DirExists(t, filepath.Join(dir, "jetstream", "COORDINATOR", "streams", "X"))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "jetstream", "$G"), 0o700))
	require.NoError(t, moveStore(dir))
	require.DirExists(t, filepath.Join(dir, "jetstream", "COORDINATOR", "streams", "X"))
}

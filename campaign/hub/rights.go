package hub

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
	"github.com/nats-io/nuid"

	"kpsim/internal/ui/cli"
)

// The roles, each with a key and an account of its own.
const (
	Lead   = "lead"   // coordinates, within the server's process or beside it
	Client = "client" // starts, pauses and cancels campaigns, and reads what they show
	Worker = "worker" // makes units: it can't start or change a campaign, or hand out units
)

// SecretFile is the secret that the servers of a cluster share, as they share keys.
const SecretFile = "cluster.secret"

const keyFile = ".nk"

// accounts are the server's. Everything is stored in the coordinators' account, which has JetStream. The others have
// none, and import only the requests that a coordinator answers (package gate). The server publishes an answer in the
// account of the request, under the subject that the request names, so no request makes it publish anything in
// another account.
const accounts = `accounts {
  COORDINATOR: {
    jetstream: enabled
    exports: [
      {service: "worker.>", accounts: [WORKER]}
      {service: "client.>", accounts: [CLIENT]}
      {stream: "news.>", accounts: [WORKER]}
    ]
  }
  WORKER: {
    imports: [
      {service: {account: COORDINATOR, subject: "worker.>"}}
      {stream: {account: COORDINATOR, subject: "news.>"}}
    ]
  }
  CLIENT: {imports: [{service: {account: COORDINATOR, subject: "client.>"}}]}
}`

// A right is what a role may do. Each also receives the answers to its own requests.
type right struct {
	role, account string
	publish       []string // nil: anything
	subscribe     []string
}

var rights = []right{
	{Lead, "COORDINATOR", nil, nil},
	{Client, "CLIENT", []string{"client.>"}, nil},
	{Worker, "WORKER", []string{"worker.>"}, []string{"news.>"}},
}

// inboxOf finds the inbox in a connection's name. Workers share a key, so the server tells their
// connections apart by it: 131 random bits that the connection alone knows.
var inboxOf = regexp.MustCompile(` inbox=([0-9A-Za-z]{22})$`)

// inbox returns a connection's name with the inbox that it will use, and the prefix of that inbox.
func inbox(role, name string) (named, prefix string) {
	id := nuid.New()
	id.RandomizePrefix()
	token := id.Next()
	return name + " inbox=" + token, "_INBOX_" + role + "." + token
}

// keys authenticates connections. It implements server.Authentication.
type keys struct {
	server  *server.Server
	rightOf map[string]*right // by public key
}

// Check verifies that a client has signed the server's nonce with one of the keys, and gives it the
// rights of that key's role.
func (k *keys) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	r := k.rightOf[o.Nkey]
	if r == nil || len(c.GetNonce()) == 0 {
		return false
	}
	sig, err := base64.RawURLEncoding.DecodeString(o.Sig)
	if err != nil {
		return false
	}
	public, err := nkeys.FromPublicKey(o.Nkey)
	if err != nil || public.Verify(c.GetNonce(), sig) != nil {
		return false
	}
	account, err := k.server.LookupAccount(r.account)
	if err != nil {
		return false
	}
	u := &server.User{Username: r.role, Account: account}
	if r.publish != nil {
		subscribe := append([]string{"_none"}, r.subscribe...) // an empty list would allow all
		if m := inboxOf.FindStringSubmatch(o.Name); m != nil {
			subscribe = append(subscribe, "_INBOX_"+r.role+"."+m[1]+".>")
		}
		u.Permissions = &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: r.publish},
			Subscribe: &server.SubjectPermission{Allow: subscribe},
		}
	}
	c.RegisterUser(u)
	return true
}

// readKeys reads the keys in the folder, and makes the missing ones.
func readKeys(dir string) (*keys, error) {
	k := &keys{rightOf: make(map[string]*right)}
	for i := range rights {
		r := &rights[i]
		path := filepath.Join(dir, r.role+keyFile)
		seed, err := readOrCreate(path, newSeed)
		if err != nil {
			return nil, err
		}
		pair, err := nkeys.ParseDecoratedNKey(seed)
		if err != nil {
			return nil, fmt.Errorf("%s: %w; remove it, and a new one is made", path, err)
		}
		public, err := pair.PublicKey()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if k.rightOf[public] != nil {
			return nil, fmt.Errorf("%s: it is the key of %s, too; remove it, and a new one is made", path,
				k.rightOf[public].role)
		}
		k.rightOf[public] = r
	}
	return k, nil
}

func newSeed() ([]byte, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	return pair.Seed()
}

// readOrCreate reads a secret; if it is missing, it makes one that only its owner can read.
func readOrCreate(path string, create func() ([]byte, error)) ([]byte, error) {
	data, err := cli.ReadFile(path, 4096)
	if errors.Is(err, os.ErrNotExist) {
		if data, err = create(); err == nil {
			data = append(data, '\n')
			err = os.WriteFile(path, data, 0o600)
		}
	}
	if err != nil {
		return nil, errors.New(cli.Cause(err, path))
	}
	return data, nil
}

package hub

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"kpsim/internal/cli"
)

// The roles that there are, each with a key of its own.
const (
	Lead   = "lead"   // coordinates, within the server's process or beside it
	Client = "client" // starts, pauses and cancels campaigns, and reads what they show
	Worker = "worker" // makes units: it can't start or change a campaign, or hand out work
)

const keyFile = ".nk"

// What roles may publish; all may receive answers to what they ask.
var rights = []struct {
	role      string
	publish   []string // nil: anything
	subscribe []string
}{
	{Lead, nil, nil},
	{Client, []string{
		"$JS.API.INFO", "$JS.API.STREAM.INFO.>", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.MSG.GET.>", "$JS.API.DIRECT.GET.>",
		"$JS.API.CONSUMER.CREATE.DONE.>", "$JS.API.CONSUMER.CREATE.TROUBLE.>", "$JS.API.CONSUMER.CREATE.KV_CAMPAIGNS.>", "$JS.API.CONSUMER.CREATE.KV_STATUS.>", "$JS.API.CONSUMER.CREATE.KV_FINDS.>", "$JS.API.CONSUMER.CREATE.OBJ_FILES.>",
		"$JS.API.CONSUMER.INFO.>", "$JS.API.CONSUMER.DELETE.>", "$JS.API.CONSUMER.MSG.NEXT.DONE.>", "$JS.API.CONSUMER.MSG.NEXT.TROUBLE.>", "$JS.API.CONSUMER.MSG.NEXT.KV_CAMPAIGNS.>", "$JS.API.CONSUMER.MSG.NEXT.OBJ_FILES.>",
		"$JS.API.STREAM.PURGE.OBJ_FILES", "$JS.API.STREAM.PURGE.DONE", "$JS.API.STREAM.PURGE.TROUBLE", "$JS.ACK.DONE.>", "$JS.ACK.TROUBLE.>", "$JS.FC.>",
		"$KV.CAMPAIGNS.>", "$O.FILES.>",
	}, []string{"_INBOX.>"}},
	{Worker, []string{
		"$JS.API.INFO", "$JS.API.STREAM.INFO.>", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.MSG.GET.DONE", "$JS.API.STREAM.MSG.GET.KV_CAMPAIGNS", "$JS.API.STREAM.MSG.GET.OBJ_FILES", "$JS.API.DIRECT.GET.>",
		"$JS.API.CONSUMER.INFO.>", "$JS.API.CONSUMER.MSG.NEXT.WORK.>", "$JS.API.CONSUMER.CREATE.DONE.>", "$JS.API.CONSUMER.CREATE.OBJ_FILES.>", "$JS.API.CONSUMER.MSG.NEXT.DONE.>", "$JS.API.CONSUMER.MSG.NEXT.OBJ_FILES.>", "$JS.API.CONSUMER.DELETE.DONE.>", "$JS.API.CONSUMER.DELETE.OBJ_FILES.>",
		"$JS.ACK.WORK.>", "$JS.ACK.DONE.>", "$JS.FC.>", "$JS.API.STREAM.PURGE.OBJ_FILES",
		"done.>", "trouble.>", "alive.>", "needs.ask", "$O.FILES.C.>", "$O.FILES.M.>",
	}, []string{"_INBOX.>", "needs.new"}},
}

// users reads the keys in the folder, and makes those that aren't there.
func users(dir string) (list []*server.NkeyUser, err error) {
	for _, r := range rights {
		path := filepath.Join(dir, r.role+keyFile)
		seed, err := cli.ReadFile(path, 4096)
		if errors.Is(err, os.ErrNotExist) {
			seed, err = newKey(path)
		}
		if err != nil {
			return nil, errors.New(cli.Cause(err, path))
		}
		pair, err := nkeys.ParseDecoratedNKey(seed)
		if err != nil {
			return nil, fmt.Errorf("%s: %w; remove it, and a new one is made", path, err)
		}
		public, err := pair.PublicKey()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		u := &server.NkeyUser{Nkey: public}
		if r.publish != nil {
			u.Permissions = &server.Permissions{
				Publish:   &server.SubjectPermission{Allow: r.publish},
				Subscribe: &server.SubjectPermission{Allow: r.subscribe},
				Response:  &server.ResponsePermission{MaxMsgs: 1},
			}
		}
		list = append(list, u)
	}
	return list, nil
}

// newKey makes a key that its owner alone can read.
func newKey(path string) ([]byte, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	seed, err := pair.Seed()
	if err != nil {
		return nil, err
	}
	seed = append(seed, '\n')
	return seed, os.WriteFile(path, seed, 0o600)
}

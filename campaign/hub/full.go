package hub

import (
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// roomAgain is how many bytes a disk that was full must have before it is used again.
const roomAgain = 8 << 20

// watchDisk switches JetStream on again when the disk has room. NATS switches it off at the first
// write for which there is none, and leaves it so: what waits for it would wait for ever.
func (h *Hub) watchDisk(store string, most int64, tell func(what string)) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for off := 0; ; {
		select {
		case <-h.stopped:
			return
		case <-tick.C:
		}
		if h.server.JetStreamConfig() != nil { // nil when it is switched off, and all of it has ended
			off = 0
			continue
		}
		if off++; off == 1 {
			tell("the disk of " + h.dir + " is full: nothing goes on until it has room")
		}
		var fs syscall.Statfs_t
		if off < 2 || syscall.Statfs(h.dir, &fs) != nil || fs.Bavail*uint64(fs.Bsize) < roomAgain {
			continue
		}
		if h.server.EnableJetStream(&server.JetStreamConfig{StoreDir: store, MaxStore: most}) == nil {
			tell("the disk of " + h.dir + " has room again")
		}
	}
}

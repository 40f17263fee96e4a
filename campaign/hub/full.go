package hub

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// roomAgain is the room that a disk that was full must have before it is used again, in bytes.
const roomAgain = 8 << 20

// sizeOf is the size of a folder's file system in bytes, 0 if unknown.
func sizeOf(dir string) int64 {
	var fs syscall.Statfs_t
	if syscall.Statfs(dir, &fs) != nil {
		return 0
	}
	return int64(fs.Blocks) * int64(fs.Bsize)
}

// A log receives what the server would write to its log. A stream whose disk was full accepts nothing any more, even
// when there is room again, and reports that nowhere else.
type log struct{ h *Hub }

var _ server.Logger = log{}

func (l log) Errorf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	if strings.Contains(text, "write error") {
		l.h.broken.Store(true)
	}
	l.h.reportRoute(text)
}

func (l log) Fatalf(format string, v ...any) {}
func (l log) Warnf(format string, v ...any)  {}
func (l log) Noticef(string, ...any)         {}
func (l log) Debugf(string, ...any)          {}
func (l log) Tracef(string, ...any)          {}

// watchDisk restarts JetStream when a disk that was full has room. Otherwise requests would wait for ever.
func (h *Hub) watchDisk(store string, limit int64, tell func(what string)) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for off := 0; ; {
		select {
		case <-h.stopped:
			return
		case <-tick.C:
		}
		if h.broken.Swap(false) {
			_ = h.server.ShutdownJetStream() // it may have ended by itself
		}
		if h.server.JetStreamConfig() != nil { // nil when it has ended
			off = 0
			continue
		}
		if off++; off == 1 {
			tell(" is full: campaigns wait until it has room" + h.dir + " is full: nothing goes on until it has room")
		}
		var fs syscall.Statfs_t
		if syscall.Statfs(h.dir, &fs) != nil || fs.Bavail*uint64(fs.Bsize) < roomAgain {
			continue
		}
		if h.server.EnableJetStream(&server.JetStreamConfig{StoreDir: store, MaxStore: limit}) == nil {
			tell("the disk of " + h.dir + " has room again")
		}
	}
}

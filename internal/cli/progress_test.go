package cli

import (
	"bytes"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// What is done in parts is on the terminal while it is, and off it when it is over;
// elsewhere nothing is.
func TestProgressFollows(t *testing.T) {
	var seen bytes.Buffer
	var done atomic.Uint64
	done.Store(1)
	g := &progress{w: &seen, what: "hits", total: 2, start: time.Now()}
	stop := g.Follow(&done)
	time.Sleep(3 * progressEvery)
	stop()
	if got := seen.String(); !strings.HasPrefix(got, ClearLine+"hits: 1 of 2, 0 s") || !strings.HasSuffix(got, ClearLine) {
		t.Errorf("%q", got)
	}
	(*progress)(nil).Follow(&done)()
}

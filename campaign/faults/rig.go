package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"kpsim/campaign/board"
	"kpsim/campaign/desk"
	"kpsim/campaign/gate"
	"kpsim/campaign/hub"
	"kpsim/campaign/plan"
)

// A rig runs a schedule.
type rig struct {
	g       *Ground
	s       *Schedule
	dir     string
	began   time.Time // when the campaign began
	servers []*server
	proxy   *Proxy
	b       *board.Board // connected with the coordinator's key
	c       *plan.Campaign
	tmpfs   []string // to be unmounted

	mu      sync.Mutex // guards the rest
	workers []*worker
	all     []*process
	happens []string // the log of what was done, and when
	stopped bool     // nothing more is started
}

type server struct {
	name, dir, at, peers string
	args                 []string
	env                  []string
	p                    *process
	endedByRig           bool // the rig has ended it
}

type worker struct {
	n      int
	p      *process
	paused bool // the rig has ended it, and will start the next one
}

// note logs an event.
func (r *rig) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := "before"
	if !r.began.IsZero() {
		at = fmt.Sprintf("%.2f s", time.Since(r.began).Seconds())
	}
	r.happens = append(r.happens, at+": "+fmt.Sprintf(format, args...))
}

// freePort returns an address that is free now.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// begin starts servers and workers, and connects.
func (r *rig) begin(ctx context.Context) (err error) {
	for i := range r.s.Servers {
		s := &server{name: fmt.Sprintf("s%d", i), dir: filepath.Join(r.dir, fmt.Sprintf("s%d", i))}
		if s.at, err = freePort(); err != nil {
			return err
		}
		if s.peers, err = freePort(); err != nil {
			return err
		}
		if err := os.Mkdir(s.dir, 0o700); err != nil {
			return err
		}
		r.servers = append(r.servers, s)
	}
	if r.s.Main == ServerDiskFull {
		if err := r.mount(r.servers[0].dir, serverDisk); err != nil {
			return err
		}
	}
	for _, s := range r.servers {
		s.args = []string{r.g.Campaign, "serve", "--dir", s.dir, "--listen", s.at, "--lease", r.lease().String()}
		if len(r.servers) > 1 {
			s.args = append(s.args, "--cluster", "c", "--server-name", s.name, "--peers", s.peers, "--replicas", "3")
			for _, o := range r.servers {
				if o != s {
					s.args = append(s.args, "--route", "nats://"+o.peers)
				}
			}
		}
	}
	if len(r.servers) > 1 { // they share their keys
		if err := r.g.keys(r.servers); err != nil {
			return err
		}
	}
	for _, s := range r.servers {
		if err := r.serve(s); err != nil {
			return err
		}
	}
	for _, s := range r.servers {
		if err := s.p.waitForOutput("serving at", 90*time.Second); err != nil {
			return err
		}
	}
	if r.proxy, err = NewProxy(r.servers[0].at); err != nil {
		return err
	}
	nc, err := (&hub.Where{NATS: r.urls(), Key: filepath.Join(r.servers[0].dir, "lead.nk")}).Connect(hub.Lead)
	if err != nil {
		return err
	}
	if r.b, err = board.Join(ctx, nc); err != nil {
		return err
	}
	for i := range r.s.Workers {
		w := &worker{n: i}
		r.workers = append(r.workers, w)
		if err := r.work(w); err != nil {
			return err
		}
	}
	for _, w := range r.workers {
		if err := w.p.waitForOutput("works at", 30*time.Second); err != nil {
			return err
		}
	}
	c := *r.g.plan(r.s.Main == WorkerDiskFull)
	r.c = &c
	cl, err := (&hub.Where{NATS: r.urls(), Key: filepath.Join(r.servers[0].dir, "client.nk")}).Connect(hub.Client)
	if err != nil {
		return err
	}
	defer cl.Close()
	// a full worker disk must break before the first unit
	if _, err = desk.Start(ctx, gate.Client{Conn: cl}, r.c); err == nil && r.s.Main != WorkerDiskFull {
		err = r.waitUntilBegun(ctx)
	}
	r.began = time.Now()
	return err
}

// waitUntilBegun waits until the first units are handed out.
func (r *rig) waitUntilBegun(ctx context.Context) error {
	for until := time.Now().Add(15 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		n, _, err := r.countDeliveries(ctx)
		if err == nil && n > 0 {
			return nil
		}
		if time.Now().After(until) {
			return fmt.Errorf("no unit is handed out: %w", err)
		}
	}
}

// lease is short where ten leases have to pass.
func (r *rig) lease() time.Duration {
	if r.s.Main == Poison {
		return time.Second
	}
	return Lease
}

// urls is where clients reach the servers.
func (r *rig) urls() string {
	var list []string
	for _, s := range r.servers {
		list = append(list, "nats://"+s.at)
	}
	return strings.Join(list, ",")
}

// start starts a process that the rig ends.
func (r *rig) start(name, dir string, env []string, args ...string) (*process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return nil, errors.New("it is over")
	}
	p, err := start(name, dir, append(env, r.g.path()), args...)
	if err == nil {
		r.all = append(r.all, p)
	}
	return p, err
}

func (r *rig) serve(s *server) error {
	p, err := r.start("server "+s.name, r.dir, s.env, s.args...)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s.p, s.endedByRig = p, false
	return nil
}

func (r *rig) work(w *worker) error {
	args := []string{r.g.Campaign, "work", "--cores", "1"}
	if len(r.servers) == 1 {
		args = append(args, "--nats", "nats://"+r.proxy.Addr())
	} else { // clients learn all servers' addresses, so they would bypass a proxy
		args = append(args, "--nats", r.urls())
	}
	args = append(args, "--nkey", filepath.Join(r.servers[0].dir, "worker.nk"))
	cache := filepath.Join(r.dir, fmt.Sprintf("cache%d", w.n))
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return err
	}
	if r.s.Main == WorkerDiskFull && w.n == 0 && !slices.Contains(r.tmpfs, cache) {
		if err := r.mount(cache, "1m"); err != nil {
			return err
		}
	}
	args = append(args, "--cache", cache)
	env := []string{clockEnv(r.s.ClockOffsets[w.n])}
	if r.s.Main == Poison {
		env = append(env, "KPSIM_POISON="+r.poison())
	}
	p, err := r.start(fmt.Sprintf("worker %d", w.n), r.dir, env, args...)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	w.p, w.paused = p, false
	return nil
}

// mend restarts processes that have ended although the rig didn't end them, as a supervisor does. It returns an error
// for an end that should not have happened.
func (r *rig) mend() error {
	for _, s := range r.servers {
		r.mu.Lock()
		p, down := s.p, s.endedByRig
		r.mu.Unlock()
		if down {
			continue
		}
		if how, died := p.diedAlone(); died {
			if r.s.Main != ServerDiskFull {
				return fmt.Errorf("server %s ended by itself: %s", s.name, how)
			}
			r.note("server %s ended (%s) and is started again", s.name, how)
			if err := r.serve(s); err != nil {
				return err
			}
		}
	}
	for _, w := range r.workers {
		r.mu.Lock()
		p, paused := w.p, w.paused
		r.mu.Unlock()
		if paused {
			continue
		}
		how, died := p.diedAlone()
		switch {
		case !died:
		case r.s.Main == Poison || !strings.Contains(p.stderr(), "works at"): // it found no server
			if time.Since(p.began) < 300*time.Millisecond {
				continue // later
			}
			r.note("worker %d ended (%s) and is started again", w.n, how)
			if err := r.work(w); err != nil {
				return err
			}
		default:
			return fmt.Errorf("worker %d ended by itself: %s", w.n, how)
		}
	}
	return nil
}

// end ends everything, and unmounts the disks.
func (r *rig) end() {
	r.mu.Lock()
	r.stopped = true
	all := slices.Clone(r.all)
	r.mu.Unlock()
	if r.b != nil {
		r.b.Conn.Close()
	}
	for _, p := range all {
		p.signal(syscall.SIGKILL)
	}
	for _, p := range all {
		<-p.ended
	}
	if r.proxy != nil {
		r.proxy.Close()
	}
	for _, dir := range r.tmpfs {
		_ = syscall.Unmount(dir, 0)
	}
}

// state describes what happened, for the report of a failure.
func (r *rig) state(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var b strings.Builder
	if r.c != nil {
		t, err := r.b.LatestStatus(ctx, firstID)
		text, _ := json.Marshal(t)
		fmt.Fprintf(&b, "status: %s %v\n", text, err)
		r.dumpStreams(ctx, &b)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.happens {
		fmt.Fprintln(&b, h)
	}
	for _, p := range r.all {
		fmt.Fprintln(&b, p.state(r.began))
	}
	return b.String()
}

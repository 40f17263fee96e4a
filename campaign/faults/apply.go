package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"kpsim/campaign/plan"
)

// serverDisk is the size of a server's disk that is to become full.
const serverDisk = "48m"

// apply applies a fault, and mends it. It returns what it could not do.
func (r *rig) apply(ctx context.Context, f Fault) error {
	r.note("%s", f)
	w := r.workers[f.Target%len(r.workers)]
	switch f.Kind {
	case WorkerKilled:
		return r.replace(w, syscall.SIGKILL, f.Duration)
	case WorkerEnded:
		return r.replace(w, syscall.SIGTERM, f.Duration)
	case WorkerStopped:
		r.mu.Lock()
		p := w.p
		r.mu.Unlock()
		p.signal(syscall.SIGSTOP)
		sleep(ctx, f.Duration)
		p.signal(syscall.SIGCONT)
	case ServerKilled:
		return r.restartServer(ctx, r.servers[0], f.Duration)
	case LeaderKilled:
		s, err := r.leader(ctx, []string{"WORK", "DONE", "KV_CAMPAIGNS", "KV_LEAD"}[f.Target%4])
		if err != nil {
			return err
		}
		return r.restartServer(ctx, s, f.Duration)
	case Cut:
		for range 1 + f.Target%4 {
			r.proxy.Cut()
			sleep(ctx, f.Duration)
		}
	case Slow:
		r.proxy.Slow(time.Duration(20+f.Target*5)*time.Millisecond, 20_000<<(f.Target%4))
		sleep(ctx, f.Duration)
		r.proxy.Slow(0, 0)
	case Silent:
		r.proxy.Silent(true)
		sleep(ctx, f.Duration)
		r.proxy.Silent(false)
	case ServerDiskFull:
		return r.fill(ctx, r.servers[0].dir, f.Duration)
	case ClocksApart: // the clocks of workers differ from the beginning
		ahead := time.Duration(f.Target-30) * time.Minute
		r.servers[0].env = []string{clockEnv(ahead)}
		r.note("the server begins again, with its clock %v ahead", ahead)
		return r.restartServer(ctx, r.servers[0], f.Duration)
	case Twice:
		return r.duplicateAll(ctx)
	case WorkerDiskFull, Poison: // from the beginning
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// replace ends a worker, and starts another one.
func (r *rig) replace(w *worker, s syscall.Signal, after time.Duration) error {
	r.mu.Lock()
	p, paused := w.p, w.paused
	w.paused = true
	r.mu.Unlock()
	if paused { // another fault has ended it
		return nil
	}
	p.end(s)
	time.Sleep(after)
	return r.work(w)
}

// restartServer kills a server, and restarts it in the same folder.
func (r *rig) restartServer(ctx context.Context, s *server, after time.Duration) error {
	r.mu.Lock()
	p, down := s.p, s.endedByRig
	s.endedByRig = true
	r.mu.Unlock()
	if down {
		return nil
	}
	p.end(syscall.SIGKILL)
	sleep(ctx, after)
	return r.serve(s)
}

// leader returns the server that leads a stream.
func (r *rig) leader(ctx context.Context, stream string) (*server, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	js, err := jetstream.New(r.b.Conn)
	if err != nil {
		return nil, err
	}
	s, err := js.Stream(ctx, stream)
	if err != nil {
		return nil, err
	}
	info, err := s.Info(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(r.servers, func(s *server) bool {
		return info.Cluster != nil && s.name == info.Cluster.Leader
	})
	if i < 0 {
		return nil, fmt.Errorf("stream %s has no leader", stream)
	}
	r.note("%s leads %s", r.servers[i].name, stream)
	return r.servers[i], nil
}

// mount mounts a small disk at a folder.
func (r *rig) mount(dir, size string) error {
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		return fmt.Errorf("%w: a small tmpfs at %s: %w", ErrCannot, dir, err)
	}
	r.tmpfs = append(r.tmpfs, dir)
	return nil
}

// fill fills a disk for a while.
func (r *rig) fill(ctx context.Context, dir string, d time.Duration) error {
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	full := time.After(d)
	for data, n := make([]byte, 64<<10), 0; ; { // again, since other processes free some room
		if n, err = f.Write(data); err == nil {
			continue
		}
		if n == 0 && len(data) > 1 {
			data = data[:len(data)/2]
			continue
		}
		data = data[:cap(data)]
		select {
		case <-full:
			r.note("the disk has room again")
			return os.Remove(path)
		case <-ctx.Done():
			return os.Remove(path)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// duplicateAll hands out all units again, and delivers the existing results again.
func (r *rig) duplicateAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	s := r.c.Searches[0]
	var units []plan.Unit
	for job := range s.Scenarios {
		for n := range s.Units(job) {
			units = append(units, s.Unit(r.c.ID, 0, job, plan.Runs, n))
		}
	}
	if err := r.b.Enqueue(ctx, r.c.Build, s.Needs(), 1_000_000, units); err != nil {
		r.note("units could not be handed out twice: %v", err)
		return nil // the server is down
	}
	js, err := jetstream.New(r.b.Conn)
	if err != nil {
		return err
	}
	done, err := js.Stream(ctx, "DONE")
	if err != nil {
		r.note("results could not be delivered twice: %v", err)
		return nil
	}
	n := 0
	for i := range units {
		m, err := done.GetLastMsgForSubject(ctx, "done."+units[i].Key())
		if err != nil {
			continue // the campaign isn't made yet, or the server is down
		}
		_, err = js.PublishMsg(ctx, &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data},
			jetstream.WithRetryAttempts(0))
		switch {
		case err == nil:
			return fmt.Errorf("unit %s: a second result was taken", units[i].Key())
		case strings.Contains(err.Error(), "maximum messages per subject"):
			n++
		}
	}
	r.note("%d units handed out again, %d results delivered again", len(units), n)
	return nil
}

// poison names the unit that fails, and how.
func (r *rig) poison() string {
	f := r.s.Faults[slices.IndexFunc(r.s.Faults, func(f Fault) bool { return f.Kind == Poison })]
	u := poisonedUnit(r.g.plan(false), f.Target)
	return u.Key() + "=" + []string{"panic", "exit"}[f.Target%2]
}

// poisonedUnit is a unit of runs of a campaign that isn't on the board yet.
func poisonedUnit(c *plan.Campaign, n int) plan.Unit {
	s := c.Searches[0]
	job := n % len(s.Scenarios)
	return s.Unit(firstID, 0, job, plan.Runs, n%s.Units(job))
}

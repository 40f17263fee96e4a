package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Most is the time within which a schedule must end.
const Most = 120 * time.Second

// An Outcome says how a schedule went.
type Outcome struct {
	Redeliveries int           // deliveries of units beyond the first of each
	Applied      []Fault       // the faults that came before the campaign's end
	Took         time.Duration // of the campaign
}

// Run runs a schedule in an empty folder. Its error says which check failed, with the state of all processes, or is
// ErrCannot.
func (g *Ground) Run(s *Schedule, dir string) (o *Outcome, err error) {
	if err := g.Prepare(false); err != nil {
		return nil, err
	}
	if s.Main == WorkerDiskFull {
		if err := g.Prepare(true); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), Most)
	defer cancel()
	r := &rig{g: g, s: s, dir: dir}
	defer r.end()
	o, err = r.run(ctx)
	if err != nil && !errors.Is(err, ErrCannot) {
		err = fmt.Errorf("%w\n%s", err, r.state(context.WithoutCancel(ctx)))
	}
	return o, err
}

func (r *rig) run(ctx context.Context) (*Outcome, error) {
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	dir := filepath.Join(r.dir, "results")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	results, err := r.start("results", dir, nil, r.g.Campaign, "results", firstID, "--wait", "--nats", r.urls(),
		"--nkey",
		filepath.Join(r.servers[0].dir, "client.nk"))
	if err != nil {
		return nil, err
	}
	o := &Outcome{}
	failed := make(chan error, len(r.s.Faults))
	going := 0
	lacks := r.s.Main != WorkerDiskFull
	for next := 0; ; {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("it doesn't end within %v", Most)
		case err := <-failed:
			if going--; err != nil {
				return nil, err
			}
			continue
		case <-time.After(20 * time.Millisecond):
		}
		for next < len(r.s.Faults) && time.Since(r.began) > r.s.Faults[next].At && !results.hasEnded() {
			f := r.s.Faults[next]
			next, going = next+1, going+1
			o.Applied = append(o.Applied, f)
			go func() { failed <- r.apply(ctx, f) }()
		}
		if err := r.mend(); err != nil {
			return nil, err
		}
		if !lacks && !results.hasEnded() {
			if lacks, err = r.diskFullReported(ctx); err != nil {
				return nil, err
			}
		}
		if results.hasEnded() && o.Took == 0 {
			o.Took = time.Since(r.began)
		}
		if results.hasEnded() && going == 0 {
			break
		}
	}
	if !lacks {
		return nil, errors.New("the worker without room doesn't say what it lacks")
	}
	if err := r.waitUntilServing(ctx); err != nil {
		return nil, err
	}
	if err := r.check(ctx, results, dir); err != nil {
		return nil, err
	}
	deliveries, units, err := r.countDeliveries(ctx)
	if err != nil {
		return nil, err
	}
	o.Redeliveries = deliveries - units
	return o, nil
}

// waitUntilServing waits until a server that was killed at the end serves again.
func (r *rig) waitUntilServing(ctx context.Context) error {
	for _, s := range r.servers {
		if err := s.p.waitForOutput("serving at", 60*time.Second); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// diskFullReported reports whether the status shows that the worker with the full disk has reported it.
func (r *rig) diskFullReported(ctx context.Context) (bool, error) {
	t, err := r.b.LatestStatus(ctx, firstID)
	if err != nil {
		return false, nil // there is no status yet
	}
	for _, w := range t.Workers {
		for _, l := range w.Missing {
			if strings.Contains(l, "no room") {
				return true, nil
			}
		}
	}
	return false, nil
}

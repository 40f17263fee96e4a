package work

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"kpsim/campaign/board"
	"kpsim/linux"
)

// retryPause is the pause before a worker tries again to get a file.
const retryPause = time.Minute

// get makes sure that the worker has what an offer needs, fetching it once. The error says why this worker leaves the
// offer to others.
func (w *Worker) get(o *board.Offer) error {
	if len(o.Blobs) == 0 {
		return nil
	}
	err, tried := w.fetched[o.Needs]
	if tried && (err == nil || time.Since(w.tried[o.Needs]) < retryPause) {
		return err
	}
	err = w.fetch(o)
	w.fetched[o.Needs], w.tried[o.Needs] = err, time.Now()
	return err
}

// fetchTimeout bounds how long a worker tries to get a file.
const fetchTimeout = 10 * time.Minute

func (w *Worker) fetch(o *board.Offer) error {
	if !w.o.Kernels {
		return fmt.Errorf("%s: this worker runs no kernels", o.Blobs[0].Name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), fetchTimeout)
	defer cancel()
	var paths []string
	for i := range o.Blobs {
		path, err := board.File(ctx, w.g, &o.Blobs[i], filepath.Join(w.o.Dir, "files"))
		if err != nil {
			return err
		}
		paths = append(paths, path)
	}
	k, err := linux.Open(paths[0], paths[1:]...)
	if err != nil {
		return err
	}
	linux.Give(k)
	return nil
}

package work

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"kpsim/campaign/board"
	"kpsim/campaign/lead"
	"kpsim/campaign/plan"
	"kpsim/linux"
)

// tryAgain is after what time a worker tries again to get what it could not get.
const tryAgain = time.Minute

// get makes sure that the worker has what an offer needs. It fetches it once. The error says why
// the offer is left to others.
func (w *Worker) get(o *lead.Offer) error {
	if len(o.Blobs) == 0 {
		return nil
	}
	err, tried := w.have[o.Needs]
	if tried && (err == nil || time.Since(w.tried[o.Needs]) < tryAgain) {
		return err
	}
	err = w.fetch(o)
	w.have[o.Needs], w.tried[o.Needs] = err, time.Now()
	return err
}

// A kernel takes so much memory when it is open, and its file so much of a disk's room, in bytes.
const roomLeft = 256 << 20

func (w *Worker) fetch(o *lead.Offer) error {
	if !w.o.Kernels {
		return fmt.Errorf("%s: this worker runs no kernels", o.Blobs[0].Name)
	}
	dir := filepath.Join(w.o.Dir, "files")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("%s: %w", o.Blobs[0].Name, err)
	}
	var paths []string
	for i := range o.Blobs {
		path, err := w.blob(dir, &o.Blobs[i])
		if err != nil {
			return fmt.Errorf("%s: %w", o.Blobs[i].Name, err)
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

// blob fetches a file, unless it is there. What is there is believed by its digest, not its name.
func (w *Worker) blob(dir string, b *plan.Blob) (string, error) {
	path := filepath.Join(dir, filepath.Base(b.Digest))
	if sum, err := digest(path); err == nil && sum == b.Digest {
		return path, nil
	}
	if b.Size < 0 || b.Size > plan.MostFile {
		return "", fmt.Errorf("it has %d bytes; at most %d are fetched", b.Size, plan.MostFile)
	}
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err == nil && fs.Bavail*uint64(fs.Bsize) < uint64(b.Size)+roomLeft {
		return "", errors.New("the disk has no room for it")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	r, err := w.b.Get(ctx, board.FileName(b.Digest))
	if err != nil {
		return "", err
	}
	defer r.Close()
	f, err := os.CreateTemp(dir, ".fetch.*")
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, h), io.LimitReader(r, plan.MostFile+1))
	switch {
	case err != nil:
		return "", err
	case n != b.Size || fmt.Sprintf("%x", h.Sum(nil)) != b.Digest:
		return "", errors.New("what was fetched isn't what was sent: its digest is another one")
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	return path, os.Rename(f.Name(), path)
}

func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

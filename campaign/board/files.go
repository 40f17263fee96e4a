package board

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/nats-io/nats.go/jetstream"

	"kpsim/campaign/plan"
	"kpsim/internal/cli"
)

// Put stores a file under a name.
func (b *Board) Put(ctx context.Context, name string, r io.Reader) error {
	_, err := b.files.Put(ctx, jetstream.ObjectMeta{Name: name}, r)
	return err
}

// PutBytes stores bytes under a name.
func (b *Board) PutBytes(ctx context.Context, name string, data []byte) error {
	return b.Put(ctx, name, bytes.NewReader(data))
}

// Has reports whether there is a file of a name, and how many bytes it has.
func (b *Board) Has(ctx context.Context, name string) (bool, uint64, error) {
	info, err := b.files.GetInfo(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return false, 0, nil
	}
	if err != nil {
		return false, 0, err
	}
	return true, info.Size, nil
}

// Get opens the file of a name. ErrNone says that there is none.
func (b *Board) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	r, err := b.files.Get(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, ErrNone
	}
	return r, err
}

// File makes sure that a file lies below a folder, DIGEST/NAME, and returns its path. What is there
// is believed by its digest. It doesn't fill the disk.
func (b *Board) File(ctx context.Context, f *plan.Blob, dir string) (string, error) {
	folder := filepath.Join(dir, filepath.Base(f.Digest))
	path := filepath.Join(folder, filepath.Base(f.Name))
	if Digest(path) == f.Digest {
		return path, nil
	}
	if f.Size < 0 || f.Size > plan.MostFile {
		return "", fmt.Errorf("%s: it has %d bytes; at most %d are fetched", f.Name, f.Size, plan.MostFile)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("%s: %w", f.Name, err)
	}
	var fs syscall.Statfs_t
	if err := syscall.Statfs(folder, &fs); err == nil && fs.Bavail*uint64(fs.Bsize) < uint64(f.Size)+roomLeft {
		return "", fmt.Errorf("%s: there is no room for it in %s", f.Name, dir)
	}
	r, err := b.Get(ctx, FileName(f.Digest))
	if err != nil {
		return "", fmt.Errorf("%s: %w", f.Name, err)
	}
	defer r.Close()
	tmp, err := os.CreateTemp(folder, ".fetch.*")
	if err != nil {
		return "", fmt.Errorf("%s: %w", f.Name, err)
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(tmp, h), io.LimitReader(r, f.Size+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", f.Name, err)
	case fmt.Sprintf("%x", h.Sum(nil)) != f.Digest:
		return "", fmt.Errorf("%s: what was fetched isn't what was sent: its digest is another one", f.Name)
	}
	if err := tmp.Close(); err != nil {
		return "", fmt.Errorf("%s: %w", f.Name, err)
	}
	return path, os.Rename(tmp.Name(), path)
}

// roomLeft is how much room a file must leave on a disk, in bytes.
const roomLeft = 256 << 20

// Digest returns the digest of the file that lies at a path, "" if it can't be read.
func Digest(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// Here has a search's flags name the files where they lie on this computer. It fetches those that
// aren't there: where who planned the search has them, or below a folder.
func (b *Board) Here(ctx context.Context, s *plan.Search, dir string) error {
	for i, f := range s.Blobs() {
		path := f.Path
		if Digest(path) != f.Digest {
			var err error
			if path, err = b.File(ctx, &f, filepath.Join(dir, "files")); err != nil {
				return err
			}
		}
		if i == 0 {
			s.Flags.Kernel.Kernel = cli.FileName(path)
		} else {
			s.Flags.Kernel.Objects[i-1] = cli.FileName(path)
		}
	}
	return nil
}

// Campaign returns a campaign.
func (b *Board) Campaign(ctx context.Context, id string) (*plan.Campaign, error) {
	var data []byte
	err := Retry(ctx, func(ctx context.Context) (err error) {
		data, err = b.files.GetBytes(ctx, "campaign/"+id)
		if errors.Is(err, jetstream.ErrObjectNotFound) {
			return ErrNone
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("campaign %s: %w", id, err)
	}
	return plan.Read(data)
}

// FileName is the name of a file of that digest.
func FileName(digest string) string { return "file/" + digest }

package board

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/nats-io/nats.go/jetstream"

	"kpsim/campaign/plan"
	"kpsim/internal/ui/cli"
)

// MostPiece is the largest piece of a file, in bytes. A default server takes messages of a mebibyte.
const MostPiece = 512 << 10

// A file is stored as pieces and a list: the digests of the pieces, 32 bytes each. Both are stored under their own
// digests, so nothing can be substituted.

// A Pieces gives the pieces of files.
type Pieces interface {
	// Piece returns the piece with that digest. The caller checks it.
	Piece(ctx context.Context, digest string) ([]byte, error)
}

// digestForm is the form of a digest.
var digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// IsDigest reports whether a text has the form of a digest.
func IsDigest(s string) bool { return digestForm.MatchString(s) }

// DigestOf returns the digest of bytes.
func DigestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// PutPiece stores a piece under its digest, which it returns.
func (b *Board) PutPiece(ctx context.Context, data []byte) (string, error) {
	digest := DigestOf(data)
	err := b.publishOnce(ctx, "piece."+digest, data)
	if errors.Is(err, errExists) {
		err = nil
	}
	return digest, err
}

// publishOnce stores a message under a subject that holds one; the error is errExists if there is one.
func (b *Board) publishOnce(ctx context.Context, subject string, data []byte) error {
	_, err := b.js.Publish(ctx, subject, data, jetstream.WithRetryAttempts(0))
	return asExists(err)
}

func asExists(err error) error {
	if api := new(jetstream.APIError); errors.As(err, &api) &&
		strings.Contains(api.Description, "maximum messages per subject") {
		return errExists
	}
	return err
}

// Piece implements Pieces.
func (b *Board) Piece(ctx context.Context, digest string) ([]byte, error) {
	if !IsDigest(digest) {
		return nil, ErrNone
	}
	return lastMessage(ctx, b.pieces, "piece."+digest)
}

// lastMessage returns the message of a subject that holds one.
func lastMessage(ctx context.Context, s jetstream.Stream, subject string) ([]byte, error) {
	m, err := s.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, err
	}
	return m.Data, nil
}

// piece returns a piece after checking it against its digest.
func piece(ctx context.Context, from Pieces, digest string) (data []byte, err error) {
	err = Retry(ctx, func(ctx context.Context) error {
		data, err = from.Piece(ctx, digest)
		return err
	})
	if err == nil && DigestOf(data) != digest {
		return nil, ErrDamaged
	}
	return data, err
}

// Save stores a file as pieces and returns the digest of its list.
func Save(ctx context.Context, r io.Reader, put func(ctx context.Context, data []byte) error) (string, error) {
	store := func(data []byte) (string, error) {
		return DigestOf(data), Retry(ctx, func(ctx context.Context) error { return put(ctx, data) })
	}
	var list []byte
	for data := make([]byte, MostPiece); ; {
		n, err := io.ReadFull(r, data)
		if n > 0 {
			digest, err := store(data[:n])
			if err != nil {
				return "", err
			}
			sum, _ := hex.DecodeString(digest)
			list = append(list, sum...)
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			if len(list) > MostPiece {
				return "", errors.New("it is too large")
			}
			return store(list)
		case err != nil:
			return "", err
		}
	}
}

// Load writes the file whose list has that digest. It refuses a file of more than limit bytes.
func Load(ctx context.Context, from Pieces, list string, limit int64, to io.Writer) error {
	sums, err := piece(ctx, from, list)
	if err != nil {
		return err
	}
	if len(sums)%sha256.Size != 0 {
		return ErrDamaged
	}
	for ; len(sums) > 0; sums = sums[sha256.Size:] {
		data, err := piece(ctx, from, hex.EncodeToString(sums[:sha256.Size]))
		if err != nil {
			return err
		}
		if limit -= int64(len(data)); limit < 0 {
			return errors.New("it is larger than announced")
		}
		if _, err := to.Write(data); err != nil {
			return err
		}
	}
	return nil
}

// File makes sure that a file is below a folder, as DIGEST/NAME, and returns its path. A file that is there already
// is taken by the digest in its path. File doesn't fill the disk.
func File(ctx context.Context, from Pieces, f *plan.Blob, dir string) (string, error) {
	if err := f.Check(); err != nil {
		return "", err
	}
	folder := filepath.Join(dir, f.Digest)
	path := filepath.Join(folder, f.Name)
	if IsFile(path, f) {
		return path, nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("%s: %w", f.Name, err)
	}
	var fs syscall.Statfs_t
	if err := syscall.Statfs(folder, &fs); err == nil && fs.Bavail*uint64(fs.Bsize) < uint64(f.Size)+roomLeft {
		return "", fmt.Errorf("%s: there is no room for it in %s", f.Name, dir)
	}
	tmp, err := os.CreateTemp(folder, ".fetch.*")
	if err != nil {
		return "", fmt.Errorf("%s: %w", f.Name, err)
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	h := sha256.New()
	err = Load(ctx, from, f.List, f.Size, io.MultiWriter(tmp, h))
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", f.Name, err)
	case hex.EncodeToString(h.Sum(nil)) != f.Digest:
		return "", fmt.Errorf("%s: the fetched bytes aren't those that were sent: the digest differs", f.Name)
	}
	if err := tmp.Close(); err != nil {
		return "", fmt.Errorf("%s: %w", f.Name, err)
	}
	return path, os.Rename(tmp.Name(), path)
}

// roomLeft is the room that a file must leave on a disk, in bytes.
const roomLeft = 256 << 20

// IsFile reports whether the file is at a path. The path may come from a stranger: only a regular file of the right
// size is read.
func IsFile(path string, f *plan.Blob) bool {
	s, err := os.Stat(path) // opening a device may have effects
	if err != nil || !s.Mode().IsRegular() || s.Size() != f.Size {
		return false
	}
	r, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer r.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(r, f.Size+1))
	return err == nil && n == f.Size && hex.EncodeToString(h.Sum(nil)) == f.Digest
}

// LocalFiles makes a search's flags name the files on this computer. Files that are neither where they were when the
// campaign was started nor below the folder are fetched.
func LocalFiles(ctx context.Context, from Pieces, s *plan.Search, dir string) error {
	for i, f := range s.Blobs() {
		path := f.Path
		if !IsFile(path, &f) {
			var err error
			if path, err = File(ctx, from, &f, filepath.Join(dir, "files")); err != nil {
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

// Campaign returns the plan of a campaign. digest is that of the plan's list, from the campaign's state.
func Campaign(ctx context.Context, from Pieces, id, digest string) (*plan.Campaign, error) {
	if digest == "" {
		return nil, fmt.Errorf("campaign %s: %w", id, ErrNone)
	}
	var text bytes.Buffer
	if err := Load(ctx, from, digest, plan.MostPlan, &text); err != nil {
		return nil, fmt.Errorf("campaign %s: its plan: %w", id, err)
	}
	c, err := plan.Read(text.Bytes())
	if err == nil && c.ID != id {
		err = fmt.Errorf("its plan is of campaign %q", c.ID)
	}
	if err != nil {
		return nil, fmt.Errorf("campaign %s: %w", id, err)
	}
	return c, nil
}

package plan

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"kpsim/internal/ui/cli"
)

// MostFile is the largest file that is sent to workers, in bytes.
const MostFile = 1 << 30

// files records the files that workers need.
func (s *Search) files() error {
	if s.Flags.Kernel.Kernel == "" {
		return nil
	}
	k, err := blobOf(string(s.Flags.Kernel.Kernel))
	if err != nil {
		return fmt.Errorf("--kernel: %w", err)
	}
	s.Kernel = &k
	for _, o := range s.Flags.Kernel.Objects {
		b, err := blobOf(string(o))
		if err != nil {
			return fmt.Errorf("--objects: %w", err)
		}
		s.Objects = append(s.Objects, b)
	}
	return nil
}

func blobOf(path string) (Blob, error) {
	f, err := os.Open(path)
	if err != nil {
		return Blob{}, fmt.Errorf("%s", cli.Cause(err, path))
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, MostFile+1))
	switch {
	case err != nil:
		return Blob{}, fmt.Errorf("%s", cli.Cause(err, path))
	case n > MostFile:
		return Blob{}, fmt.Errorf("%s: it has more than %d bytes", path, MostFile)
	}
	return Blob{Name: filepath.Base(path), Path: path, Digest: fmt.Sprintf("%x", h.Sum(nil)), Size: n}, nil
}

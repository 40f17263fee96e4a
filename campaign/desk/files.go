package desk

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"kpsim/campaign/board"
	"kpsim/campaign/plan"
	"kpsim/internal/cli"
)

// Files makes sure that a campaign's kernels are where its report opens them: where who started
// it had them, or else below a folder, to which they are fetched.
func Files(ctx context.Context, b *board.Board, c *plan.Campaign, dir string) error {
	for _, s := range c.Searches {
		for i, f := range s.Blobs() {
			path := f.Path
			if digest(path) != f.Digest {
				path = filepath.Join(dir, "files", filepath.Base(f.Digest), filepath.Base(f.Name))
				if err := fetch(ctx, b, &f, path); err != nil {
					return fmt.Errorf("%s: %w", f.Name, err)
				}
			}
			if i == 0 {
				s.Flags.Kernel.Kernel = cli.FileName(path)
			} else {
				s.Flags.Kernel.Objects[i-1] = cli.FileName(path)
			}
		}
	}
	return nil
}

func digest(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, plan.MostFile)); err != nil {
		return ""
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

func fetch(ctx context.Context, b *board.Board, f *plan.Blob, path string) error {
	if digest(path) == f.Digest {
		return nil
	}
	r, err := b.Get(ctx, board.FileName(f.Digest))
	if err != nil {
		return err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, plan.MostFile))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return cli.WriteWhole(path, data)
}
